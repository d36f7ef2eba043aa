"""Values of settings that a broker accepts but users are unlikely to intend, and their effects."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from pulsar_conformance.specs.broker import Value
from pulsar_conformance.specs.judged import ways_of_version
from pulsar_conformance.specs.lines import read_sheet
from pulsar_conformance.specs.schemas import check_shape
from pulsar_conformance.specs.versions import precedes


@dataclass(frozen=True)
class OddValues:
    """Values of a setting that users are unlikely to intend, and their effect.

    They have this effect only if one of `parts` is in force in the broker, or `parts` is empty.
    """

    does: str
    below: float | None = None
    above: float | None = None
    at: Value | None = None
    parts: tuple[str, ...] = ()
    ways: Mapping[str, str] = field(default_factory=dict)
    since: tuple[str, ...] = ()
    until: tuple[str, ...] = ()

    def include(self, value: Value) -> bool:
        """True if a value is one of these values."""
        if self.at is not None or isinstance(value, str | bool):
            return value == self.at
        over = self.above is None or value > self.above
        return over and (self.below is None or value < self.below)

    def apply_in(self, version: str, parts: Collection[str]) -> bool:
        """True if the values have their effect in a version, in a broker with these `parts`."""
        early = bool(self.since) and precedes(version, self.since)
        late = bool(self.until) and not precedes(version, self.until)
        taken = ways_of_version(version) if self.ways else {}
        other = any(taken[name] != way for name, way in self.ways.items())
        off = bool(self.parts) and set(self.parts).isdisjoint(parts)
        return not (early or late or other or off)


@cache
def odd_values() -> Mapping[str, tuple[OddValues, ...]]:
    """Return the values that users are unlikely to intend, by setting. Errors: `SpecError`."""
    sheet = read_sheet(Path(__file__).parent, "odd_values.yaml")
    check_shape(sheet, "odd-values")
    return {name: tuple(map(_parse_odd_values, rows)) for name, rows in sheet.data.items()}


def effects_of_value(
    name: str, value: Value, version: str, parts: Collection[str]
) -> Iterator[str]:
    """Yield the effects of a value that is probably unintended; none if the version is empty."""
    for one in odd_values().get(name, ()) if version else ():
        if one.include(value) and one.apply_in(version, parts):
            yield one.does


def _parse_odd_values(row: Mapping[str, Any]) -> OddValues:
    given: dict[str, Any] = {
        name: tuple(one) if isinstance(one, list) else one for name, one in row.items()
    }
    return OddValues(**given)
