"""Formats the measurements as tables that fit 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from io import StringIO

from rich import box
from rich.console import Console
from rich.table import Table

from bench.rates import Rates

WIDTH = 80


def of_rates(rates: Rates, names: Mapping[str, str]) -> list[str]:
    """Return a line per operation and implementation, with the ratio to the first implementation.

    `names` are the names of the implementations, by adapter.
    """
    made = _table("operation", "implementation", "cases/s", "ratio")
    first = next(iter(names))
    for operation in dict.fromkeys(operation for operation, _ in rates):
        base = rates.get((operation, first))
        told = operation
        for adapter, name in names.items():
            rate = rates.get((operation, adapter))
            if rate is not None:
                made.add_row(told, name, f"{rate:,.0f}", f"{rate / base:.3g}" if base else "")
                told = ""
    return _lines(made)


def of_ratios(rows: Iterable[tuple[str, str, str]]) -> list[str]:
    """Return a line for each measurement: its name, the measured value, and the ratio."""
    made = _table("measured", "seconds", "ratio")
    for row in rows:
        made.add_row(*row)
    return _lines(made)


def _table(*columns: str) -> Table:
    made = Table(box=box.SIMPLE, pad_edge=False)
    for column in columns:
        number = column in ("cases/s", "seconds", "ratio")
        made.add_column(column, justify="right" if number else "left")
    return made


def _lines(made: Table) -> list[str]:
    out = StringIO()
    Console(file=out, width=WIDTH, color_system=None).print(made)
    return [line.rstrip() for line in out.getvalue().strip("\n").splitlines()]
