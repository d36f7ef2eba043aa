"""Describe a failure: the saved case, its derivation, the readings it rests on, and a command."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from pulsar_conformance import fixtures, specs
from pulsar_conformance.conformance.cases import saved
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.common.verdict import Failure
from pulsar_conformance.conformance.engine.ask import AnsweredTrial
from pulsar_conformance.conformance.engine.attribute import Findings
from pulsar_conformance.conformance.engine.confirm import ShownFault
from pulsar_conformance.conformance.engine.evaluate import Fault
from pulsar_conformance.conformance.engine.judge import AppliedRule, JudgedImplementation
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.readings import documented_readings
from pulsar_conformance.conformance.explain.failures import settings_in_force
from pulsar_conformance.specs.words import counted

NOX_SESSION = "NOX_CURRENT_SESSION"
"""The environment variable in which nox names the session that it runs."""

SCRIPT = "pulsar-conformance"


def failure_of(
    applied: AppliedRule, fault: ShownFault, plan: Plan, findings: Findings | None = None
) -> Failure:
    """Save the case of a confirmed fault, and describe the failure."""
    judged, shown = applied.judged, fault.shown
    profile, readings = judged.resolved.profile, judged.evaluator.readings.choices
    file = plan.replay_file
    if plan.replay is None:
        about = {"profile": profile, "readings": dict(readings)}
        file = saved.save(shown.trial, plan.root, about).as_posix()
    recurrence = f"; asked again, {shown.recurrence}" if shown.recurrence else ""
    return Failure(
        case_file=file,
        size=shown.trial.size,
        derivation=tuple(derivation(judged, shown.trial)),
        allowed=shown.outcome.allowed,
        answered=f"{shown.outcome.answered}{recurrence}",
        again=reproduce_command(judged, plan, "--replay", file),
        readings=_rests_on(applied, fault.found),
        passes_under=tuple(_passes_under(applied, fault.found, findings)),
        answers=tuple(_answers(fault)),
        settings=tuple(settings_in_force(profile, readings, shown.trial)),
    )


def _answers(fault: ShownFault) -> Iterator[str]:
    """Yield each answer that counts, where there are several."""
    trial, answers = fault.shown.trial, fault.shown.answers
    if trial.before:
        yield f"asked alone: {_as_json(fault.alone)}"
        others = counted(len(trial.before), "other question")
        yield f"asked after {others}: {_as_json(answers[-1])}"
    elif len(trial.questions) > 1:
        for number, answer in enumerate(answers, 1):
            yield f"to question {number}: {_as_json(answer)}"


def _rests_on(applied: AppliedRule, fault: Fault) -> tuple[str, ...]:
    """Return the readings on which a fault depends, and how each is known."""
    resolved = applied.judged.resolved
    return tuple(
        f"{name}={value} ({resolved.how[name]})"
        for name, value in applied.consulted(fault.trial, fault.answers).items()
        if name in documented_readings(resolved.profile)
    )


def _passes_under(applied: AppliedRule, fault: Fault, findings: Findings | None) -> Iterator[str]:
    """Yield readings of which another alternative, by itself, would make the rule hold."""
    if findings is None:
        return
    rule, judged, documented = applied.rule, applied.judged, specs.load().readings
    evaluator = judged.evaluator
    for name, value in applied.consulted(fault.trial, fault.answers).items():
        if name not in documented_readings(judged.resolved.profile):
            continue
        for other in documented[name].values:
            if other == value:
                continue
            under = evaluator.under(evaluator.readings.but(name, other))
            trials = [(tried.trial, answers) for tried, answers in findings.answered]
            trials += [(one.trial, one.answers) for one in findings.own]
            applies = rule.reading.get(name, other) == other
            if not applies or not any(under.judge(rule.id, *one).violated for one in trials):
                yield f"{name}={other}"


def derivation(judged: JudgedImplementation, trial: Trial) -> list[str]:
    """Return how the model arrives at its answers under the same readings."""
    model = judged.model
    lines = []
    for (operation, case), repeated in groupby(trial.questions):
        times = len(list(repeated))
        if operation in model.operations:
            lines += [f"asked {times} times"] if times > 1 else []
            lines += model.derive(operation, case).lines()
    return lines


def example_failure(applied: AppliedRule, plan: Plan, example: AnsweredTrial) -> Failure:
    """Describe a worked example whose answer differs from the one worked by hand."""
    sourced, answers = example
    assert sourced.example is not None, "the trial of a worked example"
    worked, judged = sourced.example, applied.judged
    return Failure(
        case_file=place_of_example(worked),
        size=f"worked example {worked.id}",
        derivation=(*worked.arithmetic, *derivation(judged, sourced.trial)),
        allowed=" or ".join(map(_each_as_json, worked.allowed or ())),
        answered=_each_as_json(answers),
        again=reproduce_command(judged, plan, "--rules", applied.rule.id),
    )


def place_of_example(example: fixtures.Example) -> str:
    """Return the file and line of a worked example."""
    return f"fixtures/{example.file}:{example.line}"


def reproduce_command(judged: JudgedImplementation, plan: Plan, *options: str) -> str:
    """Return the command that reproduces a failure."""
    words = [*_run(), "--adapter", judged.implementation.adapter]
    words += ["--judge-by", judged.resolved.profile]
    for name, value in plan.readings.items():
        words += ["--reading", f"{name}={value}"]
    return shlex.join([*words, *options])


def _run() -> tuple[str, ...]:
    if NOX_SESSION in os.environ:
        return ("nox", "-s", "conformance", "--")
    return (*program(), "run")


def program() -> tuple[str, ...]:
    """Return the words that a person types before a command, as this process was started."""
    script = Path(sys.argv[0]).stem == SCRIPT
    return (SCRIPT,) if script else ("python", "-m", "pulsar_conformance.conformance")


def _each_as_json(answers: Sequence[object]) -> str:
    """Return the answer to each question of a trial, as JSON."""
    return _as_json(answers[0] if len(answers) == 1 else answers)


def _as_json(answer: object) -> str:
    return json.dumps(answer, ensure_ascii=False)
