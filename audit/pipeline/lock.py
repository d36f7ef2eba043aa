"""The lock of an audit's output: only one process at a time writes its tables."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from pulsar_conformance.audit.input.paths import LOCAL, AuditError

NAME = ".lock"
POLL = 0.5
"""Seconds between two attempts to take the lock."""


@contextmanager
def hold_lock(output: str, *, wait: bool = False, create: bool = True) -> Iterator[bool]:
    """Hold the lock of an output within the block; yield False if the output cannot be written.

    The lock ends with the process at the latest. An output that is not on a local disk has no lock.
    Pass `create=False` if the output may be remote, so that no local folder is created. Errors:
    `AuditError` if another process holds the lock and `wait` is false.
    """
    folder = Path(output.removeprefix(LOCAL))
    try:
        if create:
            folder.mkdir(parents=True, exist_ok=True)
        file = _open_lock_file(folder / NAME) if folder.is_dir() else None
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EROFS, errno.EPERM):
            raise AuditError(f"--output {output}: {error.strerror}; give another folder") from None
        yield False
        return
    if file is None:
        yield True
        return
    try:
        _take_lock(file, output, wait)
        yield True
    finally:
        os.close(file)


def _open_lock_file(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)


def _take_lock(file: int, output: str, wait: bool) -> None:
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if not wait:
                problem = f"{_describe_holder(file)} is writing to it"
                hint = "wait for it with --wait, or give another folder"
                raise AuditError(f"--output {output}: {problem}; {hint}") from None
            time.sleep(POLL)
    holder = {"process": os.getpid(), "host": socket.gethostname(), "since": _now()}
    os.ftruncate(file, 0)
    os.pwrite(file, json.dumps(holder).encode(), 0)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _describe_holder(file: int) -> str:
    """Return text that names the process that holds a lock."""
    try:
        holder = json.loads(os.pread(file, 4096, 0))
        return f"process {holder['process']} on {holder['host']}, since {holder['since']},"
    except (ValueError, KeyError, TypeError, OSError):
        return "another audit"
