"""The classes that Spark's Java process loads, kept for its later starts.

Java reads most of Spark's classes, checks them, and takes some seconds for it, each time. The first
process lists what it loads, which costs nothing. When it ends, another Java makes a class data
sharing archive of the list, in the background; processes after that map this file. Java ignores one
that is not of the same Java and the same jars.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pulsar_conformance.adapters.cache import root

FOLDER = "spark"
KEPT = 2
"""Number of archives to keep, of 190 MB each: those of the newest environments."""

HEADER = 4
"""The bytes that tell that it is one. Java writes them last."""

DAY = 24 * 60 * 60
"""Seconds after which a failed archive is tried again."""

POLITE = ("nice", "-n", "19")
"""Prefix of a command that runs at the lowest priority."""

UNQUOTED = '"\\\n'
"""Characters of a path that can't be quoted."""


@dataclass(frozen=True)
class Archive:
    """Class archive of Javas with the same setup, in a file that need not exist yet."""

    file: Path

    @property
    def classes(self) -> Path:
        """The list that it is made of: there from when the making begins."""
        return self.file.with_suffix(".classes")

    @property
    def listing(self) -> Path:
        """The list that Java writes for this process, class by class."""
        return self.file.with_suffix(f".{os.getpid()}.listing")

    def options(self) -> tuple[str, ...]:
        """Return the options by which Java uses the archive, or lists the classes for it."""
        if set(UNQUOTED) & set(str(self.file)):
            return ()
        try:
            if _complete(self.file):
                return (f'"-XX:SharedArchiveFile={self.file}"',)
            if _lately(self.classes):
                return ()
            self.file.parent.mkdir(parents=True, exist_ok=True)
        except OSError:  # it goes without, as it would where nothing can be kept
            return ()
        return (f'"-XX:DumpLoadedClassList={self.listing}"',)

    def make_at_exit(self, jvm: Any) -> None:
        """Make it when this process exits, if the gateway's Java lists its classes."""
        if not self.listing.exists():
            return
        told = (jvm.System.getProperty(name) for name in ("java.home", "java.class.path"))
        atexit.register(self.make, *told)

    def make(self, home: str, class_path: str) -> None:
        """Start making it from the classes that this process's Java has listed, without waiting."""
        with suppress(OSError):
            listed = self.listing.read_text("utf-8", errors="replace")
            self.listing.unlink()
            if _lately(self.classes):
                return
            if any(map(_is_filled, class_path.split(os.pathsep))):
                return  # Java archives no classes if the class path has a folder with classes
            _make_room(self.file.parent)
            with self.classes.open("x", encoding="utf-8") as classes:
                classes.write(listed.rpartition("\n")[0] + "\n")
            polite = POLITE if shutil.which(POLITE[0]) else ()
            subprocess.Popen(
                (
                    *polite,
                    str(Path(home, "bin", "java")),
                    "-Xshare:dump",
                    "-XX:+UseSerialGC",
                    f"-XX:SharedClassListFile={self.classes}",
                    f"-XX:SharedArchiveFile={self.file}",
                    "-cp",
                    class_path,
                ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )


def archive_of(java_options: Sequence[str], jars: Path) -> Archive:
    """Return the archive of Javas with these options and this folder of jars."""
    return Archive(root() / FOLDER / f"{_key(java_options, jars)}.jsa")


def _key(java_options: Sequence[str], jars: Path) -> str:
    """Tell apart Javas that load other classes, or the same ones from elsewhere."""
    home = os.environ.get("JAVA_HOME")
    program = Path(home, "bin", "java") if home else Path(shutil.which("java") or "java")
    files = [file for file in (program.resolve(), jars) if file.exists()]
    dated = [(str(file), file.stat().st_mtime_ns) for file in files]
    named = json.dumps([dated, list(java_options), os.environ.get("SPARK_HOME", "")])
    return hashlib.sha256(named.encode()).hexdigest()[:16]


def _complete(file: Path) -> bool:
    """True if there is one, and Java came to its end."""
    with suppress(FileNotFoundError), file.open("rb") as content:
        return any(content.read(HEADER))
    return False


def _lately(file: Path) -> bool:
    """True if a file was written within a day."""
    return file.exists() and time.time() - file.stat().st_mtime < DAY


def _is_filled(place: str) -> bool:
    """True if a part of a class path is a folder with anything in it."""
    return Path(place).is_dir() and any(Path(place).iterdir())


def _make_room(folder: Path) -> None:
    """Remove archives of environments that were not set up lately, and lists that are of no use."""
    archives = sorted(folder.glob("*.jsa"), key=lambda one: one.stat().st_mtime)
    lists = [one for end in ("classes", "listing") for one in folder.glob(f"*.{end}")]
    for old in (*archives[: 1 - KEPT], *(one for one in lists if not _lately(one))):
        old.unlink(missing_ok=True)
