"""Mutants that no document distinguishes from the model, each with the reason.

Also finds explanations that are outdated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pulsar_conformance.specs.lines import read_sheet
from pulsar_conformance.specs.schemas import check_shape

from mutants.making import Mutant, modules, mutants


@dataclass(frozen=True)
class Explained:
    """The reason why a mutant may survive, and the change that a person reviewed."""

    id: str
    line: str
    becomes: str
    why: str
    place: str
    """File and line of the explanation."""


FOLDER = Path(__file__).parent.parent
FILE = "mutants/explained.yaml"


@cache
def explained() -> Mapping[str, Explained]:
    """Return the explanations by the ID of the mutant. Errors: `SpecError`, with file and line."""
    return explained_in(FOLDER)


def explained_in(folder: Path, file: str = FILE) -> dict[str, Explained]:
    """Return the explanations of a folder laid out as `tests/` is. Errors: `SpecError`."""
    sheet = read_sheet(folder, file)
    check_shape(sheet, "explained-mutants")
    found: dict[str, Explained] = {}
    for number, entry in enumerate(sheet.data):
        for nth, one in enumerate(entry["mutants"]):
            where = (number, "mutants", nth)
            if one["id"] in found:
                raise sheet.error(where, f"{one['id']} is explained twice; keep one")
            place = f"tests/{file}:{sheet.line(where)}"
            found[one["id"]] = Explained(**one, why=" ".join(entry["why"].split()), place=place)
    return found


def stale(
    known: Mapping[str, Explained], every: Iterable[Mutant], caught: Iterable[str] = ()
) -> Iterator[str]:
    """Yield a message for each explanation that no longer holds.

    `every` are all mutants; `caught` are the IDs of those that a rule catches.
    """
    there, dead = {one.id: one for one in every}, set(caught)
    for one in known.values():
        mutant = there.get(one.id)
        if mutant is None:
            yield f"{one.place}: there is no {one.id}; take the explanation out"
        elif (mutant.line, mutant.becomes) != (one.line, one.becomes):
            yield (
                f"{one.place}: {one.id} is another change now, {mutant.line!r} with "
                f"{mutant.becomes!r}; review it anew"
            )
        elif one.id in dead:
            yield f"{one.place}: {one.id} is caught; take the explanation out"


def all_mutants() -> list[Mutant]:
    """Return every mutant of the model, in order."""
    return [one for file in modules() for one in mutants(file)]
