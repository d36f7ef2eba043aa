"""The programs on this machine: their versions, and the Java there is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

JAVA = 17
"""The oldest Java that runs Spark, and released Pulsar."""


def major_version(program: str, *arguments: str) -> int | None:
    """The major version that a program prints; of Go, which stays at 1, the number after it."""
    try:
        done = subprocess.run(
            [program, *arguments], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'\b(?:v|version "|go1\.)(\d+)', done.stdout + done.stderr)
    return int(found[1]) if found else None


def no_java() -> str | None:
    """A message if JAVA_HOME, or else the PATH, has no suitable Java; otherwise an empty text."""
    wanted = f"needs Java {JAVA} or newer"
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin", "java")) if home else "java"
    where = "in JAVA_HOME" if home else "on the PATH"
    if shutil.which(program) is None:
        return f"{wanted}, and there is none {where}"
    found = major_version(program, "-version")
    if found is None or found < JAVA:
        which = "of no known version" if found is None else f"version {found}"
        return f"{wanted}; the one {where} is {which}"
    return None
