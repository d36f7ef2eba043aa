"""The implementations that come with the suite, and which of them this machine can run."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pulsar_conformance.adapters.programs import major_version
from pulsar_conformance.adapters.spark import session

SAMPLES = Path(__file__).parent / "samples"


@dataclass(frozen=True)
class Sample:
    """A sample implementation: its command, and what is needed to run it."""

    program: str
    file: Path
    version: tuple[str, ...]
    least: int
    """The oldest major version of the program that will do."""

    @property
    def command(self) -> str:
        """The command line, as `exec:` takes it."""
        return shlex.join([self.program, str(self.file)])

    def lacking(self) -> str | None:
        """What this machine lacks to run it, in words, or an empty text."""
        if shutil.which(self.program) is None:
            return f"it needs {self.program} {self.least} or newer, and there is none on the PATH"
        found = major_version(self.program, *self.version)
        if found is None or found < self.least:
            which = "of no known version" if found is None else f"version {found}"
            return f"it needs {self.program} {self.least} or newer; the one on the PATH is {which}"
        return None


BUNDLED: Mapping[str, Sample] = {
    "java": Sample("java", SAMPLES / "java" / "Main.java", ("-version",), 17),
    "javascript": Sample("node", SAMPLES / "javascript" / "main.mjs", ("--version",), 20),
}
"""By the name that follows `sample:`."""

SPARK = "spark"
"""The engine, on this machine."""

Lacking = Callable[[], str | None]


def runnable() -> tuple[list[str], list[str]]:
    """The adapters of the bundled implementations that can be run, and why others cannot."""
    adapters, left_out = ["reference"], []
    for name, sample in BUNDLED.items():
        why = sample.lacking()
        if why is None:
            adapters.append(f"sample:{name}")
        else:
            left_out.append(f"sample:{name}: {why}")
    why = session.lacking()
    if why is None:
        adapters.append(SPARK)
    else:
        left_out.append(f"{SPARK}: {why}")
    return adapters, left_out
