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
    for trial in drawn(rule.id, respondent.profile, plan.seed, plan.examples):
        yield Tried("drawn", trial)


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


def holds(example: fixtures.Example, respondent: Respondent) -> bool:
    """Whether an example was worked under the readings that the implementation follows."""
    return all(respondent.readings[name] == value for name, value in example.readings.items())
