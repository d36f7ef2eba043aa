"""Damaged copies of lines, which are added after the originals."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pulsar_conformance.audit.fleet.chance import random_integer, random_share
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

DAMAGED = "damaged"
"""Kind of all damaged lines, whatever kind of record was damaged."""

Damage = Callable[[Column], Column]


def _replace_number(pattern: str, instead: str) -> Damage:
    """Return a function that replaces the number in the first field whose name matches `pattern`.

    If a line has no such field, the function cuts the line off.
    """

    def damage(line: Column) -> Column:
        changed = F.regexp_replace(line, rf'^(.*?"{pattern}":)[-0-9.E]+(.*)$', f"$1{instead}$2")
        return F.when(changed == line, cut_off(line)).otherwise(changed)

    return damage


def cut_off(line: Column) -> Column:
    """Return the first half of a line, as after a crash."""
    return F.substring(line, F.lit(1), (F.length(line) / 2).cast("int"))


KINDS: Mapping[str, Damage] = {
    "cut off": cut_off,
    "not a number": _replace_number("msgRateIn", "NaN"),
    "below nothing": _replace_number("usage", "-4.5"),
    "absurd": _replace_number("msgThroughputOut", "4e300"),
    "a word for a number": _replace_number("limit", '"many"'),
    "unknown kind": lambda line: F.regexp_replace(line, '^\\{"kind":"', '{"kind":"old_'),
    "no cluster": lambda line: F.regexp_replace(line, '"cluster":"[^"]*",', ""),
    "no time": lambda line: F.regexp_replace(line, '"at":"[^"]*"', '"at":"yesterday"'),
    "not JSON": lambda line: F.concat(F.lit("WARN could not write: "), line),
    "two at once": lambda line: F.concat(line, cut_off(line)),
    "said again": lambda line: line,
}
"""Functions that damage a line, by kind of damage. All kinds are equally probable."""


def with_damage(lines: DataFrame, part: float, seed: int) -> DataFrame:
    """Add damaged copies of some lines to rows with `kind` and `value`.

    `part` is the share of damaged lines in the result. Only the seed and the text of a line
    determine whether and how it is damaged.
    """
    if not part:
        return lines
    text = F.col("value")
    record = text.startswith('{"kind"')
    chosen = record & (random_share(seed, "damage", text) < part / (1 - part))
    which = random_integer(seed, "kind of damage", len(KINDS), text) + 1
    damaged = F.element_at(F.array(*(damage(text) for damage in KINDS.values())), which.cast("int"))
    both = F.array(
        F.struct("kind", "value"),
        F.when(chosen, F.struct(F.lit(DAMAGED).alias("kind"), damaged.alias("value"))),
    )
    return lines.select(F.inline(F.array_compact(both)))
