"""Reasons why a parsed line cannot be used, each with a description and a condition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import NamedTuple

from pulsar_conformance import specs
from pulsar_conformance.adapters.spark.ranges import lower_of, namespace_of, upper_of
from pulsar_conformance.adapters.spark.settings import SETTING_PARSERS
from pulsar_conformance.adapters.spark.shapes import RATE_FIELDS, RESOURCES
from pulsar_conformance.audit.input.gzipped import DAMAGED as DAMAGED_GZIP
from pulsar_conformance.audit.input.lines import FOREIGN
from pulsar_conformance.audit.input.parquets import DAMAGED as DAMAGED_PARQUET
from pulsar_conformance.audit.input.parsing import CAUSES, REQUIRED, SPLITTERS
from pyspark.sql import Column
from pyspark.sql import functions as F

EARLIEST_TIME, LATEST_TIME = "2016-01-01T00:00:00Z", "2100-01-01T00:00:00Z"
"""First and last time that a record may have; Pulsar was published in 2016."""

MAX_RATE = 1e15
"""Maximum rate: a petabyte, or 1e15 messages, per second."""

CLUSTER = r"^(?!__HIVE_DEFAULT_PARTITION__\z)[-=:.\w]{1,100}\z"
"""Pattern of the cluster names that Pulsar allows. It excludes the name by which Spark marks a
partition without a value.
"""

NUMBER = r"^\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*\z"
BROKER = r"^[^\s{}\[\]\"',\\]{1,255}\z|^\[[0-9a-fA-F:.]+\]:\d+\z"
BUNDLE = r"^[^/\s]+/[^/\s]+/(?:[^/\s]+/)?0x[0-9a-f]{8}_0x[0-9a-f]{8}\z"
STATS = (*RATE_FIELDS, "topics", "producerCount", "consumerCount")
COUNTS = STATS[len(RATE_FIELDS) :]
FRAMES = ("shortTermData", "longTermData")
LOADS = ("weightedMaxEMA", "msgThroughputIn", "msgThroughputOut")


def any_condition(*conditions: Column) -> Column:
    """True if one of the conditions is true; null counts as false."""
    known = (F.coalesce(one, F.lit(False)) for one in conditions)
    return reduce(Column.__or__, known, F.lit(False))


def is_kind(*kinds: str) -> Column:
    """True if a record is of one of the given kinds."""
    return F.col("kind").isin(*kinds)


def lacks_field(name: str) -> Column:
    """True if a record's kind requires this field and the record lacks it."""
    kinds = [kind for kind, fields in REQUIRED.items() if name in fields]
    return is_kind(*kinds) & F.col(name).isNull()


def is_truncated() -> Column:
    """True if a line starts like a JSON object but does not end like one."""
    begins, ends = F.col("line").rlike(r"^\s*\{"), F.col("line").rlike(r"\}\s*$")
    return F.isnull("found") & begins & ~ends


def is_not_object() -> Column:
    """True if a line is JSON but not an object."""
    other = F.try_parse_json(F.col("line")).isNotNull() & ~F.col("line").rlike(r"^\s*\{")
    return F.when(F.col("found").isNull(), other).otherwise(
        (F.col("found") == 1) & F.col("kind").isNull() & F.col("line").rlike(r"^\s*null\s*$")
    )


def has_bad_broker() -> Column:
    """True if a record names an invalid broker, or names none although its kind requires one."""
    return any_condition(
        lacks_field("broker"),
        is_bad_broker(F.col("broker")),
        F.exists(F.map_keys("owners"), is_bad_broker),
    )


def is_bad_broker(name: Column) -> Column:
    """True if a name is not a valid broker name."""
    return ~name.rlike(BROKER)


def has_bad_bundle() -> Column:
    """True if a record names an invalid bundle, or names none although its kind requires one."""
    listed, measured = F.col("report.bundles"), F.map_keys("report.lastStats")
    every = (
        F.col("into"),
        listed,
        # Checking names is slow, and most reports have the same names in both places.
        F.coalesce(F.array_except(measured, listed), measured),
        F.map_keys("report.bundleStats"),
        F.flatten(F.map_values("owners")),
        F.col("load.topBundlesLoadData.bundleName"),
    )
    named = F.col("bundle").isNotNull() & is_bad_bundle(F.col("bundle"))
    return any_condition(
        lacks_field("bundle"), named, *(F.exists(names, is_bad_bundle) for names in every)
    )


def is_bad_bundle(name: Column) -> Column:
    """True if a name is not tenant/namespace/0x…_0x… with a valid range."""
    return ~F.coalesce(name.rlike(BUNDLE) & (lower_of(name) < upper_of(name)), F.lit(False))


def lacks_required_field() -> Column:
    """True if a record's kind requires a field, or a part of it, that the record lacks."""
    report, data, blank = F.col("report"), F.col("data"), F.trim("name") == ""
    empty = [report[name].isNull() for name in (*RESOURCES, "systemResourceUsage")]
    resources = [report[name] for name in RESOURCES]
    resources += [report["systemResourceUsage"][name] for name in RESOURCES]
    half = (
        one["limit"].isNull() & one["usage"].isNotNull()
        | one["usage"].isNull() & (one["limit"] >= 0)
        for one in resources
    )
    fields = dict.fromkeys(name for names in REQUIRED.values() for name in names)
    return any_condition(
        *(lacks_field(name) for name in fields),
        is_kind("load_report") & reduce(Column.__and__, empty),
        *half,
        is_kind("bundle_data") & reduce(Column.__or__, (data[one].isNull() for one in FRAMES)),
        is_kind("load_data") & F.isnull("load.weightedMaxEMA"),
        is_kind("domain", "group") & blank,
        F.exists("members", lambda one: one.isNull()),
        F.exists(F.map_values("owners"), lambda owned: owned.isNull()),
    )


def has_bad_value(*values: Column) -> Column:
    """True if a value is negative, too large or NaN (which Spark sorts above all numbers)."""
    least, most = (F.least(*values), F.greatest(*values)) if values[1:] else values * 2
    return (least < F.lit(0.0)) | (most > F.lit(MAX_RATE))


def has_bad_statistics(stats: Column) -> Column:
    """True if bundle statistics contain an invalid number. Counts must be integers."""
    broken = (stats[name] != F.floor(stats[name]) for name in COUNTS)
    return reduce(Column.__or__, broken, has_bad_value(*(stats[name] for name in STATS)))


def is_bad_usage(used: Column) -> Column:
    """True if the usage of a resource is invalid. A negative limit, which means that the resource
    was not measured, is valid.
    """
    limit = used["limit"]
    absurd = limit.isNotNull() & (F.isnan(limit) | (limit > F.lit(MAX_RATE)))
    return absurd | (limit >= 0) & has_bad_value(used["usage"])


def has_bad_number() -> Column:
    """True if a number in a record is invalid."""
    report, data = F.col("report"), F.col("data")
    resources = [report[name] for name in RESOURCES]
    resources += [report["systemResourceUsage"][name] for name in RESOURCES]
    averages = (data[frame][name] for frame in FRAMES for name in (*RATE_FIELDS, "numSamples"))
    return any_condition(
        *map(is_bad_usage, resources),
        has_bad_value(*(report[name] for name in RATE_FIELDS)),
        F.exists(F.map_values(report["lastStats"]), has_bad_statistics),
        F.exists(F.map_values(report["bundleStats"]), has_bad_statistics),
        has_bad_value(*averages),
        has_bad_value(*(F.col(f"load.{name}") for name in LOADS)),
        F.exists("load.topBundlesLoadData", lambda one: has_bad_statistics(one["stats"])),
    )


def has_repeated_key() -> Column:
    """True if a map in a record has the same key twice."""
    maps = ("report.lastStats", "report.bundleStats", "owners", "settings")
    keys = (F.map_keys(one) for one in maps)
    return any_condition(*(F.size(F.array_distinct(names)) < F.size(names) for names in keys))


def is_bad_split() -> Column:
    """True if the parts of a split do not cover exactly the bundle that was split."""
    bundle, parts = F.col("bundle"), F.array_sort("into")
    seams = F.zip_with(
        F.slice(parts, 1, F.greatest(F.size(parts) - 1, F.lit(0))),
        F.slice(parts, 2, F.greatest(F.size(parts) - 1, F.lit(0))),
        lambda one, after: upper_of(one) != lower_of(after),
    )
    first, last = F.get(parts, F.lit(0)), F.get(parts, F.size(parts) - 1)
    return is_kind("split") & any_condition(
        F.size(parts) < 2,
        F.exists(parts, lambda one: namespace_of(one) != namespace_of(bundle)),
        F.exists(seams, lambda open_one: open_one),
        lower_of(first) != lower_of(bundle),
        upper_of(last) != upper_of(bundle),
    )


def has_bad_setting() -> Column:
    """True if a documented setting has a value of the wrong type."""
    types = {name: one.type for name, one in specs.load().settings.items()}
    numbers = [name for name, kind in types.items() if kind in ("number", "integer")]
    switches = [name for name, kind in types.items() if kind == "boolean"]

    def wrong(one: Column) -> Column:
        name, text = one["key"], one["value"]
        number = name.isin(*numbers) & (text != "") & ~F.coalesce(_is_number(text), F.lit(False))
        return number | (name.isin(*switches) & ~F.lower(text).isin("true", "false", ""))

    # One test of each given setting needs a far smaller plan than a test of each documented
    # setting.
    return is_kind("settings") & any_condition(F.exists(F.map_entries("settings"), wrong))


def _is_number(text: Column) -> Column:
    """True if a text is a finite number."""
    return text.rlike(NUMBER) & (F.abs(SETTING_PARSERS["number"](text)) <= MAX_RATE)


def has_bad_cause() -> Column:
    """True if the cause of an unload or split is not one of the format's causes."""
    wrong = F.when(is_kind("unloaded"), ~F.col("cause").isin(*CAUSES))
    return wrong.when(is_kind("split"), ~F.col("cause").isin(*SPLITTERS))


def is_at_impossible_time() -> Column:
    """True if a record's time is before Pulsar was published, or decades in the future."""
    earliest, latest = (F.lit(one).cast("timestamp") for one in (EARLIEST_TIME, LATEST_TIME))
    return (F.col("at") < earliest) | (F.col("at") >= latest)


STRAY_GAP_DAYS = 30
"""Number of days: a stray day is further than this from all other days of its cluster."""


class Reason(NamedTuple):
    """A reason for quarantine: its description, and a column that is true for affected lines."""

    rule: str
    applies: Callable[[], Column]


def found_by_comparison() -> Column:
    """Return a column that is always false, for reasons that only comparing lines can reveal."""
    return F.lit(False)


REASONS: Mapping[str, Reason] = {
    DAMAGED_GZIP: Reason(
        "A compressed file is damaged or cut off from here on; the lines before are used.",
        lambda: F.col("damage") == DAMAGED_GZIP,
    ),
    DAMAGED_PARQUET: Reason(
        "A Parquet file is damaged, or has columns that Spark cannot read; no row of it is used.",
        lambda: F.col("damage") == DAMAGED_PARQUET,
    ),
    FOREIGN: Reason(
        "The file name has the ending of a format that is not supported, such as .zip or .tar.",
        lambda: F.col("damage") == FOREIGN,
    ),
    "not-utf8": Reason("The line is not UTF-8.", lambda: ~F.col("utf8")),
    "empty-line": Reason("The line is empty.", lambda: F.col("found") == 0),
    "truncated-line": Reason("The line begins with { but does not end with }.", is_truncated),
    "not-an-object": Reason("The line is JSON but not an object.", is_not_object),
    "not-json": Reason("The line is not JSON.", lambda: F.col("found").isNull()),
    "several-records": Reason(
        "The line contains more than one record.", lambda: F.col("found") > 1
    ),
    "missing-kind": Reason("The record has no kind.", lambda: F.col("kind").isNull()),
    "unknown-kind": Reason(
        f"The record's kind is not one of {', '.join(REQUIRED)}.", lambda: ~is_kind(*REQUIRED)
    ),
    "bad-cluster": Reason(
        "The record names no cluster, or one whose name Pulsar does not allow.",
        lambda: F.col("cluster").isNull() | ~F.col("cluster").rlike(CLUSTER),
    ),
    "unreadable-time": Reason(
        "The record has no time, or one that is neither ISO 8601 with a zone nor milliseconds "
        "since 1970.",
        lambda: F.col("at").isNull(),
    ),
    "impossible-time": Reason(
        f"The record's time is before {EARLIEST_TIME[:4]}, or in {LATEST_TIME[:4]} or later.",
        is_at_impossible_time,
    ),
    "stray-time": Reason(
        f"The record's day is more than {STRAY_GAP_DAYS} days from all other days of its cluster, "
        "and has less than a hundredth of the cluster's records: a clock was wrong.",
        found_by_comparison,
    ),
    "ill-typed-field": Reason(
        "A field has the wrong type, such as a string instead of a number.",
        lambda: F.col("ill_typed"),
    ),
    "bad-broker": Reason(
        "A record of this kind needs a broker, but this one has none, or the broker's name is "
        "not valid.",
        has_bad_broker,
    ),
    "bad-bundle": Reason(
        "A record of this kind needs a bundle, but this one has none, or it is not "
        "TENANT/NAMESPACE/0x…_0x….",
        has_bad_bundle,
    ),
    "missing-field": Reason(
        "A field that a record of this kind needs is missing.", lacks_required_field
    ),
    "bad-number": Reason(
        f"A number is NaN, below 0 or above {MAX_RATE:.0e}, or a count is not a whole number.",
        has_bad_number,
    ),
    "two-values": Reason(
        "The record gives two values for one bundle, broker or setting.", has_repeated_key
    ),
    "not-strict-json": Reason(
        "An object has a key twice, text follows the end of the JSON, or a number is NaN.",
        lambda: ~F.col("sound"),
    ),
    "bad-split": Reason("The parts of a split do not cover the bundle exactly.", is_bad_split),
    "bad-setting": Reason("A documented setting has a value of the wrong type.", has_bad_setting),
    "bad-cause": Reason(
        f"The cause of an unload is not one of {', '.join(CAUSES)}; or the cause of a split is "
        f"not one of {', '.join(SPLITTERS)}.",
        has_bad_cause,
    ),
    "duplicate": Reason(
        "The record is a word-for-word repetition of another one.", found_by_comparison
    ),
    "conflicting": Reason(
        "Another record of the same kind, time and subject contradicts it; the one whose text "
        "sorts first is used.",
        found_by_comparison,
    ),
}
"""Reasons for quarantine by name, in the order in which they are tested."""


def reason() -> Column:
    """Return a column with the name of the first reason that applies to a parsed line.

    Null if the line can be used.
    """
    return F.coalesce(
        *(F.when(one.applies(), F.lit(name)) for name, one in REASONS.items()), F.lit(None)
    )
