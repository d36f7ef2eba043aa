"""What an audit found, as lines that fit 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from textwrap import wrap
from typing import Any

from pulsar_conformance.conformance.audit.asked import SIDES
from pulsar_conformance.conformance.audit.summary import VERDICTS, wrong
from pulsar_conformance.specs.words import counted
from rich import box
from rich.console import Console
from rich.table import Table

Json = dict[str, Any]
WIDTH = 80
MEGABYTE = 1_000_000


def lines(found: Json, faults: list[Json], cases: str) -> Iterator[str]:
    """The whole report; `cases` is where their questions are."""
    yield from _read(found["lines"])
    unloads = found["unloads"]
    ran = counted(found["cycles"], "shedding cycle")
    yield f"{counted(found['clusters'], 'cluster')}, {ran}"
    broken = unloads["in_violation"]
    yield f"{counted(unloads['recorded'], 'unload')}, {broken} of them in cycles that break a rule"
    yield from ("", *_rules(found["rules"]))
    if "asked" in found:
        yield from ("", *_asked(found["asked"]))
    for fault in faults:
        yield from ("", *_fault(fault))
    if faults:
        told = f"the case of each: {cases}/*.json, for pulsar-conformance explain"
        yield from ("", *wrap(told, WIDTH, break_long_words=False, break_on_hyphens=False))
    yield ""
    total = wrong(found)
    against = f"{counted(total, 'verdict')} against what was done"
    sound = "nothing done breaks a rule" if found["cycles"] else "nothing could be audited"
    yield against if total else sound


def _read(counts: Json) -> Iterator[str]:
    lost = sum(counts["quarantined"].values())
    yield f"{counted(counts['read'], 'line')} read, {counts['used']} used, {lost} quarantined"
    for reason, count in counts["quarantined"].items():
        yield f"  {count:>8}  {reason}"


def _rules(rules: Json) -> list[str]:
    if not rules:
        return ["no rule is about these cycles"]
    made = _table("rule", *VERDICTS)
    for rule, counts in rules.items():
        made.add_row(rule, *(str(counts[verdict] or "") for verdict in VERDICTS))
    return _printed(made)


def _asked(asked: Json) -> list[str]:
    made = _table("what would be unloaded", *(f"by {side} settings" for side in SIDES))
    for name, unit in ROWS.items():
        made.add_row(unit, *(_number(asked[side][name]) for side in SIDES))
    told = f"{asked['both']} bundles by both, {asked['only_asked']} only by the asked settings"
    return [*_printed(made), told]


ROWS = {
    "bundles": "bundles",
    "cycles": "cycles that unload",
    "brokers": "brokers that unload",
    "bytes_per_second": "MB/s moved in all",
}


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value / MEGABYTE:.1f}"


def _fault(fault: Json) -> list[str]:
    first = f"{fault['rule']} {fault['verdict']}, {fault['cluster']} at {fault['cycle']}"
    return [
        *wrap(first, WIDTH, subsequent_indent="  "),
        *wrap(fault["evidence"], WIDTH - 2, initial_indent="  ", subsequent_indent="  "),
    ]


def _table(first: str, *others: str) -> Table:
    made = Table(box=box.SIMPLE, pad_edge=False)
    made.add_column(first)
    for name in others:
        made.add_column(name, justify="right")
    return made


def _printed(made: Table) -> list[str]:
    out = StringIO()
    Console(file=out, width=WIDTH, color_system=None).print(made)
    return [line.rstrip() for line in out.getvalue().strip("\n").splitlines() if line.strip()]
