"""Conditions under which a parsed line cannot be used, each a column."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

from pulsar_conformance import specs
from pulsar_conformance.adapters.spark.ranges import lower_of, namespace_of, upper_of
from pulsar_conformance.adapters.spark.settings import TYPED
from pulsar_conformance.adapters.spark.shapes import RATE_FIELDS, RESOURCES
from pyspark.sql import Column
from pyspark.sql import functions as F

REQUIRED: Mapping[str, tuple[str, ...]] = {
    "load_report": ("broker", "report"),
    "bundle_data": ("bundle", "data"),
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
"""The kinds of records, and what each must say besides cluster and time."""

SHEDDING, SPLIT, ADMIN, SHUTDOWN, UNKNOWN = "shedding", "split", "admin", "shutdown", "unknown"
CAUSES = (SHEDDING, SPLIT, ADMIN, SHUTDOWN, UNKNOWN)
"""Why a bundle was unloaded, where that is recorded."""

AUTOMATIC = "automatic"
SPLITTERS = (AUTOMATIC, ADMIN, UNKNOWN)
"""Who split a bundle, where that is recorded: the leader by itself, or somebody by hand."""

EARLIEST, LATEST = "2016-01-01T00:00:00Z", "2100-01-01T00:00:00Z"
"""Pulsar was published in 2016."""

LARGEST = 1e15
"""A petabyte, or as many messages, per second."""

CLUSTER = r"^(?!__HIVE_DEFAULT_PARTITION__\z)[-=:.\w]{1,100}\z"
"""How Pulsar names clusters; a folder is named so, and that is what Spark calls one without a name.
"""

NUMBER = r"^\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*\z"
BROKER = r"^[^\s{}\[\]\"',\\]{1,255}\z|^\[[0-9a-fA-F:.]+\]:\d+\z"
BUNDLE = r"^[^/\s]+/[^/\s]+/(?:[^/\s]+/)?0x[0-9a-f]{8}_0x[0-9a-f]{8}\z"
STATS = (*RATE_FIELDS, "topics", "producerCount", "consumerCount")
COUNTS = STATS[len(RATE_FIELDS) :]
FRAMES = ("shortTermData", "longTermData")


def any_of(*conditions: Column) -> Column:
    """Whether one of them holds; what is unknown does not."""
    known = (F.coalesce(one, F.lit(False)) for one in conditions)
    return reduce(Column.__or__, known, F.lit(False))


def is_kind(*kinds: str) -> Column:
    """Whether the record is one of these."""
    return F.col("kind").isin(*kinds)


def lacks(name: str) -> Column:
    """Whether a kind that needs a field has none."""
    kinds = [kind for kind, fields in REQUIRED.items() if name in fields]
    return is_kind(*kinds) & F.col(name).isNull()


def truncated() -> Column:
    """It begins as an object does and does not end as one."""
    begins, ends = F.col("line").rlike(r"^\s*\{"), F.col("line").rlike(r"\}\s*$")
    return F.isnull("found") & begins & ~ends


def no_object() -> Column:
    """It is JSON of another kind."""
    other = F.try_parse_json(F.col("line")).isNotNull() & ~F.col("line").rlike(r"^\s*\{")
    return F.when(F.col("found").isNull(), other).otherwise(
        (F.col("found") == 1) & F.col("kind").isNull() & F.col("line").rlike(r"^\s*null\s*$")
    )


def bad_broker() -> Column:
    """Whether a broker is missing, or a name is none of a broker."""
    return any_of(
        lacks("broker"), no_broker(F.col("broker")), F.exists(F.map_keys("owners"), no_broker)
    )


def no_broker(name: Column) -> Column:
    """Whether this is no name of a broker."""
    return ~name.rlike(BROKER)


def bad_bundle() -> Column:
    """Whether a bundle is missing, or a name is none of a bundle."""
    every = (
        F.col("into"),
        F.col("report.bundles"),
        F.map_keys("report.lastStats"),
        F.map_keys("report.bundleStats"),
        F.flatten(F.map_values("owners")),
    )
    named = F.col("bundle").isNotNull() & no_bundle(F.col("bundle"))
    return any_of(lacks("bundle"), named, *(F.exists(names, no_bundle) for names in every))


def no_bundle(name: Column) -> Column:
    """Whether this is not tenant/namespace/0x…_0x…, with a range that is one."""
    return ~F.coalesce(name.rlike(BUNDLE) & (lower_of(name) < upper_of(name)), F.lit(False))


def missing() -> Column:
    """Whether a field that its kind needs is not there."""
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
    return any_of(
        *(lacks(name) for name in fields),
        is_kind("load_report") & reduce(Column.__and__, empty),
        *half,
        is_kind("bundle_data") & reduce(Column.__or__, (data[one].isNull() for one in FRAMES)),
        is_kind("domain", "group") & blank,
        F.exists("members", lambda one: one.isNull()),
        F.exists(F.map_values("owners"), lambda owned: owned.isNull()),
    )


def bad_number(*values: Column) -> Column:
    """Whether one of them is not a number, below 0, or absurd; to Spark, NaN is the largest."""
    least, most = (F.least(*values), F.greatest(*values)) if values[1:] else values * 2
    return (least < F.lit(0.0)) | (most > F.lit(LARGEST))


def bad_stats(stats: Column) -> Column:
    """Whether the numbers of a bundle cannot be; its counts are whole."""
    broken = (stats[name] != F.floor(stats[name]) for name in COUNTS)
    return reduce(Column.__or__, broken, bad_number(*(stats[name] for name in STATS)))


def bad_resource(used: Column) -> Column:
    """Whether what is used cannot be; a limit below 0 says that nothing was measured."""
    limit = used["limit"]
    absurd = limit.isNotNull() & (F.isnan(limit) | (limit > F.lit(LARGEST)))
    return absurd | (limit >= 0) & bad_number(used["usage"])


def bad_numbers() -> Column:
    """Whether any number of the record cannot be."""
    report, data = F.col("report"), F.col("data")
    resources = [report[name] for name in RESOURCES]
    resources += [report["systemResourceUsage"][name] for name in RESOURCES]
    averages = (data[frame][name] for frame in FRAMES for name in (*RATE_FIELDS, "numSamples"))
    return any_of(
        *map(bad_resource, resources),
        bad_number(*(report[name] for name in RATE_FIELDS)),
        F.exists(F.map_values(report["lastStats"]), bad_stats),
        F.exists(F.map_values(report["bundleStats"]), bad_stats),
        bad_number(*averages),
    )


def twice() -> Column:
    """Whether something has two values."""
    maps = ("report.lastStats", "report.bundleStats", "owners", "settings")
    keys = (F.map_keys(one) for one in maps)
    return any_of(*(F.size(F.array_distinct(names)) < F.size(names) for names in keys))


def bad_split() -> Column:
    """Whether the parts are not the bundle, cut: in order from its lower to its upper end."""
    bundle, parts = F.col("bundle"), F.array_sort("into")
    seams = F.zip_with(
        F.slice(parts, 1, F.greatest(F.size(parts) - 1, F.lit(0))),
        F.slice(parts, 2, F.greatest(F.size(parts) - 1, F.lit(0))),
        lambda one, after: upper_of(one) != lower_of(after),
    )
    first, last = F.get(parts, F.lit(0)), F.get(parts, F.size(parts) - 1)
    return is_kind("split") & any_of(
        F.size(parts) < 2,
        F.exists(parts, lambda one: namespace_of(one) != namespace_of(bundle)),
        F.exists(seams, lambda open_one: open_one),
        lower_of(first) != lower_of(bundle),
        upper_of(last) != upper_of(bundle),
    )


def bad_setting() -> Column:
    """Whether a documented setting has a value of another type."""
    given = F.col("settings")
    types = {name: one.type for name, one in specs.load().settings.items()}
    typed = (
        (given[name] != "") & ~F.coalesce(_is_number(given[name], TYPED[kind]), F.lit(False))
        for name, kind in types.items()
        if kind in ("number", "integer")
    )
    switches = (
        ~F.lower(given[name]).isin("true", "false", "")
        for name, kind in types.items()
        if kind == "boolean"
    )
    return is_kind("settings") & any_of(*typed, *switches)


def _is_number(text: Column, typed: Callable[[Column], Column]) -> Column:
    """Whether a text writes a number that is none of NaN and the infinities."""
    return text.rlike(NUMBER) & (F.abs(typed(text)) <= LARGEST)


def bad_cause() -> Column:
    """Whether what is given as the cause of an unload, or of a split, is none."""
    wrong = F.when(is_kind("unloaded"), ~F.col("cause").isin(*CAUSES))
    return wrong.when(is_kind("split"), ~F.col("cause").isin(*SPLITTERS))


def at_impossible_time() -> Column:
    """Whether it is before there was a Pulsar, or a lifetime ahead."""
    earliest, latest = (F.lit(one).cast("timestamp") for one in (EARLIEST, LATEST))
    return (F.col("at") < earliest) | (F.col("at") >= latest)
