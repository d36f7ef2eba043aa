"""The cache of downloaded jars, with a folder for each release."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pulsar_conformance.adapters.cache import cache_folder

MANIFEST = "jars.json"
LIBRARY = "lib"


class Damaged(Exception):
    """Raised for downloaded files that are damaged; the message names the damage."""


class CachedJars:
    """The jars of one release in the cache; either all of them are there, or none."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.folder = cache_folder() / "pulsar" / name
        self.library = self.folder / LIBRARY

    def check(self) -> bool:
        """True if the jars are complete and intact; False if there are none. Errors: `Damaged`.

        The content of a jar is compared only if the file was modified since the download.
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

        Call this only while the folder is `locked`, because the files of killed processes are
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
    def locked(self) -> Iterator[None]:
        """Lock the folder against other downloads. Errors: `OSError` if it is not writable."""
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        with (self.folder.parent / f".{self.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


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
