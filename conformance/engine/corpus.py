"""The sources of a rule's trials: saved cases, worked examples, drawn cases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

from pulsar_conformance import fixtures, specs
from pulsar_conformance.conformance.cases.legality import bad_trial
from pulsar_conformance.conformance.catalogue import aimed, checks
from pulsar_conformance.conformance.common.trial import Question, Trial
from pulsar_conformance.conformance.drawing.drawing import draw
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.reference import Readings

Origin = Literal["saved", "example", "drawn", "aimed"]

OF_A_READING = 8
"""Trials that tell the alternatives of a reading apart, of each strategy that aims at it."""

SHARED = 2
"""One in so many trials is drawn for a rule whose cases take seconds; those of others serve it."""

ENOUGH = 12
"""As many trials of an operation as so many rules would draw alone are enough for all of them."""


MORE_AT_ONCE = 8
"""How many times as often rules are drawn for, at most, when there are too few questions."""

FRESH = 0.4
"""The share of the questions hoped for that have to be new, for more to be drawn."""


@dataclass(frozen=True, eq=False)
class Tried:
    """A trial and its source; compared by identity."""

    origin: Origin
    trial: Trial
    example: fixtures.Example | None = None
    broke: str | None = None
    """The rule that a saved one broke, if that is known."""


def trials_of(rule: specs.Rule, plan: Plan, implementation: Implementation) -> Iterator[Tried]:
    """Every trial drawn or saved for a rule; trials that failed before come first.

    A replayed case is the only trial, and what stands as it is can be asked about itself alone.
    Trials that are illegal under the profile are left out.
    """
    if plan.replay is not None:
        yield Tried("saved", plan.replay)
        return
    profile = implementation.profile
    defaults = specs.load().defaults(profile)
    if implementation.hello.own is not None:
        for row in implementation.hello.own.get(rule.id, ()):
            own = Trial(tuple(Question(*question) for question in row))
            if bad_trial(own, defaults) is None:
                yield Tried("drawn", own)
        return
    for saved in plan.saved:
        if checks()[rule.id].judges(saved.trial) and bad_trial(saved.trial, defaults) is None:
            yield Tried("saved", saved.trial, broke=saved.rule)
    for example in fixtures.examples():
        if rule.id in example.rules:
            trial = Trial(tuple(Question(*question) for question in example.questions))
            if bad_trial(trial, defaults) is None:
                yield Tried("example", trial, example)
    plugged = implementation.plugged_strategy if rule.any_strategy else None
    examples = few(rule, plan) if implementation.costly(rule) else plan.examples
    for trial in drawn(rule.id, profile, plan.seed, examples):
        yield Tried("drawn", trial if plugged is None else shed_by(plugged, trial))


def few(rule: specs.Rule, plan: Plan) -> int:
    """How many trials are drawn for a rule where each takes seconds."""
    rules = specs.load().rules.values()
    alike = max(sum(name in one.operations for one in rules) for name in rule.operations)
    return min(-(-plan.examples // SHARED), -(-plan.examples * ENOUGH // alike))


@cache
def aimed_at(reading: str, profile: str, seed: int) -> tuple[Trial, ...]:
    """The legal trials that tell the alternatives of a reading apart, whatever the others are."""
    defaults = specs.load().defaults(profile)
    return tuple(
        trial
        for aim in aimed().get(reading, ())
        for trial in draw(aim.strategy, OF_A_READING, f"{seed}/{reading}")
        if bad_trial(trial, defaults) is None
    )


def aimed_for(reading: str, implementation: Implementation, plan: Plan) -> tuple[Trial, ...]:
    """Those that an implementation is asked: fewer where each takes it seconds."""
    trials = aimed_at(reading, implementation.profile, plan.seed)
    costly = set(implementation.hello.costly)
    slow = [trial for trial in trials if trial.operations & costly]
    return (*(trial for trial in trials if not trial.operations & costly), *slow[::SHARED])


def asked_by(reading: str) -> frozenset[str]:
    """Return the operations of the trials that aim at a reading."""
    return frozenset(aim.operation for aim in aimed().get(reading, ()))


@cache
def drawn(rule: str, profile: str, seed: int, examples: int) -> tuple[Trial, ...]:
    """Legal trials that aim at a rule; they are the same for every implementation."""
    defaults = specs.load().defaults(profile)
    parts = checks()[rule].parts
    share = -(-examples // len(parts))
    return tuple(
        trial
        for place, part in enumerate(parts)
        for trial in draw(
            part.filter(lambda trial: bad_trial(trial, defaults) is None),
            share,
            f"{seed}/{profile}/{rule}" + (f"/{place}" if place else ""),
        )
    )


def questions_drawn(operation: str, profile: str, seed: int, examples: int) -> list[Trial]:
    """Every question of an operation that is drawn for a profile's rules, alone and only once."""
    found: dict[str, Trial] = {}
    for rule in specs.load().rules_of(profile):
        if operation in rule.operations and rule.untestable is None:
            for trial in drawn(rule.id, profile, seed, examples):
                for question in trial.questions:
                    if question.operation == operation:
                        alone = Trial((question,))
                        found[alone.fingerprint] = alone
    return list(found.values())


def as_many_drawn(
    operation: str, profile: str, seed: int, examples: int, least: int
) -> list[Trial]:
    """`least` of the questions drawn, evenly; fewer where draws begin to repeat themselves.

    Every rule is drawn for more often, beginning with `examples`, until there are enough.
    """
    found = questions_drawn(operation, profile, seed, examples)
    while 0 < len(found) < least:
        times = min(MORE_AT_ONCE, -(-least * 5 // (len(found) * 4)))
        before, examples = len(found), examples * times
        found = questions_drawn(operation, profile, seed, examples)
        if len(found) < before * times * FRESH:
            break
    step = max(1.0, len(found) / max(1, least))
    return [found[int(step * place)] for place in range(min(least, len(found)))]


def shed_by(strategy: str, trial: Trial) -> Trial:
    """The same questions, for another shedding strategy."""
    return Trial(
        tuple(
            Question(operation, {**case, "strategy": strategy} if "strategy" in case else case)
            for operation, case in trial.questions
        )
    )


def holds(example: fixtures.Example, readings: Readings) -> bool:
    """Whether an example was worked under these readings."""
    return all(readings[name] == value for name, value in example.readings.items())
