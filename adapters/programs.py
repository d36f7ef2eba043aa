"""Programs of this machine: which version they are."""

from __future__ import annotations

import re
import subprocess


def major_version(program: str, *arguments: str) -> int | None:
    """The major version that a program prints of itself."""
    try:
        done = subprocess.run(
            [program, *arguments], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'\bv(?:ersion ")?(\d+)', done.stdout + done.stderr)
    return int(found[1]) if found else None
