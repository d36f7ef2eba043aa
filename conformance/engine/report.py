"""Report: the verdict on a rule, from what was confirmed about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from pulsar_conformance.conformance.cases import saved
from pulsar_conformance.conformance.cases.deviations import Deviation
from pulsar_conformance.conformance.common.verdict import Verdict
from pulsar_conformance.conformance.engine.attribute import Findings
from pulsar_conformance.conformance.engine.confirm import Confirmed
from pulsar_conformance.conformance.engine.evaluate import Outcome
from pulsar_conformance.conformance.engine.failures import example_failure, failure_of
from pulsar_conformance.conformance.engine.judge import AppliedRule
from pulsar_conformance.conformance.engine.plan import Plan


def verdict_of(
    confirmed: Confirmed, blank: Verdict, plan: Plan, deviation: Deviation | None
) -> Verdict:
    """Return the verdict that follows, with the rule's known deviation taken into account."""
    findings = confirmed.findings
    counts = Counter(one.origin for one, _ in findings.answered)
    verdict = replace(
        _decided(confirmed, blank, plan),
        saved=counts["saved"],
        examples=counts["example"],
        drawn=counts["drawn"],
        reached=findings.reached,
    )
    return with_deviation(verdict, plan, deviation)


def with_deviation(verdict: Verdict, plan: Plan, deviation: Deviation | None) -> Verdict:
    """Return the verdict on a rule that may have a known deviation.

    A deviation that does not show is stale, except that one replayed case is no proof of it.
    """
    if deviation is None:
        return verdict
    if verdict.verdict == "fail":
        return replace(verdict, verdict="known_deviation", why=deviation.why)
    if verdict.verdict == "error" or plan.replay is not None:
        return verdict
    word = verdict.verdict.replace("_", " ")
    stale = f"listed as a known deviation, but {word}: {deviation.why}"
    return replace(verdict, verdict="unexpected_pass", why=stale)


def _decided(confirmed: Confirmed, blank: Verdict, plan: Plan) -> Verdict:
    findings = confirmed.findings
    applied = findings.applied
    if confirmed.fault is not None:
        failure = failure_of(applied, confirmed.fault, plan)
        return replace(blank, verdict="fail", failure=failure)
    if confirmed.flaky:
        file = saved.save(confirmed.flaky[0].trial, plan.root, {}).as_posix()
        why = f"it wavers: broken on {file}, and not when asked again"
        return replace(blank, verdict="undecided", why=why)
    if confirmed.example is not None:
        failure = example_failure(applied, plan, confirmed.example)
        return replace(blank, verdict="fail", failure=failure)
    if findings.reached == 0:
        verdict = unreached(blank, findings)
        if applied.judged.implementation.hello.own is not None:
            why = f"it is read-only, and does not show this: {verdict.why}"
            return replace(verdict, verdict="not_applicable", why=why)
        return verdict if plan.replay is not None else _error_if_never_answered(applied, verdict)
    if findings.aside:
        cases = sum(findings.aside.values())
        why = f"{cases} more cases break a rule that it builds on, and count against that one"
        return replace(blank, why=why)
    return blank


def unreached(verdict: Verdict, findings: Findings) -> Verdict:
    """Return the verdict on a rule that no case reached.

    All cases were unsupported, or no guard held. Saved cases may belong to any rule, so they count
    only if there are no others.
    """
    pairs = list(zip(findings.answered, findings.outcomes, strict=True))
    own = [outcome for (one, _), outcome in pairs if one.origin not in ("saved", "aimed", "other")]
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


def _error_if_never_answered(applied: AppliedRule, verdict: Verdict) -> Verdict:
    """Return the verdict, or an error if an operation of the rule is offered and always declined.

    An implementation cannot pass by calling everything unsupported.
    """
    if verdict.verdict != "not_applicable":
        return verdict
    implementation = applied.judged.implementation
    declined = next(filter(implementation.always_declines, applied.rule.operations), None)
    if declined is None:
        return verdict
    problem = f"it offers {declined}, and answers no case of it: unsupported, {verdict.why}"
    hint = f"leave {declined} out of hello, or list there which strategies and algorithms it has"
    why = f"{implementation.adapter}: answer: {problem}\n  next: {hint}"
    return replace(verdict, verdict="error", why=why)
