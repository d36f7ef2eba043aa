"""The plan of an audit: its profile and readings, and the settings that override recorded ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from pulsar_conformance import specs
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

SMOOTHED = "THRESHOLD-18"
"""The rule that defines how usage is smoothed over earlier observations."""

GoldTables = Mapping[str, DataFrame]
"""Tables by name: the parents from which a gold table is built."""

ALL_DAYS_PREFIX = "whole "
"""Prefix of names in `GoldTables`: with it, a name stands for a parent with all its days.

Without it, the parent may have only the days that are being built.
"""


@dataclass(frozen=True)
class Silver:
    """The silver tables of an audit."""

    broker_samples: DataFrame
    bundle_samples: DataFrame
    actions: DataFrame
    contexts: DataFrame


@dataclass(frozen=True)
class AuditPlan:
    """The choices by which a history is judged.

    `settings` override recorded ones, and `strategy` overrides both. The cycles from `since` on and
    before `until` are judged, based on all records since their leader was elected.
    """

    profile: str
    readings: Mapping[str, str]
    settings: Mapping[str, str] = field(default_factory=dict)
    strategy: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    by_documents_too: bool = False
    """True if the audit also judges by the documents of the release and reports the differences."""

    lender: str | None = None
    """The release whose defaults apply to settings without a documented default; None if no release
    is known.
    """

    chosen: tuple[str, ...] = ()
    """The readings whose alternative the user has chosen."""

    @classmethod
    def of(cls, profile: str, readings: Mapping[str, str] | None = None, **more: Any) -> AuditPlan:
        """Return a plan for a profile, with its default readings except those in `readings`."""
        chosen = {**specs.load().default_readings(profile), **(readings or {})}
        return cls(profile, chosen, chosen=tuple(sorted(readings or ())), **more)

    def alternative_of_way(self, way: str) -> str | None:
        """Return the release's alternative of a way in `specs/ways.yaml`; None if it behaves as
        documented.
        """
        return specs.load().profiles[self.profile].ways.get(way)

    @cached_property
    def columns(self) -> dict[str, Column]:
        """Cache of columns that tables share, since creating a column takes hundreds of messages to
        Java.
        """
        return {}

    @property
    def smooths_exactly(self) -> bool:
        """True if the documents define exactly how usage is smoothed."""
        return any(rule.id == SMOOTHED for rule in specs.load().rules_of(self.profile))

    @property
    def released(self) -> bool:
        """True if the profile describes a release, for which no reading is open."""
        return self.profile.startswith("released")

    @property
    def documents(self) -> AuditPlan | None:
        """The plan for judging by the release's documents as well.

        None if the audit does not do so, or if the profile is not a release.
        """
        profile = _documents_of_release(self.profile)
        if not self.by_documents_too or profile is None:
            return None
        readings = specs.load().default_readings(profile)
        return replace(
            self,
            profile=profile,
            readings=readings,
            chosen=(),
            by_documents_too=False,
            lender=self.profile,
        )

    @property
    def amounts_by(self) -> str | None:
        """The profile that defines the amounts to shed in the table `decisions`, if that is not the
        plan's own.

        For a release, it is the profile of its documents; None if the plan's profile describes
        documents.
        """
        return _documents_of_release(self.profile)

    @property
    def defaults(self) -> Mapping[str, Any]:
        """The profile's default settings.

        If a setting was renamed, a release's default is found under both the old and the new name.
        """
        known, documents = specs.load(), _documents_of_release(self.profile)
        found = known.defaults(self.profile)
        if documents is not None:
            found.renamed = known.defaults(documents).renamed
        return found.with_values(self.lent) if self.lent else found

    @property
    def lent(self) -> Mapping[str, Any]:
        """The defaults of the release `lender` for settings without a documented default."""
        known = specs.load()
        if self.lender is None:
            return {}
        own, others = known.defaults(self.profile), known.profile(self.lender).defaults
        return {name: value for name, value in others.items() if name not in own}


def tables_in_period(tables: GoldTables, plan: AuditPlan) -> GoldTables:
    """Return the tables; cycles, unloads and other actions are limited to the plan's period.

    An unload belongs to the period of its cycle. Unloads without a cycle, splits and assignments
    belong to the period of their own time. All tables of decisions and verdicts have only cycles of
    the period anyway, and tables of what was known keep all their rows.
    """
    times = {
        "cycles": F.col("cycle"),
        "unloads": F.coalesce("cycle", "at"),
        "actions": F.col("at"),
    }
    return {
        name: rows_in_period(rows, times[name], plan) if name in times else rows
        for name, rows in tables.items()
    }


def rows_in_period(rows: DataFrame, time: Column, plan: AuditPlan) -> DataFrame:
    """Return the rows whose time is in the period that a plan judges."""
    if plan.since is not None:
        rows = rows.where(time >= F.lit(plan.since))
    if plan.until is not None:
        rows = rows.where(time < F.lit(plan.until))
    return rows


def _documents_of_release(profile: str) -> str | None:
    """Return the profile of a release's documents; None if the profile is not a release."""
    known = specs.load().profiles
    if not known[profile].released:
        return None
    own = profile.replace("released", "documented")
    return own if own in known else known[profile].based_on
