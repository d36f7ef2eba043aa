"""Failing trials: reduced, saved, and described to a person."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pulsar_conformance import specs
from pulsar_conformance.conformance.cases import saved
from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.conformance.common.verdict import Failure
from pulsar_conformance.conformance.engine.events import CaseReduced, Tell
from pulsar_conformance.conformance.engine.failing.reducing import smallest
from pulsar_conformance.conformance.engine.failing.retelling import again, derivation
from pulsar_conformance.conformance.engine.findings import Findings
from pulsar_conformance.conformance.engine.hearing import Hearing
from pulsar_conformance.conformance.engine.judge import Fault, Outcome
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.readings import readings_of
from pulsar_conformance.conformance.engine.troubles.answering import smallest_without_answer
from pulsar_conformance.conformance.engine.troubles.memory import Recollection
from pulsar_conformance.conformance.explain.failures import settings_in_force
from pulsar_conformance.specs.words import counted


def _once(outcome: Outcome) -> Outcome:
    """What was seen of a fault that did not show again when the same was asked once more."""
    answered = f"{outcome.answered}; asked once more, what is allowed"
    return Outcome("violated", outcome.allowed, answered)


@dataclass(frozen=True)
class FailureWriter:
    """Turns faults of a rule into failures: reduced, saved, with the readings they depend on."""

    hearing: Hearing
    plan: Plan
    tell: Tell
    as_found: bool = False
    """Whether a fault is told as it was found, and not reduced."""

    def write(self, fault: Fault, findings: Findings | None = None) -> Failure:
        """The failure of the rule on a trial that is known to fail. Errors: `AdapterError`."""
        replayed, subject = self.plan.replay is not None, self.hearing.subject
        as_found = replayed or self.as_found or fault.again
        shown = fault if as_found else self._small(fault)
        small, outcome = shown.trial, shown.outcome
        again_too = f"; asked again, {fault.again}" if fault.again else ""
        profile, readings = subject.followed.profile, subject.court.readings.choices
        about = {"profile": profile, "readings": dict(readings)}
        file = self.plan.replay_file
        if not replayed:
            file = saved.save(small, self.plan.root, about).as_posix()
        return Failure(
            case_file=file,
            size=small.size,
            derivation=tuple(derivation(subject, small)),
            allowed=outcome.allowed,
            answered=f"{outcome.answered}{again_too}",
            again=again(subject, self.plan, "--replay", file),
            readings=self._rests_on(fault),
            passes_under=tuple(self._passes_under(fault, findings)),
            answers=tuple(self._answers(shown)),
            settings=tuple(settings_in_force(profile, readings, small)),
        )

    def _small(self, fault: Fault) -> Fault:
        """The smallest trial found that fails alike, or a row of questions where what was asked
        before decides. Errors: `AdapterError`."""
        if fault.outcome.unanswered:
            return smallest_without_answer(self.hearing.subject, fault, self._reduced)
        small = smallest(self.hearing, fault.trial, self.tell)
        known = self.hearing.costly and small == fault.trial
        [found] = [fault] if known else self.hearing.own_faults([small])
        memory = Recollection(self.hearing, self._reduced)
        for trial in [small, fault.trial] if small != fault.trial else [small]:
            alone = memory.asked_alone(trial)
            if alone is None:
                break
            if alone.outcome.violated:
                return alone
        else:
            return memory.row(fault) or _of_memory(fault)
        if found is None and self.hearing.costly:
            return fault
        if found is None:
            return Fault(fault.trial, fault.answers, _once(fault.outcome))
        return found

    def _answers(self, shown: Fault) -> Iterator[str]:
        """Each answer that counts, where there are several. Errors: `AdapterError`."""
        trial = shown.trial
        if trial.before:
            [*_, alone] = self.hearing.subject.implementation.afresh(trial.alone)
            yield f"asked alone: {_as_json(alone)}"
            others = counted(len(trial.before), "other question")
            yield f"asked after {others}: {_as_json(shown.answers[-1])}"
        elif len(trial.questions) > 1:
            for number, answer in enumerate(shown.answers, 1):
                yield f"to question {number}: {_as_json(answer)}"

    def _reduced(self, candidates: int) -> None:
        hearing = self.hearing
        self.tell(CaseReduced(hearing.subject.implementation.name, hearing.rule.id, candidates))

    def _rests_on(self, fault: Fault) -> tuple[str, ...]:
        """The readings on which the fault depends, and how each is known."""
        rests = self.hearing.consulted(fault.trial, fault.answers)
        followed = self.hearing.subject.followed
        return tuple(
            f"{name}={value} ({followed.how[name]})"
            for name, value in rests.items()
            if name in readings_of(followed.profile)
        )

    def _passes_under(self, fault: Fault, findings: Findings | None) -> Iterator[str]:
        """Readings of which another alternative, by itself, would make the rule hold."""
        if findings is None:
            return
        rule, subject, documented = self.hearing.rule, self.hearing.subject, specs.load().readings
        court = subject.court
        for name, value in self.hearing.consulted(fault.trial, fault.answers).items():
            if name not in readings_of(subject.followed.profile):
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
