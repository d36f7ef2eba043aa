"""The classes that Spark's Java process loads, kept for its next start.

Java reads most of Spark's classes, checks them, and takes some seconds for it, each time. The first
process writes what it has loaded to a file when it ends, a class data sharing archive; those after
it map that file. Java ignores one that is not of the same Java and the same jars.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from pulsar_conformance.adapters.cache import root

FOLDER = "spark"
KEPT = 2
"""How many archives stay, of 150 MB each: of the newest environments."""

HEADER = 4
"""The bytes that tell that it is one. Java writes them last."""

UNQUOTED = '"\\\n'
"""What a path has that cannot be told in quotes."""


def options(java_options: Sequence[str], class_path: str) -> tuple[str, ...]:
    """By which options Java uses the archive of a process set up like this one, or writes it."""
    file = root() / FOLDER / f"{_key(java_options, class_path)}.jsa"
    if set(UNQUOTED) & set(str(file)):
        return ()
    try:
        if _complete(file):
            return (f'"-XX:SharedArchiveFile={file}"',)
        file.parent.mkdir(parents=True, exist_ok=True)
        _make_room(file.parent)
    except OSError:  # it goes without, as it would where nothing can be kept
        return ()
    return (f'"-XX:ArchiveClassesAtExit={file}"',)


def _key(java_options: Sequence[str], class_path: str) -> str:
    """What tells apart Javas that load other classes, or the same ones from elsewhere."""
    home = os.environ.get("JAVA_HOME")
    program = Path(home, "bin", "java") if home else Path(shutil.which("java") or "java")
    files = [program.resolve(), *map(Path, class_path.split(os.pathsep))]
    dated = [(str(file), file.stat().st_mtime_ns) for file in files if file.exists()]
    named = json.dumps([dated, list(java_options), os.environ.get("SPARK_HOME", "")])
    return hashlib.sha256(named.encode()).hexdigest()[:16]


def _complete(file: Path) -> bool:
    """Whether there is one, and Java came to its end."""
    with suppress(FileNotFoundError), file.open("rb") as content:
        return any(content.read(HEADER))
    return False


def _make_room(folder: Path) -> None:
    """Remove archives of environments that were not set up lately."""
    archives = sorted(folder.glob("*.jsa"), key=lambda one: one.stat().st_mtime)
    for old in archives[: 1 - KEPT]:
        old.unlink(missing_ok=True)
