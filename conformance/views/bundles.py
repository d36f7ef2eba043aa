"""Namespaces and bundles as checks see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from pulsar_conformance.conformance.expect import Violated
from pulsar_conformance.conformance.views.plain import AnswerView, CaseView, Plain
from pulsar_conformance.reference.candidates import Growth
from pulsar_conformance.reference.ranges import HashRange, ranges_of


@dataclass(frozen=True)
class Locating(Plain):
    """Topics to be found in the bundles of a namespace."""

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
        """Topic to bundle."""
        return dict(zip(self.case["topics"], self.bundles, strict=False))


@dataclass(frozen=True)
class Parts:
    """The parts that a bundle was split into, as answered, or the refusal."""

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


CASES: Mapping[str, CaseView] = {
    "bundles.locate": lambda case, settings, _readings: Locating(case, settings),
    "bundles.split_candidates": Growth,
}

ANSWERS: Mapping[str, AnswerView] = {
    "bundles.create": lambda _case, answer: answer["boundaries"],
    "bundles.locate": lambda case, answer: Found(case, tuple(answer["bundles"])),
    "bundles.split": lambda _case, answer: Parts(
        tuple(answer.get("bundles", ())), answer.get("refused")
    ),
    "bundles.split_candidates": lambda _case, answer: Chosen(
        tuple(answer["split"]), tuple(answer["unload"])
    ),
}
