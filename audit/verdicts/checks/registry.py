"""Checks as columns, by the ID of their rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

Readings = Mapping[str, str]


@dataclass(frozen=True)
class RuleColumns:
    """The result of a rule for a row of `facts.facts`, null where it does not apply.

    `lacking` is true if something due was not done, false if something done was not allowed.
    """

    reached: Column
    broken: Column
    evidence: Column
    lacking: Column

    def given(self, *holds: Column) -> RuleColumns:
        """Limit the check to rows for which all of these conditions hold."""
        both = true(holds[0])
        for one in holds[1:]:
            both = both & true(one)
        return RuleColumns(both & self.reached, both & self.broken, self.evidence, self.lacking)


RuleCheck = Callable[[Readings], RuleColumns]

CHECKS: dict[str, RuleCheck] = {}


BOUNDED: dict[str, RuleCheck] = {}
"""Further checks where a rule's own does not apply: after a leader's first cycle, by bounds that
hold however earlier observations count."""


def bounded(rule: str) -> Callable[[RuleCheck], RuleCheck]:
    """Register a check of a rule by bounds."""

    def register(judged: RuleCheck) -> RuleCheck:
        BOUNDED[rule] = judged
        return judged

    return register


def register_check(rule: str) -> Callable[[RuleCheck], RuleCheck]:
    """Register the check of a rule."""

    def register(judged: RuleCheck) -> RuleCheck:
        CHECKS[rule] = judged
        return judged

    return register


def must(reached: Column, done: Column, evidence: Column) -> RuleColumns:
    """Return a check that something is done where the rule is reached."""
    reached = true(reached)
    return RuleColumns(reached, reached & ~true(done), evidence, F.lit(True))


def may_not(reached: Column, done: Column, evidence: Column) -> RuleColumns:
    """Return a check that something is not done where the rule is reached."""
    reached = true(reached)
    return RuleColumns(reached, reached & true(done), evidence, F.lit(False))


def either(first: RuleColumns, second: RuleColumns) -> RuleColumns:
    """Combine two checks, of which at most one is broken at a time."""
    return RuleColumns(
        first.reached | second.reached,
        first.broken | second.broken,
        F.when(first.broken, first.evidence).otherwise(second.evidence),
        F.when(first.broken, first.lacking).otherwise(second.lacking),
    )


def true(holds: Column) -> Column:
    """True if the condition surely holds: null, too close to tell, becomes false."""
    return F.coalesce(holds, F.lit(False))


def false(holds: Column) -> Column:
    """True if the condition surely does not hold."""
    return F.coalesce(~holds, F.lit(False))
