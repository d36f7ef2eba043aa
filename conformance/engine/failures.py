"""Describe a failure: the saved case, its derivation, the readings it rests on, and a command."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from types import MappingProxyType

from pulsar_conformance import fixtures, specs
from pulsar_conformance.conformance.cases import saved
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.common.verdict import Failure
from pulsar_conformance.conformance.engine.ask import AnsweredTrial
from pulsar_conformance.conformance.engine.confirm import ShownFault
from pulsar_conformance.conformance.engine.evaluate import Fault
from pulsar_conformance.conformance.engine.judge import AppliedRule, JudgedImplementation
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.readings import Choices, documented_readings
from pulsar_conformance.conformance.explain.failures import settings_in_force
from pulsar_conformance.specs.words import counted

NOX_SESSION = "NOX_CURRENT_SESSION"
"""The environment variable in which nox names the session that it runs."""

UNSURE = ("undecided", "mixed", "pinned")
"""Sources of the readings that are pinned when a failure is reproduced."""

SCRIPT = "pulsar-conformance"


def failure_of(applied: AppliedRule, shown: ShownFault, plan: Plan) -> Failure:
    """Save the case of a confirmed fault, and describe the failure."""
    judged, fault = applied.judged, shown.fault
    consulted, how = _consulted(applied, fault), judged.resolved.how
    profile, readings = judged.resolved.profile, judged.evaluator.readings.choices
    file = plan.replay_file
    if plan.replay is None:
        about = {"profile": profile, "readings": dict(readings)}
        file = saved.save(fault.trial, plan.root, about).as_posix()
    recurrence = f"; asked again, {fault.recurrence}" if fault.recurrence else ""
    return Failure(
        case_file=file,
        size=fault.trial.size,
        derivation=tuple(derivation(judged, fault.trial)),
        allowed=fault.outcome.allowed,
        answered=f"{fault.outcome.answered}{recurrence}",
        again=reproduce_command(judged, plan, "--replay", file, consulted=consulted),
        readings=tuple(f"{name}={value} ({how[name]})" for name, value in consulted.items()),
        passes_under=tuple(_passes_under(applied, fault)),
        answers=tuple(_answers(shown)),
        settings=tuple(settings_in_force(profile, readings, fault.trial)),
    )


def _answers(shown: ShownFault) -> Iterator[str]:
    """Yield each answer that counts, where there are several."""
    trial, answers = shown.fault.trial, shown.fault.answers
    if trial.before:
        yield f"asked alone: {_as_json(shown.alone)}"
        others = counted(len(trial.before), "other question")
        yield f"asked after {others}: {_as_json(answers[-1])}"
    elif len(trial.questions) > 1:
        for number, answer in enumerate(answers, 1):
            yield f"to question {number}: {_as_json(answer)}"


def _passes_under(applied: AppliedRule, fault: Fault) -> Iterator[str]:
    """Yield readings of which another alternative, by itself, would let the case break no rule."""
    chosen = {name: [value] for name, value in applied.judged.evaluator.readings.choices.items()}
    for name, value in _consulted(applied, fault).items():
        for other in specs.load().readings[name].values:
            domains = {**chosen, name: [other]}
            if other != value and not applied.breaks_a_rule(fault.trial, fault.answers, domains):
                yield f"{name}={other}"


def _consulted(applied: AppliedRule, fault: Fault) -> Choices:
    """Return the documented readings on which a fault depends."""
    documented = documented_readings(applied.judged.resolved.profile)
    consulted = applied.consulted(fault.trial, fault.answers)
    return {name: value for name, value in consulted.items() if name in documented}


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


def reproduce_command(
    judged: JudgedImplementation,
    plan: Plan,
    *options: str,
    consulted: Choices = MappingProxyType({}),
) -> str:
    """Return the command that reproduces a failure.

    It pins the consulted readings that one case alone might not decide alike.
    """
    words = [*_run(), "--adapter", judged.implementation.adapter]
    words += ["--judge-by", judged.resolved.profile]
    how = judged.resolved.how
    unsure = {name: value for name, value in consulted.items() if how[name] in UNSURE}
    for name, value in {**unsure, **plan.readings}.items():
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
