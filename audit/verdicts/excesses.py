"""Cycles without a broken rule in which a broker shed bundles although a release would have
unloaded none of its bundles.

The documents allow more than a release does. After a leader's first cycle, for example, they allow
every unload by ThresholdShedder that follows from some weight of earlier usage, but a release
smooths usage in one way only. The release's own arithmetic shows which brokers would have shed. The
choice among a broker's bundles is not compared, since bundles with equal traffic may be unloaded in
any order.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.adapters.spark.threshold import LOWER_BOUNDARY
from pulsar_conformance.audit.input.parsing import SHEDDING
from pulsar_conformance.audit.pipeline.plan import AuditPlan
from pulsar_conformance.audit.tables import cycles
from pulsar_conformance.audit.tables.formatting import precise_utc
from pulsar_conformance.audit.verdicts import cases
from pulsar_conformance.audit.verdicts.arithmetic import chosen_unloads
from pulsar_conformance.audit.verdicts.omissions import (
    CYCLE,
    MAX_COMPUTED_CYCLES,
    Tables,
    cycles_without_doubt,
)
from pulsar_conformance.conformance.explain.focus import Focus
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

Pairs = set[tuple[str, str]]
"""Pairs of a broker and a bundle."""


def excess_unloads(tables: Tables, plan: AuditPlan) -> dict[str, Any] | None:
    """Return the number of cycles in which a broker shed although, by the release, it would have
    kept all its bundles, and the first such cycle.

    None if there is no such cycle. A cycle counts only if nothing about it is in doubt, and if no
    rule is broken or undecided in it.
    """
    if not specs.load().profile(plan.profile).released:
        return None
    shed = tables["unloads"].where((F.col("cause") == SHEDDING) & ~F.col("open"))
    shed = shed.where("cycle is not null")
    if shed.isEmpty():
        return None
    rows = _cycles_that_shed(shed, tables, plan).localCheckpoint()
    first = rows.orderBy(~F.col("unlike"), "cycle", "cluster").limit(MAX_COMPUTED_CYCLES)
    worked = list(_excesses(first, tables, plan)) if not first.isEmpty() else []
    if not worked:
        return None
    return {"cycles": len(worked), "more": rows.count() > MAX_COMPUTED_CYCLES, "first": worked[0]}


def _cycles_that_shed(shed: DataFrame, tables: Tables, plan: AuditPlan) -> DataFrame:
    """Return the cycles of these unloads, except cycles about which anything is in doubt.

    Columns: `cluster`, `cycle`, `until` (the time of the last unload), `went` (brokers and bundles)
    and `unlike` (true if the documents would not choose some of these bundles, which means that the
    release probably would not choose them either).
    """
    went = shed.groupBy(*CYCLE).agg(
        F.max("at").alias("until"), F.collect_set(F.struct("broker", "bundle")).alias("went")
    )
    unlike = tables["decisions"].where("owned and not chosen and moment = cycle")
    unlike = unlike.join(shed, [*CYCLE, "broker", "bundle"], "left_semi").select(*CYCLE).distinct()
    unlike = unlike.withColumn("unlike", F.lit(True))
    sure = cycles_without_doubt(tables)
    if plan.alternative_of_way("lower-boundary-relief") == "half-threshold":
        sure = sure.join(_cycles_with_combined_usages(tables, plan), CYCLE, "left_anti")
    rows = went.join(sure.select(*CYCLE), CYCLE).join(unlike, CYCLE, "left")
    return rows.withColumn("unlike", F.coalesce("unlike", F.lit(False)))


def _cycles_with_combined_usages(tables: Tables, plan: AuditPlan) -> DataFrame:
    """Return the cycles of leaders that were elected on an earlier day and may smooth usage twice.

    The cases of such cycles are inexact: they combine the usages of earlier days into one usage,
    smoothed once per cycle.
    """
    moments = cycles.cycle_moments(tables, plan).where(F.col(f"settings.{LOWER_BOUNDARY}"))
    return moments.where(F.to_date("since") != F.to_date("cycle")).select(*CYCLE).distinct()


def _excesses(first: DataFrame, tables: Tables, plan: AuditPlan) -> Iterator[dict[str, Any]]:
    """Yield the cycles in which a broker shed, but would not have shed by the release at any
    possible moment of the cycle.

    Each has the first such broker and its unloads.
    """
    moments = cycles.in_period_of(cycles.cycle_moments(tables, plan), plan)
    moments = moments.join(first.select(*CYCLE), CYCLE, "left_semi")
    found = cases.cases_of_keys(moments.select(*cases.KEY), moments, tables, plan)
    rows = found.groupBy(*CYCLE).agg(F.collect_list("case").alias("cases")).join(first, CYCLE)
    times = (precise_utc("cycle").alias("at"), precise_utc("until").alias("until"))
    rows = rows.select("cluster", *times, "cases", "went")
    for row in rows.orderBy("at", "cluster").toLocalIterator():
        went = {(one["broker"], one["bundle"]) for one in row["went"]}
        kept = set.intersection(*(_kept(json.loads(case), went) for case in row["cases"]))
        if kept:
            broker = min(kept)[0]
            bundles = sorted(name for one, name in kept if one == broker)
            told = {name: row[name] for name in ("cluster", "at", "until")}
            yield {**told, "broker": broker, "bundles": bundles}


def _kept(saved: Mapping[str, Any], went: Pairs) -> Pairs:
    """Return the unloads by brokers that own the unloaded bundle but shed nothing by the case's
    profile.
    """
    chosen = chosen_unloads(saved, Focus())
    if chosen is None or "brokers" not in saved["case"]:
        return set()
    brokers = saved["case"]["brokers"]
    owned = {(name, one) for name, report in brokers.items() for one in report["bundles"]}
    sheds = {broker for broker, _ in chosen}
    return {one for one in went & owned if one[0] not in sheds}
