"""The numbers of a case as small tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from pulsar_conformance.reference.cluster import RESOURCES
from pulsar_conformance.reports.pages.cells import (
    BYTES,
    CYCLE_LIST_FIELD,
    MESSAGES,
    RATES,
    TITLES,
    Json,
    format_field,
    format_in_and_out,
    format_load,
    format_object,
    format_setting,
)

MAX_TABLE_ROWS = 60
"""Maximum number of rows of a table; longer tables show only the first rows and the last one."""

FIRST_ROWS = 10

SETTINGS = "settings"

ISOLATION = "isolation"
"""Field of a case that is empty if isolation policies are in another field, `policies`."""

MINUTES, SINCE = "minutes", "minutes since the cycle before"
"""Field of a cycle with the minutes since the previous cycle, and its heading.

In the first cycle, the field has no meaning.
"""

UNUSED = dict.fromkeys((TITLES.get(name, name) for name in RESOURCES), "0 %") | {"bundles": "0"}
"""By column heading: the value shown for a broker that does not report one."""

NUMBERED = re.compile(r"(\D*)(\d+)(\D.*|)")
"""Pattern of a name with a number, such as that of a broker in a StatefulSet."""

MAX_EQUAL_BROKERS = 2
"""Maximum number of consecutive equal brokers with separate rows; more brokers share one row."""

MAX_FIELD_COLUMNS = 8
"""Maximum number of fields with separate columns; more fields share one column."""


ONE_BROKER = ("broker", "written", "now")
"""Fields that hold the report of a single broker."""

FIRST_COLUMNS = (*(TITLES.get(name, name) for name in RESOURCES), "bytes", "messages", "bundles")
"""Columns that come first in a table of brokers, in this order."""


@dataclass(frozen=True)
class Table:
    """A table: headings, and rows with one cell per heading."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def shown(self) -> tuple[tuple[str, ...], ...]:
        """The rows to show; the middle of a long table is left out."""
        if len(self.rows) <= MAX_TABLE_ROWS:
            return self.rows
        left_out = (f"… {len(self.rows) - FIRST_ROWS - 1} more", *("" for _ in self.headings[1:]))
        return (*self.rows[:FIRST_ROWS], left_out, self.rows[-1])


def case_tables(
    case: Json, heading: str = "case", defaults: Mapping[str, Any] | None = None
) -> Iterator[Table]:
    """Yield the tables of a case or an answer: a table of its plain fields, then a table for each
    other field.

    With `defaults`, the table of settings also has the default of each.
    """
    plain = [
        (TITLES.get(name, name), format_field(name, value))
        for name, value in case.items()
        if not _has_table(value) and not (name == ISOLATION and case.get("policies"))
    ]
    if plain:
        yield Table((heading, ""), tuple(plain))
    for name, value in case.items():
        if name == CYCLE_LIST_FIELD:
            yield from _cycle_tables(value)
        elif _has_table(value):
            table = _of_field(case, name, value)
            if name == SETTINGS and defaults is not None:
                table = _settings(value, defaults)
            if table.rows:
                yield table


def _settings(values: Json, defaults: Mapping[str, Any]) -> Table:
    """Return a table of settings with values and defaults."""
    rows = (
        (f"`{name}`", format_setting(name, value), format_setting(name, defaults.get(name)))
        for name, value in values.items()
    )
    return Table(("setting", "", "default"), tuple(rows))


def _cycle_tables(cycles: Sequence[Json]) -> Iterator[Table]:
    """Yield the tables of each cycle; a table that equals that of the previous cycle is only
    mentioned.
    """
    before: list[Table] = []
    runs = groupby(enumerate(cycles, 1), key=lambda one: (one[0] == 1, one[1]))
    for (first, cycle), run in runs:
        places = [place for place, _ in run]
        which = f"cycle {places[0]}"
        if places[1:]:
            which = f"cycles {places[0]} to {places[-1]}, each"
        parts = [_of_field(cycle, name, one) for name, one in cycle.items() if _has_table(one)]
        found = [table for table in parts if table.rows]
        rows = [
            (SINCE if name == MINUTES else TITLES.get(name, name), format_field(name, value))
            for name, value in cycle.items()
            if not _has_table(value) and not (first and name == MINUTES)
        ]
        same = [_several(table.headings[0]) for table in found if table in before]
        if same:
            rows.append((", ".join(same), "as in the cycle before"))
        if rows:
            yield Table((which, ""), tuple(rows))
        for table in found:
            if table not in before:
                heading, *others = table.headings
                yield Table((f"{which}: {heading}", *others), table.rows)
        before = found


def _several(heading: str) -> str:
    return f"{heading}s" if heading in ("broker", "bundle") else heading


def _has_table(value: Any) -> bool:
    return isinstance(value, Mapping) or (
        isinstance(value, list) and any(isinstance(one, Mapping) for one in value)
    )


def _of_field(case: Json, name: str, value: Any) -> Table:
    if name == SETTINGS:
        rows = ((f"`{key}`", format_setting(key, one)) for key, one in value.items())
        return Table(("setting", ""), tuple(rows))
    if name == "brokers":
        return _brokers(case)
    if name in ONE_BROKER:
        return Table((name, ""), tuple(_broker_fields(value)))
    if name == "bundles" and "brokers" in case:
        return _bundles(case)
    if isinstance(value, list):
        return _rows(TITLES.get(name, name), value)
    if all(isinstance(one, Mapping) for one in value.values()):
        return _objects(TITLES.get(name, name), value)
    return Table(
        (TITLES.get(name, name), ""),
        tuple((f"`{key}`", format_field(key, one)) for key, one in value.items()),
    )


def _groups_of_equal_brokers(case: Json) -> list[list[str]]:
    """Return groups of consecutive brokers that share a row of the table.

    They have equal reports, equal bundles, and names numbered without a gap. Up to
    `MAX_EQUAL_BROKERS` such brokers have separate rows nevertheless.
    """
    bundles = case.get("bundles", {})

    def report(name: str) -> object:
        broker = dict(case["brokers"][name])
        owned, latest = broker.pop("bundles", ()), broker.pop("lastStats", {})
        return broker, [(bundles.get(one), latest.get(one)) for one in owned]

    def numbered(place: int, name: str) -> object:
        """Return a value that is equal for consecutive names numbered without a gap."""
        found = NUMBERED.fullmatch(name)
        return (found[1], int(found[2]) - place, found[3]) if found else name

    names = enumerate(case["brokers"])
    runs = [
        [name for _, name in run]
        for _, run in groupby(names, key=lambda one: (report(one[1]), numbered(*one)))
    ]
    each = ([run] if len(run) > MAX_EQUAL_BROKERS else [[name] for name in run] for run in runs)
    return [one for some in each for one in some]


def _span(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}, each"


def _brokers(case: Json) -> Table:
    """Return a table with a row per broker and a column per reported value."""
    brokers = {_span(run): case["brokers"][run[0]] for run in _groups_of_equal_brokers(case)}
    fields = [(name, dict(_broker_fields(broker))) for name, broker in brokers.items()]
    known = dict.fromkeys(heading for _, found in fields for heading in found)
    headings = [one for one in dict.fromkeys((*FIRST_COLUMNS, *known)) if one in known]
    rows = [
        (name, *(found.get(one, UNUSED.get(one, "–")) for one in headings))
        for name, found in fields
    ]
    return Table(("broker", *headings), tuple(rows))


def _broker_fields(broker: Json) -> Iterator[tuple[str, str]]:
    for name in RESOURCES:
        if name in broker:
            yield TITLES.get(name, name), format_field(name, broker[name])
    for heading, names in (("bytes", BYTES), ("messages", MESSAGES)):
        if carried := format_in_and_out(broker, names):
            yield heading, carried
    for name, value in broker.items():
        if name == "bundles":
            yield "bundles", str(len(value))
        elif name not in (*RESOURCES, *RATES, "lastStats"):
            yield TITLES.get(name, name), format_field(name, value)


def _bundles(case: Json) -> Table:
    """Return a table with a row per bundle: its owner, its load, the time of its last unload."""
    brokers = case["brokers"].items()
    owners = {bundle: name for name, broker in brokers for bundle in broker.get("bundles", ())}
    latest = {
        bundle: format_load(stats)
        for _, broker in brokers
        for bundle, stats in broker.get("lastStats", {}).items()
    }
    columns: dict[str, Mapping[str, str]] = {"broker": owners}
    for frame in ("shortTermData", "longTermData"):
        known = case["bundles"].items()
        columns[TITLES[frame]] = {
            name: format_object(one[frame]) for name, one in known if frame in one
        }
    columns["latest"] = latest
    shown = {run[0]: run[1:] for run in _groups_of_equal_brokers(case)}
    filled = {heading: column for heading, column in columns.items() if column}
    rows = []
    for broker, others in shown.items():
        for name in case["brokers"][broker].get("bundles", ()):
            rows.append((f"`{name}`", *(column.get(name, "–") for column in filled.values())))
        if others and case["brokers"][broker].get("bundles"):
            rest = ("" for _ in range(len(filled) - 1))
            rows.append((f"as many, with the same data as those of {broker}", _span(others), *rest))
    strays = (name for name in case["bundles"] if name not in owners)
    rows += [(f"`{name}`", *(one.get(name, "–") for one in filled.values())) for name in strays]
    return Table(("bundle", *filled), tuple(rows))


def _objects(title: str, objects: Mapping[str, Json]) -> Table:
    fields = list(dict.fromkeys(field for one in objects.values() for field in one))
    rows = (
        (f"`{name}`", *(format_field(field, one.get(field)) for field in fields))
        for name, one in objects.items()
    )
    return Table((title, *(TITLES.get(field, field) for field in fields)), tuple(rows))


def _rows(title: str, objects: Sequence[Any]) -> Table:
    """Return a table with a row per object; equal consecutive objects share a row."""
    fields = list(dict.fromkeys(field for one in objects for field in one))
    runs, first = [], 1
    for one, equal in groupby(objects):
        count = len(list(equal))
        runs.append((str(first) if count == 1 else f"{first} to {first + count - 1}", one))
        first += count
    if len(fields) > 1 and all(len(one) == 1 for one in objects):
        kinds = ((number, *next(iter(one.items()))) for number, one in runs)
        return Table(
            (title, "", ""),
            tuple((number, kind, format_field(kind, one)) for number, kind, one in kinds),
        )
    if len(fields) > MAX_FIELD_COLUMNS:
        return Table(("", title), tuple((number, format_object(one)) for number, one in runs))
    headings = (title, *(TITLES.get(field, field) for field in fields))
    rows = (
        (number, *(format_field(field, one.get(field)) for field in fields)) for number, one in runs
    )
    return Table(headings, tuple(rows))
