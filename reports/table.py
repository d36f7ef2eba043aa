"""The table of areas and implementations, from the lines of a verdict stream."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from typing import Any

from pulsar_conformance.specs import AREAS
from rich import box
from rich.console import Console
from rich.table import Table

WIDTH = 80
WORDS = {
    "error": "error",
    "fail": "FAIL",
    "unexpected_pass": "stale deviation",
    "warning": "warn",
    "known_deviation": "deviation",
    "unexercised": "unexercised",
    "undecided": "undecided",
    "pass": "pass",
    "not_applicable": "-",
}
"""How verdicts are written, the worst first."""

FEW = 3
"""So many rules with one reason are all named."""

Line = Mapping[str, Any]
Column = tuple[str, str]
"""Implementation and profile."""


def lines(stream: Sequence[Line]) -> list[str]:
    """The table, its legend, and every verdict that is no pass, in 80 columns without colour."""
    run, verdicts = stream[0], stream[1:]
    names = {(one["adapter"], one["profile"]): one["name"] for one in run["implementations"]}
    cells: dict[tuple[str, Column], Counter[str]] = defaultdict(Counter)
    for line in verdicts:
        column = line["implementation"], line["profile"]
        cells[line["rule"].partition("-")[0], column][word_of(line)] += 1
    return [*_table(names, cells), *_totals(verdicts), *_others(names, verdicts), *_neutral(run)]


def word_of(line: Line) -> str:
    """A verdict; a failure of what is no `must` is a warning."""
    if line["verdict"] == "fail" and line["level"] != "must":
        return "warning"
    return str(line["verdict"])


def _table(
    names: Mapping[Column, str], cells: Mapping[tuple[str, Column], Counter[str]]
) -> Iterator[str]:
    table = Table(box=box.SIMPLE, pad_edge=False, title="Areas and implementations")
    table.add_column("area")
    for (_, profile), name in names.items():
        table.add_column(f"{name}\n{profile}")
    for area in AREAS:
        row = [cells.get((area, column), Counter()) for column in names]
        if any(row):
            table.add_row(area, *map(cell, row))
    out = StringIO()
    Console(file=out, width=WIDTH, color_system=None).print(table)
    yield from (line.rstrip() for line in out.getvalue().splitlines())


def cell(counts: Counter[str]) -> str:
    """What a cell says: the worst verdict first, with how many rules have it."""
    said = [f"{counts[word]} {shown}" for word, shown in WORDS.items() if counts[word]]
    if not counts:
        return ""
    if set(counts) == {"not_applicable"}:
        return "-"
    return ", ".join(one for one in said if not one.endswith(" -"))


def _totals(verdicts: Sequence[Line]) -> Iterator[str]:
    counts = Counter(map(word_of, verdicts))
    said = (f"{counts[word]} {word.replace('_', ' ')}" for word in WORDS if counts[word])
    reached = sum(line["reached"] for line in verdicts)
    yield f"{len(verdicts)} verdicts: {', '.join(said)}; {reached} cases judged"


def _others(names: Mapping[Column, str], verdicts: Iterable[Line]) -> Iterator[str]:
    """Every verdict that is no pass in a line; rules with one and the same reason together."""
    groups: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for line in verdicts:
        word = word_of(line)
        replayed = word == "unexercised" and not line["drawn"]
        if word in ("pass", "not_applicable") or replayed:
            continue
        name = names[line["implementation"], line["profile"]]
        failure = line["failure"]
        why = failure["case_file"] if failure else line["why"].partition("\n")[0]
        groups[name, word, why].append(line["rule"])
    for (name, word, why), rules in groups.items():
        listed = ", ".join(rules) if len(rules) <= FEW else f"{len(rules)} rules"
        yield f"  {WORDS[word]}: {listed} ({name}): {why}"


def _neutral(run: Line) -> Iterator[str]:
    """The settings of an implementation that were made neutral, each with why."""
    told = {
        (one["name"], name): why
        for one in run["implementations"]
        for name, why in one.get("neutral", {}).items()
    }
    for (implementation, name), why in told.items():
        yield f"  made neutral in {implementation}: {name} = {why}"
