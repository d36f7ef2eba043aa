"""`decisions`: the documented decision about each bundle in each cycle, and the actual unloads.

If the audit judges by a release, usage and averages are computed as the release does. Limits and
amounts to shed are still computed by its documents, which `why` then names. The minimum throughput
of an unload is ignored here; only the checks judge the rules about it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pulsar_conformance.adapters.spark import shapes, shedding
from pulsar_conformance.adapters.spark.configuring import checkpointed_if_tiny
from pulsar_conformance.audit.pipeline.plan import AuditPlan, GoldTables, Silver
from pulsar_conformance.audit.tables import (
    causes,
    cycles,
    explanations,
    formatting,
    streaks,
)
from pulsar_conformance.audit.tables.last_reports import PERHAPS, UNKNOWN
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

KEY = ("cluster", "cycle", "moment")
UNLOAD_KEY = ("cycle", "broker", "bundle")

COLUMN_TYPES: Mapping[str, str] = {
    "bundle": "string",
    "strategy": "string",
    "used": "double",
    "average": "double",
    "threshold": "double",
    "need": "double",
    "messages": "double",
    "bytes": "double",
    "measured": "boolean",
    "traffic": "double",
    "above": "double",
    "movable": "boolean",
    "open": "boolean",
    "excluded": "boolean",
    "owned": "boolean",
    "chosen": "boolean",
    "unloaded": "boolean",
    "done": "array<timestamp>",
    "doubtful": "array<timestamp>",
    "claimed": "boolean",
    "why": "string",
    "held": "boolean",
    "moved": "double",
}
"""Columns about a bundle in a cycle, with their types."""

COLUMNS = ", ".join(f"{name} {type_}" for name, type_ in COLUMN_TYPES.items())
JUST_BEFORE = 0.9
"""Maximum seconds by which a grace period may end before its recorded end.

The recorded end is computed from the record of an unload. If the unload may have been decided even
earlier, `surely_moved` shows it.
"""

RECORDED = "recorded"
"""Value of `basis` for an unload with a recorded cause."""

NOT_ITS_OWN = "unloaded, though not in the broker's last report"


def decisions_table(_silver: Silver, made: GoldTables, _plan: AuditPlan) -> DataFrame:
    """Return the table: the rows of `decided_table` whose bundles were chosen or unloaded.

    All other rows, which are the majority, are not stored.
    """
    return made["broker_decisions"].select(*KEY, "broker", F.inline("decisions"))


def decided_bundles(made: GoldTables, plan: AuditPlan) -> DataFrame:
    """Return a row for each reported bundle of a broker, and for each unload of an unreported
    bundle.

    The column `cycle` is a struct of `KEY`. The other columns are `broker` and those of
    `COLUMN_TYPES`, except `held`.
    """
    ran = cycles.in_period_of(cycles.cycle_moments(made, plan), plan)
    strategies = cycles.strategies_followed(made, plan)
    ran = streaks.with_streaks(ran, made, plan, strategies)
    brokers, bundles = _broker_rows(ran, made, strategies, plan.readings), _bundle_rows(made, plan)
    rows = shedding.decision_rows(brokers, bundles, plan.readings, strategies)
    acted = unloads_at_moments(causes.shed_unloads(made), cycles.in_period_of(made["cycles"], plan))
    went = unload_times(acted.select(F.struct(*KEY).alias("cycle"), *_other_columns(acted, KEY)))
    decided = decided_table(rows, plan.readings, plan.amounts_by)
    rows = add_unloads(checkpointed_if_tiny(decided), went)
    return rows.select("cycle", "broker", *(name for name in COLUMN_TYPES if name != "held"))


def _other_columns(rows: DataFrame, names: Sequence[str]) -> list[str]:
    return [name for name in rows.columns if name not in names]


def _broker_rows(
    ran: DataFrame, made: GoldTables, strategies: Sequence[str], readings: shedding.Readings
) -> DataFrame:
    """Return the brokers of each cycle, in the columns that `shedding.decision_rows` expects."""
    shedders = shedding.strategies_that_shed(strategies, readings)
    deciding = (F.col(f"settings.{name}") for name in shedding.deciding_settings(shedders))
    counted = [name for name in ("streak",) if name in ran.columns]
    settled = ran.select(*KEY, F.struct(*deciding).alias("settings"), "strategy", *counted)
    present = F.coalesce("standing", F.lit("")).isin("", PERHAPS, UNKNOWN)
    known = made["broker_usage"].where(present).join(settled, list(KEY))
    return known.select(
        F.struct(*KEY).alias("cycle"),
        "settings",
        "strategy",
        "broker",
        "percent",
        F.col("used").alias("smoothed"),
        F.struct("messages", "bytes").alias("carries"),
        *counted,
    )


def _bundle_rows(made: GoldTables, plan: AuditPlan) -> DataFrame:
    """Return the bundles of each cycle, in the columns that `shedding.decision_rows` expects."""
    average = F.col(shapes.SHEDDING_AVERAGE[plan.readings["shed-window"]])
    load = shapes.carried(average, plan.readings["kilobyte"])
    load = load.withField("measured", shapes.measured(average)).alias("load")
    key = F.struct(*KEY).alias("cycle")
    known = ("moved", "surely_moved", "contested")
    return made["bundle_averages"].select(key, "broker", "bundle", load, *known)


def decided_table(
    rows: DataFrame, readings: Mapping[str, str], amounts_by: str | None = None
) -> DataFrame:
    """Return the rows of `shedding.decision_rows`, with the columns of `COLUMN_TYPES` that are not
    about unloads.

    `amounts_by` are the documents that reasons name, as in `explanations.reason_column`.
    """
    by = [name for name in shedding.STRATEGIES if name.lower() in rows.columns]
    written = formatting.MEASURED[readings["shed-measure"]]
    levels = rows.withColumn("level", explanations.compared_numbers(by))
    doubtful = _is_at_end_of_grace(rows.columns) | _is_contested(rows.columns)
    return levels.select(
        "cycle",
        "broker",
        "bundle",
        "strategy",
        *(F.col(f"level.{name}").alias(name) for name in explanations.NUMBERS),
        F.col("load.messages").alias("messages"),
        F.col("load.bytes").alias("bytes"),
        F.col("load.measured").alias("measured"),
        "traffic",
        "above",
        (F.col("movable") & ~doubtful).alias("movable"),
        ((_may_be_movable(rows.columns, readings) | doubtful) & ~F.col("excluded")).alias("open"),
        "excluded",
        F.col("bundle").isNotNull().alias("owned"),
        "chosen",
        "moved",
        explanations.reason_column(by, written, amounts_by).alias("why"),
    )


def _may_be_movable(columns: Sequence[str], readings: Mapping[str, str]) -> Column:
    """True if an earlier unload keeps the bundle from moving, but its grace period may not apply.

    No grace period applies if something other than shedding caused the unload. A grace period ends
    earlier if the unload was decided before its recorded time: the record may be late, or by
    another clock.
    """
    if "surely_moved" not in columns:
        return F.lit(False)
    return ~F.col("movable") & ~shedding.in_grace_period(F.col("surely_moved"), readings)


def _is_at_end_of_grace(columns: Sequence[str]) -> Column:
    """True if differences between clocks decide whether a bundle's grace period is over."""
    if "surely_moved" not in columns:
        return F.lit(False)
    over = (F.col("moved") - F.col(f"settings.{shedding.GRACE}")) * 60
    return F.coalesce(over.between(-JUST_BEFORE, causes.MAX_SKEW), F.lit(False))


def _is_contested(columns: Sequence[str]) -> Column:
    """True if the last reports of two brokers list the bundle; it may have moved in between."""
    return F.coalesce("contested", F.lit(False)) if "contested" in columns else F.lit(False)


def add_unloads(rows: DataFrame, went: DataFrame) -> DataFrame:
    """Add the unloads to rows of `decided_table`, also of bundles without a row, and fill in their
    columns.

    `went` has the rows of `unload_times`.
    """
    both = with_unloads(rows, went)
    owned = F.coalesce("owned", F.lit(False))
    strange = F.when(~owned & F.col("unloaded"), F.lit(NOT_ITS_OWN))
    filled = {
        "owned": owned,
        "movable": F.coalesce("movable", F.lit(False)),
        "open": F.coalesce("open", F.lit(False)),
        "excluded": F.coalesce("excluded", F.lit(False)),
        "chosen": F.coalesce("chosen", F.lit(False)),
        "why": F.coalesce(strange, "why"),
    }
    both = both.withColumns(filled)
    return _with_unchosen(both) if "guessed" in both.columns else both


def unloads_at_moments(shed: DataFrame, ran: DataFrame) -> DataFrame:
    """Return a copy of each unload for each moment of its cycle."""
    moments = ran.select("cluster", "cycle", F.explode("moments").alias("moment"))
    return shed.drop("day").join(moments.hint("shuffle_hash"), ["cluster", "cycle"])


def unload_times(shed: DataFrame) -> DataFrame:
    """Return the times at which each broker unloaded each bundle in a cycle.

    `done` lists all times in order, `doubtful` the times of unloads that something other than
    shedding may have caused, and `guessed` the times of unloads without a recorded cause. `claimed`
    is true if the broker owned the bundle, false if another broker did, and null if the owner is
    unknown.
    """
    own = F.bool_and(F.col("owner") == F.col("broker")).alias("claimed")
    times = F.array_sort(F.collect_list("at")).alias("done")
    doubtful = F.array_sort(F.collect_list(F.when(F.col("open"), F.col("at")))).alias("doubtful")
    without = F.when(F.col("basis") != RECORDED, F.col("at"))
    guessed = F.array_sort(F.collect_list(without)).alias("guessed")
    return shed.groupBy(*UNLOAD_KEY).agg(times, doubtful, guessed, own)


def with_unloads(rows: DataFrame, done: DataFrame) -> DataFrame:
    """Add the unloads to rows of `decided_table`; an unloaded bundle without a row gets one."""
    both = rows.join(done.hint("shuffle_hash"), list(UNLOAD_KEY), "full_outer")
    none = F.array().cast("array<timestamp>")
    return both.withColumns(
        {
            "unloaded": F.coalesce(F.size("done") > 0, F.lit(False)),
            "doubtful": F.coalesce("doubtful", none),
        }
    )


def _with_unchosen(rows: DataFrame) -> DataFrame:
    """Add to `doubtful` the unloads without a recorded cause that the strategy does not choose.

    An administrator may have requested them, since a bundle can be unloaded by hand at any time.
    """
    both = F.array_sort(F.array_union("doubtful", F.coalesce("guessed", F.array())))
    doubtful = F.when(F.col("chosen"), F.col("doubtful")).otherwise(both)
    return rows.withColumn("doubtful", doubtful).drop("guessed")
