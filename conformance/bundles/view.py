"""Bundles as checks see them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from pulsar_conformance.conformance.common.expect import Violated
from pulsar_conformance.conformance.common.plain import Plain
from pulsar_conformance.reference.ranges import (
    HashRange,
    ranges_of,
)


@dataclass(frozen=True)
class Locating(Plain):
    """Topics whose bundles in a namespace are asked for."""

    @cached_property
    def ranges(self) -> tuple[HashRange, ...]:
        """The namespace's bundles, in order."""
        return ranges_of(self.case["boundaries"])


@dataclass(frozen=True)
class Found:
    """The bundle of each topic, as answered."""

    case: Locating
    bundles: tuple[str, ...]

    @cached_property
    def by_topic(self) -> dict[str, str]:
        """The bundle of each topic."""
        return dict(zip(self.case["topics"], self.bundles, strict=False))


@dataclass(frozen=True)
class Parts:
    """The parts into which a bundle was split, as answered, or the refusal."""

    names: tuple[str, ...]
    refused: str | None

    @cached_property
    def ranges(self) -> tuple[HashRange, ...]:
        """The parts as ranges."""
        try:
            return tuple(map(HashRange.parse, self.names))
        except ValueError as wrong:
            raise Violated("ranges of hashes", str(wrong)) from None

    def __str__(self) -> str:
        return f"refused: {self.refused}" if self.refused else ", ".join(self.names)


@dataclass(frozen=True)
class Chosen:
    """The bundles to split, and those whose parts are to be unloaded, as answered."""

    split: tuple[str, ...]
    unload: tuple[str, ...]
