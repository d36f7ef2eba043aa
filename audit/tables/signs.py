"""Lost reports, and signs that a broker has gone although its last report is recent.

A broker that stops leaves its last report behind. There are three signs that it stopped: its
shutdown is recorded, another broker leads in its place, or one of its bundles is on another broker
without having been unloaded. The last two become visible only some time later. A recorded shutdown
is certain from its time on, and so is the third sign if all bundles of the broker are on other
brokers.

A lost report is one in quarantine. The leader knew its content, which the history no longer shows.
"""

from __future__ import annotations

from datetime import timedelta

from pulsar_conformance.audit.input.parsing import SHEDDING, SHUTDOWN, SPLIT
from pulsar_conformance.audit.input.silver import LOST
from pulsar_conformance.audit.pipeline.plan import Silver
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

BUNDLE_KEY = ("cluster", "bundle")
GONE_AFTER_INTERVALS = 3
"""A broker has certainly gone if it was silent for this multiple of the longest report interval."""

HINDSIGHT = timedelta(hours=1)
"""Maximum time from a moment to a record that shows whether a broker was up at that moment."""

ELECTION = timedelta(minutes=1)
"""Maximum time from the departure of a leader to the record of its successor."""

SHUTDOWN_RECORDED = "its shutdown is recorded"
OTHER_BROKER_LEADS = "another broker leads in its place"
BUNDLE_ELSEWHERE = "one of its bundles is at another broker without having been unloaded"


def shutdowns(silver: Silver) -> DataFrame:
    """Return `cluster`, `broker`, `at` and `last`: the first and the last unload of a shutdown.

    A shutdown that lasts for several minutes has a row for each minute.
    """
    stopped = silver.actions.where((F.col("kind") == "unloaded") & (F.col("cause") == SHUTDOWN))
    return (
        stopped.groupBy("cluster", "broker", F.date_trunc("minute", "at").alias("minute"))
        .agg(F.min("at").alias("at"), F.max("at").alias("last"))
        .drop("minute")
    )


def signs_of_life(silver: Silver) -> DataFrame:
    """Return `cluster`, `broker` and `at` of records, other than reports, that show that a broker
    that once shut down is up.

    Such a broker is assigned a bundle, sheds or splits one, or becomes leader.
    """
    acts = F.col("cause").isin(SHEDDING, SPLIT) & (F.col("kind") == "unloaded")
    acted = silver.actions.where(F.coalesce(acts, F.lit(False)) | (F.col("kind") == "assigned"))
    led = silver.contexts.where("kind = 'leader'")
    key = ("cluster", "broker")
    every = acted.select(*key, "at").unionByName(led.select(*key, "at"))
    return every.join(shutdowns(silver).select(*key).distinct(), list(key), "left_semi")


def lost_reports(silver: Silver) -> DataFrame:
    """Return `cluster`, `broker` and `at` of quarantined reports that name their broker."""
    lost = silver.contexts.where((F.col("kind") == LOST) & F.col("broker").isNotNull())
    # A damaged copy of a usable report has the same time and does not matter. A contradicting
    # report matters, so it is dated later.
    at = F.when(F.col("name") == "conflicting", F.col("at") + F.expr("interval 1 microsecond"))
    return lost.select("cluster", "broker", at.otherwise(F.col("at")).alias("at"))


def replaced_leaders(silver: Silver) -> DataFrame:
    """Return `cluster`, `broker` and `at` of each leader that another broker replaced."""
    course = Window.partitionBy("cluster").orderBy("at")
    led = silver.contexts.where("kind = 'leader'").select("cluster", "at", "broker")
    led = led.withColumn("former", F.lag("broker").over(course)).where("broker != former")
    return led.select("cluster", F.col("former").alias("broker"), "at")


def moved_without_unload(silver: Silver) -> DataFrame:
    """Return a row for each broker that lost a bundle without an unload.

    Columns: `cluster`, `broker`, `since`, `reported`, `emptied`. `reported` is the time of the
    broker's last report that lists the bundle. A newer report shows that the broker is up. The
    broker may have gone at any time after `since`, which is at most `HINDSIGHT` before the first
    record of the bundle on another broker. `emptied` is the time from which all bundles of that
    report are on other brokers; null if some are not.
    """
    owners = silver.contexts.where("kind = 'owners'")
    owners = owners.select("cluster", "at", F.explode("owners").alias("broker", "bundles"))
    owners = owners.select("cluster", "at", "broker", F.explode("bundles").alias("bundle"))
    assigned = silver.actions.where("kind = 'assigned'").select("cluster", "at", "broker", "bundle")
    assigned = assigned.withColumn("listed", F.lit(False)).unionByName(
        owners.withColumn("listed", F.lit(True))
    )
    rows = _owner_claims(silver.broker_samples, assigned)
    went = silver.actions.where("kind = 'unloaded'").select(
        "cluster", "at", "bundle", F.lit(0).alias("turn")
    )
    rows = rows.unionByName(went, allowMissingColumns=True)
    course = Window.partitionBy(*BUNDLE_KEY).orderBy("at", "turn", "broker")
    before = course.rowsBetween(Window.unboundedPreceding, -1)
    owner = F.when(F.col("turn") == 1, F.struct("broker", "at", "report", "size"))
    former = F.last(owner, ignorenulls=True).over(before)
    # A list of owners says nothing new about a bundle that has not moved.
    rows = rows.withColumn("former", former)
    same = F.col("listed") & (F.col("former.broker") == F.col("broker"))
    rows = rows.where(~F.coalesce(same, F.lit(False)))
    rows = rows.withColumns(
        {
            "former": former,
            "left": F.max(F.when(F.col("turn") == 0, F.col("at"))).over(before),
        }
    )
    taken = (F.col("turn") == 1) & (F.col("former.broker") != F.col("broker"))
    unloaded = F.coalesce(F.col("left") >= F.col("former.at"), F.lit(False))
    rows = rows.where(taken & ~unloaded & F.col("former.report"))
    rows = rows.groupBy(
        "cluster", F.col("former.broker").alias("broker"), F.col("former.at").alias("reported")
    ).agg(
        (F.min("at") - F.lit(HINDSIGHT)).alias("since"),
        F.max("at").alias("last"),
        (F.count_distinct("bundle") == F.max("former.size")).alias("every"),
    )
    emptied = F.when(F.col("every"), F.col("last")).alias("emptied")
    since = F.greatest("reported", "since").alias("since")
    return rows.select("cluster", "broker", since, "reported", emptied)


def _owner_claims(samples: DataFrame, assigned: DataFrame) -> DataFrame:
    """Return the owners of bundles that have had several owners, by reports and other records.

    `size` is the number of bundles in a report. Most lists of bundles repeat the broker's earlier
    list, so each distinct list is read once.
    """
    key = ["cluster", "broker", "bundle"]
    lists = samples.select("cluster", "broker", "bundles").distinct()
    each = lists.select("cluster", "broker", F.explode("bundles").alias("bundle"))
    each = each.unionByName(assigned.select(*key)).distinct()
    brokers = F.count(F.lit(1)).alias("brokers")
    moved = each.groupBy(*BUNDLE_KEY).agg(brokers).where("brokers > 1").select(*BUNDLE_KEY)
    sought = each.join(moved.hint("shuffle_hash"), list(BUNDLE_KEY), "left_semi")
    sought = sought.groupBy("cluster", "broker").agg(F.collect_list("bundle").alias("sought"))
    found = samples.join(sought.hint("shuffle_hash"), ["cluster", "broker"])
    bundle = F.explode(F.array_intersect("bundles", "sought")).alias("bundle")
    size = F.size("bundles").alias("size")
    found = found.select("cluster", "at", "broker", bundle, size).withColumn("report", F.lit(True))
    others = assigned.join(moved.hint("shuffle_hash"), list(BUNDLE_KEY), "left_semi")
    others = others.withColumn("report", F.lit(False))
    both = found.unionByName(others, allowMissingColumns=True)
    return both.withColumn("turn", F.lit(1))
