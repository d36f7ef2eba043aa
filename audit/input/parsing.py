"""What a line says: one parse, whatever kind of record it is."""

from __future__ import annotations

from functools import reduce

from pulsar_conformance.adapters.spark.shapes import BUNDLE, RATES, RESOURCES, SETTINGS, STATS
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

USED = ", ".join(f"{name} struct<usage double, limit double>" for name in RESOURCES)
REPORT = (
    f"struct<{USED}, systemResourceUsage struct<{USED}>, {RATES}, bundles array<string>, "
    f"lastStats map<string, {STATS}>, bundleStats map<string, {STATS}>>"
)
"""A broker's load report, of the modular or of the simple load manager."""

SAID = (
    f"broker string, bundle string, name string, report {REPORT}, data {BUNDLE}, "
    f"owners map<string, array<string>>, into array<string>, members array<string>, "
    f"settings {SETTINGS}, cause string, anew boolean"
)
"""What records say besides kind, cluster and time; fields with other names are not looked at."""

FIELDS = (
    "broker",
    "bundle",
    "name",
    "report",
    "data",
    "owners",
    "into",
    "members",
    "settings",
    "cause",
    "anew",
)
"""Their names."""

LINE = (
    f"struct<one array<struct<kind string, cluster string, at string, {SAID}>>, end int, "
    "wrong string>"
)

STRICTLY = {
    "columnNameOfCorruptRecord": "wrong",
    "mode": "PERMISSIVE",
    "allowSingleQuotes": "false",
}

TEXTS = ("kind", "cluster", "at", "broker", "bundle", "name", "cause")
"""Fields that are text, and no number, whatever else a reader of JSON takes for it."""

MARK = "\ufeff"
LENGTHS = (1 << 31) - 1
LONGEST = 1 << 24
"""Characters of a line from which on nobody looks whether a key stands in it twice."""

TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)\z"
"""A date and a time of day with its zone, as ISO 8601 writes them."""


def parsed(lines: DataFrame) -> DataFrame:
    """Lines with what they say, without the carriage returns at their ends.

    `lines` have `file`, `line`, `damage`. The result has also `found` (how many JSON values stand
    on the line; null where it is not JSON), `sound` (whether it is JSON from its beginning to its
    end, and no key stands twice in an object of it), `ill_typed` (whether a field has another type
    than it should), the fields of a record, `at` as a time and `stamp` as it was written; all null
    where the line is no JSON object. The line stands in brackets, with an end after them, when it
    is parsed: JSON that goes on after its own would not be noticed otherwise.
    """
    lines = lines.withColumn("line", _without_mark(_without_returns(F.col("line"))))
    text = F.concat(F.lit('{"one":['), F.col("line"), F.lit('],"end":1}'))
    parse = F.from_json(text, LINE, STRICTLY)
    rows = lines.withColumn("_parsed", parse)
    ended = F.col("_parsed.end").isNotNull() | F.col("_parsed.wrong").isNotNull()
    one = F.get(F.col("_parsed.one"), F.lit(0))
    rows = rows.withColumns(
        {
            "found": F.when(ended, F.size("_parsed.one")),
            "_value": F.when(F.is_valid_utf8("line"), F.try_parse_json(text)),
            "_one": one,
        }
    )
    rows = rows.withColumns(
        {
            "ill_typed": F.col("_parsed.wrong").isNotNull() | _names_that_are_none(F.col("_value")),
            "sound": F.col("_value").isNotNull() | (F.length("line") > LONGEST),
        }
    )
    said = {name: F.col(f"_one.{name}") for name in ("kind", "cluster", *FIELDS)}
    rows = rows.withColumns({**said, "stamp": F.col("_one.at")})
    return rows.withColumn("at", time_of(F.col("stamp"))).drop("_parsed", "_one", "_value")


def _names_that_are_none(value: Column) -> Column:
    """Whether something that is read as text is a number or the like."""

    def other(name: str, *types: str) -> Column:
        found = F.schema_of_variant(F.variant_get(value, f"$.one[0].{name}", "variant"))
        return F.coalesce(~found.isin("VOID", *types), F.lit(False))

    texts = (other(name, "STRING") for name in TEXTS)
    return reduce(Column.__or__, texts, other("members", "ARRAY<STRING>", "ARRAY<VOID>"))


def _without_mark(line: Column) -> Column:
    """Without the byte order mark that some writers begin a file, or a part of one, with."""
    return F.when(line.startswith(MARK), F.substring(line, 2, LENGTHS)).otherwise(line)


def _without_returns(line: Column) -> Column:
    """Measured, to look for them at the end of lines that have none is a tenth of all reading."""
    return F.when(line.endswith("\r"), F.rtrim(line, F.lit("\r"))).otherwise(line)


def time_of(text: Column) -> Column:
    """The time that a text writes; null where it is none, or does not say in which zone."""
    return F.when(text.rlike(TIME), text.try_cast("timestamp"))
