"""The temporary folder of a cluster, locked while the cluster's process runs."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import IO

PREFIX = "pulsar-conformance-cluster-"
LOCK = "lock"
REMOVE_SECONDS = 5.0
PAUSE_SECONDS = 0.02
"""Seconds between two attempts to remove a folder."""

UNLOCKED_SECONDS = 3600.0
"""Age in seconds from which a folder without a lock counts as abandoned.

The lock of a newer folder may be about to be taken.
"""


def create_locked_folder() -> tuple[Path, IO[bytes]]:
    """Create a folder and lock it until this process exits, at the latest."""
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
    lock = (folder / LOCK).open("wb")
    fcntl.flock(lock, fcntl.LOCK_EX)
    return folder, lock


def remove_abandoned() -> None:
    """Remove the folders of processes that have ended, even in another container.

    A process holds a lock on its folder until it ends. Process IDs cannot be used for this, because
    containers that share the parent folder number their processes separately.
    """
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if _is_abandoned(folder):
            remove_folder(folder)


def _is_abandoned(folder: Path) -> bool:
    try:
        with (folder / LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except FileNotFoundError:
        return folder.exists() and time.time() - folder.stat().st_mtime > UNLOCKED_SECONDS
    except OSError:  # It is locked, or belongs to another user.
        return False


def remove_folder(folder: Path) -> None:
    """Remove a folder within `REMOVE_SECONDS`, although a bookie may still be writing to it."""
    end = time.monotonic() + REMOVE_SECONDS
    while folder.exists() and time.monotonic() < end:
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(PAUSE_SECONDS if folder.exists() else 0)
