"""What other settings would have done: on the same history, beside what its own decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pulsar_conformance.adapters.protocol import text_of
from pulsar_conformance.conformance.audit.gold import GOLD
from pulsar_conformance.conformance.audit.plan import Plan, Silver
from pulsar_conformance.conformance.audit.summary import UNLOADING, Tables
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

DECIDING = ("bundle_averages", "broker_usage", "decisions")
"""The tables that settings have a say in, before anything is judged."""

TABLE = "asked_decisions"
"""Where the decisions go."""

SIDES = ("recorded", "asked")


def plan_of(plan: Plan, settings: dict[str, Any], strategy: str | None) -> Plan:
    """The plan with these settings over those that were recorded."""
    texts = {name: v if isinstance(v, str) else text_of(v) for name, v in settings.items()}
    return replace(plan, settings=texts, strategy=strategy)


def decisions(tables: Tables, plan: Plan) -> DataFrame:
    """The decisions under a plan. Loads and owners are those that were recorded.

    A bundle that the recorded settings moved is thus where it was moved to, and one that only the
    asked ones would move is chosen again as long as it stays.
    """
    silver = Silver(*(tables[name] for name in Silver.__dataclass_fields__))
    made: dict[str, DataFrame] = {}
    for name in DECIDING:
        made[name] = GOLD[name](silver, made, plan)
    return made["decisions"]


def compared(tables: Tables, asked: DataFrame) -> dict[str, Any]:
    """Both sides in numbers, and how far they agree."""
    sides = {"recorded": tables["decisions"], "asked": asked}
    chosen = {
        side: rows.where("chosen and moment = cycle").select(*UNLOADING, "bytes")
        for side, rows in sides.items()
    }
    told = {side: _numbers(rows) for side, rows in chosen.items()}
    both, only = _shared(*(chosen[side].drop("bytes") for side in SIDES))
    return {**told, "both": both, "only_asked": only}


def _numbers(chosen: DataFrame) -> dict[str, Any]:
    (row,) = chosen.agg(
        F.count("*"),
        F.countDistinct("cluster", "cycle"),
        F.countDistinct("cluster", "broker"),
        F.coalesce(F.sum("bytes"), F.lit(0.0)),
    ).collect()
    names: Sequence[str] = ("bundles", "cycles", "brokers", "bytes_per_second")
    return dict(zip(names, row, strict=True))


def _shared(recorded: DataFrame, asked: DataFrame) -> tuple[int, int]:
    """How many both choose, and how many the asked ones alone."""
    known = recorded.withColumn("known", F.lit(True))
    (row,) = (
        asked.join(known, list(UNLOADING), "left")
        .agg(F.count_if("known"), F.count_if(F.col("known").isNull()))
        .collect()
    )
    return row[0], row[1]
