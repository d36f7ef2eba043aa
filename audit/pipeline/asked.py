"""What other settings would have done: on the same history, beside what its own decide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pulsar_conformance.audit.pipeline.summary import UNLOADING, Tables
from pulsar_conformance.audit.pipeline.writing import ASKED
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

SIDES = ("recorded", "asked")


def compared(tables: Tables) -> dict[str, Any]:
    """Both sides in numbers, and how far they agree.

    Loads and owners are those that were recorded: a bundle that the recorded settings moved is
    where it was moved to, and one that only the asked ones would move is chosen again as long as
    it stays.
    """
    sides = {"recorded": tables["decisions"], "asked": tables[f"{ASKED}decisions"]}
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
