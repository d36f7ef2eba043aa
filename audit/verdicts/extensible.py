"""Judgment of owners, splits and load data under the extensible manager, based on records.

Brokers with this manager write no load reports, and no record shows which changes of its channel
were ignored. An assignment is judged by the bundle's records before and after it, and a split by
earlier load data and owners. If a broker stopped, the next owners of its bundles are judged. Load
data are judged by their times. All else is undecided, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta
from functools import reduce

from pulsar_conformance.adapters.spark import growth, ranges, shapes, transfer
from pulsar_conformance.audit.input.parsing import SHUTDOWN
from pulsar_conformance.audit.pipeline.plan import AuditPlan, Silver
from pulsar_conformance.audit.tables import causes, cycles, formatting, names, settings_at
from pulsar_conformance.audit.verdicts import splits
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

HORIZON = 600.0
"""Seconds after an event within which other records can show who owns the bundle."""

REASSIGNED_AFTER = 300.0
"""Seconds after which a leader has certainly reassigned the bundles of a broker that stopped: by
default, its monitor runs each 60 seconds, changes may be in flight for 30, and it waits for 180
after its metadata session was re-established.
"""

HOUR = 3600
MICROS = 1_000_000
LAST_HASH = 0xFFFFFFFF
MAX_SECONDS_LATE = 60
"""Seconds by which load data may be late, because the broker checks the time at intervals."""

BUNDLE_KEY = ["cluster", "bundle"]

NO_UNLOAD = "no unload by its former owner is recorded, and that broker may have stopped"
NO_NEXT_OWNER = "no next owner is recorded within ten minutes"
BROKER_MAY_BE_BACK = "the broker may have started again"
NO_STATS = "the statistics by which its owner split it are not recorded"
BUNDLES_UNRECORDED = "bundles without an owner are not recorded"
LOAD_DATA_UNSEEN = "load data written in between might be missing from the records"
LEADER_CHANGED = "a change of the leader is recorded at about that time"


def findings_about_owners(
    silver: Silver, plan: AuditPlan, known: Collection[str], bundle: str | None = None
) -> DataFrame:
    """Return `cluster`, `cycle`, `rule`, `verdict` and `evidence`: a row for each time and rule.

    Events are judged only while settings name the extensible manager, and only by the `known` rules
    in `OWNERSHIP_RULES`, of which there must be at least one. With a `bundle`, only that bundle is
    judged, and all `known` rules must be in `JUDGED_BY_BUNDLE`.
    """
    parts = [
        judge(silver, plan).where(F.col("rule").isin(*chosen))
        for judge, rules in JUDGES.items()
        if (chosen := [rule for rule in rules if rule in known])
    ]
    rows = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)
    rows = rows if bundle is None else rows.where(F.col("bundle") == bundle)
    return cycles.in_period_of(_one_row_each(rows), plan)


def affected_times(own: DataFrame, silver: Silver, since: datetime) -> DataFrame:
    """Return `cluster` and `cycle`: the times of verdicts that records from `since` on may
    affect.
    """
    later = own.where(F.col("cycle") >= F.lit(since - timedelta(seconds=HOUR)))
    near = F.lit(since - timedelta(seconds=HORIZON))
    runs = silver.contexts.where("kind = 'settings'")
    runs = runs.where(transfer.runs_extensible(F.col("settings"))).select("cluster").distinct()
    acted = silver.actions.where(F.col("kind").isin("assigned", "unloaded") & (F.col("at") >= near))
    told = silver.contexts.where((F.col("kind") == "load_data") & (F.col("at") >= F.lit(since)))
    times = acted.select("cluster", "at").unionByName(told.select("cluster", "at"))
    times = times.join(F.broadcast(runs), "cluster", "left_semi")
    return later.select("cluster", "cycle").unionByName(
        times.select("cluster", F.col("at").alias("cycle"))
    )


def _one_row_each(rows: DataFrame) -> DataFrame:
    """Return one row for each time and rule: the worst verdict, with the first evidence of it."""
    first = F.min(F.struct(-F.col("rank"), "evidence"))["evidence"]
    verdict = F.when(F.max("rank") == WRONG, "violated").when(F.max("rank") == OPEN, "undecided")
    found = rows.groupBy("cluster", "cycle", "rule")
    return found.agg(verdict.otherwise("allowed").alias("verdict"), first.alias("evidence"))


FINE, OPEN, WRONG = range(3)
"""Ranks of the verdicts on a single record, the worst last."""


def _verdict_columns(rule: str, wrong: Column, open_: Column, fine: Column) -> tuple[Column, ...]:
    """Return the columns `rule`, `rank` and `evidence`, given each verdict's evidence or null.

    The first evidence that is not null decides the rank.
    """
    rank = F.when(wrong.isNotNull(), WRONG).when(open_.isNotNull(), OPEN).otherwise(FINE)
    evidence = F.coalesce(wrong, open_, fine)
    return F.lit(rule).alias("rule"), rank.alias("rank"), evidence.alias("evidence")


def _open_evidence(why: Column | str) -> Column:
    """Return the evidence of an undecided verdict on a bundle: why it is undecided."""
    return F.concat(F.col("bundle"), F.lit(": "), F.lit(why) if isinstance(why, str) else why)


def _under_extensible(silver: Silver, plan: AuditPlan, rows: DataFrame) -> DataFrame:
    """Return the rows at times with the extensible manager; add the settings in force, `force`."""
    rows = settings_at.join_settings(silver, plan, rows, "cycle")
    return rows.where(transfer.runs_extensible(F.col("force")))


def _broker_spelling(name: str) -> Column:
    """Return a broker's name without its scheme, and without the port if it is a standard one."""
    plain = F.regexp_replace(name, names.SCHEME, "")
    host = F.lower(F.nullif(F.regexp_extract(plain, names.HOST, 1), F.lit("")))
    return F.when(plain.rlike(names.STANDARD), host).otherwise(plain)


def _bundle_events(silver: Silver) -> DataFrame:
    """Return the recorded events of bundles: `cluster`, `bundle`, `at`, `kind`, `of` and
    `cause`.
    """
    done = silver.actions.select(
        *BUNDLE_KEY, "at", "kind", _broker_spelling("broker").alias("of"), "cause", "broker"
    )
    listed = silver.contexts.where("kind = 'owners'")
    listed = listed.select("cluster", "at", F.explode("owners").alias("broker", "bundles"))
    listed = listed.select("cluster", "at", "broker", F.explode("bundles").alias("bundle"))
    listed = listed.withColumns({"kind": F.lit("listed"), "of": _broker_spelling("broker")})
    return done.unionByName(listed, allowMissingColumns=True)


def _within(first: float, last: float) -> tuple[int, int]:
    return round(first * MICROS), round(last * MICROS)


def _judge_assignments(silver: Silver, plan: AuditPlan) -> DataFrame:
    """Judge each assignment of a bundle that had an owner. [CHANNEL-01]

    It is a violation if no unload precedes the assignment, and a later record shows that the former
    owner still holds the bundle.
    """
    rows = _bundle_events(silver)
    place = F.expr("decode(kind, 'assigned', 1, 'listed', 2, 0)")
    course = Window.partitionBy(*BUNDLE_KEY).orderBy("at", place)
    by_time = Window.partitionBy(*BUNDLE_KEY).orderBy(F.unix_micros("at"))
    owned = F.col("kind").isin("assigned", "listed")
    holder = F.last(F.when(owned, F.struct("of", "at", "broker")), ignorenulls=True)
    left = F.max(F.when(~owned, F.struct("at", F.coalesce("of", F.lit("")).alias("of"))))
    sign = F.struct("at", "kind", "of")
    rows = rows.withColumns(
        {
            "holder": holder.over(course.rowsBetween(Window.unboundedPreceding, -1)),
            "left": left.over(
                by_time.rangeBetween(Window.unboundedPreceding, _within(0, causes.MAX_SKEW)[1])
            ),
            "later": F.collect_list(sign).over(
                by_time.rangeBetween(*_within(causes.MAX_SKEW + 1 / MICROS, HORIZON))
            ),
        }
    )
    rows = rows.where("kind = 'assigned' and holder is not null").withColumnRenamed("at", "cycle")
    rows = _under_extensible(silver, plan, rows)
    since, given = F.unix_micros("holder.at"), F.col("of") != F.col("holder.of")
    by_it = F.col("left.of").isin(F.col("holder.of"), F.lit("")) | ~given
    free = by_it & (F.unix_micros("left.at") >= since - causes.MAX_SKEW * MICROS)
    free = F.coalesce(free, F.lit(False))
    mine = F.filter(
        "later", lambda one: (one["of"] == F.col("holder.of")) | (one["kind"] == "unloaded")
    )
    first = F.get(F.array_sort(mine), F.lit(0))
    holds = (first["of"] == F.col("holder.of")) & (first["kind"] != "assigned")
    passed = formatting.plain((F.unix_micros(first["at"]) - F.unix_micros("cycle")) / MICROS)
    told = formatting.joined(
        F.col("bundle"), "was assigned to", F.col("broker"), "while", F.col("holder.broker")
    )
    told = formatting.joined(told, "owned it, as recorded", passed, "s later")
    wrong = F.when(given & ~free & holds, told)
    open_ = F.when(given & ~free, _open_evidence(NO_UNLOAD))
    after = F.unix_micros("left.at") - F.unix_micros("cycle")
    gone = formatting.joined(
        *(F.col("bundle"), "was assigned to", F.col("broker"), "as", F.col("holder.broker")),
        *("unloaded it, as recorded", formatting.plain(after / MICROS), "s later"),
    )
    fine = formatting.joined(F.col("bundle"), "had no other owner when it was assigned")
    fine = F.when(given & (after > 0), gone).otherwise(fine)
    return rows.select(*BUNDLE_KEY, "cycle", *_verdict_columns("CHANNEL-01", wrong, open_, fine))


def _judge_orphans(silver: Silver, plan: AuditPlan) -> DataFrame:
    """Judge the owners of bundles whose broker stopped. [OWN-04]

    It is a violation if the broker is later recorded as owner without a sign that it started again.
    No document sets a deadline for a new owner, so the evidence only states the time until then. A
    broker's own namespaces are not judged, since they end with the broker.
    """
    events = _bundle_events(silver)
    space = F.substring_index(ranges.namespace_of(F.col("bundle")), "/", -1)
    down = events.where((F.col("kind") == "unloaded") & (F.col("cause") == SHUTDOWN))
    down = down.where(space != F.col("broker")).withColumnRenamed("at", "cycle")
    down = _under_extensible(silver, plan, down.select(*BUNDLE_KEY, "cycle", "of", "broker"))
    down = down.select(*BUNDLE_KEY, "cycle", "of", "broker").distinct()
    shown = silver.contexts.where(F.col("kind").isin("load_data", "leader"))
    shown = shown.select("cluster", "at", _broker_spelling("broker").alias("of"))
    given = events.where("kind = 'assigned'").select("cluster", "at", "of")
    key = [*BUNDLE_KEY, "cycle", "of"]
    passed = (F.unix_micros("at") - F.unix_micros("cycle")) / MICROS
    soon = passed.between(-causes.MAX_SKEW, HORIZON)
    after = passed.between(causes.MAX_SKEW, HORIZON)
    lives = F.broadcast(down).join(shown.unionByName(given), ["cluster", "of"])
    lives = lives.where(after).groupBy(*key).agg(F.min("at").alias("lives"))
    mine = events.select(*BUNDLE_KEY, "at", "kind", F.col("of").alias("to"))
    own = F.broadcast(down).join(mine, BUNDLE_KEY)
    other = (F.col("kind") == "assigned") & (F.col("to") != F.col("of")) & soon
    listed = (F.col("kind") == "listed") & (F.col("to") == F.col("of"))
    still = listed & passed.between(REASSIGNED_AFTER, HORIZON)
    own = own.groupBy(*key, "broker").agg(
        F.min(F.when(other, passed)).alias("moved"), F.min(F.when(still, F.col("at"))).alias("kept")
    )
    rows = own.join(lives, key, "left")
    kept = F.col("kept").isNotNull() & ~F.coalesce(F.col("lives") <= F.col("kept"), F.lit(False))
    stopped = formatting.joined(F.col("broker"), "stopped and is still recorded as owner of")
    wrong = F.when(kept, formatting.joined(stopped, F.col("bundle")))
    why = F.when(F.col("lives").isNotNull(), BROKER_MAY_BE_BACK).otherwise(NO_NEXT_OWNER)
    open_ = F.when(F.col("moved").isNull(), _open_evidence(why))
    time = F.concat(formatting.plain(F.greatest("moved", F.lit(0.0))), F.lit(" s"))
    fine = formatting.joined(F.col("bundle"), "has another owner after", time)
    return rows.select(*BUNDLE_KEY, "cycle", *_verdict_columns("OWN-04", wrong, open_, fine))


def _judge_splits(silver: Silver, plan: AuditPlan) -> DataFrame:
    """Judge splits by brokers that write no load reports. [SPLIT-05, SPLIT-06]"""
    done = splits.leader_splits(silver, plan)
    done = done.join(silver.broker_samples.select("cluster").distinct(), "cluster", "left_anti")
    rows = _under_extensible(silver, plan, done)
    key = [*BUNDLE_KEY, "cycle"]
    sought = F.broadcast(rows.select(*key))
    rows = rows.join(_greatest_measured(silver, sought, key), key, "left")
    rows = rows.join(_known_bundles(silver, sought, key), key, "left")
    parts = F.array(*(F.struct(*judge()) for judge in (_limit_verdict, _room_verdict)))
    return rows.select(*key, F.inline(parts))


def _greatest_measured(silver: Silver, sought: DataFrame, key: list[str]) -> DataFrame:
    """Return the maximum of each of `splits.MEASURED` in a bundle's load data until its split."""
    told = silver.contexts.where("kind = 'load_data'").select(
        "cluster", "at", F.explode("load.topBundlesLoadData").alias("top")
    )
    told = told.select("cluster", "at", F.col("top.bundleName").alias("bundle"), "top.stats")
    near = F.unix_seconds("at") <= F.unix_seconds("cycle") + causes.MAX_SKEW
    both = told.join(sought, BUNDLE_KEY).where(near)
    sums = (
        ("topics",),
        ("producerCount", "consumerCount"),
        ("msgRateIn", "msgRateOut"),
        ("msgThroughputIn", "msgThroughputOut"),
    )
    amounts = (sum(shapes.or_zero(F.col(f"stats.{one}")) for one in names) for names in sums)
    each = zip(splits.MEASURED, amounts, strict=True)
    return both.groupBy(*key).agg(*(F.max(amount).alias(name) for name, amount in each))


def _known_bundles(silver: Silver, sought: DataFrame, key: list[str]) -> DataFrame:
    """Return the column `there`: the bundles that the namespace certainly had before a split.

    These are the bundles in the last record of owners and the bundles assigned since, except those
    that were split.
    """
    events = _bundle_events(silver).where(F.col("kind").isin("listed", "assigned"))
    events = events.select("cluster", "at", "kind", F.col("bundle").alias("one"))
    both = events.join(sought, "cluster").where("at <= cycle")
    course = Window.partitionBy(*key)
    both = both.withColumn(
        "since", F.max(F.when(F.col("kind") == "listed", F.col("at"))).over(course)
    )
    both = both.where(F.coalesce(F.col("at") >= F.col("since"), F.lit(True)))
    same = ranges.namespace_of(F.col("one")) == ranges.namespace_of(F.col("bundle"))
    found = both.where(same).groupBy(*key).agg(F.collect_set("one").alias("names"))
    names_ = F.array_union("names", F.array("bundle"))
    inner = F.filter(
        names_, lambda one: ~F.exists(names_, lambda o: (o != one) & ranges.covers(one, o))
    )
    return found.select(*key, inner.alias("there"))


def _limit_verdict() -> tuple[Column, ...]:
    """Return an undecided verdict unless load data show a bundle over a limit. [SPLIT-05]"""
    over = F.lit(False)
    for name, what in zip(growth.LIMITS, splits.MEASURED, strict=True):
        unit = splits.MEGABYTE if name == growth.MAX_MEGABYTES else 1
        over = over | F.coalesce(F.col(what) > F.col(f"force.{name}") * unit, F.lit(False))
    open_ = F.when(~over, _open_evidence(NO_STATS))
    fine = formatting.joined(F.col("bundle"), "was split after it had exceeded a limit")
    return _verdict_columns("SPLIT-05", F.lit(None).cast("string"), open_, fine)


def _room_verdict() -> tuple[Column, ...]:
    """Return a violation if the namespace certainly had too many bundles for a split. [SPLIT-06]"""
    there = F.coalesce(F.size("there"), F.lit(0))
    width = F.aggregate(
        F.coalesce("there", F.array().cast("array<string>")),
        F.lit(0).cast("bigint"),
        lambda sum_, one: (
            sum_
            + ranges.boundary_value(ranges.upper_of(one))
            - ranges.boundary_value(ranges.lower_of(one))
        ),
    )
    most = F.col(f"force.{growth.MAX_BUNDLES}")
    full = (there + F.size("into") - 1 > most) & (width <= LAST_HASH)
    told = formatting.joined(F.col("bundle"), "was split when its namespace had")
    told = formatting.joined(
        told, there.cast("string"), "bundles, of", formatting.plain(most), "at most"
    )
    open_ = F.when(width != LAST_HASH, _open_evidence(BUNDLES_UNRECORDED))
    return _verdict_columns("SPLIT-06", F.when(full, told), open_, told)


def _judge_load_data(silver: Silver, plan: AuditPlan) -> DataFrame:
    """Judge when brokers write their load data, and about how many bundles. [REPORT-15, -16, -18]

    Each hour of a cluster gets one verdict, at its first violation or its first record.
    """
    told = silver.contexts.where("kind = 'load_data'")
    rows = told.select("cluster", F.col("at").alias("cycle"), "broker", "load")
    rows = _under_extensible(silver, plan, rows)
    wrote = F.col("load.reportedAt") / 1000
    course = Window.partitionBy("cluster", "broker").orderBy("cycle")
    elected = silver.contexts.where("kind = 'leader'").select("cluster", F.col("at").alias("led"))
    apart = F.abs(F.unix_seconds("led") - F.unix_seconds("cycle")) <= MAX_SECONDS_LATE
    near = rows.select("cluster", "cycle").distinct().join(F.broadcast(elected), "cluster")
    near = near.where(apart).select("cluster", "cycle", F.lit(True).alias("elected")).distinct()
    rows = rows.withColumn("passed", wrote - F.lag(wrote).over(course))
    rows = rows.join(F.broadcast(near), ["cluster", "cycle"], "left")
    parts = F.array(
        *(F.struct(*judge()) for judge in (_latest_verdict, _soonest_verdict, _bundles_verdict))
    )
    rows = rows.select("cluster", "cycle", F.inline(parts)).where("evidence is not null")
    hour = Window.partitionBy("cluster", "rule", F.floor(F.unix_seconds("cycle") / HOUR))
    worst = F.max("rank").over(hour) == F.col("rank")
    rows = rows.withColumn("worst", worst).where("worst")
    return rows.withColumn("cycle", F.min("cycle").over(hour)).drop("worst")


def _seconds_passed() -> Column:
    return F.concat(formatting.plain(F.col("passed"), 3), F.lit(" s"))


def _written_after() -> Column:
    told = formatting.joined(F.col("broker"), "wrote its load data after", _seconds_passed())
    return F.when(F.col("passed").isNotNull(), told)


def _latest_verdict() -> tuple[Column, ...]:
    """Return an undecided verdict if load data came later than the maximum interval. [REPORT-15]"""
    longest = F.col(f"force.{settings_at.REPORT_AGE}") * 60 + MAX_SECONDS_LATE
    told = F.concat(F.col("broker"), F.lit(": "), _seconds_passed(), F.lit(f"; {LOAD_DATA_UNSEEN}"))
    late = F.when(F.col("passed") > longest, told)
    return _verdict_columns("REPORT-15", F.lit(None).cast("string"), late, _written_after())


def _soonest_verdict() -> tuple[Column, ...]:
    """Return a violation if load data came sooner than the minimum interval. [REPORT-16]"""
    soon = F.col("passed").between(
        1e-3, F.col(f"force.{settings_at.MIN_REPORT_MILLIS}") / 1000 - 1e-3
    )
    told = formatting.joined(F.col("broker"), "wrote its load data again after", _seconds_passed())
    led = F.coalesce("elected", F.lit(False))
    open_ = F.when(soon & led, F.concat(told, F.lit(f"; {LEADER_CHANGED}")))
    return _verdict_columns("REPORT-16", F.when(soon & ~led, told), open_, _written_after())


def _bundles_verdict() -> tuple[Column, ...]:
    """Return a violation if load data have more bundles than the setting allows. [REPORT-18]"""
    count, most = F.size("load.topBundlesLoadData"), F.col(f"force.{transfer.MAX_REPORTED_BUNDLES}")
    told = formatting.joined(F.col("broker"), "reports", count.cast("string"), "bundles, of")
    told = formatting.joined(told, formatting.plain(most), "at most")
    many = F.when((most > 0) & (count > most), told)
    return _verdict_columns("REPORT-18", many, F.lit(None).cast("string"), F.when(count >= 0, told))


JUDGES: Mapping[Callable[[Silver, AuditPlan], DataFrame], tuple[str, ...]] = {
    _judge_assignments: ("CHANNEL-01",),
    _judge_orphans: ("OWN-04",),
    _judge_splits: ("SPLIT-05", "SPLIT-06"),
    _judge_load_data: ("REPORT-15", "REPORT-16", "REPORT-18"),
}
OWNERSHIP_RULES = tuple(rule for rules in JUDGES.values() for rule in rules)
"""The rules that judge the records of the extensible manager's brokers."""

JUDGED_BY_BUNDLE = frozenset(OWNERSHIP_RULES).difference(JUDGES[_judge_load_data])
"""The rules that judge each bundle separately."""
