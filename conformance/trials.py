"""Where the trials of a rule come from: saved cases, worked examples, drawn ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

from pulsar_conformance import fixtures, specs
from pulsar_conformance.conformance.draw import draw
from pulsar_conformance.conformance.legal import bad_trial
from pulsar_conformance.conformance.plan import Plan
from pulsar_conformance.conformance.registry import CHECKS
from pulsar_conformance.conformance.respondent import Respondent
from pulsar_conformance.conformance.trial import Question, Trial

Origin = Literal["saved", "example", "drawn"]


@dataclass(frozen=True)
class Tried:
    """A trial, and where it comes from."""

    origin: Origin
    trial: Trial
    example: fixtures.Example | None = None


def trials_of(rule: specs.Rule, plan: Plan, respondent: Respondent) -> Iterator[Tried]:
    """Every trial on which a rule is judged, those first that failed before.

    A case that is replayed is the only one. What is not legal under the profile is left out.
    """
    if plan.replay is not None:
        yield Tried("saved", plan.replay)
        return
    legal = respondent.court.legal
    for saved in plan.saved:
        if CHECKS[rule.id].judges(saved.trial) and legal(saved.trial):
            yield Tried("saved", saved.trial)
    for example in fixtures.examples():
        if rule.id in example.rules and holds(example, respondent):
            trial = Trial(tuple(Question(*question) for question in example.questions))
            if legal(trial):
                yield Tried("example", trial, example)
    plugged = respondent.plugged_strategy if CHECKS[rule.id].any_strategy else None
    for trial in drawn(rule.id, respondent.profile, plan.seed, plan.examples):
        yield Tried("drawn", trial if plugged is None else shed_by(plugged, trial))


@cache
def drawn(rule: str, profile: str, seed: int, examples: int) -> tuple[Trial, ...]:
    """Legal trials that aim at a rule: the same for every implementation."""
    defaults = specs.load().defaults(profile)
    parts = CHECKS[rule].parts
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
    """Every question of an operation that the rules of a profile draw, each by itself and once."""
    found: dict[str, Trial] = {}
    for rule in specs.load().rules_of(profile):
        if operation in rule.operations and rule.untestable is None:
            for trial in drawn(rule.id, profile, seed, examples):
                for question in trial.questions:
                    if question.operation == operation:
                        alone = Trial((question,))
                        found[alone.fingerprint] = alone
    return list(found.values())


def shed_by(strategy: str, trial: Trial) -> Trial:
    """The same questions, put to another shedding strategy."""
    return Trial(
        tuple(
            Question(operation, {**case, "strategy": strategy} if "strategy" in case else case)
            for operation, case in trial.questions
        )
    )


def holds(example: fixtures.Example, respondent: Respondent) -> bool:
    """Whether an example was worked under the readings that the implementation follows."""
    return all(respondent.readings[name] == value for name, value in example.readings.items())
