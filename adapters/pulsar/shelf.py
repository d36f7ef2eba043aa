"""The cache of downloaded jars, with a folder per release."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from pulsar_conformance.adapters.cache import CACHE_VARIABLE, cache_folder
from pulsar_conformance.specs.errors import print_note

MANIFEST = "jars.json"
LIBRARY = "lib"
QUIET_SECONDS = 1.0
"""Seconds to wait for another process before a note about it is printed."""

POLL_SECONDS = 0.1
"""Seconds between two attempts to lock a folder."""


class Damaged(Exception):
    """Raised for downloaded files that are damaged; the message names the damage."""


class CachedJars:
    """The jars of one release in the cache: either all of them or none."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.folder = cache_folder() / "pulsar" / name
        self.library = self.folder / LIBRARY

    def check(self) -> bool:
        """True if the jars are complete and intact; False if there are none. Errors: `Damaged`.

        The content of a jar is compared only if its file was modified since the download.
        """
        manifest = self.folder / MANIFEST
        if not manifest.exists():
            if self.folder.exists():
                raise Damaged(f"{self.folder} has no {MANIFEST}")
            return False
        try:
            listed = [
                (self.library / one["name"], one["bytes"], one["written"], one["sha256"])
                for one in json.loads(manifest.read_text("utf-8"))["jars"]
            ]
        except (ValueError, KeyError, TypeError):
            raise Damaged(f"{manifest} cannot be read") from None
        if not listed:
            raise Damaged(f"{manifest} lists no jar")
        for jar, size, written, digest in listed:
            if not jar.exists():
                raise Damaged(f"{jar} is missing")
            now = jar.stat()
            if now.st_size != size:
                raise Damaged(f"{jar} has {now.st_size} bytes instead of {size}")
            if now.st_mtime_ns != written and _digest(jar) != digest:
                raise Damaged(f"{jar} differs from the jar that was fetched")
        return True

    def fill(self, fetch: Callable[[Path], None]) -> None:
        """Replace the content by the files that `fetch` writes to a folder, in one atomic step.

        Call this only while the folder is `locked`, since files left by killed processes are
        removed, too.
        """
        partial = self.folder.with_name(f".{self.name}.{os.getpid()}.partial")
        self._clear()
        try:
            (partial / LIBRARY).mkdir(parents=True)
            fetch(partial / LIBRARY)
            jars = [_manifest_entry(jar) for jar in sorted((partial / LIBRARY).glob("*.jar"))]
            (partial / MANIFEST).write_text(json.dumps({"jars": jars}, indent=1), "utf-8")
            shutil.rmtree(self.folder, ignore_errors=True)
            partial.rename(self.folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)

    def _clear(self) -> None:
        """Remove the partial folders that abandoned downloads left behind."""
        left = re.compile(rf"\.{re.escape(self.name)}\.\d+\.partial")
        for folder in self.folder.parent.glob(".*.partial"):
            if left.fullmatch(folder.name):
                shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def locked(self, title: str) -> Iterator[None]:
        """Lock the folder against other downloads of `title`, such as "Pulsar 3.0.7".

        A note on standard error reports a long wait for the lock. Errors: `OSError` if the folder
        is not writable.
        """
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        # Opened for appending, since the file contains the process ID of the process that holds it.
        with (self.folder.parent / f".{self.name}.lock").open("a+") as lock:
            _wait_for(lock, title)
            lock.truncate(0)
            lock.write(str(os.getpid()))
            lock.flush()
            yield


def _wait_for(lock: TextIO, title: str) -> None:
    """Lock a file; if that takes long, print a note about the process that holds it."""
    begun, told = time.monotonic(), False
    while True:
        try:
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not told and time.monotonic() - begun > QUIET_SECONDS:
                told = True
                _report_holder(lock, title)
            time.sleep(POLL_SECONDS)


def _report_holder(lock: TextIO, title: str) -> None:
    """Print a note about another process's download, whose progress that process prints."""
    lock.seek(0)
    holder = lock.read().strip()
    if holder == str(os.getpid()):
        return
    process = f" (process {holder})" if holder.isdecimal() else ""
    print_note(
        f"another process is downloading {title}; waiting{process}; to download it separately, "
        f"set {CACHE_VARIABLE} to another folder"
    )


def _manifest_entry(jar: Path) -> dict[str, str | int]:
    now = jar.stat()
    return {
        "name": jar.name,
        "bytes": now.st_size,
        "written": now.st_mtime_ns,
        "sha256": _digest(jar),
    }


def _digest(jar: Path) -> str:
    with jar.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
