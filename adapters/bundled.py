"""The suite's sample implementations, and those that this machine can run."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp

from pulsar_conformance.adapters.cache import CACHE_VARIABLE, cache_folder
from pulsar_conformance.adapters.connection import Connection, Limits
from pulsar_conformance.adapters.errors import AdapterError
from pulsar_conformance.adapters.process import connect_exec
from pulsar_conformance.adapters.programs import major_version, spark_problem
from pulsar_conformance.specs.errors import UserError

SAMPLES_FOLDER = Path(__file__).parent / "samples"

QUICK_START_OPTIONS = ("-XX:+UseSerialGC",)
"""Options that make Java start fast.

The JIT compiler is not limited, since limits would slow down a whole run.
"""

BUILD_SECONDS = 300
"""Time limit of a build in seconds.

The first build takes about ten seconds, because Go then compiles its own library.
"""

RETRY_ADVICE = "try again when the machine is less busy; Go keeps what it has compiled"


class NotBuilt(UserError):
    """Raised if a sample could not be compiled; the message is the compiler's output."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem)
        self.remedy = remedy


@dataclass(frozen=True)
class Sample:
    """A sample implementation, and the program that runs or compiles it."""

    program: str
    folder: Path
    """The folder of the sample's source."""
    version: tuple[str, ...]
    min_version: int
    """Minimum version of the program that runs the sample."""
    words: tuple[str, ...]
    """The command that starts the sample.

    `{source}` stands for its folder, `{built}` for the result of `build`.
    """
    build: tuple[str, ...] = ()
    """Arguments with which the program compiles the sample to `{built}`; empty if nothing is
    compiled.
    """
    remedy: str = ""
    """Advice to the user if the sample cannot be compiled."""
    version_prefix: str = ""
    """Part of a version before `min_version`, such as `1.` for Go 1.21; usually empty."""

    def command(self) -> list[str]:
        """Return the command that starts the sample. Errors: `NotBuilt`."""
        program = build_if_changed(self) if self.build else None
        return [word.format(built=program, source=self.folder) for word in self.words]

    def why_not_runnable(self) -> str | None:
        """Return why this machine cannot run the sample; None if it can."""
        wanted = f"it needs {self.program} {self.version_prefix}{self.min_version} or newer"
        if shutil.which(self.program) is None:
            return f"{wanted}, which is not on PATH"
        found = major_version(self.program, *self.version)
        if found is None or found < self.min_version:
            which = (
                "of an unknown version"
                if found is None
                else f"version {self.version_prefix}{found}"
            )
            return f"{wanted}; the one on the PATH is {which}"
        return None


BUNDLED_SAMPLES: Mapping[str, Sample] = {
    "java": Sample(
        program="java",
        folder=SAMPLES_FOLDER / "java",
        version=("-version",),
        min_version=17,
        words=("java", *QUICK_START_OPTIONS, "-cp", "{built}", "Main"),
        build=("--module", "jdk.compiler/com.sun.tools.javac.Main", "-d", "{built}", "Main.java"),
        remedy="install a full JDK (a Java runtime has no compiler)",
    ),
    "javascript": Sample(
        program="node",
        folder=SAMPLES_FOLDER / "javascript",
        version=("--version",),
        min_version=20,
        words=("node", "{source}/main.mjs"),
    ),
    "go": Sample(
        program="go",
        folder=SAMPLES_FOLDER / "go",
        version=("version",),
        min_version=21,
        words=("{built}",),
        build=("build", "-o", "{built}", "."),
        remedy="set GOCACHE to a writable folder",
        version_prefix="1.",
    ),
}
"""Sample implementations, by the name that follows `sample:` in an adapter's name."""


def build_if_changed(sample: Sample) -> Path:
    """Return a sample's compiled program or folder of classes; compile it if its source has
    changed.

    The program is cached under a name derived from its source. Errors: `NotBuilt`.
    """
    digest = sha256()
    for file in sorted(sample.folder.glob("*.*")):
        digest.update(f"{file.name}\0".encode() + file.read_bytes() + b"\0")
    program = cache_folder() / "samples" / f"{sample.folder.name}-{digest.hexdigest()[:16]}"
    if program.exists():
        return program
    try:
        program.parent.mkdir(parents=True, exist_ok=True)
        made_in = Path(mkdtemp(prefix=f"{program.name}-", dir=program.parent))
    except OSError as error:
        problem = f"{program.parent} can't be written: {error.strerror}"
        raise NotBuilt(problem, f"set {CACHE_VARIABLE} to a writable folder") from None
    try:
        made = made_in / program.name
        _compile(sample, made)
        _move_built(made, program)
    finally:
        shutil.rmtree(made_in, ignore_errors=True)
    return program


def _move_built(made: Path, program: Path) -> None:
    """Move a compiled program to its place, unless a concurrent run has already put it there."""
    try:
        made.replace(program)
    except OSError:  # A folder cannot replace another one.
        if not program.exists():
            raise


def _compile(sample: Sample, made: Path) -> None:
    # The machine's settings for Go modules are ignored, since this program needs no modules.
    environment = {**os.environ, "GOFLAGS": "", "GOWORK": "off", "GOTOOLCHAIN": "local"}
    words = [sample.program, *(word.format(built=made) for word in sample.build)]
    compiler = f"{words[0]} {words[1]}"
    try:
        done = subprocess.run(
            words,
            cwd=sample.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=BUILD_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NotBuilt(f"{compiler} took more than {BUILD_SECONDS} s", RETRY_ADVICE) from None
    except OSError as error:
        raise NotBuilt(f"{compiler}: {error}", sample.remedy) from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip() or f"exit status {done.returncode}"
        raise NotBuilt(f"{compiler} in {sample.folder}: {said}", sample.remedy)


def connect_sample(
    rest: str, name: str, profile: str, readings: Mapping[str, str], limits: Limits
) -> Connection:
    """Connect to one of the sample implementations."""
    if rest not in BUNDLED_SAMPLES:
        problem = f"{rest!r} is not a sample; choose from {', '.join(BUNDLED_SAMPLES)}"
        raise AdapterError("start", problem, "", "", name)
    if missing := BUNDLED_SAMPLES[rest].why_not_runnable():
        raise AdapterError("start", missing, "install it, or run without this adapter", "", name)
    try:
        words = BUNDLED_SAMPLES[rest].command()
    except NotBuilt as problem:
        hint = f"{problem.remedy}, or run without this adapter"
        raise AdapterError("start", str(problem), hint, "", name) from None
    return connect_exec(shlex.join(words), name, profile, readings, limits)


def runnable_adapters() -> tuple[list[str], list[str]]:
    """Return the adapters that this machine can run without setup, and why it cannot run the
    others.
    """
    adapters, left_out = ["reference"], []
    for name, sample in BUNDLED_SAMPLES.items():
        why = sample.why_not_runnable()
        if why is None:
            adapters.append(f"sample:{name}")
        else:
            left_out.append(f"sample:{name}: {why}")
    if why := spark_problem():
        left_out.append(f"spark: {why}")
    else:
        adapters.append("spark")
    return adapters, left_out
