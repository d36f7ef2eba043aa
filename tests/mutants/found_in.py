"""CPU time in which a run finds planted faults: `python -m mutants.planted --cpu N`.

`python -m mutants.found_in FILE ARGUMENTS` is `pulsar-conformance ARGUMENTS`, which writes to FILE
the CPU time until its first confirmed counterexample.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, NoReturn

from pulsar_conformance.conformance.__main__ import entry
from pulsar_conformance.conformance.commands import main as commands

HEADING = "## CPU time until a fault is found"

OPTIONS: Mapping[str, tuple[str, ...]] = {
    "`run --fail-fast`": ("--fail-fast",),
    "`run`": (),
}
"""The options of the runs whose time is measured."""

CACHED = {"PYTHONDONTWRITEBYTECODE": ""}
"""Environment in which Python keeps compiled modules, as it does for an installed package."""


@dataclass(frozen=True)
class Times:
    """CPU seconds of one run."""

    until_found: tuple[float, float] | None
    """Until the first confirmed counterexample, of the command's own process and of all processes
    that it started; None if the run has none.
    """
    until_end: float
    """Until the end, of all processes."""


def _seconds(use: resource.struct_rusage) -> float:
    """Return the CPU time of a process."""
    return use.ru_utime + use.ru_stime


def _cpu_now() -> tuple[float, float]:
    """Return the CPU time used so far by this process, and by all processes that it started."""
    import psutil

    ended = _seconds(resource.getrusage(resource.RUSAGE_CHILDREN))
    running = 0.0
    for one in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            running += sum(one.cpu_times()[:4])
    return _seconds(resource.getrusage(resource.RUSAGE_SELF)), ended + running


def measure(arguments: Sequence[str], root: Path) -> Times:
    """Run `pulsar-conformance` with these arguments in a folder, and return its CPU times."""
    file = root / "found.json"
    file.unlink(missing_ok=True)
    command = [sys.executable, "-m", "mutants.found_in", str(file), *arguments]
    quiet = subprocess.DEVNULL
    child = subprocess.Popen(
        command, cwd=root, env={**os.environ, **CACHED}, stdout=quiet, stderr=quiet
    )
    _, status, use = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    found = json.loads(file.read_text("utf-8")) if file.exists() else None
    return Times(found and tuple(found), _seconds(use))


def spread(entries: Sequence[Any], count: int) -> list[Any]:
    """Return `count` entries, as evenly as possible from all areas and within each."""
    ordered = sorted(entries, key=lambda one: one.areas[0])
    step = max(1.0, len(ordered) / count)
    return [ordered[int(step * index)] for index in range(min(count, len(ordered)))]


def section(times: Mapping[str, Sequence[Times]]) -> str:
    """Return the section of the page; `times` has the runs by their options."""
    count = max(map(len, times.values()))
    lines = [
        HEADING,
        "",
        f"The medians over {count} of the faults, spread over all areas, in seconds of one core:",
        "the whole command `pulsar-conformance run --adapter exec:... --rules AREA-*`, with the",
        "rules of the areas of each fault, from the start of Python. The time of the",
        "implementation's process is given apart. A fault is found when its counterexample is",
        "confirmed, reduced and saved. `python -m mutants.planted --cpu N` makes this table.",
        "",
        "| command | found | until the fault is found | of the implementation | until the end |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, runs in times.items():
        found = [one.until_found for one in runs if one.until_found]
        cells = [
            f"{len(found)} of {len(runs)}",
            _median(own for own, _ in found),
            _median(other for _, other in found),
            _median(one.until_end for one in runs),
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _median(seconds: Iterable[float]) -> str:
    return f"{median([*seconds] or [0.0]):.2f}"


def with_section(page: str, text: str) -> str:
    """Return a page whose section about CPU time is replaced, or added at its end."""
    before = page.partition(HEADING)[0].rstrip("\n")
    return f"{before}\n\n{text}" if text else f"{before}\n"


def section_of(page: Path) -> str:
    """Return the section of a page about CPU time; empty if there is none."""
    text = page.read_text("utf-8") if page.exists() else ""
    _, heading, rest = text.partition(HEADING)
    return heading + rest


def _watch_verdicts(file: Path) -> None:
    """Write the CPU times to a file as soon as a verdict has a counterexample."""
    from pulsar_conformance.conformance.session import Session

    judge = Session.verdict

    def watched(self: Session, *given: Any) -> Any:
        verdict = judge(self, *given)
        if verdict.failure is not None and not file.exists():
            file.write_text(json.dumps(_cpu_now()), "utf-8")
        return verdict

    setattr(Session, "verdict", watched)  # noqa: B010


def main(file: str, *arguments: str) -> NoReturn:
    """Run a command, and write the CPU times until its first counterexample to a file."""
    load = commands.module_of

    def loading(name: str) -> Any:
        module = load(name)
        _watch_verdicts(Path(file))
        return module

    setattr(commands, "module_of", loading)  # noqa: B010
    sys.argv = ["pulsar-conformance", *arguments]
    entry()


if __name__ == "__main__":
    main(*sys.argv[1:])
