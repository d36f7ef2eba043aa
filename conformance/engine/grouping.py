"""Groups of rules that share no operation, each of which can be asked about by itself."""

from __future__ import annotations

from collections.abc import Sequence

from pulsar_conformance.specs import Rule


def grouped(rules: Sequence[Rule]) -> list[list[Rule]]:
    """The rules, in groups; the largest group first, and each in the order of `rules`."""
    groups: list[tuple[set[str], list[Rule]]] = []
    for rule in rules:
        operations, together = set(rule.operations), [rule]
        apart = []
        for asked, others in groups:
            if asked & operations:
                operations |= asked
                together = [*others, *together]
            else:
                apart.append((asked, others))
        groups = [*apart, (operations, together)]
    order = {id(rule): place for place, rule in enumerate(rules)}
    found = [sorted(together, key=lambda rule: order[id(rule)]) for _, together in groups]
    return sorted(found, key=lambda together: (-len(together), order[id(together[0])]))
