"""One implementation, judged by one profile: draw, ask, find its readings, judge, reduce."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from functools import cached_property

from pulsar_conformance import specs
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.conformance.catalogue import OPERATIONS, checks
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.common.verdict import Verdict
from pulsar_conformance.conformance.engine.asking import Asker, Asking, at_once
from pulsar_conformance.conformance.engine.corpus import Tried, aimed_for, asked_by, trials_of
from pulsar_conformance.conformance.engine.events import (
    ReadingFound,
    RuleDrawn,
    RuleJudged,
    Tell,
    VerdictReached,
    nobody,
)
from pulsar_conformance.conformance.engine.findings import (
    Answered,
    Findings,
    Outcomes,
    attributed,
    outcomes_of,
    settled,
)
from pulsar_conformance.conformance.engine.grouping import grouped
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.judge import Outcome
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.readings import (
    Followed,
    before_asking,
    found,
    readings_of,
    telling,
)
from pulsar_conformance.conformance.engine.subject import Subject
from pulsar_conformance.conformance.engine.troubles.answering import hand_over
from pulsar_conformance.conformance.engine.verdicts import VerdictWriter


class Run:
    """Judges one implementation by one profile.

    What is asked is drawn first, the cases of an operation together; `asking` says where it is
    asked. Then all answers are judged, since a case of one rule may show a violation of another.
    """

    def __init__(
        self,
        plan: Plan,
        adapter: str,
        profile: str,
        tell: Tell = nobody,
        asking: Asking = at_once,
    ) -> None:
        self.plan = plan
        self.adapter = adapter
        self.profile = profile
        self.rules = plan.replayable(profile) if plan.replay else plan.rules_of(profile)
        self._tell = tell
        self._asking = asking
        self._tried: dict[str, list[Tried]] = {}
        self._model: dict[str, Sequence[Json] | None] = {}
        self._reached_verdicts: dict[str, Verdict] = {}

    @cached_property
    def _reached(self) -> Implementation | AdapterError:
        try:
            plan = self.plan
            one = Implementation(
                self.adapter, self.profile, plan.readings, plan.limits, patient=True
            )
            listed = plan.listed_readings(self.profile, self.adapter, one.name, one.hello.name)
            undeclared = {name for name in listed if name not in one.declared}
            one.pinned = {**{name: listed[name] for name in undeclared}, **plan.readings}
            return one
        except AdapterError as error:
            return error

    @property
    def implementation(self) -> Implementation:
        """The implementation that it judges. Errors: `AdapterError`, the same one each time."""
        if isinstance(self._reached, AdapterError):
            raise self._reached
        return self._reached

    @property
    def in_process(self) -> bool:
        """Whether the implementation works in this process, as far as is known."""
        return isinstance(self._reached, Implementation) and self._reached.in_process

    @property
    def name(self) -> str:
        """The implementation's own name, or its adapter if it gives none."""
        return self._reached.name if isinstance(self._reached, Implementation) else self.adapter

    @property
    def _names(self) -> tuple[str, ...]:
        """What a known deviation may call the implementation."""
        one = self._reached
        return (self.adapter, one.name, one.hello.name) if isinstance(one, Implementation) else ()

    @property
    def notes(self) -> list[str]:
        """The implementation's notes on how it has worked so far."""
        known = self.__dict__.get("_reached")
        return known.told() if isinstance(known, Implementation) else []

    def close(self) -> None:
        """Closes the connection and stops asking."""
        known = self.__dict__.get("_reached")
        if isinstance(known, Implementation):
            self._asker.close()
            known.close()

    # What is done, in this order; each step does what comes before it where nobody did.

    @cached_property
    def _asker(self) -> Asker:
        return Asker(self.implementation, self._asking, self._tell, self.plan.seed)

    @cached_property
    def _before(self) -> Followed:
        return before_asking(self.implementation)

    @cached_property
    def _asked(self) -> list[specs.Rule]:
        """The rules that may apply, and can be asked about."""
        return [
            rule
            for rule in self.rules
            if rule.id in checks()
            and self.implementation.unoffered(rule) is None
            and self._before.may_apply(rule)
        ]

    @cached_property
    def _groups(self) -> list[list[specs.Rule]]:
        """The same, in the groups and in the order in which they are asked."""
        return grouped(self._asked, {name for name, one in OPERATIONS.items() if one.sequential})

    @cached_property
    def _aimed(self) -> dict[str, list[Tried]]:
        """The trials that tell the alternatives of readings apart, for the judged operations."""
        if self.implementation.hello.own is not None:
            return {}
        asked = {name for rule in self._asked for name in rule.operations}
        return {
            name: [
                Tried("aimed", trial)
                for trial in aimed_for(name, self.implementation, self.plan)
                if trial.operations <= asked
            ]
            for name in readings_of(self.profile)
            if asked_by(name) & asked
        }

    def prepare(self) -> None:
        """Draws and asks whatever was not. Errors: `AdapterError`.

        Each group of operations is asked as soon as it is drawn for, so that an implementation
        elsewhere works while the next is.
        """
        for rules in self._groups:
            for rule in rules:
                self._draw(rule)
            self._ask({name for rule in rules for name in rule.operations})

    def _draw(self, rule: specs.Rule) -> None:
        """Draws the trials of a rule. Errors: `AdapterError`."""
        if rule.id not in self._tried:
            self._tell(RuleDrawn(self.name, rule.id))
            self._tried[rule.id] = list(trials_of(rule, self.plan, self.implementation))

    def _ask(self, operations: Set[str]) -> None:
        """Asks everything that was drawn, and what tells readings apart by these operations."""
        aimed = (one for tried in self._aimed.values() for one in tried)
        self._asker.ask(
            [
                *(one for tried in self._tried.values() for one in tried),
                *(one for one in aimed if one.trial.operations <= operations),
            ]
        )

    @cached_property
    def _judged(self) -> tuple[Subject, dict[str, Findings], dict[str, AdapterError]]:
        """The readings that are followed, the findings about each rule, and where asking failed."""
        self.prepare()
        docket: dict[str, list[Answered]] = {}
        said: dict[str, Sequence[Outcome]] = {}
        errors: dict[str, AdapterError] = {}
        known = Subject.of(self.implementation, self._before)
        for rule in (one for group in self._groups for one in group):
            self._tell(RuleJudged(self.name, rule.id))
            try:
                docket[rule.id] = list(self._answered(rule))
            except AdapterError as error:
                errors[rule.id] = error
                continue
            if not self._before.open and self._before.applies(rule):
                said[rule.id] = outcomes_of(rule, docket[rule.id], known)
        rules = [rule for rule in self.rules if rule.id in docket]
        subject = Subject.of(self.implementation, self._followed(), frozenset(docket))
        outcomes: Outcomes = said
        if self._before.open:
            subject, outcomes = settled(rules, docket, subject)
        for name, how in subject.followed.told().items():
            self._tell(ReadingFound(self.name, name, subject.followed.readings[name], how))
        findings = attributed(rules, docket, outcomes, subject)
        hand_over(rules, findings)
        return subject, findings, errors

    def _answered(self, rule: specs.Rule) -> Iterator[Answered]:
        """A rule's own trials, and of others those that are of its kind and serve it, too."""
        for one in self._tried[rule.id]:
            if one.broke in (None, rule.id) or self._may_tell(rule, one):
                yield one, self._asker.answers(one)
        if self.plan.replay is not None:
            return
        for tried in self._serving(rule):
            for one in tried:
                if checks()[rule.id].judges(one.trial) and self._may_tell(rule, one):
                    yield one, self._asker.answers(one)

    def _may_tell(self, rule: specs.Rule, tried: Tried) -> bool:
        """Whether a rule may tell the answers to a trial that is none of its own.

        One that failed it tells only if it speaks about the case, as the model's answers show it.
        """
        if not self._failed(tried):
            return True
        right = self._right(tried.trial)
        judge = self._before.court.judge
        return right is None or judge(rule.id, tried.trial, right).word != "not_reached"

    def _right(self, trial: Trial) -> Sequence[Json] | None:
        """What the model answers, which is worked out once for all rules."""
        if trial.fingerprint not in self._model:
            subject = Subject.of(self.implementation, self._before)
            self._model[trial.fingerprint] = subject.right(trial)
        return self._model[trial.fingerprint]

    def _serving(self, rule: specs.Rule) -> Iterator[list[Tried]]:
        """The trials aimed at readings, and where cases take seconds, those drawn for others.

        An answer that failed is told by the rule that its trial was drawn for.
        """
        yield from self._aimed.values()
        if self.implementation.costly(rule):
            for name, tried in self._tried.items():
                if name != rule.id:
                    others = (one for one in tried if one.origin == "drawn")
                    yield [one for one in others if not self._failed(one)]

    def _failed(self, tried: Tried) -> bool:
        try:
            return any("failed" in answer for answer in self._asker.answers(tried))
        except AdapterError:
            return True

    def _followed(self) -> Followed:
        evidence = {}
        court = self._before.court
        for name in self._before.open:
            answered = []
            for one in self._aimed.get(name, ()):
                try:
                    answered.append((one.trial, self._asker.answers(one)))
                except AdapterError:
                    continue  # the verdicts of the rules say so
            evidence[name] = list(telling(court, self.profile, answered))
        return found(self._before, evidence)

    @property
    def followed(self) -> Followed:
        """The readings by which it is judged. Errors: `AdapterError`."""
        return self._judged[0].followed

    def verdict(self, rule: specs.Rule) -> Verdict:
        """The verdict on one of the rules; those before it are reached on the way."""
        while rule.id not in self._reached_verdicts:
            verdict = next(self._verdicts)
            self._reached_verdicts[verdict.rule] = verdict
        return self._reached_verdicts[rule.id]

    @cached_property
    def _verdicts(self) -> Iterator[Verdict]:
        """The verdicts on all rules, in order, with the known deviations taken into account."""
        return map(self._verdict, self.rules)

    def _verdict(self, rule: specs.Rule) -> Verdict:
        blank = Verdict(rule.id, self.adapter, self.profile, rule.level, "pass")
        try:
            verdict = self._found(rule, blank)
        except AdapterError as error:
            verdict = replace(blank, verdict="error", why=str(error))
        self._tell(VerdictReached(self.name, verdict))
        return verdict

    def _found(self, rule: specs.Rule, blank: Verdict) -> Verdict:
        """The verdict on a rule. Errors: `AdapterError`."""
        if rule.id not in checks():
            return replace(blank, verdict="error", why="the rule is testable and has no check")
        why = self.implementation.unoffered(rule)
        if why is None:
            subject, findings, errors = self._judged
            if rule.id in errors:
                raise errors[rule.id]
            why = subject.followed.why_not(rule)
        deviation = self.plan.deviation(rule.id, *self._names)
        writer = VerdictWriter(self.plan, self._tell, blank, deviation)
        if why is not None:
            return writer.not_applicable(why)
        return writer.write(findings[rule.id])
