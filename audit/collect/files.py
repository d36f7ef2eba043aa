"""Files of a recorded history: one file per day, which holds only complete lines."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pulsar_conformance.audit.collect.changes import Entry
from pulsar_conformance.specs.errors import UserError

ENDING = ".jsonl"


class CannotWrite(UserError):
    """An error: the history cannot be written. The message says where and why."""


def _cannot_write(path: Path, error: OSError) -> str:
    return f"{path}: it cannot be written: {error.strerror or error}; give another --output"


class Recording:
    """A folder to which the records of one cluster are appended."""

    def __init__(self, folder: Path, cluster: str) -> None:
        self._folder = folder
        self._cluster = cluster
        self.lines = 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._repair()
        except OSError as error:
            raise CannotWrite(_cannot_write(folder, error)) from None

    def newest_records(self) -> Iterator[Entry]:
        """Yield the records in the newest file, except load reports."""
        files = self._files()
        if not files:
            return
        with files[-1].open("rb") as lines:
            for line in lines:
                try:
                    entry: Any = json.loads(line)
                except ValueError:
                    continue
                if isinstance(entry, dict) and entry.get("kind") != "load_report":
                    yield entry

    def write(self, at: datetime, entries: Iterable[Entry]) -> int:
        """Append a line for each entry, all with the same time; return the number of lines.

        Errors: `CannotWrite`.
        """
        at = at.astimezone(UTC)
        stamp = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        lines = [
            json.dumps({"kind": one["kind"], "cluster": self._cluster, "at": stamp, **one})
            for one in entries
        ]
        if not lines:
            return 0
        path = self._file_for(at)
        text = "".join(f"{line}\n" for line in lines).encode()
        try:
            target = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                left = memoryview(text)
                while left:
                    left = left[os.write(target, left) :]
            finally:
                os.close(target)
        except OSError as error:
            raise CannotWrite(_cannot_write(path, error)) from None
        self.lines += len(lines)
        return len(lines)

    def starts_file(self, at: datetime) -> bool:
        """True if a line with this time would be the first of a new file."""
        return not self._file_for(at.astimezone(UTC)).exists()

    def _file_for(self, at: datetime) -> Path:
        return self._folder / f"{self._cluster}-{at:%Y-%m-%d}{ENDING}"

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob(f"{self._cluster}-????-??-??{ENDING}"))

    def _repair(self) -> None:
        """Remove an incomplete last line, left by a process that was killed while writing."""
        for path in self._files()[-1:]:
            with path.open("rb+") as file:
                content = file.read()
                whole = content.rfind(b"\n") + 1
                if whole < len(content):
                    file.truncate(whole)
