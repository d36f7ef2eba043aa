"""Groups of rules that share no operation, each of which can be asked about by itself."""

from __future__ import annotations

from collections.abc import Sequence, Set

from pulsar_conformance.specs import Rule

IN_ROWS = 6
"""A rule counts for as many where a case is a row of questions, whose answers take as much longer.
"""


def grouped(rules: Sequence[Rule], rows: Set[str] = frozenset()) -> list[list[Rule]]:
    """The rules, in groups, each in the order of `rules`; the group with most to do comes first.

    `rows` are the operations whose cases are rows of questions.
    """
    groups: list[set[str]] = []
    for rule in rules:
        joined = set(rule.operations).union(*(one for one in groups if one & {*rule.operations}))
        groups = [*(one for one in groups if not one & joined), joined]
    found = [[rule for rule in rules if one & {*rule.operations}] for one in groups]

    def first(together: Sequence[Rule]) -> tuple[int, int]:
        work = sum(IN_ROWS if rows & {*rule.operations} else 1 for rule in together)
        return -work, rules.index(together[0])

    return sorted(found, key=first)
