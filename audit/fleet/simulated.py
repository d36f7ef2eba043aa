"""Simulates a fleet's records: one Spark task for each cluster simulates its whole history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
from pulsar_conformance.adapters.arguments import DEFAULT_PROFILE
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.adapters.spark.shapes import RATE_FIELDS
from pulsar_conformance.audit.fleet import bundles, loads
from pulsar_conformance.audit.fleet.events import draw_events
from pulsar_conformance.audit.fleet.plants.planting import ViolationPlanter
from pulsar_conformance.audit.fleet.size import NO_ADAPTER, Fleet
from pulsar_conformance.audit.fleet.world import FleetCluster, fleet_bundle
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

LINES = "kind string, value string"


def simulated_lines(
    fleet: Fleet, rows: DataFrame, adapter: str, planted: Sequence[str] = ()
) -> DataFrame:
    """Return every record as a line of JSON, in the columns `kind` and `value`.

    `rows` has the numbers and ranges of the bundles. `adapter` names the implementation that
    decides about unloads, or is `NO_ADAPTER`. `planted` are the rules to violate in the first
    cluster; rows whose `kind` begins with `PLANTED` give the time of each violation.
    """

    def of_cluster(key: tuple[Any, ...], group: pd.DataFrame) -> pd.DataFrame:
        number = int(key[0])
        return simulate_history(fleet, number, group, adapter, () if number else planted)

    each = simulated_bundles(fleet, rows).repartition(fleet.clusters, "cluster").groupBy("cluster")
    return each.applyInPandas(of_cluster, LINES)


def simulated_bundles(fleet: Fleet, rows: DataFrame) -> DataFrame:
    """Return a row per bundle.

    Columns: the numbers `cluster` and `bundle`, `name`, `topics`, and `rates`, an array of the
    rates in all periods.
    """
    cluster, bundle = F.col("cluster"), F.col("bundle")
    constants = loads.constant_columns(fleet, cluster, bundle)
    rows = rows.select("cluster", "bundle", "lower", "upper", *_aliased(constants))
    periods = F.sequence(F.lit(0), F.lit(fleet.periods - 1))
    return rows.select(
        "cluster",
        "bundle",
        bundles.bundle_name(bundle, F.col("lower"), F.col("upper")).alias("name"),
        F.col("topics").cast("int").alias("topics"),
        F.flatten(F.transform(periods, lambda period: _rates_in_period(fleet, period))).alias(
            "rates"
        ),
    )


def _aliased(columns: dict[str, Column]) -> Iterator[Column]:
    return (column.alias(name) for name, column in columns.items())


def _rates_in_period(fleet: Fleet, period: Column) -> Column:
    now = loads.rate_columns(fleet, F.col("cluster"), F.col("bundle"), period)
    return F.array(*(now[name] for name in RATE_FIELDS))


def simulate_history(
    fleet: Fleet, number: int, group: pd.DataFrame, adapter: str, planted: Sequence[str]
) -> pd.DataFrame:
    """Simulate a cluster, and return its records in rows of `kind` and `value`.

    `number` identifies the cluster, from 0. `group` has a row with the traffic of each bundle.
    """
    group = group.sort_values("bundle")
    rates = np.stack(group["rates"].to_list())
    rates = rates.reshape(len(group), fleet.periods, len(RATE_FIELDS))
    names, topics = group["name"].to_list(), map(int, group["topics"])
    bundles = list(map(fleet_bundle, names, topics, cycle(map(fleet.broker, range(fleet.brokers)))))
    world = FleetCluster(fleet, number, draw_events(fleet, number), bundles, rates)
    connected = (
        nullcontext()
        if adapter == NO_ADAPTER
        else connect(adapter, DEFAULT_PROFILE, fleet.readings)
    )
    with connected as connection:
        course = ViolationPlanter(world, connection)
        course.plant(planted)
        return pd.DataFrame(list(course.lines()), columns=["kind", "value"])
