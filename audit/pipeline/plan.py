"""How a history is judged: profile, readings, and overriding settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from pulsar_conformance import specs
from pyspark.sql import Column, DataFrame

SMOOTHED = "THRESHOLD-18"
"""The rule that gives the usage after earlier observations."""

Made = Mapping[str, DataFrame]
"""The parents of a gold table, by name."""

WHOLE = "whole "
"""Prefix of the name of a parent with all its days, if `Made` also has it in part."""


@dataclass(frozen=True)
class Silver:
    """The silver tables."""

    broker_samples: DataFrame
    bundle_samples: DataFrame
    actions: DataFrame
    contexts: DataFrame


@dataclass(frozen=True)
class AuditPlan:
    """How a history is judged.

    `settings` override recorded ones, and `strategy` overrides both. Cycles from `since` to before
    `until` are judged, based on everything known since the start of their leader.
    """

    profile: str
    readings: Mapping[str, str]
    settings: Mapping[str, str] = field(default_factory=dict)
    strategy: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    beside: bool = False
    """True to judge by the documents of a release as well, and report the differences."""

    @classmethod
    def of(cls, profile: str, readings: Mapping[str, str] | None = None, **more: Any) -> AuditPlan:
        """Return a plan with a profile's default readings, some of them replaced."""
        chosen = {**specs.load().default_readings(profile), **(readings or {})}
        return cls(profile, chosen, **more)

    def way(self, name: str) -> str | None:
        """Return the alternative that a release takes; None for the documented one."""
        return specs.load().profiles[self.profile].ways.get(name)

    @cached_property
    def columns(self) -> dict[str, Column]:
        """Columns that several tables use and that take hundreds of messages to Java to create."""
        return {}

    @property
    def smooths_exactly(self) -> bool:
        """True if the documents define smoothed usage exactly."""
        return any(rule.id == SMOOTHED for rule in specs.load().rules_of(self.profile))

    @property
    def released(self) -> bool:
        """True if the profile is a release, so that no reading is open."""
        return self.profile.startswith("released")

    @property
    def documents(self) -> AuditPlan | None:
        """The plan for the release's documents, if they are judged as well."""
        profile = _own_documents(self.profile)
        if not self.beside or profile is None:
            return None
        readings = specs.load().default_readings(profile)
        return replace(self, profile=profile, readings=readings, beside=False)

    @property
    def defaults(self) -> Mapping[str, Any]:
        """The profile's default settings; for a release, also under names that its documents
        renamed.
        """
        known, documents = specs.load(), _own_documents(self.profile)
        found = known.defaults(self.profile)
        if documents is not None:
            found.renamed = known.defaults(documents).renamed
        return found


def _own_documents(profile: str) -> str | None:
    """Return the documents for a release's line; None if the profile is not a release."""
    known = specs.load().profiles
    if not known[profile].released:
        return None
    own = profile.replace("released", "documented")
    return own if own in known else known[profile].based_on
