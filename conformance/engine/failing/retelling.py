"""A failing trial again: how the model answers it, and the command that asks it."""

from __future__ import annotations

import os
import shlex
import sys
from itertools import groupby
from pathlib import Path

from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.subject import Subject

IN_A_SESSION = "NOX_CURRENT_SESSION"
"""Nox tells by it what it runs which session it is."""
SCRIPT = "pulsar-conformance"


def derivation(subject: Subject, trial: Trial) -> list[str]:
    """How the model arrives at its answers under the same readings."""
    model = subject.model
    lines = []
    for (operation, case), again in groupby(trial.questions):
        times = len(list(again))
        if operation in model.operations:
            lines += [f"asked {times} times"] if times > 1 else []
            lines += model.derive(operation, case).lines()
    return lines


def again(subject: Subject, plan: Plan, *what: str) -> str:
    """The command that reproduces a failing case, or the failure of a rule."""
    words = [*_run(), "--adapter", subject.implementation.adapter]
    words += ["--judge-by", subject.followed.profile]
    for name, value in plan.readings.items():
        words += ["--reading", f"{name}={value}"]
    return shlex.join([*words, *what])


def _run() -> tuple[str, ...]:
    """How the person who started this run starts another one."""
    if IN_A_SESSION in os.environ:
        return ("nox", "-s", "conformance", "--")
    return (*started(), "run")


def started() -> tuple[str, ...]:
    """What the person who started this run types before a command."""
    script = Path(sys.argv[0]).stem == SCRIPT
    return (SCRIPT,) if script else ("python", "-m", "pulsar_conformance.conformance")
