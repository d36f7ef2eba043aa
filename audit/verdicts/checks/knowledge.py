"""Views of a cycle: possible states of everything that is unknown about it.

A verdict stands if all views agree. A broker that may have gone is counted in one view and left out
in another, unless it shed bundles. A broker whose newest report has unknown content is counted with
its previous report in one view, with no usage in another, and with full usage in a third. Each
possible combination of settings and strategy has its own view. If the memory of former leaders
matters, there is also a view in which the leader has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

from pulsar_conformance.adapters.spark.shapes import RESOURCES
from pulsar_conformance.audit.tables.last_reports import LATE, LOST, PERHAPS, UNKNOWN
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

RECORDED, ABSENT, PRESENT, IDLE, FULL = range(5)
"""Views of brokers.

RECORDED: as recorded. ABSENT: without brokers that may have gone. PRESENT: with brokers whose
reports are late. IDLE: brokers whose newest report is unknown have no usage. FULL: they have full
usage.
"""

ENORMOUS = 1e12
"""Traffic that exceeds the traffic of any real broker."""

VARIED_COLUMNS = ("settings", "named", "strategy")

STREAKS = {"streak": "streak", "perhaps_streak": "perhaps"}
"""Columns of streaks, with the names of the fields of `kept_streak`."""


def with_views(rows: DataFrame) -> DataFrame:
    """Return a row for each view of a broker in a cycle, with the number of views in
    `knowledge_views`.

    `cycle` becomes a struct of `cycle` and `view`. `standing` is the column of `last_reports`.
    `others` are structs of the settings, names and strategy that may apply instead of the recorded
    ones. The columns `if_kept` and `kept_streak` are optional. They are the bounds of a broker's
    usage and the streaks if the leader has the memory of former leaders; null if that makes no
    difference. `remembers` is true in views in which the leader has this memory.
    """
    known, other = F.struct(*VARIED_COLUMNS), F.col("others")
    choices = F.concat(F.array(known), other)
    memories = [name for name in ("if_kept", "kept_streak") if name in rows.columns]
    rows = rows.withColumns(
        {"_presence": _broker_views(), "_choices": choices, "_memories": _memory_views(memories)}
    )

    def views_with(presence: Column, choice: Column) -> Column:
        known = (presence.alias("presence"), choice.alias("choice"))
        return F.transform("_memories", lambda kept: F.struct(*known, kept.alias("kept")))

    each = F.flatten(
        F.transform(
            "_presence",
            lambda presence: F.flatten(
                F.transform("_choices", lambda choice: views_with(presence, choice))
            ),
        )
    )
    count = F.size("_presence") * F.size("_choices") * F.size("_memories")
    rows = rows.select(
        "*", count.alias("knowledge_views"), F.posexplode(each).alias("view", "_known")
    )
    rows = rows.withColumns(_remembered_columns(F.col("_known.kept"), memories))
    rows = rows.withColumns(
        {
            **{name: F.col(f"_known.choice.{name}") for name in VARIED_COLUMNS},
            **_viewed_columns(F.col("_known.presence")),
            "remembers": F.col("_known.kept"),
            "cycle": F.struct("cycle", "view"),
        }
    )
    return rows.drop("_presence", "_choices", "_memories", "_known", "others", *memories)


def _memory_views(memories: Sequence[str]) -> Column:
    """Return a flag per view, in an array: true if the leader has the memory of former leaders.

    The array has only false if that memory matters to no broker of the cycle.
    """
    views = F.array(F.lit(False))
    if not memories:
        return views
    some = reduce(or_, (F.col(name).isNotNull() for name in memories))
    matters = F.max(some).over(Window.partitionBy("cycle"))
    return F.when(matters, F.array(F.lit(False), F.lit(True))).otherwise(views)


def _remembered_columns(kept: Column, memories: Sequence[str]) -> dict[str, Column]:
    """Return the columns that depend on whether the leader has the memory of former leaders."""
    columns = {}
    if "if_kept" in memories:
        known = kept & F.col("if_kept").isNotNull()
        bounds = ("least", "most", "lower", "upper")
        columns = {
            name: F.when(known, F.col(f"if_kept.{name}")).otherwise(F.col(name)) for name in bounds
        }
        columns["observed"] = F.col("observed") | known
    if "kept_streak" in memories:
        known = kept & F.col("kept_streak").isNotNull()
        columns |= {
            name: F.when(known, F.col(f"kept_streak.{field}")).otherwise(F.col(name))
            for name, field in STREAKS.items()
        }
    return columns


def _broker_views() -> Column:
    """Return the views of brokers that are needed in a cycle."""
    cycle, standing = Window.partitionBy("cycle"), F.col("standing")

    def some(*standings: str) -> Column:
        return F.max(F.coalesce(standing.isin(*standings), F.lit(False))).over(cycle)

    unknown = some(UNKNOWN, LOST)
    return F.array_compact(
        F.array(
            F.lit(RECORDED),
            F.when(some(PERHAPS), ABSENT),
            F.when(some(LATE), PRESENT),
            F.when(unknown, IDLE),
            F.when(unknown, FULL),
        )
    )


def _has_surely_shed() -> Column:
    """True if the broker certainly shed a bundle in the cycle and therefore was running."""
    return F.coalesce(F.element_at("views", -1)["answered"] > 0, F.lit(False))


def _viewed_columns(presence: Column) -> dict[str, Column]:
    """Return a broker's columns in a view; null if the view leaves the broker out."""
    standing = F.col("standing")
    extreme = F.when(
        standing.isin(UNKNOWN, LOST), F.when(presence == IDLE, 0.0).when(presence == FULL, 100.0)
    )
    counts = (
        F.when(standing.isNull(), F.lit(True))
        .when(standing == LATE, presence == PRESENT)
        .when(standing == LOST, presence.isin(IDLE, FULL))
        .when(standing == PERHAPS, (presence != ABSENT) | _has_surely_shed())
        .otherwise(F.lit(True))
    )
    same = F.struct(*(extreme.alias(name) for name in RESOURCES))
    traffic = F.when(extreme > 0, F.lit(ENORMOUS)).otherwise(F.lit(0.0))
    every = F.struct(traffic.alias("messages"), traffic.alias("bytes"))
    instead = {
        "percent": same,
        **dict.fromkeys(("smoothed", "least", "most", "lower", "upper"), extreme),
        "carries": every,
    }
    return {
        name: F.when(counts, F.when(extreme.isNotNull(), value).otherwise(F.col(name)))
        for name, value in instead.items()
    }
