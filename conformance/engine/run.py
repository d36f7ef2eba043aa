"""One implementation, judged by one profile: draw, ask, find its readings, judge, reduce."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from pulsar_conformance import specs
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.conformance import checks
from pulsar_conformance.conformance.cases import saved
from pulsar_conformance.conformance.cases.deviations import Deviation
from pulsar_conformance.conformance.core.check import CHECKS
from pulsar_conformance.conformance.core.verdict import Verdict
from pulsar_conformance.conformance.engine.asking import Asker, Asking, at_once
from pulsar_conformance.conformance.engine.attribution import Subject, own_faults
from pulsar_conformance.conformance.engine.corpus import Tried, aimed_at, asked_by, trials_of
from pulsar_conformance.conformance.engine.events import (
    ReadingFound,
    RuleDrawn,
    RuleJudged,
    Tell,
    VerdictReached,
    nobody,
)
from pulsar_conformance.conformance.engine.failures import FailureWriter
from pulsar_conformance.conformance.engine.findings import Answered, Findings, attributed, settled
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
from pulsar_conformance.conformance.engine.troubles.answering import hand_over
from pulsar_conformance.conformance.engine.troubles.declining import not_declined
from pulsar_conformance.conformance.engine.troubles.repeats import confirmed, wavers
from pulsar_conformance.conformance.engine.worked import first_unlike

assert checks.__all__, "importing the checks registers them"

UNSHOWN = ("pass", "unexercised")
"""Verdicts under which a known deviation is stale, unless its own cases show it."""


class Run:
    """Judges one implementation by one profile.

    Everything is drawn first and then asked, the cases of an operation together; `asking` says
    where. Then all answers are judged, since a case of one rule may show a violation of another.
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
        self._reached_verdicts: dict[str, Verdict] = {}

    @cached_property
    def _reached(self) -> Implementation | AdapterError:
        try:
            plan = self.plan
            return Implementation(
                self.adapter, self.profile, plan.readings, plan.limits, patient=True
            )
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
    def _aimed(self) -> dict[str, list[Tried]]:
        """The trials that tell the alternatives of readings apart, for the judged operations."""
        asked = {name for rule in self._tried for name in specs.load().rules[rule].operations}
        return {
            name: [
                Tried("aimed", trial)
                for trial in aimed_at(name, self.profile, self.plan.seed)
                if trial.operations <= asked
            ]
            for name in readings_of(self.profile)
            if asked_by(name) & asked
        }

    def prepare(self) -> None:
        """Draws and asks. Errors: `AdapterError`."""
        self.draw()
        self.ask()

    def draw(self) -> None:
        """Draws the trials of every rule that may apply. Errors: `AdapterError`."""
        for rule in self.rules:
            if rule.id in self._tried or rule.id not in CHECKS:
                continue
            if self.implementation.unoffered(rule) is None and self._before.may_apply(rule):
                self._tell(RuleDrawn(self.name, rule.id))
                self._tried[rule.id] = list(trials_of(rule, self.plan, self.implementation))
        assert self._aimed is not None

    def ask(self) -> None:
        """Asks everything that was drawn, the cases of an operation together."""
        drawn = [one for tried in self._tried.values() for one in tried]
        self._asker.ask([*drawn, *(one for tried in self._aimed.values() for one in tried)])

    @cached_property
    def _judged(self) -> tuple[Subject, dict[str, Findings], dict[str, AdapterError]]:
        """The readings that are followed, the findings about each rule, and where asking failed."""
        self.prepare()
        docket: dict[str, list[Answered]] = {}
        errors: dict[str, AdapterError] = {}
        for rule in self.rules:
            self._tell(RuleJudged(self.name, rule.id))
            try:
                docket[rule.id] = list(self._answered(rule))
            except AdapterError as error:
                errors[rule.id] = error
            except KeyError:
                continue
        rules = [rule for rule in self.rules if rule.id in docket]
        subject = Subject.of(self.implementation, self._followed(), frozenset(docket))
        subject, outcomes = settled(rules, docket, subject)
        for name, how in subject.followed.told().items():
            self._tell(ReadingFound(self.name, name, subject.followed.readings[name], how))
        findings = attributed(rules, docket, outcomes, subject)
        hand_over(rules, findings)
        return subject, findings, errors

    def _answered(self, rule: specs.Rule) -> Iterator[Answered]:
        """A rule's own trials, and of others those that are of its kind and serve it, too."""
        for one in self._tried[rule.id]:
            yield one, self._asker.answers(one)
        if self.plan.replay is not None:
            return
        for tried in self._serving(rule):
            for one in tried:
                if CHECKS[rule.id].judges(one.trial):
                    yield one, self._asker.answers(one)

    def _serving(self, rule: specs.Rule) -> Iterator[list[Tried]]:
        """The trials aimed at readings, and where cases take seconds, those drawn for others."""
        yield from self._aimed.values()
        if self.implementation.costly(rule):
            for name, tried in self._tried.items():
                if name != rule.id:
                    yield [one for one in tried if one.origin == "drawn"]

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
        verdict = self._considered(rule, self._found(rule))
        self._tell(VerdictReached(self.name, verdict))
        return verdict

    def _found(self, rule: specs.Rule) -> Verdict:
        verdict = Verdict(rule.id, self.adapter, self.profile, rule.level, "pass")
        if rule.id not in CHECKS:
            return replace(verdict, verdict="error", why="the rule is testable and has no check")
        try:
            why = self.implementation.unoffered(rule)
            if why is None:
                subject, findings, errors = self._judged
                if rule.id in errors:
                    raise errors[rule.id]
                why = subject.followed.why_not(rule)
            if why is not None:
                return replace(verdict, verdict="not_applicable", why=why)
            return self._said(rule, subject, findings[rule.id], verdict)
        except AdapterError as error:
            return replace(verdict, verdict="error", why=str(error))

    def _said(
        self, rule: specs.Rule, subject: Subject, findings: Findings, verdict: Verdict
    ) -> Verdict:
        """The verdict that follows from findings. Errors: `AdapterError`."""
        if findings.wrong is not None:
            raise findings.wrong
        counts = Counter(one.origin for one, _ in findings.answered)
        verdict = replace(
            verdict,
            saved=counts["saved"],
            examples=counts["example"],
            drawn=counts["drawn"],
            reached=findings.reached,
        )
        if findings.own:
            fault = confirmed(rule, subject, findings.own)
            if fault is None:
                return replace(verdict, verdict="undecided", why=wavers(self.plan, findings.own))
            writer = FailureWriter(subject, self.plan, self._tell)
            failure = writer.write(rule, fault, findings)
            return replace(verdict, verdict="fail", failure=failure)
        wrong = first_unlike(rule, subject, self.plan, findings.answered)
        if wrong is not None:
            return replace(verdict, verdict="fail", failure=wrong)
        if findings.reached == 0:
            verdict = _unexercised(verdict, findings)
            replayed = self.plan.replay is not None
            return verdict if replayed else not_declined(rule, self.implementation, verdict)
        if findings.aside:
            why = f"{findings.aside} more cases break a rule that it builds on, and count "
            return replace(verdict, why=f"{why}against that one")
        return verdict

    def _considered(self, rule: specs.Rule, verdict: Verdict) -> Verdict:
        """The verdict on a rule with a known deviation."""
        names = [self.adapter]
        if isinstance(self._reached, Implementation):
            names += [self._reached.name, self._reached.hello.name]
        deviation = self.plan.deviation(rule.id, *names)
        passes = self.plan.replay is not None and verdict.verdict != "fail"  # one case, no proof
        if deviation is None or verdict.verdict == "error" or passes:
            return verdict
        if verdict.verdict in UNSHOWN:
            verdict = self._shown(rule, deviation, verdict)
        why = deviation.why
        if verdict.verdict == "fail":
            return replace(verdict, verdict="known_deviation", why=why)
        stale = f"listed as a known deviation, but {verdict.verdict.replace('_', ' ')}: {why}"
        return replace(verdict, verdict="unexpected_pass", why=stale)

    def _shown(self, rule: specs.Rule, deviation: Deviation, verdict: Verdict) -> Verdict:
        """What the deviation's own cases show, if no other case showed it."""
        subject, _, _ = self._judged
        for file in deviation.cases:
            try:
                trial = saved.load(file, subject.court.defaults).trial
                [fault] = own_faults(rule, subject, [trial])
                if fault is not None:
                    writer = FailureWriter(subject, self.plan, self._tell)
                    failure = writer.write(rule, fault)
                    return replace(verdict, verdict="fail", failure=failure)
            except (saved.BadCase, AdapterError):
                continue
        return verdict


def _unexercised(verdict: Verdict, findings: Findings) -> Verdict:
    """A verdict on a rule that no case reached: all were unsupported, or no guard held.

    Saved cases may belong to any rule, so they count only if there are no others.
    """
    pairs = list(zip(findings.answered, findings.outcomes, strict=True))
    own = [outcome for (one, _), outcome in pairs if one.origin not in ("saved", "aimed")]
    outcomes: Sequence[Outcome] = own or findings.outcomes
    unsupported = [outcome.why for outcome in outcomes if outcome.word == "unsupported"]
    if unsupported and len(unsupported) == len(outcomes):
        return replace(verdict, verdict="not_applicable", why=unsupported[0])
    reasons = Counter(outcome.why for outcome in outcomes if outcome.word == "not_reached")
    why = reasons.most_common(1)[0][0] if reasons else "no case was drawn"
    if any(outcome.unanswered for outcome in outcomes):
        why = "no case that reached it was answered"
    if findings.aside:
        why = "a rule that it builds on is broken on every case that reached it"
    return replace(verdict, verdict="unexercised", why=why)
