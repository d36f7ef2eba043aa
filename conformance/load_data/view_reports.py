"""Load reports as checks see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pulsar_conformance.conformance.core.trial import Json
from pulsar_conformance.reference.cluster import RESOURCES
from pulsar_conformance.reference.reports import NESTED, Report, Unreadable, read


@dataclass(frozen=True)
class Reported:
    """A load report with any content."""

    report: Json

    @cached_property
    def read(self) -> Report | None:
        """The report as the model reads it, or None if it cannot be read."""
        try:
            return read(self.report)
        except Unreadable:
            return None

    def known(self, name: str) -> Any:
        """The report's value for a name of the protocol, or None."""
        return None if self.read is None else self.read.broker.get(name)

    @property
    def nested(self) -> bool:
        """Whether it has `systemResourceUsage`."""
        return self.report.get(NESTED) is not None

    @property
    def at_the_top(self) -> list[str]:
        """The resources at the top level of the report."""
        return [name for name in RESOURCES if self.report.get(name) is not None]

    @property
    def below(self) -> list[str]:
        """The resources in `systemResourceUsage`."""
        nested = self.report.get(NESTED)
        named = nested if isinstance(nested, Mapping) else {}
        return [name for name in RESOURCES if named.get(name) is not None]


@dataclass(frozen=True)
class Said:
    """The content of a report, as answered, or the refusal."""

    manager: str | None
    broker: Json
    refused: str | None

    def __getitem__(self, name: str) -> Any:
        return self.broker.get(name)

    def __str__(self) -> str:
        return f"refused: {self.refused}" if self.manager is None else self.manager
