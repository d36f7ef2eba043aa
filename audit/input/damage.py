"""Why a line cannot be used: each reason with its rule. The first that applies is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from pulsar_conformance.audit.input import conditions as when
from pulsar_conformance.audit.input.gzipped import DAMAGED as DAMAGED_GZIP
from pulsar_conformance.audit.input.lines import FOREIGN
from pulsar_conformance.audit.input.salvage import DAMAGED as DAMAGED_PARQUET
from pyspark.sql import Column
from pyspark.sql import functions as F

STRAY = 30
"""Days between a stray day and the rest of its cluster's history."""


class Reason(NamedTuple):
    """Which lines a reason is for, in words and as a column."""

    rule: str
    applies: Callable[[], Column]


def never() -> Column:
    """For what only other lines can tell."""
    return F.lit(False)


REASONS: Mapping[str, Reason] = {
    DAMAGED_GZIP: Reason(
        "A gzip file is damaged or cut off from here on; the lines before are used.",
        lambda: F.col("damage") == DAMAGED_GZIP,
    ),
    DAMAGED_PARQUET: Reason(
        "A row of a Parquet file that is damaged, or such a file as a whole; the rest is used.",
        lambda: F.col("damage") == DAMAGED_PARQUET,
    ),
    FOREIGN: Reason(
        "The file's name ends like that of a format which is not read, such as .bz2.",
        lambda: F.col("damage") == FOREIGN,
    ),
    "not-utf8": Reason("The line is not UTF-8.", lambda: ~F.is_valid_utf8("line")),
    "empty-line": Reason("Nothing stands on the line.", lambda: F.col("found") == 0),
    "truncated-line": Reason("It begins with { and does not end with }.", when.truncated),
    "not-an-object": Reason("It is JSON, and no object.", when.no_object),
    "not-json": Reason("It is not JSON.", lambda: F.col("found").isNull()),
    "several-records": Reason(
        "More than one record stands on the line.", lambda: F.col("found") > 1
    ),
    "missing-kind": Reason("It has no kind.", lambda: F.col("kind").isNull()),
    "unknown-kind": Reason(
        f"Its kind is none of {', '.join(when.REQUIRED)}.", lambda: ~when.is_kind(*when.REQUIRED)
    ),
    "bad-cluster": Reason(
        "It has no cluster, or one with another name than Pulsar allows.",
        lambda: F.col("cluster").isNull() | ~F.col("cluster").rlike(when.CLUSTER),
    ),
    "unreadable-time": Reason(
        "It has no time, or one that is not ISO 8601 with a zone.", lambda: F.col("at").isNull()
    ),
    "impossible-time": Reason(
        f"Its time is before {when.EARLIEST[:4]}, or {when.LATEST[:4]} or later.",
        when.at_impossible_time,
    ),
    "stray-time": Reason(
        f"Its day is more than {STRAY} days from any other of its cluster, and has less than a "
        "hundredth of its records: a clock was wrong.",
        never,
    ),
    "ill-typed-field": Reason(
        "A field that is read has another type, such as text for a number.",
        lambda: F.col("ill_typed"),
    ),
    "bad-broker": Reason(
        "Its kind needs a broker, and it has none or no name of one.",
        when.bad_broker,
    ),
    "bad-bundle": Reason(
        "Its kind needs a bundle, or it names one, and that is not TENANT/NAMESPACE/0x…_0x….",
        when.bad_bundle,
    ),
    "missing-field": Reason("A field is missing that its kind needs.", when.missing),
    "bad-number": Reason(
        f"A number is NaN, below 0 or above {when.LARGEST:.0e}, or a count is no whole number.",
        when.bad_numbers,
    ),
    "two-values": Reason("It gives a bundle, broker or setting two values.", when.twice),
    "not-strict-json": Reason(
        "A key stands twice in an object of it, it goes on behind its end, or a number is NaN.",
        lambda: ~F.col("sound"),
    ),
    "bad-split": Reason("The parts of a split bundle do not make it up.", when.bad_split),
    "bad-setting": Reason("A documented setting has a value of another type.", when.bad_setting),
    "bad-cause": Reason(
        f"The cause of an unload is none of {', '.join(when.CAUSES)}; or of a split, none of "
        f"{', '.join(when.SPLITTERS)}.",
        when.bad_cause,
    ),
    "duplicate": Reason("The same record is there already, word for word.", never),
    "conflicting": Reason(
        "Another record of the same kind, time and subject says otherwise; the one whose text "
        "sorts first is used.",
        never,
    ),
}
"""By name, in the order in which they are looked for."""


def reason() -> Column:
    """The name of the first reason that applies to a parsed line; null where it can be used."""
    return F.coalesce(
        *(F.when(one.applies(), F.lit(name)) for name, one in REASONS.items()), F.lit(None)
    )
