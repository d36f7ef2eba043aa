"""Data for the charts of the page, limited in size, from an audit's tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pulsar_conformance.adapters.spark import usage
from pulsar_conformance.adapters.spark.overload import OVERLOAD_THRESHOLD as OVERLOAD
from pulsar_conformance.adapters.spark.threshold import LOWER_BOUNDARY
from pulsar_conformance.adapters.spark.threshold import SHEDDER_THRESHOLD as ABOVE
from pulsar_conformance.audit.input.parsing import SPLIT
from pulsar_conformance.audit.pipeline.plan import AuditPlan
from pulsar_conformance.audit.tables import causes, cycles
from pulsar_conformance.audit.tables.formatting import abridged
from pulsar_conformance.audit.verdicts.checks.registry import WRONG, is_fault
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

Json = dict[str, Any]
Tables = Mapping[str, DataFrame]

MAX_CLUSTERS = 6
"""Maximum number of clusters with charts. The clusters with the most faults come first, then the
clusters with the most unloads.
"""

MAX_LINE_POINTS = 300
"""Maximum number of points of a line; with more cycles, a point stands for several."""

MAX_PAGE_POINTS = 60_000
"""Maximum number of points on a page. The more lines a page has, the fewer points each has."""

MAX_BROKERS = 100
"""Maximum number of brokers of a cluster that are drawn; the most used brokers come first."""

MAX_CLUSTER_MARKS = 1000
"""Maximum number of events that are marked in a cluster; events in cycles with faults come first.
"""

MAX_PAGE_MARKS = 2000
"""Maximum number of marks on a page."""

MAX_ROWS = 1000
"""Maximum number of rows in the table of verdicts. It omits the verdict `allowed`."""

MAX_EVIDENCE_LENGTH, FEW_VERDICTS = 300_000, 100
"""Maximum total length of the evidence on a page, and the number of verdicts above which each
verdict's evidence is limited further.
"""

MAX_BUNDLES = 50
"""Maximum number of returned bundles that the page lists for a cluster."""

LISTED_BROKERS = 8
"""Maximum number of brokers listed for a returned bundle."""

MAX_FLEET_ROWS = 1000
"""Maximum number of clusters in the table of the fleet."""


def drawn_clusters(tables: Tables, plan: AuditPlan, fleet: Sequence[Sequence[Any]]) -> list[Json]:
    """Return the first clusters of the fleet, each with its lines, marks and bundles."""
    clusters = {str(row[0]): int(row[1]) for row in fleet[:MAX_CLUSTERS]}
    points, marks = drawing_limits(list(clusters.values()))
    return [
        {
            "name": name,
            "about": _smoothing_note(tables, plan, name),
            **_usage_lines(tables, plan, name, points),
            "marks": _event_marks(tables, name, marks),
            "bundles": returning_bundles(tables, name),
        }
        for name in clusters
    ]


def _smoothing_note(tables: Tables, plan: AuditPlan, cluster: str) -> str:
    """Return a remark if the release smooths usage twice in some cycles; otherwise, an empty text.

    The tables and the chart have the usage smoothed only once.
    """
    if plan.alternative_of_way("lower-boundary-relief") != "half-threshold":
        return ""
    mine = tables["cycles"].where(F.col("cluster") == cluster)
    ran = cycles.cycle_moments({"cycles": mine}, plan).where("strategy = 'ThresholdShedder'")
    if ran.where(F.col(f"settings.{LOWER_BOUNDARY}")).isEmpty():
        return ""
    return (
        "usage, average and limit are smoothed once per cycle here and in the tables; with "
        f"{LOWER_BOUNDARY}, {plan.profile} smooths usage a second time in each cycle in which no "
        "broker sheds an excess; its own numbers are in the arithmetic of the verdicts and in the "
        "answers to --broker and --why"
    )


def drawing_limits(brokers: Sequence[int]) -> tuple[int, int]:
    """Return the maximum number of points per line, and of marks per cluster.

    `brokers` gives the number of brokers of each cluster.
    """
    lines = sum(min(MAX_BROKERS, count) for count in brokers)
    points = min(MAX_LINE_POINTS, MAX_PAGE_POINTS // max(1, lines))
    return points, min(MAX_CLUSTER_MARKS, MAX_PAGE_MARKS // max(1, len(brokers)))


def verdict_rows(tables: Tables) -> list[list[str | None]]:
    """Return a row per verdict, except `allowed`, and at most `MAX_ROWS` rows.

    Columns: rule, verdict, cluster, cycle, evidence, and the rule that it follows from.
    """
    rank = F.array_position(F.array(*map(F.lit, (*WRONG, "undecided"))), F.col("verdict"))
    rows = tables["verdicts"].where(F.col("verdict") != "allowed")
    rows = rows.orderBy(rank, "cycle", "cluster", "rule").limit(MAX_ROWS)
    evidence = abridged(F.col("evidence"), evidence_length(rows.count()))
    told = ("rule", "verdict", "cluster", _format_time("cycle"), evidence, "follows")
    return [list(row) for row in rows.select(*told).collect()]


def evidence_length(rows: int) -> int:
    """Return the maximum length of a verdict's evidence on a page with `rows` verdicts."""
    return MAX_EVIDENCE_LENGTH // max(rows, FEW_VERDICTS)


def fleet_rows(tables: Tables) -> list[list[Any]]:
    """Return a row per cluster; those with the most faults come first.

    Columns: name, number of brokers, number of faults, violated rules, number of unloads, and
    number of cycles in which the documents unload something.
    """
    faults = tables["verdicts"].where(is_fault()).groupBy("cluster")
    faults = faults.agg(
        F.count(F.lit(1)).alias("faults"),
        F.array_join(F.array_sort(F.collect_set("rule")), ", ").alias("rules"),
    )
    went = tables["unloads"].groupBy("cluster").agg(F.count(F.lit(1)).alias("unloads"))
    due = tables["decisions"].where("chosen and moment = cycle").groupBy("cluster")
    due = due.agg(F.countDistinct("cycle").alias("due"))
    brokers = F.countDistinct("broker").alias("brokers")
    rows = tables["broker_usage"].groupBy("cluster").agg(brokers)
    for more in (faults, went, due):
        rows = rows.join(more, "cluster", "left")
    rows = rows.na.fill(0).na.fill("")
    ordered = rows.orderBy(F.desc("faults"), F.desc("unloads"), "cluster").limit(MAX_FLEET_ROWS)
    shown = ordered.select("cluster", "brokers", "faults", "rules", "unloads", "due")
    return [list(row) for row in shown.collect()]


def _usage_lines(tables: Tables, plan: AuditPlan, cluster: str, most: int) -> Json:
    """Return the times in seconds since 1970, and for each the brokers' usage, average and limit in
    percent.

    A time is that of a cycle. With more than `most` cycles, several cycles share the time of the
    first of them.
    """
    mine = F.col("cluster") == cluster
    used = tables["broker_usage"].where(mine & (F.col("moment") == F.col("cycle")))
    ran = cycles.cycle_moments({"cycles": tables["cycles"].where(mine)}, plan)
    ran = ran.where("moment = cycle").select("cycle", "strategy", "settings")
    rows = used.select("cycle", "broker", "percent", "used", "present").join(ran, "cycle")
    rows = rows.withColumn("used", shedding_usage())
    rows = rows.withColumn("average", F.avg("used").over(Window.partitionBy("cycle")))
    rows = rows.withColumn("limit", _limit_column())
    rows = rows.withColumn("second", F.unix_seconds("cycle"))
    span = rows.agg(
        F.min("second").alias("first"),
        F.max("second").alias("last"),
        F.countDistinct("second").alias("seconds"),
    )
    rows = rows.crossJoin(F.broadcast(span))
    wide = F.ceil((F.col("last") - F.col("first") + 1) / most)
    step = F.when(F.col("seconds") > most, wide).otherwise(F.lit(1))
    rows = rows.withColumn("point", F.floor((F.col("second") - F.col("first")) / step))
    points = (
        rows.withColumn("at", F.min("second").over(Window.partitionBy("point")))
        .groupBy("at", "broker")
        .agg(
            F.round(F.max("used"), 1).alias("used"),
            F.round(F.avg("average"), 1).alias("average"),
            F.round(F.avg("limit"), 1).alias("limit"),
        )
    )
    return _as_lines(points.localCheckpoint())


def shedding_usage() -> Column:
    """Return the usage by which the strategy of a cycle decides.

    OverloadShedder ignores weights and earlier usage.
    """
    plainly = F.when(F.col("strategy") == "OverloadShedder", usage.maximum(F.col("percent")))
    return F.coalesce(plainly, "used", "present")


def _limit_column() -> Column:
    above, settings = F.col("average") + F.col(f"settings.{ABOVE}"), F.col("settings")
    return F.when(F.col("strategy") == "ThresholdShedder", above).when(
        F.col("strategy") == "OverloadShedder", settings[OVERLOAD]
    )


def _as_lines(points: DataFrame) -> Json:
    """Return the times, and for each time the average, the limit and the usage of each broker."""
    every = points.groupBy("at").agg(F.first("average"), F.first("limit")).orderBy("at").collect()
    times = [row[0] for row in every]
    place = {at: number for number, at in enumerate(times)}
    each = points.groupBy("broker").agg(
        F.max("used").alias("most"),
        F.array_sort(F.collect_list(F.struct("at", "used"))).alias("line"),
    )
    brokers = []
    for row in each.orderBy(F.desc("most"), "broker").limit(MAX_BROKERS).toLocalIterator():
        line: list[float | None] = [None] * len(times)
        for at, used in row["line"]:
            line[place[at]] = used
        brokers.append({"name": row["broker"], "used": line})
    return {
        "times": times,
        "average": [row[1] for row in every],
        "limit": [row[2] for row in every],
        "brokers": sorted(brokers, key=lambda one: str(one["name"])),
        "left_out": each.count() - MAX_BROKERS if len(brokers) == MAX_BROKERS else 0,
    }


def _event_marks(tables: Tables, cluster: str, most: int) -> list[list[Any]]:
    """Return a row per unload and split.

    Columns: time in seconds since 1970, kind, broker, description, and whether the cycle violates a
    rule.
    """
    mine = F.col("cluster") == cluster
    faults = tables["verdicts"].where(mine & is_fault()).groupBy("cycle")
    broken = faults.agg(F.array_sort(F.collect_set("rule")).alias("rules"))
    why = (
        tables["decisions"]
        .where(mine & (F.col("moment") == F.col("cycle")))
        .select("cycle", "broker", "bundle", "why")
    )
    went = tables["unloads"].where(mine).join(broken, "cycle", "left")
    went = went.join(why, ["cycle", "broker", "bundle"], "left")
    either = F.when(F.col("open"), F.lit(" (or not)")).otherwise(F.lit(""))
    about = F.concat(F.col("cause"), either, F.lit(": "), "basis")
    told = F.concat_ws("; ", "bundle", about, "why", F.array_join("rules", ", "))
    wrong = F.col("rules").isNotNull()
    unloads = went.select(
        "at", F.lit("unload").alias("kind"), "broker", told.alias("told"), wrong.alias("wrong")
    )
    split = tables["actions"].where(mine & (F.col("kind") == "split"))
    split = split.join(broken.withColumnRenamed("cycle", "at"), "at", "left")
    who = F.concat(F.lit("was split, "), F.coalesce("cause", F.lit("unknown")))
    splits = split.select(
        "at",
        "kind",
        F.lit(None).cast("string").alias("broker"),
        F.concat_ws("; ", "bundle", who, F.array_join("rules", ", ")).alias("told"),
        F.col("rules").isNotNull().alias("wrong"),
    )
    rows = unloads.unionByName(splits).distinct().orderBy(F.desc("wrong"), "at").limit(most)
    rows = rows.withColumn("at", F.round(F.unix_millis("at") / 1000, 1))
    return [list(row) for row in rows.select("at", "kind", "broker", "told", "wrong").collect()]


def returning_bundles(tables: Tables, cluster: str) -> list[list[Any]]:
    """Return the bundles that came back to a broker: name, number of unloads, first brokers in
    order.

    A stay at a broker may have several records, which count once:
    - an assignment, and the next unload by the same broker
    - an unload, and its repetition in another log
    - the unload of a part after a split, and its assignment to the same broker
    """
    mine = F.col("cluster") == cluster
    split = F.coalesce(F.col("cause") == SPLIT, F.lit(False))
    went = tables["unloads"].where(mine).withColumns({"kind": F.lit("unloaded"), "split": split})
    came = tables["actions"].where(mine & (F.col("kind") == "assigned"))
    came = came.withColumn("split", F.lit(False))
    known = ("at", "broker", "bundle", "kind", "split")
    rows = [one.select(*known).distinct() for one in (went, came)]
    order = ("at", "turn", "broker")
    course = Window.partitionBy("bundle").orderBy(*order)
    here = F.struct("broker", "kind")
    both = _with_turns(rows[0].unionByName(rows[1])).withColumns(
        {
            "before": F.lag(here).over(course),
            "after": F.lead(here).over(course),
            "passed": F.unix_seconds("at") - F.unix_seconds(F.lag("at").over(course)),
        }
    )
    unload = F.col("kind") == "unloaded"
    twice = (F.col("before") == here) & (~unload | (F.col("passed") <= causes.MAX_SKEW))
    goes_on = F.coalesce(F.col("after.broker") == F.col("broker"), F.lit(False))
    ends = goes_on & (~unload | F.col("split"))
    stays = both.where(~F.coalesce(twice, F.lit(False)) & ~ends).groupBy("bundle")
    found = stays.agg(
        F.count_if(unload).alias("times"),
        (F.count(F.lit(1)) > F.countDistinct("broker")).alias("returned"),
        F.array_sort(F.collect_list(F.struct(*order))).alias("way"),
    )
    found = found.where("returned").orderBy(F.desc("times"), "bundle").limit(MAX_BUNDLES)
    listed = F.slice("way", 1, LISTED_BROKERS)
    way = F.array_join(F.transform(listed, lambda one: one["broker"]), " → ")
    more = F.when(F.size("way") > LISTED_BROKERS, F.lit(" → …")).otherwise(F.lit(""))
    return [list(row) for row in found.select("bundle", "times", F.concat(way, more)).collect()]


def _with_turns(rows: DataFrame) -> DataFrame:
    """Add `turn`, the order of a bundle's records with the same time.

    An unload precedes the assignment to the next broker. If the same broker gets and unloads the
    bundle at that time, the assignment comes first, unless the broker already had the bundle.
    """
    unload = F.col("kind") == "unloaded"
    earlier = Window.partitionBy("bundle").orderBy(F.unix_micros("at"))
    earlier = earlier.rangeBetween(Window.unboundedPreceding, -1)
    last = F.max(F.struct("at", (~unload).alias("assigned"), "broker")).over(earlier)
    had = F.coalesce(last["assigned"] & (last["broker"] == F.col("broker")), F.lit(False))
    kinds = F.collect_set("kind").over(Window.partitionBy("bundle", "at", "broker"))
    passes_on = (F.size(kinds) > 1) & ~had
    turn = F.when(unload, F.when(passes_on, 2).otherwise(0)).otherwise(
        F.when(passes_on, 1).otherwise(3)
    )
    return rows.withColumn("turn", turn)


def _format_time(name: str) -> Column:
    return F.date_format(name, "yyyy-MM-dd HH:mm:ss")
