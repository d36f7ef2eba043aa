"""Assignment of a bundle: isolation, anti-affinity group, then load. [PLACE]"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pulsar_conformance.reference.anti_affinity import Spread
from pulsar_conformance.reference.placement import Placement, placement
from pulsar_conformance.reference.ranges import namespace_of
from pulsar_conformance.reference.readings import Readings
from pulsar_conformance.reference.settings import Settings


@dataclass(frozen=True)
class Assignment:
    """A `place.broker` case, seen through readings."""

    case: Mapping[str, Any]
    settings: Settings
    readings: Readings

    @property
    def namespace(self) -> str:
        """The namespace of the bundle."""
        return namespace_of(self.case["bundle"])

    @cached_property
    def serving(self) -> dict[str, list[str]]:
        """The bundles of each broker, reported or assigned since."""
        ahead = self.case["preallocated"]
        return {
            name: [*report.get("bundles", ()), *ahead.get(name, ())]
            for name, report in self.case["brokers"].items()
        }

    @cached_property
    def permitted(self) -> Sequence[str]:
        """The brokers that may take the bundle, by the policies of isolation. [PLACE-14]"""
        brokers, policies = tuple(self.case["brokers"]), self.case["isolation"]
        own = [one for one in policies if self.namespace in one["namespaces"]]
        if not own:
            dedicated = {name for one in policies for name in one["primary"]}
            return tuple(name for name in brokers if name not in dedicated)
        [policy] = own
        primary = tuple(name for name in brokers if name in policy["primary"])
        if len(primary) >= policy["least"]:
            return primary
        beside = (name for name in brokers if name in policy["secondary"])
        return tuple(dict.fromkeys((*primary, *beside)))

    @cached_property
    def spread(self) -> Spread:
        """The distribution of the namespace's group. [ANTI-17]"""
        return Spread(
            self.namespace,
            self.case["groups"],
            self.case["domains"],
            {name: {*map(namespace_of, bundles)} for name, bundles in self.serving.items()},
            self.permitted,
            self.readings["domain-counts"],
        )

    @cached_property
    def placement(self) -> Placement:
        """The placement among permitted brokers that keep its group apart. [PLACE-02]"""
        case = {**self.case, "candidates": self.spread.best}
        return placement(case, self.settings, self.readings)
