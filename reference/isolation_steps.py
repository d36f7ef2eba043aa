"""Derivation steps of isolation policies: what they say of each broker. [PLACE-14, ISOLATION]"""

from __future__ import annotations

from collections.abc import Iterator

from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.numbers import quantity
from pulsar_conformance.reference.placement import Assignment
from pulsar_conformance.specs.text import first_of

MAX_NAMED_NAMESPACES = 3
"""Maximum number of namespaces of isolation policies that a step names; longer lists are cut."""


def isolation_steps(found: Assignment) -> Iterator[Step]:
    """Yield as steps what isolation policies say of each broker. Nothing without policies."""
    own = found.own_policy
    if not found.policies:
        return
    if own is None:
        yield Step("policy", f"none for {found.namespace}")
    else:
        primary = [one for one in found.case["brokers"] if found.lists(own, "primary", one)]
        needed = own.get("minLimit", own.get("least", 0))
        few = len(primary) < needed
        more = "secondary ones may take it, too" if few else "no secondary one takes it"
        up = f"{quantity(len(primary), 'primary broker')}, {needed} needed: {more}"
        yield Step("policy", f"of {found.namespace}: {up}")
    for broker in found.case["brokers"]:
        yield Step(broker, _role(found, broker))


def _role(found: Assignment, broker: str) -> str:
    """Return what isolation policies say of a broker for the bundle's namespace."""
    if (own := found.own_policy) is not None:
        kinds = (one for one in ("primary", "secondary") if found.lists(own, one, broker))
        return next(kinds, "neither primary nor secondary")
    reserving = [one for one in found.policies if found.lists(one, "primary", broker)]
    if not reserving:
        return "primary for no namespace: shared"
    names = dict.fromkeys(name for one in reserving for name in one["namespaces"])
    return f"primary for {first_of(list(names), MAX_NAMED_NAMESPACES)}: reserved"
