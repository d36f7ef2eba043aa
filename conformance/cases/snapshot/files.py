"""Folders with one file per thing, saved by an operator with curl or from ZooKeeper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pulsar_conformance.adapters.protocol import NotJSON, read
from pulsar_conformance.specs.errors import UserError

SUFFIX = ".json"


class BadSnapshot(UserError):
    """A file or folder that cannot be used; the message is one sentence."""


def json_files(directory: Path, pattern: str) -> Iterator[tuple[str, Path]]:
    """The name and the path of each file, in order; escapes such as `%2F` in names are decoded.

    Errors: `BadSnapshot` if there are none.
    """
    if not directory.is_dir():
        raise BadSnapshot(f"{directory}: it is not a folder")
    files = sorted(path for path in directory.glob(pattern) if path.is_file())
    if not files:
        raise BadSnapshot(f"{directory}: there is no *{SUFFIX} in it")
    for path in files:
        yield unquote(path.relative_to(directory).as_posix().removesuffix(SUFFIX)), path


def content(path: Path) -> Any:
    """The JSON value of a file. Errors: `BadSnapshot`."""
    try:
        return read(path.read_bytes())
    except OSError as wrong:
        raise BadSnapshot(f"{path}: {wrong.strerror or wrong}") from None
    except NotJSON as wrong:
        raise BadSnapshot(f"{path}: it {wrong}") from None
