"""Class data sharing for Spark's Java process, so that it starts faster the next time.

Java reads and verifies most of Spark's classes at each start, which takes seconds. The first
process records the classes that it loads, at no cost. When that process ends, another Java process
builds a class data sharing archive from the recorded list in the background. Later processes map
the archive into memory. Java ignores an archive that was made by another Java or for other jars.
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

from pulsar_conformance.adapters.cache import cache_folder

FOLDER = "spark"
MAX_ARCHIVES = 2
"""Maximum number of archives to keep (190 MB each); the least recently used are removed."""

HEADER_BYTES = 4
"""Number of bytes that identify an archive; Java writes them last, so they show that it is
complete.
"""

REBUILD_SECONDS = 24 * 60 * 60
"""Seconds after which the build of an archive is repeated if it failed."""

LOW_PRIORITY = ("nice", "-n", "19")
"""Prefix that makes a command run at the lowest priority."""

UNQUOTABLE = '"\\\n'
"""Characters of a path that cannot be quoted."""


@dataclass(frozen=True)
class Archive:
    """The class archive for Java processes with the same options and jars; its file may not exist
    yet.
    """

    file: Path

    @property
    def classes(self) -> Path:
        """The list of classes from which the archive is built; it exists once the build has
        started.
        """
        return self.file.with_suffix(".classes")

    @property
    def listing(self) -> Path:
        """The list of loaded classes that this Java process writes."""
        return self.file.with_suffix(f".{os.getpid()}.listing")

    def options(self) -> tuple[str, ...]:
        """Return Java's options to use the archive or, if there is none, to record classes."""
        if set(UNQUOTABLE) & set(str(self.file)):
            return ()
        try:
            if _is_complete(self.file):
                with suppress(OSError):
                    self.file.touch()  # Archives used last are kept.
                return (f'"-XX:SharedArchiveFile={self.file}"',)
            if _is_recent(self.classes):
                return ()
            self.file.parent.mkdir(parents=True, exist_ok=True)
        except OSError:  # Nothing can be cached: start without an archive.
            return ()
        return (f'"-XX:DumpLoadedClassList={self.listing}"',)

    def build_at_exit(self, jvm: Any) -> None:
        """Build the archive when this process exits, if Java recorded its classes."""
        if not self.listing.exists():
            return
        properties = (jvm.System.getProperty(name) for name in ("java.home", "java.class.path"))
        atexit.register(self.start_build, *properties)

    def start_build(self, home: str, class_path: str) -> None:
        """Start building the archive from the recorded classes; do not wait for the end."""
        with suppress(OSError):
            listed = self.listing.read_text("utf-8", errors="replace")
            self.listing.unlink()
            if _is_recent(self.classes):
                return
            if any(map(_is_filled, class_path.split(os.pathsep))):
                return  # Java archives nothing if the class path contains a folder of classes.
            _remove_unused(self.file.parent)
            with self.classes.open("x", encoding="utf-8") as classes:
                classes.write(listed.rpartition("\n")[0] + "\n")
            polite = LOW_PRIORITY if shutil.which(LOW_PRIORITY[0]) else ()
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


FIRST_JARS = (
    *("scala-library", "spark-catalyst", "spark-sql", "spark-core", "spark-common-utils"),
    *("spark-unsafe", "spark-variant", "spark-network-common", "hadoop-client-api"),
    *("jackson-core", "jackson-databind", "json4s-core", "py4j"),
)
"""Prefixes of the names of the jars that together contain most of the loaded classes."""


def first_jars(jars: Path) -> str:
    """Return a class path: the jars that Java should search first.

    Without an archive, Java searches for each class in up to 280 jars, one after the other.
    """
    return os.pathsep.join(
        str(jar) for name in FIRST_JARS for jar in sorted(jars.glob(f"{name}*.jar"))
    )


def archive_of(java_options: Sequence[str], jars: Path) -> Archive:
    """Return the archive for Java processes with these options and the jars of this folder."""
    return Archive(cache_folder() / FOLDER / f"{_environment_key(java_options, jars)}.jsa")


def _environment_key(java_options: Sequence[str], jars: Path) -> str:
    """Return a key of everything that decides which classes Java loads: Java, options, jars."""
    home = os.environ.get("JAVA_HOME")
    program = Path(home, "bin", "java") if home else Path(shutil.which("java") or "java")
    files = [file for file in (program.resolve(), jars) if file.exists()]
    dated = [(str(file), file.stat().st_mtime_ns) for file in files]
    named = json.dumps([dated, list(java_options), os.environ.get("SPARK_HOME", "")])
    return hashlib.sha256(named.encode()).hexdigest()[:16]


def _is_complete(file: Path) -> bool:
    """True if the archive exists and was written completely."""
    with suppress(FileNotFoundError), file.open("rb") as content:
        return any(content.read(HEADER_BYTES))
    return False


def _is_recent(file: Path) -> bool:
    """True if a file was written within the last day."""
    return file.exists() and time.time() - file.stat().st_mtime < REBUILD_SECONDS


def _is_filled(place: str) -> bool:
    """True if an entry of a class path is a folder with content."""
    return Path(place).is_dir() and any(Path(place).iterdir())


def _remove_unused(folder: Path) -> None:
    """Remove archives that are no longer used, and lists without an archive.

    The list of a removed archive is removed, too, so that the next process that needs the archive
    rebuilds it.
    """
    archives = sorted(folder.glob("*.jsa"), key=lambda one: one.stat().st_mtime)
    lists = [one for end in ("classes", "listing") for one in folder.glob(f"*.{end}")]
    evicted = [
        old.with_suffix(end) for old in archives[: 1 - MAX_ARCHIVES] for end in (".jsa", ".classes")
    ]
    for old in (*evicted, *(one for one in lists if not _is_recent(one))):
        old.unlink(missing_ok=True)
