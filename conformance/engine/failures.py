"""Failing trials: reduced, saved, and described to a person."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from pulsar_conformance import specs
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.conformance.cases import saved
from pulsar_conformance.conformance.core.trial import Json, Trial
from pulsar_conformance.conformance.core.verdict import Failure
from pulsar_conformance.conformance.engine.attribution import (
    Fault,
    Subject,
    own_faults,
    violations,
)
from pulsar_conformance.conformance.engine.events import CaseReduced, Tell, nobody
from pulsar_conformance.conformance.engine.evidence import consulted
from pulsar_conformance.conformance.engine.findings import Findings
from pulsar_conformance.conformance.engine.judge import Outcome
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.readings import readings_of
from pulsar_conformance.conformance.engine.troubles.answering import smallest_without_answer
from pulsar_conformance.conformance.engine.troubles.memory import Recollection
from pulsar_conformance.conformance.explain.settings import in_force
from pulsar_conformance.conformance.shrinking.reduction import bounded, reduce, sparing
from pulsar_conformance.reference import MissingSetting, Model
from pulsar_conformance.specs.words import counted

MOST_ASKED = 24
"""The most candidates to ask one by one: a cluster takes seconds for each."""

IN_A_SESSION = "NOX_CURRENT_SESSION"
"""Nox tells by it what it runs which session it is."""
SCRIPT = "pulsar-conformance"


MOST_CANDIDATES = 6000
"""The most smaller cases that are asked to reduce one."""


def _once(outcome: Outcome) -> Outcome:
    """What was seen of a fault that did not show again when the same was asked once more."""
    answered = f"{outcome.answered}; asked once more, what is allowed"
    return Outcome("violated", outcome.allowed, answered)


@dataclass(frozen=True)
class FailureWriter:
    """Turns faults into failures: reduced, saved, with the readings on which they depend."""

    subject: Subject
    plan: Plan
    tell: Tell

    def write(self, rule: specs.Rule, fault: Fault, findings: Findings | None = None) -> Failure:
        """The failure of a rule on a trial that is known to fail. Errors: `AdapterError`."""
        replayed = self.plan.replay is not None
        shown = fault if replayed else self._small(rule, fault)
        small, outcome = shown.trial, shown.outcome
        profile, readings = self.subject.followed.profile, self.subject.court.readings.choices
        about = {"profile": profile, "readings": dict(readings)}
        file = self.plan.replay_file
        if not replayed:
            file = saved.save(small, self.plan.root, about).as_posix()
        return Failure(
            case_file=file,
            size=small.size,
            derivation=tuple(derivation(self.subject, small)),
            allowed=outcome.allowed,
            answered=outcome.answered,
            again=again(self.subject, self.plan, "--replay", file),
            readings=self._rests_on(rule, fault),
            passes_under=tuple(self._passes_under(rule, fault, findings)),
            answers=tuple(self._answers(shown)),
            settings=tuple(in_force(profile, readings, small)),
        )

    def _small(self, rule: specs.Rule, fault: Fault) -> Fault:
        """The smallest trial found that fails alike, or a row of questions where what was asked
        before decides. Errors: `AdapterError`."""
        if fault.outcome.unanswered:
            return smallest_without_answer(self.subject, fault, self._reducing(rule))
        small = smallest(rule, self.subject, fault.trial, self.tell)
        [found] = own_faults(rule, self.subject, [small])
        memory = Recollection(self.subject, self._reducing(rule))
        for trial in [small, fault.trial] if small != fault.trial else [small]:
            alone = memory.asked_alone(rule, trial)
            if alone is None:
                break
            if alone.outcome.violated:
                return alone
        else:
            return memory.row(rule, fault) or _of_memory(fault)
        if found is None and self.subject.implementation.costly(rule):
            return fault
        if found is None:
            return Fault(fault.trial, fault.answers, _once(fault.outcome))
        return found

    def _answers(self, shown: Fault) -> Iterator[str]:
        """Each answer that counts, where there are several. Errors: `AdapterError`."""
        trial = shown.trial
        if trial.before:
            [*_, alone] = self.subject.implementation.afresh(trial.alone)
            yield f"asked alone: {_as_json(alone)}"
            others = counted(len(trial.before), "other question")
            yield f"asked after {others}: {_as_json(shown.answers[-1])}"
        elif len(trial.questions) > 1:
            for number, answer in enumerate(shown.answers, 1):
                yield f"to question {number}: {_as_json(answer)}"

    def _reducing(self, rule: specs.Rule) -> Callable[[int], None]:
        name = self.subject.implementation.name
        return lambda candidates: self.tell(CaseReduced(name, rule.id, candidates))

    def _rests_on(self, rule: specs.Rule, fault: Fault) -> tuple[str, ...]:
        """The readings on which the fault depends, and how each is known."""
        rests = consulted(rule, self.subject.court, fault.trial, fault.answers)
        how = self.subject.followed.how
        return tuple(
            f"{name}={value} ({how[name]})"
            for name, value in rests.items()
            if name in readings_of(self.subject.followed.profile)
        )

    def _passes_under(
        self, rule: specs.Rule, fault: Fault, findings: Findings | None
    ) -> Iterator[str]:
        """Readings of which another alternative, by itself, would make the rule hold."""
        if findings is None:
            return
        court, documented = self.subject.court, specs.load().readings
        for name, value in consulted(rule, court, fault.trial, fault.answers).items():
            if name not in readings_of(self.subject.followed.profile):
                continue
            for other in documented[name].values:
                if other == value:
                    continue
                under = court.under(court.readings.but(name, other))
                trials = [(tried.trial, answers) for tried, answers in findings.answered]
                trials += [(one.trial, one.answers) for one in findings.own]
                applies = rule.reading.get(name, other) == other
                if not applies or not any(under.judge(rule.id, *one).violated for one in trials):
                    yield f"{name}={other}"


def _of_memory(fault: Fault) -> Fault:
    """A fault that is not there when its case is asked alone, and of which no row is known."""
    outcome = fault.outcome
    answered = f"{outcome.answered}; asked alone, it is answered as allowed"
    return replace(fault, outcome=replace(outcome, answered=answered))


def _as_json(answer: Json) -> str:
    return json.dumps(answer, ensure_ascii=False)


def smallest(rule: specs.Rule, subject: Subject, trial: Trial, tell: Tell = nobody) -> Trial:
    """The smallest legal trial on which the implementation breaks the same rule.

    This is the original trial if it does not fail again, or if the implementation breaks down
    during the reduction.
    """

    told = tells_why(rule, subject, trial)

    def failing(candidates: Sequence[Trial]) -> list[bool]:
        legal = list(filter(subject.court.legal, candidates))
        tell(CaseReduced(subject.implementation.name, rule.id, len(legal)))
        broken = dict(zip(map(id, legal), violations(rule, subject, legal), strict=True))
        return [
            broken.get(id(one)) is not None and (not told or tells_why(rule, subject, one))
            for one in candidates
        ]

    asked = failing if subject.implementation.hello.batch > 1 else sparing(failing, MOST_ASKED)
    try:
        return reduce(trial, bounded(asked, MOST_CANDIDATES)) if all(failing([trial])) else trial
    except AdapterError:
        return trial


def tells_why(rule: specs.Rule, subject: Subject, trial: Trial) -> bool:
    """Whether the rule has something to say of what the model answers, and allows it.

    Otherwise the derivation of a case says nothing of what the rule demands.
    """
    model = Model(subject.followed.profile, subject.court.readings.choices)
    if not trial.operations <= set(model.operations):
        return False
    try:
        right = [model.answer(operation, case) for operation, case in trial.questions]
    except MissingSetting:
        return False
    return subject.court.judge(rule.id, trial, right).word == "allowed"


def derivation(subject: Subject, trial: Trial) -> list[str]:
    """How the model arrives at its answers under the same readings."""
    model = Model(subject.followed.profile, subject.court.readings.choices)
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
    if Path(sys.argv[0]).stem == SCRIPT:
        return (SCRIPT, "run")
    return ("python", "-m", "pulsar_conformance.conformance", "run")
