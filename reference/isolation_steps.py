"""Derivation steps about isolation policies and the role that they give each broker. [PLACE-14,
ISOLATION]
"""

from __future__ import annotations

from collections.abc import Iterator

from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.numbers import quantity
from pulsar_conformance.reference.placement import Assignment
from pulsar_conformance.specs.text import first_of

MAX_NAMED_NAMESPACES = 3
"""Maximum number of namespaces of isolation policies that a step names; longer lists are cut."""


def isolation_steps(assignment: Assignment) -> Iterator[Step]:
    """Yield steps with the namespace's policy and each broker's role; none if there are no
    policies.
    """
    own = assignment.own_policy
    if not assignment.policies:
        return
    if own is None:
        yield Step("policy", f"none for {assignment.namespace}")
    else:
        primary = [
            one for one in assignment.case["brokers"] if assignment.lists(own, "primary", one)
        ]
        needed = own.get("minLimit", own.get("least", 0))
        few = len(primary) < needed
        more = "secondary ones may take it, too" if few else "no secondary one takes it"
        up = f"{quantity(len(primary), 'primary broker')}, {needed} needed: {more}"
        yield Step("policy", f"of {assignment.namespace}: {up}")
    for broker in assignment.case["brokers"]:
        yield Step(broker, _role(assignment, broker))


def _role(assignment: Assignment, broker: str) -> str:
    """Return the role of a broker for the bundle's namespace under the isolation policies."""
    if (own := assignment.own_policy) is not None:
        kinds = (one for one in ("primary", "secondary") if assignment.lists(own, one, broker))
        return next(kinds, "neither primary nor secondary")
    reserving = [one for one in assignment.policies if assignment.lists(one, "primary", broker)]
    if not reserving:
        return "primary for no namespace: shared"
    names = dict.fromkeys(name for one in reserving for name in one["namespaces"])
    return f"primary for {first_of(list(names), MAX_NAMED_NAMESPACES)}: reserved"
