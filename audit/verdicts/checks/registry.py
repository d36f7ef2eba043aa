"""Checks as columns, by the ID of the rule that each one judges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

Readings = Mapping[str, str]


@dataclass(frozen=True)
class Judged:
    """What a rule says of a row of `facts.facts`, null where it has no such thing to say.

    `lacking` tells that something was due and not done, rather than done and not allowed.
    """

    reached: Column
    broken: Column
    evidence: Column
    lacking: Column

    def given(self, *holds: Column) -> Judged:
        """The same where all of this holds, and nothing elsewhere."""
        both = true(holds[0])
        for one in holds[1:]:
            both = both & true(one)
        return Judged(both & self.reached, both & self.broken, self.evidence, self.lacking)


JudgedBy = Callable[[Readings], Judged]

CHECKS: dict[str, JudgedBy] = {}


BOUNDED: dict[str, JudgedBy] = {}
"""What an audit judges besides, where a rule's own check has nothing to say: after a leader's first
cycle, by what holds however earlier observations count."""


def bounded(rule: str) -> Callable[[JudgedBy], JudgedBy]:
    """Registers what judges a rule by bounds."""

    def register(judged: JudgedBy) -> JudgedBy:
        BOUNDED[rule] = judged
        return judged

    return register


def check(rule: str) -> Callable[[JudgedBy], JudgedBy]:
    """Registers what judges a rule."""

    def register(judged: JudgedBy) -> JudgedBy:
        CHECKS[rule] = judged
        return judged

    return register


def must(reached: Column, done: Column, evidence: Column) -> Judged:
    """Where it is reached, something has to be done."""
    reached = true(reached)
    return Judged(reached, reached & ~true(done), evidence, F.lit(True))


def may_not(reached: Column, done: Column, evidence: Column) -> Judged:
    """Where it is reached, something must not be done."""
    reached = true(reached)
    return Judged(reached, reached & true(done), evidence, F.lit(False))


def either(first: Judged, second: Judged) -> Judged:
    """What two say together, of which one at most is broken at a time."""
    return Judged(
        first.reached | second.reached,
        first.broken | second.broken,
        F.when(first.broken, first.evidence).otherwise(second.evidence),
        F.when(first.broken, first.lacking).otherwise(second.lacking),
    )


def true(holds: Column) -> Column:
    """Surely so; what is too close to tell is null."""
    return F.coalesce(holds, F.lit(False))


def false(holds: Column) -> Column:
    """Surely not so."""
    return F.coalesce(~holds, F.lit(False))
