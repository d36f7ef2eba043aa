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
    """The ways of a release, and its undocumented settings.

    A way is a point on which releases differ from their documents, apart from readings.
    specs/ways.yaml lists the alternatives of each way.

    Attributes:
        title: the profile's title, which contains the version.
        ways: the alternative of each way that the release follows.
        hidden: undocumented settings, each with the value used if a case sets none.
        later: a later version whose settings are also accepted, if any.
        addresses: the IDs of brokers whose names in a case differ from their IDs, by name.
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
        """Return the ways and settings of the release that a profile describes, or None for
        documents.

        With `neutral`, the hidden settings get values without effect. Errors: `specs.UnknownName`.
        """
        bundled = specs.load()
        found = bundled.profile(profile)
        if found.kind != "released":
            return None
        undone = bundled.neutral if neutral else {}
        hidden = {name: undone.get(name, value) for name, value in found.hidden.items()}
        return cls(found.title, {}, hidden).with_ways(bundled.ways_of(profile))

    def with_ways(self, ways: Mapping[str, str]) -> ReleasedWays:
        """Return a copy in which the alternatives in `ways` replace the release's own."""
        own = {**self.ways, **ways}
        copies = own["spared-namespaces"] != "none"  # The copy omits the spared bundles.
        return replace(self, ways=own, copies_bundles=copies)

    @cached_property
    def version(self) -> Version:
        """The version of the release, parsed from the title."""
        found = VERSION.search(self.title)
        return version_of(found[0]) if found else ()

    def settings(self, given: Mapping[str, Value], defaults: Mapping[str, Value]) -> Settings:
        """Return the effective settings. Errors: as for `settings_of`."""
        return settings_of(given, self.version, defaults, self.later)

    def method_without_heap(self, weighted: bool) -> str:
        """Return the release's method that computes usage without heap memory; empty if it has
        none.
        """
        counts = ("counted", "weighted") if weighted else ("counted",)
        if self.ways["heap-memory"] in counts:
            return ""
        return f"LocalBrokerData.getMaxResourceUsage{'WithWeight' if weighted else ''}"

    def means(self, way: str) -> str:
        """Return the text that describes the release's alternative of a way, as in ways.yaml."""
        return specs.load().ways[way].alternatives[self.ways[way]].means

    def place(self, way: str) -> str:
        """Return Pulsar's class and method that implement the release's alternative of a way."""
        return specs.load().ways[way].alternatives[self.ways[way]].place
