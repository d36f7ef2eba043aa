"""Known deviations: rules that an implementation is known to break, each with a reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.specs.errors import unknown
from pulsar_conformance.specs.lines import Sheet, read
from pulsar_conformance.specs.schemas import check_shape
from pulsar_conformance.specs.words import counted


@dataclass(frozen=True)
class Place:
    """A method, or a field, in an implementation's source."""

    path: str
    method: str

    def __str__(self) -> str:
        """Class and method, as people write them."""
        return f"{PurePosixPath(self.path).stem}.{self.method}"


@dataclass(frozen=True)
class Deviation:
    """One entry of a known-deviations file."""

    rule: str
    reason: str
    link: str
    implementation: str | None = None
    source: tuple[Place, ...] = ()
    cases: tuple[Path, ...] = ()
    """Files of cases that show it, the smallest first."""
    answers: str = ""
    """What is answered to the first of them."""
    proposed: str = ""
    """A sentence for the documents."""

    @property
    def why(self) -> str:
        """The reason, its place in the source, the link and what is proposed, in a line."""
        place = ", ".join([*map(str, self.source), self.link])
        proposed = f"; the documents could say: {self.proposed}" if self.proposed else ""
        return f"{self.reason} ({place}){proposed}"

    def concerns(self, rule: str, *names: str) -> bool:
        """Whether it speaks of this rule and an implementation by one of these names."""
        return self.rule == rule and self.implementation in (None, *names)


def load(file: Path) -> tuple[Deviation, ...]:
    """Reads a known-deviations file.

    Errors: `specs.SpecError` with file and line for an unknown rule or a second entry of one.
    """
    sheet = read(Path(), str(file))
    check_shape(sheet, "known-deviations")
    found: list[Deviation] = []
    rules = specs.load().rules
    for place, entry in enumerate(sheet.data):
        if entry["rule"] not in rules:
            raise _wrong(sheet, place, unknown(entry["rule"], "rule", rules))
        deviation = _deviation(entry)
        if _listed(found, deviation):
            raise _wrong(sheet, place, f"{deviation.rule} is listed twice")
        found.append(deviation)
    return tuple(found)


def of_others(listed: Sequence[Deviation], judged: Collection[str]) -> Iterator[str]:
    """What to say of entries whose implementation is none of those that were judged."""
    counts = Counter(one.implementation for one in listed)
    for name, count in counts.items():
        if name is not None and name not in judged:
            verb = "is" if count == 1 else "are"
            yield f"{counted(count, 'known deviation')} {verb} of {name}, which was not judged"


def _deviation(entry: Mapping[str, Any]) -> Deviation:
    return Deviation(
        entry["rule"],
        entry["reason"],
        entry["link"],
        entry.get("implementation"),
        tuple(Place(one["path"], one["method"]) for one in entry.get("source", ())),
        tuple(map(Path, entry.get("cases", ()))),
        entry.get("answers", ""),
        entry.get("proposed", ""),
    )


def _wrong(sheet: Sheet, place: int, problem: str) -> specs.SpecError:
    return sheet.error((place, "rule"), problem)


def _listed(found: Sequence[Deviation], new: Deviation) -> bool:
    return any((old.rule, old.implementation) == (new.rule, new.implementation) for old in found)
