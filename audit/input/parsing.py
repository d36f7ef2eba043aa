"""Kinds of records, their fields, and the parsing of lines."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pulsar_conformance.adapters.spark.shapes import BUNDLE, RATES, RESOURCES, SETTINGS, STATS
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

REQUIRED: Mapping[str, tuple[str, ...]] = {
    "load_report": ("broker", "report"),
    "bundle_data": ("bundle", "data"),
    "load_data": ("broker", "load"),
    "owners": ("owners",),
    "unloaded": ("broker", "bundle"),
    "assigned": ("broker", "bundle"),
    "split": ("bundle", "into"),
    "leader": ("broker",),
    "cycle": (),
    "domain": ("name", "members"),
    "group": ("name", "members"),
    "settings": ("settings",),
}
"""Kinds of records, with the fields that each kind requires in addition to cluster and time."""

SHEDDING, SPLIT, ADMIN, SHUTDOWN, UNKNOWN = "shedding", "split", "admin", "shutdown", "unknown"
CAUSES = (SHEDDING, SPLIT, ADMIN, SHUTDOWN, UNKNOWN)
"""Causes that the record of an unload may give."""

AUTOMATIC = "automatic"
SPLITTERS = (AUTOMATIC, ADMIN, UNKNOWN)
"""Causes that the record of a split may give: automatic, by an administrator, or unknown."""

USAGES_TYPE = ", ".join(f"{name} struct<usage double, limit double>" for name in RESOURCES)
REPORT = (
    f"struct<{USAGES_TYPE}, systemResourceUsage struct<{USAGES_TYPE}>, {RATES}, lastUpdate double, "
    f"bundles array<string>, lastStats map<string, {STATS}>, bundleStats map<string, {STATS}>>"
)
"""Spark type of a broker's load report, whether of the modular or of the simple load manager."""

LOAD = (
    "struct<weightedMaxEMA double, msgThroughputIn double, msgThroughputOut double, "
    "reportedAt double, "
    f"topBundlesLoadData array<struct<bundleName string, stats {STATS}>>>"
)
"""Spark type of a broker's load data under the extensible manager, which lists its top bundles."""

RECORD_COLUMNS = (
    f"broker string, bundle string, name string, report {REPORT}, data {BUNDLE}, "
    f"owners map<string, array<string>>, into array<string>, members array<string>, "
    f"settings {SETTINGS}, cause string, anew boolean, load {LOAD}"
)
"""Fields of a record besides kind, cluster and time, with their Spark types. Other fields are
ignored.
"""

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
    "load",
)
"""Names of the fields in `RECORD_COLUMNS`."""

LINE = (
    f"struct<one array<struct<kind string, cluster string, at string, {RECORD_COLUMNS}>>, end int, "
    "wrong string>"
)

STRICT_JSON_OPTIONS = {
    "columnNameOfCorruptRecord": "wrong",
    "mode": "PERMISSIVE",
    "allowSingleQuotes": "false",
}

TEXTS = ("kind", "cluster", "at", "broker", "bundle", "name", "cause")
"""Fields that must be text. A JSON reader would accept other types and convert them."""

FURTHER_TYPES = {"at": ("BIGINT",)}
"""Types besides text that some of the fields in `TEXTS` may have, by field."""

BYTE_ORDER_MARK = "\ufeff"
MAX_STRING_LENGTH = (1 << 31) - 1
MAX_SEARCHED_LENGTH = 1 << 24
"""Maximum number of characters of a line that is searched for repeated keys."""

TIME = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d{1,9})?)? ?(Z|[+-]\d\d:?\d\d)\z"
"""Pattern of a date and a time of day with a zone, in ISO 8601 or as log4j and Jackson write it."""

ISO = r"^[^,]+Z\z"
"""Pattern of a time in the format that is most common and needs no conversion."""

MILLISECONDS = r"^\d{13}\z"
"""Pattern of a time in milliseconds since 1970: 13 digits, that is, 2001 or later."""


def parsed_records(lines: DataFrame) -> DataFrame:
    """Return the lines with their records parsed; carriage returns at the end of a line are
    removed.

    `lines` have the columns `file`, `line` and `damage`. Added columns: `found` (number of JSON
    values on the line; null if it is not JSON), `sound` (true if the line is JSON to its end,
    without repeated keys), `ill_typed` (true if a field has the wrong type), `utf8` (true if the
    line is valid UTF-8), the fields of a record, `at` as a time, and `stamp`, the same time as
    text. The fields of a record, `at` and `stamp` are null if the line is not a JSON object.

    Each line is parsed inside brackets, followed by another element; otherwise, text after the end
    of the JSON would not be noticed.
    """
    lines = lines.withColumn("line", _without_byte_order_mark(_without_returns(F.col("line"))))
    text = F.concat(F.lit('{"one":['), F.col("line"), F.lit('],"end":1}'))
    parse = F.from_json(text, LINE, STRICT_JSON_OPTIONS)
    rows = lines.withColumns({"_parsed": parse, "utf8": F.is_valid_utf8("line")})
    ended = F.col("_parsed.end").isNotNull() | F.col("_parsed.wrong").isNotNull()
    one = F.get(F.col("_parsed.one"), F.lit(0))
    rows = rows.withColumns(
        {
            "found": F.when(ended, F.size("_parsed.one")),
            "_value": F.when(F.col("utf8"), F.try_parse_json(text)),
            "_one": one,
        }
    )
    rows = rows.withColumns(
        {
            "ill_typed": F.col("_parsed.wrong").isNotNull() | _is_not_text(F.col("_value")),
            "sound": F.col("_value").isNotNull() | (F.length("line") > MAX_SEARCHED_LENGTH),
        }
    )
    said = {name: F.col(f"_one.{name}") for name in ("kind", "cluster", *FIELDS)}
    rows = rows.withColumns({**said, "stamp": F.col("_one.at")})
    return rows.withColumn("at", parse_time(F.col("stamp"))).drop("_parsed", "_one", "_value")


def _is_not_text(value: Column) -> Column:
    """True if a field that must be text has another type."""

    def other(name: str, *types: str) -> Column:
        found = F.schema_of_variant(F.variant_get(value, f"$.one[0].{name}", "variant"))
        return F.coalesce(~found.isin("VOID", *types), F.lit(False))

    texts = (other(name, "STRING", *FURTHER_TYPES.get(name, ())) for name in TEXTS)
    return reduce(Column.__or__, texts, other("members", "ARRAY<STRING>", "ARRAY<VOID>"))


def _without_byte_order_mark(line: Column) -> Column:
    """Return a line without the byte order mark that some programs write at the start of a file."""
    return F.when(
        line.startswith(BYTE_ORDER_MARK), F.substring(line, 2, MAX_STRING_LENGTH)
    ).otherwise(line)


def _without_returns(line: Column) -> Column:
    """Return a line without carriage returns at its end.

    Lines are first tested for carriage returns, which saves a tenth of the reading time.
    """
    return F.when(line.endswith("\r"), F.rtrim(line, F.lit("\r"))).otherwise(line)


def parse_time(text: Column) -> Column:
    """Parse a date and time with a zone, or milliseconds since 1970; null for any other text."""
    plain = F.regexp_replace(F.regexp_replace(text, ",", "."), r" ?([+-]\d\d):?(\d\d)$", "$1:$2")
    written = F.when(text.rlike(ISO), text).otherwise(plain).try_cast("timestamp")
    since = F.timestamp_millis(F.when(text.rlike(MILLISECONDS), text.cast("bigint")))
    return F.when(text.rlike(TIME), written).otherwise(since)
