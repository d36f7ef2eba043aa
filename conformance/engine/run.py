"""The steps by which one implementation is judged by one profile.

Each step takes the results of earlier steps. ARCHITECTURE.md describes them as the path of a case.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pulsar_conformance import fixtures, specs
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.conformance.common.events import (
    Listener,
    ReadingFound,
    Verdict,
    VerdictReached,
    ignore_event,
)
from pulsar_conformance.conformance.common.trial import Question
from pulsar_conformance.conformance.engine.ask import (
    AskedTrials,
    Submit,
    draw_and_ask,
    run_immediately,
)
from pulsar_conformance.conformance.engine.attribute import Findings, attribute, unchosen_faults
from pulsar_conformance.conformance.engine.confirm import Confirmer
from pulsar_conformance.conformance.engine.implementation import Implementation, connect_for_plan
from pulsar_conformance.conformance.engine.judge import JudgedImplementation, collect_answers
from pulsar_conformance.conformance.engine.outcomes import judge_all
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.readings import (
    ResolvedReadings,
    before_asking,
    describe_mixed,
    find_readings,
)
from pulsar_conformance.conformance.engine.report import verdict_of, with_deviation

ENDED = "the run ended at the first broken rule, and says nothing about the others"


def why_no_example_is_asked(rule: specs.Rule, implementation: Implementation) -> str | None:
    """Return why an implementation can answer no worked example of a rule, or None if it can.

    A rule about a strategy has examples of that strategy only.
    """
    asked = (one.questions for one in fixtures.examples() if rule.id in one.rules)
    reasons = [
        next(filter(None, (implementation.why_unsupported(Question(*each)) for each in one)), None)
        for one in asked
    ]
    return reasons[0] if reasons and all(reasons) else None


@dataclass(frozen=True)
class JudgedRun:
    """The findings about each rule, or the error that made it impossible to ask."""

    implementation: JudgedImplementation
    findings: Mapping[str, Findings]
    errors: Mapping[str, AdapterError]


class Run:
    """One implementation judged by one profile; each step runs when its result is first needed."""

    def __init__(
        self,
        plan: Plan,
        adapter: str,
        profile: str,
        notify: Listener = ignore_event,
        submit: Submit = run_immediately,
    ) -> None:
        self.plan = plan
        self.adapter = adapter
        self.profile = profile
        self.rules = plan.replayable(profile) if plan.replay else plan.rules_of(profile)
        self._notify = notify
        self._submit = submit
        self._confirmer = Confirmer(plan, notify)
        self._reached: Implementation | AdapterError | None = None
        self._asked: AskedTrials | None = None
        self._judged: JudgedRun | None = None
        self._mixed: list[str] = []
        self._verdicts: dict[str, Verdict] = {}
        self._ended = False

    def prepare(self) -> AskedTrials:
        """Draw trials and start asking them. Errors: `AdapterError`."""
        if self._asked is None:
            before = before_asking(self.implementation)
            rules = [rule for rule in self.rules if before.may_be_asked(rule, self.implementation)]
            given = rules, before, self.plan, self.implementation
            self._asked = draw_and_ask(*given, self._submit, self._notify)
        return self._asked

    def judge(self) -> JudgedRun:
        """Find the readings, judge all answers and attribute faults. Errors: as in `prepare`."""
        if self._judged is None:
            asked, implementation = self.prepare(), self.implementation
            judged = JudgedImplementation.of(implementation, asked.before)
            answered = collect_answers(asked, self.plan, judged, self._notify)
            readings = find_readings(asked.before, answered.by_reading, answered.controls)
            rules = [rule for rule in self.rules if rule.id in answered.by_rule]
            judged = JudgedImplementation.of(implementation, readings)
            judged, trials, outcomes = judge_all(rules, answered, asked, judged)
            for name, how in judged.resolved.how_known().items():
                self._notify(ReadingFound(self.name, name, judged.resolved.chosen[name], how))
            findings = attribute(rules, trials, outcomes, judged)
            self._judged = JudgedRun(judged, findings, answered.errors)
            self._mixed = [
                f"{self.name}, {self.profile}, follows no single alternative of {name}: "
                + describe_mixed(name, trials, self.profile, self.plan.root)
                for name, trials in judged.resolved.disagreeing.items()
                if judged.resolved.how[name] == "mixed"
            ]
        return self._judged

    def verdict(self, rule: specs.Rule) -> Verdict:
        """Return the verdict on a rule; the verdicts on all earlier rules are reached first."""
        for each in self.rules[len(self._verdicts) :]:
            if rule.id in self._verdicts:
                break
            self._verdicts[each.id] = verdict = self._verdict(each)
            self._notify(VerdictReached(self.name, verdict))
        return self._verdicts[rule.id]

    def first_failure(self) -> specs.Rule | None:
        """Return the first rule whose verdict fails the run, and judge no other rule; or None.

        Errors: as in `prepare`.
        """
        findings = self.judge().findings
        for rule in self.rules:
            if rule.id in findings and findings[rule.id].own:
                verdict = self._verdict(rule)
                if verdict.verdict == "fail" and not verdict.warns:
                    self.rules, self._verdicts = (rule,), {rule.id: verdict}
                    self._ended = True
                    return rule
        return None

    def drawing(self, examples: int) -> Run:
        """Return a run with the same connection that draws this number of cases for each rule.

        Errors: as in `prepare`.
        """
        plan = replace(self.plan, examples=examples)
        other = Run(plan, self.adapter, self.profile, self._notify, self._submit)
        other._reached = self.implementation
        return other

    def _verdict(self, rule: specs.Rule) -> Verdict:
        """Confirm the findings about a rule and return its verdict."""
        blank = Verdict(rule.id, self.adapter, self.profile, rule.level, "pass")
        if rule.id not in checks():
            return replace(blank, verdict="error", why="the rule is testable, but has no check")
        try:
            deviation = self.plan.deviation(rule.id, *self.implementation.names)
            why = self.implementation.why_not_offered(rule)
            if why is None and rule.id in self.judge().errors:
                raise self.judge().errors[rule.id]
            if why is None and (unread := self.readings.why_not(rule)):
                why = why_no_example_is_asked(rule, self.implementation) or unread
            if why is not None:
                blank = replace(blank, verdict="not_applicable", why=why)
                return with_deviation(blank, self.plan, deviation)
            findings = self.judge().findings[rule.id]
            if deviation is None:
                kindred = self.plan.deviations_of_other_versions(
                    rule.id, *self.implementation.names
                )
                deviation = self._confirmer.deviation_shown_here(findings, kindred)
            confirmed = self._confirmer.confirm(findings, deviation)
        except AdapterError as error:
            return replace(blank, verdict="error", why=str(error))
        return verdict_of(confirmed, blank, self.plan, deviation)

    @property
    def implementation(self) -> Implementation:
        """The connected implementation. Errors: `AdapterError`, the same one at every access."""
        if self._reached is None:
            try:
                self._reached = connect_for_plan(self.plan, self.adapter, self.profile)
            except AdapterError as error:
                self._reached = error
        if isinstance(self._reached, AdapterError):
            raise self._reached
        return self._reached

    @property
    def readings(self) -> ResolvedReadings:
        """The readings by which the implementation is judged. Errors: `AdapterError`."""
        return self.judge().implementation.resolved

    @property
    def unchosen_faults(self) -> dict[str, str]:
        """Messages, with rule IDs, about unselected rules that cases of selected rules violate."""
        return unchosen_faults(self._judged.findings) if self._judged else {}

    @property
    def name(self) -> str:
        """The implementation's own name, or the adapter's name if the connection fails."""
        try:
            return self.implementation.name
        except AdapterError:
            return self.adapter

    @property
    def notes(self) -> list[str]:
        """Remarks on how the implementation was asked, and on unused and contradictory readings."""
        remarks = self._reached.notes() if isinstance(self._reached, Implementation) else []
        return [*remarks, *self._mixed, *([ENDED] if self._ended else [])]

    def close(self) -> None:
        """Stop asking questions and close the connection."""
        if self._asked is not None:
            self._asked.dispatcher.close()
        if isinstance(self._reached, Implementation):
            self._reached.close()
