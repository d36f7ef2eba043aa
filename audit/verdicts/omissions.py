"""Cycles without a broken rule in which a broker unloaded nothing although a release would have
unloaded some of its bundles.

Other brokers may have unloaded bundles in the same cycle. Some rules of the documents do not hold
for a release. An example is THRESHOLD-01, since the release keeps some bundles that the documents
unload. The release's own arithmetic still shows which bundles it would have unloaded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.adapters.spark.shapes import MEGABYTE
from pulsar_conformance.adapters.spark.threshold import BELOW_AVERAGE, MIN_THROUGHPUT
from pulsar_conformance.audit.pipeline.plan import AuditPlan
from pulsar_conformance.audit.pipeline.summary import RULES_AT_OTHER_TIMES
from pulsar_conformance.audit.tables import cycles
from pulsar_conformance.audit.tables.formatting import precise_utc
from pulsar_conformance.audit.verdicts import cases
from pulsar_conformance.audit.verdicts.arithmetic import UnloadDifference, chosen_unloads
from pulsar_conformance.audit.verdicts.checks.registry import ALLOWED
from pulsar_conformance.conformance.explain.focus import Focus
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

Tables = Mapping[str, DataFrame]

CYCLE = ["cluster", "cycle"]
CHOSEN = "chosen and movable"
"""SQL condition for a decision that a bundle is to be unloaded."""

MAY_HAVE_STAYED = (
    "a bundle of the broker may have had to stay, since its owner has as few bundles of the "
    "namespace as any other broker, or the namespace is in an anti-affinity group, so the report "
    "does not count this as an omission"
)

MAX_COMPUTED_CYCLES = 50
"""Maximum number of cycles whose arithmetic is computed.

If there are more such cycles, the report gives only a lower bound of their number.
"""


def omitted_unloads(tables: Tables, plan: AuditPlan) -> dict[str, Any] | None:
    """Return the number of cycles in which a broker kept all its bundles although, by the release,
    it would have unloaded some, and the first such cycle.

    None if there is no such cycle. A cycle counts only if nothing about it is in doubt, and if no
    rule is broken or undecided in it.
    """
    if not specs.load().profile(plan.profile).released:
        return None
    if tables["decisions"].where(CHOSEN).isEmpty():
        return None  # Planning what follows would take far longer than this.
    quiet = _brokers_that_kept_all(tables, plan).groupBy(*CYCLE)
    rows = quiet.agg(F.min("moment").alias("moment"), F.collect_set("broker").alias("brokers"))
    rows = rows.localCheckpoint()
    first = rows.orderBy("cycle", "cluster").limit(MAX_COMPUTED_CYCLES)
    worked = [row for row in _with_cases(first, tables, plan) if row["bundles"]]
    if not worked:
        return None
    return {"cycles": len(worked), "more": rows.count() > MAX_COMPUTED_CYCLES, "first": worked[0]}


def _brokers_that_kept_all(tables: Tables, plan: AuditPlan) -> DataFrame:
    """Return the brokers that unloaded nothing in a cycle, although some of their bundles were
    chosen at each of its moments.

    Columns: `cluster`, `cycle`, `moment` (the first of the cycle) and `broker`.
    """
    sure = cycles_without_doubt(tables)
    went = tables["unloads"].where("cycle is not null").select(*CYCLE, "broker").distinct()
    chosen = tables["decisions"].where(CHOSEN).join(went, [*CYCLE, "broker"], "left_anti")
    held = tables["broker_decisions"].where(F.coalesce("held", F.lit(0)) > 0)
    chosen = chosen.join(held.select(*CYCLE, "broker").distinct(), [*CYCLE, "broker"], "left_anti")
    used = tables["broker_usage"].select(
        *CYCLE, "moment", "broker", F.col("bytes").alias("throughput")
    )
    chosen = chosen.join(used, [*CYCLE, "moment", "broker"]).join(sure, CYCLE)
    each = chosen.where(_may_be_worthwhile(plan)).groupBy(*CYCLE, "broker", "looked")
    found = each.agg(F.countDistinct("moment").alias("times"), F.min("moment").alias("moment"))
    return found.where("times = looked").select(*CYCLE, "moment", "broker")


def may_stay_text(tables: Tables, this: Column, difference: UnloadDifference) -> str:
    """Return why the report does not count an omission; empty if no bundle may have had to stay.

    `this` selects the cycle from whose recorded unloads the release's arithmetic differs.
    """
    brokers = [broker for broker, _ in difference.unloaded]
    held = tables["broker_decisions"].where(this & (F.col("held") > 0))
    may_stay = brokers and not held.where(F.col("broker").isin(brokers)).isEmpty()
    return MAY_HAVE_STAYED if may_stay else ""


def cycles_without_doubt(tables: Tables) -> DataFrame:
    """Return the cycles about which nothing is in doubt, and in which no rule is broken or
    undecided.

    Columns: `cluster`, `cycle`, `settings` and `looked` (the number of moments at which the cycle
    is judged).
    """
    judged = tables["verdicts"].where(~F.col("rule").isin(*RULES_AT_OTHER_TIMES))
    doubtful = judged.where(F.col("verdict") != ALLOWED).select(*CYCLE)
    doubtful = doubtful.union(
        tables["broker_usage"].where(F.col("standing").isNotNull()).select(*CYCLE)
    )
    doubts = ("doubt", "former", "other_strategy")
    sure = tables["cycles"].where(" and ".join(f"{name} is null" for name in doubts))
    sure = sure.select(*CYCLE, "settings", F.size("moments").alias("looked"))
    return sure.join(doubtful.distinct(), CYCLE, "left_anti")


def _may_be_worthwhile(plan: AuditPlan) -> Column:
    """True unless the release's ThresholdShedder certainly unloads nothing because the traffic to
    unload is too little.
    """
    hidden = specs.load().profile(plan.profile).hidden.get(MIN_THROUGHPUT)
    if hidden is None:
        return F.lit(True)
    given = F.col("settings")[MIN_THROUGHPUT].try_cast("double")
    least = F.coalesce(given, F.lit(float(str(hidden)))) * MEGABYTE["binary"]
    points = F.col("used") - F.col("average") - F.col("threshold") + BELOW_AVERAGE
    much = points / 100 * F.col("throughput") > least
    return (F.col("strategy") != "ThresholdShedder") | F.coalesce(much, F.lit(True))


def _with_cases(first: DataFrame, tables: Tables, plan: AuditPlan) -> list[dict[str, Any]]:
    """Return each cycle with its first broker that unloaded nothing, and the bundles that the
    release would have unloaded from it.
    """
    if first.isEmpty():
        return []
    moments = cycles.in_period_of(cycles.cycle_moments(tables, plan), plan)
    found = cases.cases_of_keys(first.select(*cases.KEY), moments, tables, plan)
    rows = found.join(first, list(cases.KEY)).select(
        *CYCLE, precise_utc("cycle").alias("at"), "brokers", "case"
    )
    return [
        {"cluster": row["cluster"], "at": row["at"], **_omitted(row["case"], row["brokers"])}
        for row in rows.orderBy("cycle", "cluster").toLocalIterator()
    ]


def _omitted(case: str, brokers: list[str]) -> dict[str, Any]:
    """Return the first of these brokers that unloads bundles by the case's profile, with these
    bundles.
    """
    chosen = chosen_unloads(json.loads(case), Focus()) or set()
    broker = min((one for one, _ in chosen if one in brokers), default=None)
    return {"broker": broker, "bundles": sorted(name for one, name in chosen if one == broker)}
