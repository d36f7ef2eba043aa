"""The checks by the ID of their rule: functions that return columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

Readings = Mapping[str, str]

ALLOWED, VIOLATED, NOT_DONE, UNDECIDED = "allowed", "violated", "not done though due", "undecided"
VERDICTS = (ALLOWED, VIOLATED, NOT_DONE, UNDECIDED)
WRONG = (VIOLATED, NOT_DONE)
"""Verdicts that count as faults."""


def is_fault() -> Column:
    """True if a row's verdict counts as a fault."""
    return F.col("verdict").isin(*WRONG)


@dataclass(frozen=True)
class RuleColumns:
    """Columns with a rule's result for each row of `facts.facts`: whether the rule applies, whether
    it is violated, and the evidence.

    `lacking` is true if a required action is missing, and false if a forbidden action was taken.
    Columns may be null where the rule does not apply.
    """

    reached: Column
    broken: Column
    evidence: Column
    lacking: Column

    def restricted_to(self, *holds: Column) -> RuleColumns:
        """Return the result for rows in which all conditions are true; the rule does not apply in
        others.
        """
        both = certainly(holds[0])
        for one in holds[1:]:
            both = both & certainly(one)
        return RuleColumns(both & self.reached, both & self.broken, self.evidence, self.lacking)


RuleCheck = Callable[[Readings], RuleColumns]

CHECKS: dict[str, RuleCheck] = {}


BOUND_CHECKS: dict[str, RuleCheck] = {}
"""Second checks of some rules, for all cycles after a leader's first, to which the first checks do
not apply.

They use bounds that hold for any weight of earlier observations.
"""


def register_bounded_check(rule: str) -> Callable[[RuleCheck], RuleCheck]:
    """Return a decorator that registers a rule's second check, which uses bounds."""

    def register(judged: RuleCheck) -> RuleCheck:
        BOUND_CHECKS[rule] = judged
        return judged

    return register


def register_check(rule: str) -> Callable[[RuleCheck], RuleCheck]:
    """Return a decorator that registers the check of a rule."""

    def register(judged: RuleCheck) -> RuleCheck:
        CHECKS[rule] = judged
        return judged

    return register


def must(reached: Column, done: Column, evidence: Column) -> RuleColumns:
    """Return a result that is a violation if the rule applies and the required action is
    missing.
    """
    reached = certainly(reached)
    return RuleColumns(reached, reached & ~certainly(done), evidence, F.lit(True))


def may_not(reached: Column, done: Column, evidence: Column) -> RuleColumns:
    """Return a result that is a violation if the rule applies and the forbidden action was
    taken.
    """
    reached = certainly(reached)
    return RuleColumns(reached, reached & certainly(done), evidence, F.lit(False))


def combine_checks(first: RuleColumns, second: RuleColumns) -> RuleColumns:
    """Combine two results, of which at most one is a violation in any row."""
    return RuleColumns(
        first.reached | second.reached,
        first.broken | second.broken,
        F.when(first.broken, first.evidence).otherwise(second.evidence),
        F.when(first.broken, first.lacking).otherwise(second.lacking),
    )


def certainly(holds: Column) -> Column:
    """True if the condition is true; false also if rounding could decide it, so that it is null."""
    return F.coalesce(holds, F.lit(False))


def certainly_not(holds: Column) -> Column:
    """True if the condition is false; false also if it is null."""
    return F.coalesce(~holds, F.lit(False))
