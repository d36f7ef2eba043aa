"""Known deviations: rules that an implementation is known to break, each with a reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pulsar_conformance import specs
from pulsar_conformance.specs.errors import unknown
from pulsar_conformance.specs.lines import Sheet, read
from pulsar_conformance.specs.schemas import check_shape


@dataclass(frozen=True)
class Deviation:
    """One entry of a known-deviations file."""

    rule: str
    reason: str
    link: str
    implementation: str | None

    def concerns(self, rule: str, *names: str) -> bool:
        """Whether it speaks of this rule and an implementation by one of these names."""
        return self.rule == rule and self.implementation in (None, *names)


def load(file: Path) -> tuple[Deviation, ...]:
    """Reads a known-deviations file.

    Errors: `specs.SpecError` with file and line for an unknown rule or a second entry of one.
    """
    sheet = read(file.parent, file.name)
    check_shape(sheet, "known-deviations")
    found: list[Deviation] = []
    rules = specs.load().rules
    for place, entry in enumerate(sheet.data):
        if entry["rule"] not in rules:
            raise _wrong(sheet, place, unknown(entry["rule"], "rule", rules))
        deviation = Deviation(
            entry["rule"], entry["reason"], entry["link"], entry.get("implementation")
        )
        if _listed(found, deviation):
            raise _wrong(sheet, place, f"{deviation.rule} is listed twice")
        found.append(deviation)
    return tuple(found)


def _wrong(sheet: Sheet, place: int, problem: str) -> specs.SpecError:
    return sheet.error((place, "rule"), problem)


def _listed(found: Sequence[Deviation], new: Deviation) -> bool:
    return any((old.rule, old.implementation) == (new.rule, new.implementation) for old in found)
