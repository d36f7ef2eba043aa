"""Manifests of written tables: the files of each, with their size and checksum.

A table is believed only if its files are those of its manifest. The manifests lie beside the marks,
in files that Spark ignores; an output that is not on a disk of this machine has none.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path

from pulsar_conformance.audit.input.paths import LOCAL
from pulsar_conformance.audit.pipeline.marks import DONE

HIDDEN = (".", "_")
PIECE = 1 << 22
"""Bytes that are read at a time."""

Files = Mapping[str, tuple[int, int]]
"""Size and CRC-32 of each file, by its path within the table."""


class Manifests:
    """The manifests of the tables in a folder."""

    def __init__(self, output: str) -> None:
        self._output = Path(output.removeprefix(LOCAL))

    @property
    def here(self) -> bool:
        """True if the output is on a disk of this machine."""
        return (self._output / DONE).is_dir()

    def write(self, table: str) -> None:
        """Record the present files of a table."""
        if self.here:
            text = json.dumps(_files_of(self._output / table))
            path = self._path(table)
            unfinished = path.with_suffix(".new")
            unfinished.write_text(text, "utf-8")
            unfinished.replace(path)

    def remove(self, table: str) -> None:
        """Forget a table that is about to be written."""
        self._path(table).unlink(missing_ok=True)

    def damage(self, table: str) -> str | None:
        """Return why a table cannot be believed; None if it can, or has no manifest."""
        try:
            known = json.loads(self._path(table).read_text("utf-8"))
        except OSError:
            return None
        except ValueError:
            return f"{self._path(table)} is damaged"
        there = _files_of(self._output / table)
        for name, expected in known.items():
            path = self._output / table / name
            if name not in there:
                return f"{path} is missing"
            if list(there[name]) != expected:
                return f"{path} has changed since it was written"
        unknown = next((name for name in there if name not in known), None)
        return unknown and f"{self._output / table / unknown} is no file of it"

    def _path(self, table: str) -> Path:
        return self._output / DONE / f"_files-{table}.json"


def _files_of(folder: Path) -> Files:
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and not any(part.startswith(HIDDEN) for part in name.parts):
            found[str(name)] = _checksum(path)
    return found


def _checksum(path: Path) -> tuple[int, int]:
    size = crc = 0
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            size, crc = size + len(piece), zlib.crc32(piece, crc)
    return size, crc
