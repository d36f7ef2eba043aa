"""Programs on this machine: their versions, and whether Java and Spark can be used."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

MIN_JAVA_VERSION = 17
"""Minimum version of Java for Spark and for released Pulsar."""

JAVA_OPTION_VARIABLES = frozenset({"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"})
"""Environment variables with options for every Java virtual machine, such as a debugger's."""

SPARK_VERSION = 4
SPARK_EXTRA = "pip install '.[spark]'"
PULSAR_EXTRA = "pip install '.[pulsar]'"


def major_version(program: str, *arguments: str) -> int | None:
    """Return the major version that a program prints, the minor one for Go; None if unknown.

    A Java virtual machine that is asked for its version does not wait for a debugger.
    """
    environment = {
        name: value for name, value in os.environ.items() if name not in JAVA_OPTION_VARIABLES
    }
    try:
        done = subprocess.run(
            [program, *arguments],
            env=environment,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'\b(?:v|version "|go1\.)(\d+)', done.stdout + done.stderr)
    return int(found[1]) if found else None


def java_problem() -> str | None:
    """Return what is wrong with the Java in JAVA_HOME or on PATH; None if it can be used."""
    wanted = f"needs Java {MIN_JAVA_VERSION} or newer"
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin", "java")) if home else "java"
    where = "in JAVA_HOME" if home else "on the PATH"
    if shutil.which(program) is None:
        return f"{wanted}, and there is none {where}"
    found = major_version(program, "-version")
    if found is None or found < MIN_JAVA_VERSION:
        which = "of an unknown version" if found is None else f"version {found}"
        return f"{wanted}; the one {where} is {which}"
    return None


def pyspark_problem() -> str | None:
    """Return why PySpark cannot be used, even with a Spark Connect server; None if it can."""
    wanted = f"it needs PySpark {SPARK_VERSION}: {SPARK_EXTRA}"
    try:
        found = version("pyspark")
    except PackageNotFoundError:
        return wanted
    return None if found.startswith(f"{SPARK_VERSION}.") else f"{wanted}; {found} is installed"


def spark_problem() -> str | None:
    """Return why this machine cannot run Spark; None if it can."""
    java = java_problem()
    return pyspark_problem() or (java and f"it {java}")
