"""Judgment of splits that are recorded as made by the leader.

Any bundle may be split by hand at any time, and no document sets a deadline for automatic splits.
Therefore splits without the recorded cause `automatic`, and bundles that are not split, are not
judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from pulsar_conformance import specs
from pulsar_conformance.adapters.spark import growth, ranges
from pulsar_conformance.adapters.spark.configuring import checkpointed_if_tiny
from pulsar_conformance.audit.input.parsing import AUTOMATIC
from pulsar_conformance.audit.pipeline.plan import AuditPlan, Silver
from pulsar_conformance.audit.tables import causes, cycles, formatting, recent, settings_at
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

KEY = ("cluster", "cycle", "bundle")
MEGABYTE = 1_000_000
"""Bytes in a megabyte by the smaller of its two definitions; the larger one would raise limits."""

LATE_DATA = timedelta(days=1)
"""Maximum time from a bundle's split to the record of the data that the leader then had about it.
"""

SPLIT_ROUND_SECONDS = 60
"""Seconds within which a leader makes all splits of one round."""

MEASURED = ("topics", "sessions", "messages", "bytes")
"""The quantities to which `growth.LIMITS` apply, in the same order."""


def leader_splits(silver: Silver, plan: AuditPlan) -> DataFrame:
    """Return the splits that the leader made in a plan's period, with their time as `cycle`."""
    done = silver.actions.where(F.col("kind") == "split").where(F.col("cause") == AUTOMATIC)
    return cycles.in_period_of(
        done.select("cluster", F.col("at").alias("cycle"), "bundle", "into"), plan
    )


def recently_split(silver: Silver, since: datetime) -> DataFrame:
    """Return `cluster` and `cycle` of leader splits that records from `since` on may affect."""
    own = (F.col("kind") == "split") & (F.col("cause") == AUTOMATIC)
    later = F.col("at") >= F.lit(since - LATE_DATA)
    return silver.actions.where(own & later).select("cluster", F.col("at").alias("cycle"))


def affected_splits(own: DataFrame, silver: Silver, since: datetime) -> DataFrame:
    """Return splits that records from `since` on may affect, and all splits judged since then."""
    later = own.where(F.col("cycle") >= F.lit(since)).select("cluster", "cycle")
    return recently_split(silver, since).unionByName(later)


def judge_splits_alike(one: AuditPlan, other: AuditPlan) -> bool:
    """True if two plans judge splits by the same rules and the same defaults."""
    same = (one.defaults.get(name) == other.defaults.get(name) for name in growth.SETTINGS)
    return _split_rules(one) & SPLIT_JUDGES.keys() == _split_rules(
        other
    ) & SPLIT_JUDGES.keys() and all(same)


def _split_rules(plan: AuditPlan) -> set[str]:
    return {rule.id for rule in specs.load().rules_of(plan.profile) if rule.applies(plan.readings)}


def findings_about_splits(
    silver: Silver, made: DataFrame, plan: AuditPlan, count: int
) -> DataFrame:
    """Return a row per time and rule: `cluster`, `cycle`, `rule`, `verdict` and `evidence`.

    `made` are the splits from `leader_splits`, and `count` is their number by
    `causes.bounded_count`.
    """
    rules = _split_rules(plan)
    rows = checkpointed_if_tiny(settings_at.join_settings(silver, plan, made, "cycle"))
    near = recent.without_old_reports(silver, plan)
    rows = _with_names(near, _with_necessary_samples(silver, near, rows, count), count)
    each = (one() for rule, one in SPLIT_JUDGES.items() if rule in rules)
    said = rows.select("cluster", "cycle", F.inline(F.array(*each))).where("broken is not null")
    found = said.groupBy("cluster", "cycle", "rule").agg(
        F.bool_or("broken").alias("broken"),
        F.min(F.when(F.col("broken"), F.col("told"))).alias("told"),
        F.count(F.lit(1)).alias("splits"),
    )
    kept = F.concat(F.lit("as required; splits: "), F.col("splits").cast("string"))
    return found.select(
        "cluster",
        "cycle",
        "rule",
        F.when(F.col("broken"), "violated").otherwise("allowed").alias("verdict"),
        F.coalesce("told", kept).alias("evidence"),
    )


def _with_necessary_samples(silver: Silver, near: Silver, rows: DataFrame, count: int) -> DataFrame:
    """Add the same columns as `_with_samples`, but read as few reports as possible.

    All reports are read only if recent reports leave open whether a split bundle exceeded a limit.
    """
    if near is silver:
        return _with_samples(silver, rows, count)
    told = _with_samples(near, rows, count).localCheckpoint()
    open_ones = told.where(F.coalesce(judge_limits()["broken"], F.lit(True)))
    return told if open_ones.isEmpty() else _with_samples(silver, rows, count)


def _with_samples(silver: Silver, rows: DataFrame, count: int) -> DataFrame:
    """Add the maximum of each of `MEASURED` over all reports of a bundle before its split.

    A maximum is null if there is no report, or if the leader recorded its own data about the bundle
    before the split or within `LATE_DATA` after it.
    """
    sought = causes.broadcast_few(rows.select(*KEY), count)
    ahead = F.unix_seconds("at") - F.unix_seconds("cycle")
    known = silver.bundle_samples.join(sought, ["cluster", "bundle"]).where(
        ahead <= causes.MAX_SKEW
    )
    measured = (
        F.col("topics"),
        F.col("producerCount") + F.col("consumerCount"),
        F.col("msgRateIn") + F.col("msgRateOut"),
        F.col("msgThroughputIn") + F.col("msgThroughputOut"),
    )
    each = zip(MEASURED, measured, strict=True)
    most = known.groupBy(*KEY).agg(*(F.max(one).alias(name) for name, one in each))
    said = silver.contexts.where("kind = 'bundle_data'").groupBy("cluster", "bundle")
    said = said.agg(F.min("at").alias("said"))
    later = F.col("said") > F.col("cycle") + F.lit(LATE_DATA)
    most = most.join(said, ["cluster", "bundle"], "left")
    most = most.where(F.col("said").isNull() | later).drop("said")
    return cycles.with_led(silver, rows).join(most, list(KEY), "left")


def _with_names(silver: Silver, rows: DataFrame, count: int) -> DataFrame:
    """Add `names`: the bundles that the namespace certainly had by the last reports before the
    split.

    A listed bundle that contains other listed bundles had already been split, and is left out.
    `names` is null if no report lists the bundle that was split.
    """
    turn = _period_number("cycle")
    sought = rows.select(*KEY, F.explode(F.array(turn, turn - 1)).alias("turn"))
    reports = silver.broker_samples.select(
        "cluster",
        "broker",
        F.col("at").alias("seen"),
        "bundles",
        _period_number("at").alias("turn"),
    )
    age = F.unix_seconds("cycle") - F.unix_seconds("seen")
    known = causes.broadcast_few(sought, 2 * count).join(reports, ["cluster", "turn"])
    known = known.where(age.between(0, causes.SILENCE))
    last = known.groupBy(*KEY, "broker").agg(F.max_by("bundles", "seen").alias("bundles"))
    space = ranges.namespace_of(F.col("bundle"))
    mine = F.filter("bundles", lambda one: ranges.namespace_of(one) == space)
    names = last.groupBy(*KEY).agg(F.array_distinct(F.flatten(F.collect_list(mine))).alias("names"))
    inner = F.filter(
        "names", lambda one: ~F.exists("names", lambda o: (o != one) & ranges.covers(one, o))
    )
    there = F.when(F.array_contains(inner, F.col("bundle")), inner)
    rows = rows.join(names.withColumn("names", there), list(KEY), "left")
    return rows.withColumn("added", _added_parts())


def _added_parts() -> Column:
    """Return the number of bundles that recent splits added and that are not in any report yet."""
    course = Window.partitionBy("cluster", ranges.namespace_of(F.col("bundle")))
    course = course.orderBy(F.unix_micros("cycle")).rangeBetween(
        -SPLIT_ROUND_SECONDS * 1_000_000, -1
    )
    earlier = F.collect_list(F.struct("bundle", F.size("into").alias("parts"))).over(course)
    unseen = F.filter(earlier, lambda one: F.array_contains("names", one["bundle"]))
    return F.aggregate(unseen, F.lit(0), lambda count, one: count + one["parts"] - 1)


def _period_number(time: str) -> Column:
    """Return the number of the period that contains a time.

    A period is as long as a report counts, so all reports that count at a time are from its own
    period or the previous one.
    """
    return F.floor(F.unix_seconds(time) / causes.SILENCE)


def _setting_column(name: str) -> Column:
    return F.col(f"force.{name}")


def _rule_struct(rule: str, broken: Column, evidence: Column) -> Column:
    return F.struct(F.lit(rule).alias("rule"), broken.alias("broken"), evidence.alias("told"))


def judge_limits() -> Column:
    """Return a violation if, under every reading, all reports were within all limits. [SPLIT-05]

    It remains undecided if the leader may have known the bundle before the history begins.
    """
    within = F.when(F.col("led"), F.lit(True))
    for name, what in zip(growth.LIMITS, MEASURED, strict=True):
        unit = MEGABYTE if name == growth.MAX_MEGABYTES else 1
        within = within & (F.col(what) <= _setting_column(name) * unit)
    most = F.concat_ws(
        ", ",
        formatting.joined(formatting.plain(F.col("topics")), "topics"),
        formatting.joined(formatting.plain(F.col("sessions")), "sessions"),
        formatting.messages(F.col("messages")),
        formatting.throughput(F.col("bytes")),
    )
    told = formatting.joined(F.col("bundle"), "was split, and no limit is below", most)
    return _rule_struct("SPLIT-05", within, told)


def judge_room() -> Column:
    """Return a violation if the namespace had already reached its maximum number of bundles.
    [SPLIT-06]
    """
    there, more = F.size("names") + F.coalesce("added", F.lit(0)), F.size("into") - 1
    full = F.when(F.col("names").isNotNull(), there + more > _setting_column(growth.MAX_BUNDLES))
    told = formatting.joined(
        F.col("bundle"),
        "was split when its namespace had",
        there.cast("string"),
        "bundles, of",
        formatting.plain(_setting_column(growth.MAX_BUNDLES)),
        "at most",
    )
    return _rule_struct("SPLIT-06", full, told)


def judge_switch() -> Column:
    """Return a violation if automatic splits were disabled. [SPLIT-07]"""
    told = formatting.joined(F.col("bundle"), f"was split while {growth.AUTO_SPLIT} is false")
    settled = F.when(F.col("former").isNull(), F.lit(True))
    return _rule_struct("SPLIT-07", ~_setting_column(growth.AUTO_SPLIT) & settled, told)


SPLIT_JUDGES: Mapping[str, Callable[[], Column]] = {
    "SPLIT-05": judge_limits,
    "SPLIT-06": judge_room,
    "SPLIT-07": judge_switch,
}
"""Functions that judge a split, by rule. Each returns a struct of the rule, `broken` (null if the
records do not decide) and the evidence.
"""
