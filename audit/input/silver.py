"""Silver tables, built from used records: samples of brokers and bundles, actions, contexts."""

from __future__ import annotations

from pulsar_conformance.adapters.spark.shapes import RATE_FIELDS, RESOURCES, or_zero
from pulsar_conformance.adapters.spark.usage import percents_of_limits
from pulsar_conformance.audit.input.reasons import BUNDLE, STATS
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

THROUGHPUTS = ("msgThroughputIn", "msgThroughputOut")
"""Fields that repeat the message rates in reports of the simple load manager."""

ACTIONS = ("unloaded", "assigned", "split")
LOST_KINDS = ("load_report", "settings", "unloaded", "leader")
LOST, LOST_SETTINGS, LOST_UNLOAD, LOST_LEADER = (f"lost_{kind}" for kind in LOST_KINDS)
"""Kinds of rows in the table `contexts` that stand for records in quarantine."""

TEXT_FIELD = r'"{}"\s*:\s*"([^"\\]+)"'
CONTEXTS = ("owners", "leader", "cycle", "domain", "group", "settings", "bundle_data", "load_data")


MAX_RECORDING_DELAY = "interval 1 hour"
"""Maximum time from the writing of a report to its recording."""


def reports(records: DataFrame) -> DataFrame:
    """Return the load reports.

    Columns: `cluster`, `day`, `at`, `broker`, `report`, `simple` and `stats`. `simple` is true for
    reports of the simple load manager; `stats` are the statistics by bundle.
    """
    used = records.where("used and kind = 'load_report'")
    simple = F.col("said.report.systemResourceUsage").isNotNull()
    stats = F.when(simple, F.col("said.report.bundleStats"))
    return used.select(
        "cluster",
        "day",
        "at",
        F.col("said.broker").alias("broker"),
        F.col("said.report").alias("report"),
        simple.alias("simple"),
        stats.otherwise(F.col("said.report.lastStats")).alias("stats"),
    )


def broker_samples(records: DataFrame) -> DataFrame:
    """Return the table `broker_samples`.

    If a report lacks a rate, the sum of its bundles' rates is used; it is 0 without bundles. The
    usage of a resource that was not measured is 0 %.
    """
    report, stats = F.col("report"), F.col("stats")
    owned = F.coalesce(report["bundles"], F.when(F.col("simple"), F.map_keys(stats)))
    written = F.timestamp_millis(report["lastUpdate"].cast("bigint"))
    return reports(records).select(
        "cluster",
        "day",
        "at",
        "broker",
        percents_of_limits(_measured_resources()).alias("percent"),
        *(_reported_rate(name).alias(name) for name in RATE_FIELDS),
        F.array_distinct(F.coalesce(owned, F.array())).alias("bundles"),
        F.when(
            written.between(F.col("at") - F.expr(MAX_RECORDING_DELAY), F.col("at")), written
        ).alias("written"),
    )


def _measured_resources() -> Column:
    """Return a struct of a report's resources, except those with a negative limit, which were not
    measured.
    """
    report = F.col("report")
    there = F.when(
        F.col("simple"), F.struct(*(report["systemResourceUsage"][r] for r in RESOURCES))
    )
    used = there.otherwise(F.struct(*(report[name] for name in RESOURCES)))
    return F.struct(
        *(F.when(used[name]["limit"] >= 0, used[name]).alias(name) for name in RESOURCES)
    )


def _reported_rate(name: str) -> Column:
    total = F.aggregate(
        F.map_values("stats"), F.lit(0.0), lambda so_far, one: so_far + or_zero(one[name])
    )
    said = F.col("report")[name]
    if name in THROUGHPUTS:
        said = F.when(~F.col("simple") | F.isnull("stats"), said)
    return F.coalesce(said, total, F.lit(0.0))


def bundle_samples(records: DataFrame) -> DataFrame:
    """Return the table `bundle_samples`. Numbers that a report lacks are 0."""
    each = reports(records).select(
        "cluster", "day", "at", "broker", F.explode("stats").alias("bundle", "numbers")
    )
    numbers = (or_zero(F.col(f"numbers.{name}")).alias(name) for name in STATS)
    return each.select("cluster", "day", "at", "broker", "bundle", *numbers)


def actions(records: DataFrame) -> DataFrame:
    """Return the table `actions`: unloads, assignments and splits."""
    done = records.where("used").where(F.col("kind").isin(*ACTIONS))
    fields = (F.col(f"said.{name}").alias(name) for name in ("bundle", "broker", "into", "cause"))
    return _in_one_file(done.select("cluster", "day", "at", "kind", *fields))


def contexts(records: DataFrame) -> DataFrame:
    """Return the table `contexts`: lost records, and all records except reports and actions."""
    known = records.where("used").where(F.col("kind").isin(*CONTEXTS))
    names = ("broker", "bundle", "name", "members", "owners", "settings", "data", "anew", "load")
    fields = (F.col(f"said.{name}").alias(name) for name in names)
    rows = known.select("cluster", "day", "at", "kind", *fields)
    return _in_one_file(rows.unionByName(_lost_records(records), allowMissingColumns=True))


def _lost_records(records: DataFrame) -> DataFrame:
    """Return the quarantined records of `LOST_KINDS`, except damaged copies of used records.

    `broker` and `bundle` are null if they cannot be read from the line.
    """
    lost = records.where("not used and reason != 'duplicate' and at is not null")
    lost = lost.where(F.col("kind").isin(*LOST_KINDS))
    bundle = _text_field("bundle")
    rows = lost.select(
        "cluster",
        "day",
        "at",
        "kind",
        F.nullif(_text_field("broker"), F.lit("")).alias("broker"),
        F.when((F.col("kind") == "unloaded") & bundle.rlike(BUNDLE), bundle).alias("bundle"),
        F.col("reason").alias("name"),
        F.col("line").alias("text"),
    )
    compared = (F.col("broker").isNull() & (F.col("kind") == "load_report")) | F.col("kind").isin(
        "unloaded", "leader"
    )
    rows = rows.where(~compared).unionByName(_without_copies(records, rows.where(compared)))
    kind = F.concat(F.lit("lost_"), F.col("kind"))
    return rows.withColumn("kind", kind).drop("text")


def _text_field(name: str) -> Column:
    return F.regexp_extract("line", TEXT_FIELD.format(name), 1)


def _without_copies(records: DataFrame, lost: DataFrame) -> DataFrame:
    """Return the lost records that are not damaged copies of used records.

    A used record is the original if it has the same kind and time, and either starts with the
    copy's text or names the same broker and bundle.
    """
    keys, few = ["cluster", "day", "at", "kind"], F.broadcast(lost.withColumn("copy", F.lit(True)))
    used = records.where("used").where(F.col("kind").isin(*LOST_KINDS))
    used = used.select(*keys, "line", F.col("said.broker").alias("by"), "said.bundle")
    used = used.withColumnRenamed("bundle", "of").join(few, keys)
    alike = F.col("by").eqNullSafe(F.col("broker")) & F.coalesce(
        F.col("of") == F.col("bundle"), F.lit(True)
    )
    copies = used.where(alike | F.col("line").startswith(F.col("text"))).select(*keys, "text")
    return lost.join(F.broadcast(copies.distinct()), [*keys, "text"], "left_anti")


def _in_one_file(rows: DataFrame) -> DataFrame:
    """Put all rows of a cluster and day into one file, since they are few."""
    return rows.repartition("day", "cluster")
