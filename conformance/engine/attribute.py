"""Attribute: count each fault against the rule that caused it.

A balancer that measures usage wrongly also sheds wrongly. It violates one rule, not twenty: a case
that violates a presupposed rule says nothing about the rules that build on it, and counts as a
fault of the presupposed rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from graphlib import TopologicalSorter

from pulsar_conformance import specs
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.conformance.catalogue import presupposed
from pulsar_conformance.conformance.common.trial import Json, Trial, canonical
from pulsar_conformance.conformance.engine.ask import AnsweredTrial, AnsweredTrialsByRule
from pulsar_conformance.conformance.engine.evaluate import Fault, Outcome, lacking_in
from pulsar_conformance.conformance.engine.judge import (
    AppliedRule,
    JudgedImplementation,
    OutcomesByRule,
)
from pulsar_conformance.specs.text import counted

ANSWERING = "ANSWER-05"
"""ID of the rule that every legal case must be answered."""


@dataclass(frozen=True)
class Findings:
    """The answers to a rule's trials, and the faults that count against the rule."""

    applied: AppliedRule
    answered: Sequence[AnsweredTrial]
    outcomes: Sequence[Outcome]
    own: Sequence[Fault] = ()
    """Faults that break this rule but none of its presupposed rules, in the order of the trials."""
    aside: Mapping[str, int] = field(default_factory=dict)
    """Number of cases that count against each presupposed rule instead."""
    error: AdapterError | None = None
    """The error that prevented faults from being attributed."""

    @property
    def reached(self) -> int:
        """Number of trials that count for or against the rule."""
        allowed = sum(outcome.word == "allowed" for outcome in self.outcomes)
        return allowed + len(self.own)


@dataclass(frozen=True)
class Blame:
    """A fault, and the presupposed rule that it counts against, if any."""

    fault: Fault
    rule: str | None = None
    root_fault: Fault | None = None


@dataclass(frozen=True)
class PresupposedCheck:
    """A trial that tests a presupposed rule; `answers` is None until it is asked."""

    rule: specs.Rule
    trial: Trial
    answers: Sequence[Json] | None = None


def presupposed_checks(applied: AppliedRule, fault: Fault) -> Iterator[PresupposedCheck]:
    """Yield the trials of the rules that a fault's rule presupposes, in their order."""
    judged = applied.judged
    for name in applied.rule.presupposes:
        rule = specs.load().rules[name]
        if judged.inapplicable(rule) is not None:
            continue
        for question, answer in zip(fault.trial.questions, fault.answers, strict=True):
            if question.operation in rule.operations:
                yield PresupposedCheck(rule, Trial((question,)), [answer])
            for derived in presupposed():
                if derived.concerns(rule, question):
                    by = judged.evaluator.defaults, judged.evaluator.readings
                    for one in derived.questions(rule, question, answer, *by):
                        yield PresupposedCheck(rule, Trial((one,)))


def attribute_faults(applied: AppliedRule, faults: Sequence[Fault]) -> list[Blame]:
    """Return the rule that each fault counts against. Errors: `AdapterError`."""
    if not applied.rule.presupposes or not faults:
        return [Blame(fault) for fault in faults]
    suspected = [list(presupposed_checks(applied, fault)) for fault in faults]
    unasked = [one for checks in suspected for one in checks if one.answers is None]
    answers = iter(applied.judged.implementation.answers([one.trial for one in unasked]))
    return [
        _blame(applied, fault, [_with_answers(one, answers) for one in checks])
        for fault, checks in zip(faults, suspected, strict=True)
    ]


def _with_answers(check: PresupposedCheck, answers: Iterator[list[Json]]) -> PresupposedCheck:
    return check if check.answers is not None else replace(check, answers=next(answers))


def _blame(applied: AppliedRule, fault: Fault, checks: Sequence[PresupposedCheck]) -> Blame:
    for one in checks:
        answers = one.answers or []
        outcome = AppliedRule(one.rule, applied.judged).outcome(one.trial, answers)
        # A missing answer is no evidence of wrong content, nor the reverse.
        if outcome.violated and outcome.unanswered is fault.outcome.unanswered:
            return Blame(fault, one.rule.id, Fault(one.trial, answers, outcome))
    return Blame(fault)


def own_faults(applied: AppliedRule, trials: Sequence[Trial]) -> list[Fault | None]:
    """Ask trials; return the fault of each that violates the rule itself, None for the others.

    A trial that violates a presupposed rule gives None, too. Errors: `AdapterError`.
    """
    answered = applied.judged.implementation.answers(trials)
    outcomes = [applied.outcome(*one) for one in zip(trials, answered, strict=True)]
    broken = [place for place, outcome in enumerate(outcomes) if outcome.violated]
    faults = [Fault(trials[place], answered[place], outcomes[place]) for place in broken]
    found: list[Fault | None] = [None] * len(trials)
    for place, one in zip(broken, attribute_faults(applied, faults), strict=True):
        found[place] = one.fault if one.rule is None else None
    return found


def attribute(
    rules: Sequence[specs.Rule],
    answered: AnsweredTrialsByRule,
    outcomes: OutcomesByRule,
    judged: JudgedImplementation,
) -> dict[str, Findings]:
    """Return the findings about each rule, with each fault counted against its cause.

    Under a release's profile, faults of rules that the release is known to violate are dropped.
    Each unanswered case counts against one rule. Errors while asking are part of the findings.
    """
    findings = {
        rule.id: Findings(AppliedRule(rule, judged), answered[rule.id], outcomes[rule.id])
        for rule in rules
        if rule.id in outcomes
    }
    handed: dict[str, list[Fault]] = {name: [] for name in findings}
    for rule in dependents_first([one.applied.rule for one in findings.values()]):
        mine = findings[rule.id]
        try:
            blames = attribute_faults(mine.applied, [*_content_faults(mine), *handed[rule.id]])
        except AdapterError as error:
            findings[rule.id] = replace(mine, error=error)
            continue
        own = [one.fault for one in blames if one.rule is None]
        for blame in blames:
            if blame.root_fault is not None and blame.rule in handed:
                handed[blame.rule].append(blame.root_fault)
        aside = Counter(one.rule for one in blames if one.rule is not None)
        findings[rule.id] = replace(mine, own=own, aside=aside)
    return _with_unanswered(rules, findings)


def unchosen_faults(findings: Mapping[str, Findings]) -> list[str]:
    """Return a line for each rule that was not selected but is violated by cases of selected ones.

    Rules that the profile's release is known to violate are left out.
    """
    return [
        f"{name}: {counted(cases, 'case')} break {rule}, which was not chosen"
        for name, found in findings.items()
        for rule, cases in found.aside.items()
        if rule not in findings
        and rule not in specs.load().profile(found.applied.judged.resolved.profile).without
    ]


def dependents_first(rules: Sequence[specs.Rule]) -> list[specs.Rule]:
    """Return the rules sorted so that each comes after those that build on it."""
    known = {rule.id: rule for rule in rules}
    builders: dict[str, list[str]] = {rule.id: [] for rule in rules}
    for rule in rules:
        for name in rule.presupposes:
            if name in known:
                builders[name].append(rule.id)
    return [known[name] for name in TopologicalSorter(builders).static_order()]


def _content_faults(findings: Findings) -> list[Fault]:
    """Return the faults of answered cases."""
    trials = zip(findings.answered, findings.outcomes, strict=True)
    return [
        Fault(tried.trial, answers, outcome)
        for (tried, answers), outcome in trials
        if outcome.violated and not outcome.unanswered
    ]


def _with_unanswered(
    rules: Sequence[specs.Rule], findings: Mapping[str, Findings]
) -> dict[str, Findings]:
    """Return the findings with each unanswered case counted against one rule of its operation.

    This is the rule that cases must be answered, if it is judged; otherwise the first rule with
    such a case and no other fault.
    """
    lacking: dict[str, dict[str, Fault]] = {}
    holders: dict[str, str] = {}
    for rule in rules:
        if rule.id not in findings:
            continue
        for fault in _unanswered_faults(findings[rule.id]):
            [question] = fault.trial.questions
            known = lacking.setdefault(question.operation, {})
            known.setdefault(canonical(question.case), fault)
            holder = holders.setdefault(question.operation, rule.id)
            if findings[holder].own and not findings[rule.id].own:
                holders[question.operation] = rule.id
    about = specs.load().rules[ANSWERING].operations
    found = dict(findings)
    for operation, faults in lacking.items():
        general = ANSWERING in findings and operation in about
        holder = ANSWERING if general else holders[operation]
        found[holder] = replace(found[holder], own=[*found[holder].own, *faults.values()])
    return found


def _unanswered_faults(findings: Findings) -> Iterator[Fault]:
    """Yield a separate fault for each unanswered question."""
    for (tried, answers), outcome in zip(findings.answered, findings.outcomes, strict=True):
        if outcome.unanswered:
            for question, answer in zip(tried.trial.questions, answers, strict=True):
                if (lacking := lacking_in(question, answer)) is not None:
                    yield Fault(Trial((question,)), [answer], without_answer(lacking))


def without_answer(lacking: str) -> Outcome:
    """Return the outcome of an unanswered case."""
    return Outcome("violated", "an answer", lacking, unanswered=True)
