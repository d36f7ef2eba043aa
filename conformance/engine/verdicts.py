"""From what was found about a rule to the verdict on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.conformance.cases import saved
from pulsar_conformance.conformance.cases.deviations import Deviation
from pulsar_conformance.conformance.common.verdict import Verdict
from pulsar_conformance.conformance.engine.events import Tell
from pulsar_conformance.conformance.engine.failing.failures import FailureWriter
from pulsar_conformance.conformance.engine.failing.worked import first_unlike
from pulsar_conformance.conformance.engine.findings import Findings
from pulsar_conformance.conformance.engine.hearing import Hearing
from pulsar_conformance.conformance.engine.judge import Outcome
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.troubles.declining import not_declined
from pulsar_conformance.conformance.engine.troubles.repeats import confirmed, wavers

UNSHOWN = ("pass", "unexercised", "undecided")
"""Verdicts under which a known deviation is stale, unless its own cases show it."""


@dataclass(frozen=True)
class VerdictWriter:
    """Writes the verdict on one rule, with its known deviation taken into account."""

    plan: Plan
    tell: Tell
    blank: Verdict
    """The verdict before anything is known: a pass."""
    deviation: Deviation | None

    def not_applicable(self, why: str) -> Verdict:
        """That the rule does not apply."""
        return self._listed(replace(self.blank, verdict="not_applicable", why=why))

    def write(self, findings: Findings) -> Verdict:
        """The verdict that follows from findings. Errors: `AdapterError`."""
        if findings.wrong is not None:
            raise findings.wrong
        counts = Counter(one.origin for one, _ in findings.answered)
        verdict = replace(
            self._decided(findings),
            saved=counts["saved"],
            examples=counts["example"],
            drawn=counts["drawn"],
            reached=findings.reached,
        )
        if self._stale(verdict) and verdict.verdict in UNSHOWN:
            verdict = self._shown(findings.hearing, verdict)
        return self._listed(verdict)

    def _decided(self, findings: Findings) -> Verdict:
        hearing = findings.hearing
        if findings.own:
            fault = confirmed(hearing, findings.own)
            if fault is None:
                why = wavers(self.plan, findings.own)
                return replace(self.blank, verdict="undecided", why=why)
            failure = self._failures(hearing).write(fault, findings)
            return replace(self.blank, verdict="fail", failure=failure)
        wrong = first_unlike(hearing, self.plan, findings.answered)
        if wrong is not None:
            return replace(self.blank, verdict="fail", failure=wrong)
        if findings.reached == 0:
            verdict = unreached(self.blank, findings)
            if hearing.subject.implementation.hello.own is not None:
                why = f"it stands as it is, and does not show this: {verdict.why}"
                return replace(verdict, verdict="not_applicable", why=why)
            replayed = self.plan.replay is not None
            return verdict if replayed else not_declined(hearing, verdict)
        if findings.aside:
            why = f"{findings.aside} more cases break a rule that it builds on, and count "
            return replace(self.blank, why=f"{why}against that one")
        return self.blank

    def _failures(self, hearing: Hearing) -> FailureWriter:
        """Where each case takes seconds, a known deviation has been reduced once and for all."""
        known = self.deviation is not None and bool(self.deviation.cases)
        return FailureWriter(hearing, self.plan, self.tell, known and hearing.costly)

    def _stale(self, verdict: Verdict) -> bool:
        """Whether a deviation is listed that did not show. One replayed case is no proof of it."""
        shown = verdict.verdict in ("fail", "error")
        return self.deviation is not None and self.plan.replay is None and not shown

    def _listed(self, verdict: Verdict) -> Verdict:
        """The verdict on a rule that may have a known deviation."""
        if self.deviation is None:
            return verdict
        why = self.deviation.why
        if verdict.verdict == "fail":
            return replace(verdict, verdict="known_deviation", why=why)
        if not self._stale(verdict):
            return verdict
        stale = f"listed as a known deviation, but {verdict.verdict.replace('_', ' ')}: {why}"
        return replace(verdict, verdict="unexpected_pass", why=stale)

    def _shown(self, hearing: Hearing, verdict: Verdict) -> Verdict:
        """What the deviation's own cases show, if no other case showed it."""
        for file in self.deviation.cases if self.deviation else ():
            try:
                trial = saved.load(file, hearing.subject.court.defaults).trial
                [fault] = hearing.own_faults([trial])
                if fault is not None:
                    failure = self._failures(hearing).write(fault)
                    return replace(verdict, verdict="fail", failure=failure)
            except (saved.BadCase, AdapterError):
                continue
        return verdict


def unreached(verdict: Verdict, findings: Findings) -> Verdict:
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
