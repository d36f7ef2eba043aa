"""The public functions: ask the model, draw cases, and judge answers and implementations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from pulsar_conformance import specs
from pulsar_conformance.adapters.arguments import DEFAULT_PROFILE
from pulsar_conformance.adapters.validation import answer_schema_error
from pulsar_conformance.conformance.cases.legality import case_flaw, trial_flaw
from pulsar_conformance.conformance.catalogue import OPERATIONS, checks
from pulsar_conformance.conformance.common.events import Verdict, ignore_event
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.session import Session
from pulsar_conformance.reference import Model, Readings

Json = dict[str, Any]


class IllegalCase(ValueError):
    """Raised for a case that violates its schema, that no cluster can produce, or that leaves out a
    setting without a documented default.
    """


class IllegalAnswer(ValueError):
    """Raised for an answer that violates its operation's schema."""


@dataclass(frozen=True)
class BrokenRule:
    """A rule that an answer violates, formatted for a failing test."""

    rule: str
    """The ID of the rule, such as OVERLOAD-02."""
    title: str
    allowed: str
    answered: str
    derivation: tuple[str, ...]
    """The steps by which the model arrives at its answer."""
    sources: tuple[str, ...]
    """Documents and sections that state the rule."""

    def __str__(self) -> str:
        lines = [f"{self.rule}: {self.title}.", *self.sources]
        lines += [f"  {line}" for line in self.derivation]
        return "\n".join([*lines, f"allowed   {self.allowed}", f"answered  {self.answered}"])


def operations() -> tuple[str, ...]:
    """Return the names of the operations, such as `shed.select`."""
    return tuple(OPERATIONS)


def answer(
    operation: str,
    case: Json,
    profile: str = DEFAULT_PROFILE,
    readings: Mapping[str, str] | None = None,
) -> Json:
    """Return the model's answer to a case.

    Errors: `IllegalCase`; `specs.UnknownName` for an operation, profile or reading.
    """
    _check_case(operation, case, profile, readings)
    return dict(Model(profile, readings).answer(operation, case))


def explain(
    operation: str,
    case: Json,
    profile: str = DEFAULT_PROFILE,
    readings: Mapping[str, str] | None = None,
) -> str:
    """Return the steps by which the model arrives at its answer. Errors: as for `answer`."""
    _check_case(operation, case, profile, readings)
    return "\n".join(Model(profile, readings).derive(operation, case).lines())


def cases(operation: str, profile: str = DEFAULT_PROFILE) -> st.SearchStrategy[Json]:
    """Return a Hypothesis strategy for valid cases near the limits that a profile's rules set.

    Errors: `specs.UnknownName` for an operation or profile.
    """
    _check_operation(operation)
    defaults = specs.load().defaults(profile)
    parts = [part for rule in _rules_about(operation, profile) for part in checks()[rule.id].parts]
    return (
        st.one_of(parts)
        .filter(lambda trial: trial_flaw(trial, defaults) is None)
        .filter(lambda trial: operation in trial.operations)
        .map(lambda trial: _first_case(trial, operation))
    )


def judge(
    operation: str,
    case: Json,
    answer: Json,
    profile: str = DEFAULT_PROFILE,
    readings: Mapping[str, str] | None = None,
) -> list[BrokenRule]:
    """Return the rules that an answer to a case violates; empty if the answer is allowed.

    A violated rule is omitted if it presupposes another violated rule. `readings` override the
    profile's default alternatives. Errors: `IllegalAnswer`, and the errors of `answer`.
    """
    _check_case(operation, case, profile, readings)
    if (problem := answer_schema_error(operation, answer)) is not None:
        raise IllegalAnswer(f"{operation}: {problem}")
    known, chosen = specs.load(), Readings.of(profile, readings)
    evaluator = RuleEvaluator(known.defaults(profile), chosen)
    trial = Trial.of(operation, case)
    outcomes = [
        (rule, evaluator.judge(rule.id, trial, [answer]))
        for rule in _rules_about(operation, profile)
        if all(chosen[name] == value for name, value in rule.reading.items())
    ]
    broken = {rule.id for rule, outcome in outcomes if outcome.violated}
    derivation = tuple(Model(profile, readings).derive(operation, case).lines()) if broken else ()
    return [
        BrokenRule(
            rule.id,
            rule.title,
            outcome.allowed,
            outcome.answered,
            derivation,
            tuple(known.sources_of(rule, profile)),
        )
        for rule, outcome in outcomes
        if outcome.violated and not broken.intersection(rule.presupposes)
    ]


def run(
    adapter: str,
    profile: str = DEFAULT_PROFILE,
    rules: Sequence[str] = (),
    examples: int = 100,
    seed: int = 0,
    root: Path | None = None,
) -> list[Verdict]:
    """Judge the implementation that an adapter's name selects, as `pulsar-conformance run` does.

    Failing cases are saved below `root`, by default the current folder. Errors: `UserError` for an
    unknown adapter, profile or rule. If the implementation stops working, its verdicts are `error`.
    """
    plan = Plan.make([adapter], [profile], rules=rules, examples=examples, seed=seed, root=root)
    session = Session(plan, ignore_event, alone=True)
    try:
        judged = session.runs[adapter, profile]
        return [session.verdict(judged, rule) for rule in judged.rules]
    finally:
        session.close()


def _rules_about(operation: str, profile: str) -> list[specs.Rule]:
    """Return a profile's rules that judge an operation."""
    rules = specs.load().rules_of(profile)
    return [rule for rule in rules if operation in rule.operations and rule.untestable is None]


def _check_operation(operation: str) -> None:
    if operation not in OPERATIONS:
        raise specs.UnknownName(operation, "operation", OPERATIONS)


def _check_case(
    operation: str, case: Json, profile: str, readings: Mapping[str, str] | None
) -> None:
    """Raise an error if the case, or the operation, profile or a reading, is not valid."""
    _check_operation(operation)
    chosen = Readings.of(profile, readings)
    specs.load().check_open(profile, readings or {})
    problem = case_flaw(operation, case, specs.load().defaults(profile), chosen)
    if problem is not None:
        raise IllegalCase(f"{operation}: {problem}")


def _first_case(trial: Trial, operation: str) -> Json:
    """Return the case of a trial's first question about an operation."""
    return next(one.case for one in trial.questions if one.operation == operation)
