"""Groups of rules that share no operation, each of which can be asked about by itself."""

from __future__ import annotations

from collections.abc import Sequence

from pulsar_conformance.specs import Rule


def grouped(rules: Sequence[Rule]) -> list[list[Rule]]:
    """The rules, in groups; the largest group first, and each in the order of `rules`."""
    groups: list[set[str]] = []
    for rule in rules:
        joined = set(rule.operations).union(*(one for one in groups if one & {*rule.operations}))
        groups = [*(one for one in groups if not one & joined), joined]
    found = [[rule for rule in rules if one & {*rule.operations}] for one in groups]
    return sorted(found, key=lambda together: (-len(together), rules.index(together[0])))
