"""The records of a fleet whose leaders decide: each cluster is one task, from first to last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pulsar_conformance.adapters.arguments import DEFAULT_PROFILE
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.adapters.spark.shapes import RATE_FIELDS
from pulsar_conformance.audit.fleet import bundles, loads
from pulsar_conformance.audit.fleet.events import events_of
from pulsar_conformance.audit.fleet.plants.planting import Planting
from pulsar_conformance.audit.fleet.size import Fleet
from pulsar_conformance.audit.fleet.world import BundleLoads, SimulatedCluster
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

LINES = "kind string, value string"


def lines(fleet: Fleet, rows: DataFrame, adapter: str, planted: Sequence[str] = ()) -> DataFrame:
    """Every record as a line of JSON: rows of `kind` and `value`.

    `rows` are the bundles, with their numbers and ranges; `planted` are rules that are broken in
    the first cluster. A row of `PLANTED` says when each was.
    """

    def of_one(key: tuple[Any, ...], group: pd.DataFrame) -> pd.DataFrame:
        number = int(key[0])
        return history(fleet, number, group, adapter, () if number else planted)

    each = carried(fleet, rows).repartition(fleet.clusters, "cluster").groupBy("cluster")
    return each.applyInPandas(of_one, LINES)


def carried(fleet: Fleet, rows: DataFrame) -> DataFrame:
    """A row for each bundle: its numbers, `name`, `topics`, and its `rates` period by period."""
    cluster, bundle = F.col("cluster"), F.col("bundle")
    constants = loads.constants(fleet, cluster, bundle)
    rows = rows.select("cluster", "bundle", "lower", "upper", *_named(constants))
    periods = F.sequence(F.lit(0), F.lit(fleet.periods - 1))
    return rows.select(
        "cluster",
        "bundle",
        bundles.name(bundle, F.col("lower"), F.col("upper")).alias("name"),
        F.col("topics").cast("int").alias("topics"),
        F.flatten(F.transform(periods, lambda period: _rates(fleet, period))).alias("rates"),
    )


def _named(columns: dict[str, Column]) -> Iterator[Column]:
    return (column.alias(name) for name, column in columns.items())


def _rates(fleet: Fleet, period: Column) -> Column:
    now = loads.rates(fleet, F.col("cluster"), F.col("bundle"), period)
    return F.array(*(now[name] for name in RATE_FIELDS))


def history(
    fleet: Fleet, number: int, group: pd.DataFrame, adapter: str, planted: Sequence[str]
) -> pd.DataFrame:
    """The records of one cluster, from what its bundles carry."""
    group = group.sort_values("bundle")
    rates = np.stack(group["rates"].to_list())
    rates = rates.reshape(len(group), fleet.periods, len(RATE_FIELDS))
    carried = BundleLoads(group["name"].to_list(), rates, group["topics"].to_list())
    world = SimulatedCluster(fleet, number, events_of(fleet, number), carried)
    with connect(adapter, DEFAULT_PROFILE, fleet.readings) as connection:
        course = Planting(world, connection)
        course.plant(planted)
        told = list(course.told())
    return pd.DataFrame(told, columns=["kind", "value"])
