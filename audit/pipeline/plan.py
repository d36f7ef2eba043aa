"""What a history is judged by: a profile, readings, and what stands in place of its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pulsar_conformance import specs
from pyspark.sql import DataFrame

Made = Mapping[str, DataFrame]
"""Gold tables by their names, those that were made before."""


@dataclass(frozen=True)
class Silver:
    """What was recorded, as `tables.TABLES` has it."""

    broker_samples: DataFrame
    bundle_samples: DataFrame
    actions: DataFrame
    contexts: DataFrame


@dataclass(frozen=True)
class AuditPlan:
    """How a history is judged.

    `settings` win over those that were recorded, and `strategy` over both. Cycles count that are at
    `since` or later, and before `until`; what was known at them goes back to their leader's start.
    """

    profile: str
    readings: Mapping[str, str]
    settings: Mapping[str, str] = field(default_factory=dict)
    strategy: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    @classmethod
    def of(cls, profile: str, readings: Mapping[str, str] | None = None, **more: Any) -> AuditPlan:
        """Under the usual readings of a profile, but for those that are chosen."""
        chosen = {**specs.load().default_readings(profile), **(readings or {})}
        return cls(profile, chosen, **more)

    @property
    def defaults(self) -> Mapping[str, Any]:
        """The settings that the profile's documents give."""
        return specs.load().defaults(self.profile)
