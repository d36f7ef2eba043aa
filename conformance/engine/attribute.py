"""Attribute: counts each fault against a single rule, the root cause.

A balancer that measures usage wrongly also sheds wrongly, but that is one mistake, not twenty. If a
case violates a rule that other rules presuppose, its fault counts against the presupposed rule
only; the case is no evidence for or against the rules that build on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from graphlib import TopologicalSorter

from pulsar_conformance import specs
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.conformance.catalogue import presupposed_questions
from pulsar_conformance.conformance.common.events import AN_ANSWER, ANSWERING
from pulsar_conformance.conformance.common.trial import Json, Trial, canonical
from pulsar_conformance.conformance.engine.ask import AnsweredTrial, AnsweredTrialsByRule
from pulsar_conformance.conformance.engine.evaluate import Fault, Outcome, why_unanswered
from pulsar_conformance.conformance.engine.judge import (
    AppliedRule,
    JudgedImplementation,
    OutcomesByRule,
)
from pulsar_conformance.specs.text import counted


@dataclass(frozen=True)
class Findings:
    """The answers to a rule's trials, and the faults that count against the rule."""

    applied: AppliedRule
    answered: Sequence[AnsweredTrial]
    outcomes: Sequence[Outcome]
    own: Sequence[Fault] = ()
    """Faults that violate this rule and none of the rules that it presupposes, in trial order."""
    aside: Mapping[str, int] = field(default_factory=dict)
    """Number of cases that count against a presupposed rule instead, for each such rule by ID."""
    error: AdapterError | None = None
    """The error that made it impossible to attribute the faults, if any."""

    @property
    def reached(self) -> int:
        """Number of trials that show whether the rule is kept or violated."""
        allowed = sum(outcome.word == "allowed" for outcome in self.outcomes)
        return allowed + len(self.own)


@dataclass(frozen=True)
class AttributedFault:
    """A fault of a rule, and the presupposed rule against which it counts instead, if any."""

    fault: Fault
    rule: str | None = None
    """ID of the presupposed rule; None if the fault counts against the rule itself."""
    root_fault: Fault | None = None
    """The fault of the presupposed rule."""


@dataclass(frozen=True)
class PresupposedCheck:
    """A trial that tests a presupposed rule; `answers` is None until the trial has been asked."""

    rule: specs.Rule
    trial: Trial
    answers: Sequence[Json] | None = None


def presupposed_checks(applied_rule: AppliedRule, fault: Fault) -> Iterator[PresupposedCheck]:
    """Yield trials that test the presupposed rules of a fault's rule, rule by rule."""
    judged = applied_rule.judged
    for name in applied_rule.rule.presupposes:
        rule = specs.load().rules[name]
        if judged.inapplicable(rule) is not None:
            continue
        for question, answer in zip(fault.trial.questions, fault.answers, strict=True):
            if question.operation in rule.operations:
                yield PresupposedCheck(rule, Trial((question,)), [answer])
            for derived in presupposed_questions():
                if derived.concerns(rule, question):
                    by = judged.evaluator.defaults, judged.evaluator.readings
                    for one in derived.questions(rule, question, answer, *by):
                        yield PresupposedCheck(rule, Trial((one,)))


def attribute_faults(applied_rule: AppliedRule, faults: Sequence[Fault]) -> list[AttributedFault]:
    """Return each fault with the rule against which it counts. Errors: `AdapterError`."""
    if not applied_rule.rule.presupposes or not faults:
        return [AttributedFault(fault) for fault in faults]
    suspected = [list(presupposed_checks(applied_rule, fault)) for fault in faults]
    unasked = [one for checks in suspected for one in checks if one.answers is None]
    answers = iter(applied_rule.judged.implementation.answers([one.trial for one in unasked]))
    return [
        _attribute_fault(applied_rule, fault, [_with_answers(one, answers) for one in checks])
        for fault, checks in zip(faults, suspected, strict=True)
    ]


def _with_answers(check: PresupposedCheck, answers: Iterator[list[Json]]) -> PresupposedCheck:
    return check if check.answers is not None else replace(check, answers=next(answers))


def _attribute_fault(
    applied_rule: AppliedRule, fault: Fault, checks: Sequence[PresupposedCheck]
) -> AttributedFault:
    for one in checks:
        answers = one.answers or []
        outcome = AppliedRule(one.rule, applied_rule.judged).outcome(one.trial, answers)
        # A missing answer is not the cause of a wrong answer, nor the other way round.
        if outcome.violated and outcome.unanswered is fault.outcome.unanswered:
            return AttributedFault(fault, one.rule.id, Fault(one.trial, answers, outcome))
    return AttributedFault(fault)


def own_faults(applied_rule: AppliedRule, trials: Sequence[Trial]) -> list[Fault | None]:
    """Ask trials; return for each trial the fault that counts against the rule itself, or None.

    The result is also None for a trial that violates a presupposed rule. Errors: `AdapterError`.
    """
    answered = applied_rule.judged.implementation.answers(trials)
    outcomes = [applied_rule.outcome(*one) for one in zip(trials, answered, strict=True)]
    broken = [place for place, outcome in enumerate(outcomes) if outcome.violated]
    faults = [Fault(trials[place], answered[place], outcomes[place]) for place in broken]
    found: list[Fault | None] = [None] * len(trials)
    for place, one in zip(broken, attribute_faults(applied_rule, faults), strict=True):
        found[place] = one.fault if one.rule is None else None
    return found


def attribute(
    rules: Sequence[specs.Rule],
    answered: AnsweredTrialsByRule,
    outcomes: OutcomesByRule,
    judged: JudgedImplementation,
) -> dict[str, Findings]:
    """Return the findings about each rule, with every fault counted against one rule.

    Under a release's profile, faults of rules that the release is known to violate are dropped. An
    unanswered case also counts against one rule. An error while asking becomes part of the
    findings.
    """
    findings = {
        rule.id: Findings(AppliedRule(rule, judged), answered[rule.id], outcomes[rule.id])
        for rule in rules
        if rule.id in outcomes
    }
    received: dict[str, list[Fault]] = {name: [] for name in findings}
    for rule in dependents_first([one.applied.rule for one in findings.values()]):
        mine = findings[rule.id]
        try:
            blames = attribute_faults(mine.applied, [*_content_faults(mine), *received[rule.id]])
        except AdapterError as error:
            findings[rule.id] = replace(mine, error=error)
            continue
        own = [one.fault for one in blames if one.rule is None]
        for blame in blames:
            if blame.root_fault is not None and blame.rule in received:
                received[blame.rule].append(blame.root_fault)
        aside = Counter(one.rule for one in blames if one.rule is not None)
        findings[rule.id] = replace(mine, own=own, aside=aside)
    return _with_unanswered(rules, findings)


def unchosen_faults(findings: Mapping[str, Findings]) -> dict[str, str]:
    """Return messages about violated rules that were not selected, each with the rule's ID.

    Selected rules presuppose these rules, and cases of the selected rules violate them. Rules that
    the profile's release is known to violate are left out.
    """
    return {
        f"{name}: {counted(cases, 'case')} break {rule}, which was not selected": rule
        for name, found in findings.items()
        for rule, cases in found.aside.items()
        if rule not in findings
        and rule not in specs.load().profile(found.applied.judged.resolved.profile).without
    }


def dependents_first(rules: Sequence[specs.Rule]) -> list[specs.Rule]:
    """Return the rules sorted so that each comes after all rules that presuppose it."""
    known = {rule.id: rule for rule in rules}
    builders: dict[str, list[str]] = {rule.id: [] for rule in rules}
    for rule in rules:
        for name in rule.presupposes:
            if name in known:
                builders[name].append(rule.id)
    return [known[name] for name in TopologicalSorter(builders).static_order()]


def _content_faults(findings: Findings) -> list[Fault]:
    """Return the faults of cases with a wrong answer, but not those of cases without an answer."""
    trials = zip(findings.answered, findings.outcomes, strict=True)
    return [
        Fault(tried.trial, answers, outcome)
        for (tried, answers), outcome in trials
        if outcome.violated and not outcome.unanswered
    ]


def _with_unanswered(
    rules: Sequence[specs.Rule], findings: Mapping[str, Findings]
) -> dict[str, Findings]:
    """Return the findings, with each unanswered case counted against one rule of its operation.

    The rule is `ANSWERING` if that is judged; otherwise, the first rule that has an unanswered case
    and no other fault.
    """
    unanswered: dict[str, dict[str, Fault]] = {}
    holders: dict[str, str] = {}
    for rule in rules:
        if rule.id not in findings:
            continue
        for fault in _unanswered_faults(findings[rule.id]):
            [question] = fault.trial.questions
            known = unanswered.setdefault(question.operation, {})
            known.setdefault(canonical(question.case), fault)
            holder = holders.setdefault(question.operation, rule.id)
            if findings[holder].own and not findings[rule.id].own:
                holders[question.operation] = rule.id
    about = specs.load().rules[ANSWERING].operations
    found = dict(findings)
    for operation, faults in unanswered.items():
        general = ANSWERING in findings and operation in about
        holder = ANSWERING if general else holders[operation]
        found[holder] = replace(found[holder], own=[*found[holder].own, *faults.values()])
    return found


def _unanswered_faults(findings: Findings) -> Iterator[Fault]:
    """Yield one fault for each unanswered question."""
    for (tried, answers), outcome in zip(findings.answered, findings.outcomes, strict=True):
        if outcome.unanswered:
            for question, answer in zip(tried.trial.questions, answers, strict=True):
                if (reason := why_unanswered(question, answer)) is not None:
                    yield Fault(Trial((question,)), [answer], outcome_without_answer(reason))


def outcome_without_answer(reason: str) -> Outcome:
    """Return the outcome of a case that got no answer; `reason` says why."""
    return Outcome("violated", AN_ANSWER, reason, unanswered=True)
