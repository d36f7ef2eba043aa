"""Changes of leader, and what became of each former leader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from pulsar_conformance.audit.input.parsing import SHUTDOWN
from pulsar_conformance.audit.tables.causes import BURST_SECONDS
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

Json = dict[str, Any]
Tables = Mapping[str, DataFrame]

MAX_DESCRIBED_CHANGES = 5
"""Maximum number of leader changes that are described; all others are only counted."""

RESTARTED = "starts a new term"
ENDED = "which shut down"
CONTINUES = "which keeps running"
SILENT = "which has reported nothing since"


def leader_changes(tables: Tables) -> DataFrame:
    """Return a row per change of leader: `cluster`, `at`, `broker`, `former`, `how`.

    `how` is `RESTARTED` if the former leader was elected again. Otherwise it says what became of
    the former leader, such as `ENDED` if it unloaded bundles because of a shutdown at about that
    time. A repeated record of the same leader is a change only if it was elected again.
    """
    course = Window.partitionBy("cluster").orderBy("at")
    led = tables["contexts"].where("kind = 'leader'").select("cluster", "at", "broker", "anew")
    led = led.withColumn("former", F.lag("broker").over(course)).where("former is not null")
    led = led.where((F.col("broker") != F.col("former")) | F.coalesce("anew", F.lit(True)))
    keys = ["cluster", "at", "broker", "former"]
    ends = tables["unloads"].where(F.col("cause") == SHUTDOWN)
    ends = ends.select("cluster", F.col("broker").alias("former"), F.col("at").alias("ended"))
    loads = tables["contexts"].where("kind = 'load_data'").select("cluster", "broker", "at")
    reports = tables["broker_samples"].select("cluster", "broker", "at").unionByName(loads)
    reports = reports.groupBy("cluster", F.col("broker").alias("former"))
    reports = reports.agg(F.max("at").alias("reported"))
    apart = F.abs(F.unix_seconds("ended") - F.unix_seconds("at"))
    rows = led.join(ends, ["cluster", "former"], "left").join(
        reports, ["cluster", "former"], "left"
    )
    rows = rows.groupBy(*keys, "reported").agg(F.bool_or(apart <= BURST_SECONDS).alias("gone"))
    how = (
        F.when(F.col("broker") == F.col("former"), RESTARTED)
        .when(F.col("gone"), ENDED)
        .when(F.col("reported") > F.col("at"), CONTINUES)
        .otherwise(SILENT)
    )
    return rows.select(*keys, how.alias("how"))


def describe_first(changes: DataFrame) -> DataFrame:
    """Return `cluster`, `at` (as text) and `told` (a description) of the earliest changes."""
    words = F.concat(F.col("broker"), F.lit(" "), _change_text())
    at = F.date_format("at", "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'")
    first = changes.orderBy("at", "cluster").limit(MAX_DESCRIBED_CHANGES)
    return first.select("cluster", at.alias("at"), words.alias("told"))


def sort_by_time(first: Sequence[Json]) -> list[Json]:
    """Return described changes in order of time."""
    return sorted(first, key=itemgetter("at", "cluster"))


def _change_text() -> Column:
    place = F.concat(F.lit("leads in place of "), F.col("former"), F.lit(", "), F.col("how"))
    return F.when(F.col("how") == RESTARTED, F.lit(f"leads, and {RESTARTED}")).otherwise(place)


def changes_of_broker(tables: Tables, cluster: str, broker: str | None) -> DataFrame:
    """Return `at` and `text` of each time at which the broker became leader or was replaced as
    leader.
    """
    mine = leader_changes(tables).where(F.col("cluster") == cluster)
    begins = mine.where(F.col("broker") == broker).select("at", _change_text().alias("text"))
    ends = mine.where((F.col("former") == broker) & (F.col("broker") != broker))
    lost = F.concat(
        F.col("broker"), F.lit(" becomes leader in place of this broker, "), F.col("how")
    )
    return begins.unionByName(ends.select("at", lost.alias("text")))
