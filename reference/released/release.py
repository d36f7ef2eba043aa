"""A release: its ways and its undocumented settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from pulsar_conformance import specs
from pulsar_conformance.reference.context import Settings, Value
from pulsar_conformance.reference.released.configuration import Version, settings_of, version_of

VERSION = re.compile(r"\d+(\.\d+)+")


@dataclass(frozen=True)
class ReleasedWays:
    """How a release behaves beyond rules and readings.

    Attributes:
        title: the profile's title, which contains the version.
        ways: the release's alternative for each way.
        hidden: undocumented settings, each with the value used if a case sets none.
        later: a later version whose settings are also accepted, if any.
        addresses: for each broker whose name in a case is not its ID, its ID by that name.
        copies_bundles: true if shedders iterate over a copy of the leader's bundles, which orders
            bundles with equal traffic differently.
    """

    title: str
    ways: Mapping[str, str]
    hidden: Mapping[str, Value] = field(default_factory=dict)
    later: Version = ()
    addresses: Mapping[str, str] = field(default_factory=dict)
    copies_bundles: bool = True

    @classmethod
    def of(cls, profile: str, neutral: bool = False) -> ReleasedWays | None:
        """Return the release that a profile describes, or None. Errors: `specs.UnknownName`.

        With `neutral`, the hidden settings get values without effect.
        """
        bundled = specs.load()
        found = bundled.profile(profile)
        if found.kind != "released":
            return None
        undone = bundled.neutral if neutral else {}
        hidden = {name: undone.get(name, value) for name, value in found.hidden.items()}
        return cls(found.title, {}, hidden).with_ways(bundled.ways_of(profile))

    def with_ways(self, ways: Mapping[str, str]) -> ReleasedWays:
        """Return the release with some other ways."""
        own = {**self.ways, **ways}
        copies = own["spared-namespaces"] != "none"  # The copy leaves out the spared ones.
        return replace(self, ways=own, copies_bundles=copies)

    @cached_property
    def version(self) -> Version:
        """The version of the release, parsed from the title."""
        found = VERSION.search(self.title)
        return version_of(found[0]) if found else ()

    def settings(self, given: Mapping[str, Value], defaults: Mapping[str, Value]) -> Settings:
        """Return the effective settings. Errors: as `settings_of`."""
        return settings_of(given, self.version, defaults, self.later)

    def without_heap(self, weighted: bool) -> str:
        """Return the release's method that leaves out heap memory; empty if heap memory counts."""
        counts = ("counted", "weighted") if weighted else ("counted",)
        if self.ways["heap-memory"] in counts:
            return ""
        return f"LocalBrokerData.getMaxResourceUsage{'WithWeight' if weighted else ''}"

    def means(self, way: str) -> str:
        """Return the description of what the release does, from its alternative for a way."""
        return specs.load().ways[way].alternatives[self.ways[way]].means

    def place(self, way: str) -> str:
        """Return the class and method of a way's alternative in the release's source."""
        return specs.load().ways[way].alternatives[self.ways[way]].place
