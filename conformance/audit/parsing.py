"""What a line says: one parse, whatever kind of record it is."""

from __future__ import annotations

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
    f"settings {SETTINGS}"
)
"""What records say besides kind, cluster and time; fields with other names are not looked at."""

FIELDS = ("broker", "bundle", "name", "report", "data", "owners", "into", "members", "settings")
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

TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)\z"
"""A date and a time of day with its zone, as ISO 8601 writes them."""


def parsed(lines: DataFrame) -> DataFrame:
    """Lines with what they say, without the carriage returns at their ends.

    `lines` have `file`, `line`, `damage`. The result has also `found` (how many JSON values stand
    on the line; null where it is not JSON), `ill_typed` (whether a field has another type than it
    should), the fields of a record, `at` as a time and `stamp` as it was written; all null where
    the line is no JSON object. The line stands in brackets, with an end after them, when it is
    parsed: JSON that goes on after its own would not be noticed otherwise.
    """
    lines = lines.withColumn("line", _without_returns(F.col("line")))
    text = F.concat(F.lit('{"one":['), F.col("line"), F.lit('],"end":1}'))
    parse = F.from_json(text, LINE, STRICTLY)
    rows = lines.withColumn("_parsed", parse)
    ended = F.col("_parsed.end").isNotNull() | F.col("_parsed.wrong").isNotNull()
    one = F.get(F.col("_parsed.one"), F.lit(0))
    rows = rows.withColumns(
        {
            "found": F.when(ended, F.size("_parsed.one")),
            "ill_typed": F.col("_parsed.wrong").isNotNull(),
            "_one": one,
        }
    )
    said = {name: F.col(f"_one.{name}") for name in ("kind", "cluster", *FIELDS)}
    rows = rows.withColumns({**said, "stamp": F.col("_one.at")})
    return rows.withColumn("at", time_of(F.col("stamp"))).drop("_parsed", "_one")


def _without_returns(line: Column) -> Column:
    """Measured, to look for them at the end of lines that have none is a tenth of all reading."""
    return F.when(line.endswith("\r"), F.rtrim(line, F.lit("\r"))).otherwise(line)


def time_of(text: Column) -> Column:
    """The time that a text writes; null where it is none, or does not say in which zone."""
    return F.when(text.rlike(TIME), text.try_cast("timestamp"))
