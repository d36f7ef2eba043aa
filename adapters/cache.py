"""The cache: a folder outside the repository for files that are slow to download or build."""

from __future__ import annotations

import os
from pathlib import Path

CACHE_VARIABLE = "PULSAR_CONFORMANCE_CACHE"


def cache_folder() -> Path:
    """Return the cache's folder: `$PULSAR_CONFORMANCE_CACHE`, or else a folder in `~/.cache`."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(
            chosen
        ).absolute()  # Maven would resolve a relative path from the folder of its POM.
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home, "pulsar-conformance").absolute()
