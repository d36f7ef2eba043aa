"""The records of a fleet in which nobody decides: columns from beginning to end, at any size."""

from __future__ import annotations

from functools import reduce

from pulsar_conformance.audit.fleet import owning
from pulsar_conformance.audit.fleet.bundles import middle, name
from pulsar_conformance.audit.fleet.records import SECOND, begins, broker_name, line
from pulsar_conformance.audit.fleet.reports import reported_at, reports, samples
from pulsar_conformance.audit.fleet.size import Fleet
from pulsar_conformance.audit.input.conditions import AUTOMATIC
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

MOVED_AFTER = 25
SPLIT_AFTER = 30
"""Seconds after the beginning of a period."""

APART = 10
"""Milliseconds between what happens one after the other."""

AT_ONCE = 400
"""So many bundles are assigned before the first of them is again the next."""


def lines(fleet: Fleet, bundles: DataFrame, events: DataFrame) -> DataFrame:
    """Every record as a line of JSON: rows of `kind` and `value`.

    `bundles` have their numbers, their ranges and the events of their cluster.
    """
    held = owning.held(fleet, bundles)
    told = reports(fleet, samples(fleet, held, events))
    parts = [
        line(fleet, told, "load_report", reported_at(fleet) * SECOND, **_broker(fleet, "report")),
        _settings(fleet, events),
        _owners(fleet, held),
        _leaders(fleet, events),
        _assigned(fleet, held),
        _splits(fleet, bundles),
    ]
    if fleet.cycles:
        parts.append(_cycles(fleet, events))
    return reduce(DataFrame.unionByName, parts)


def _broker(fleet: Fleet, *others: str) -> dict[str, Column]:
    return {"broker": broker_name(fleet, F.col("broker")), **{one: F.col(one) for one in others}}


def _settings(fleet: Fleet, events: DataFrame) -> DataFrame:
    """At the beginning, and what is set later."""
    made = []
    for period, settings in fleet.settings.items():
        given = F.struct(*(F.lit(value).alias(name) for name, value in settings.items()))
        at = begins(fleet, F.lit(period)) - (SECOND if period else 0)
        made.append(line(fleet, events, "settings", at, settings=given))
    return reduce(DataFrame.unionByName, made)


def _owners(fleet: Fleet, held: DataFrame) -> DataFrame:
    """Who owns what at the beginning."""
    names = F.sort_array(F.collect_list("name")).alias("value")
    first = held.where(F.col("since") == 0).groupBy("cluster", "broker").agg(names)
    pair = F.struct(broker_name(fleet, F.col("broker")).alias("key"), "value")
    owners = F.map_from_entries(F.sort_array(F.collect_list(pair))).alias("owners")
    rows = first.groupBy("cluster").agg(owners)
    return line(fleet, rows, "owners", begins(fleet, F.lit(0)), owners=F.col("owners"))


def _leaders(fleet: Fleet, events: DataFrame) -> DataFrame:
    rows = events.select("cluster", F.explode("leaders").alias("period", "broker"))
    return line(fleet, rows, "leader", begins(fleet, F.col("period")), **_broker(fleet))


def _cycles(fleet: Fleet, events: DataFrame) -> DataFrame:
    """At every interval, but not when somebody begins to lead."""
    times = F.sequence(F.lit(fleet.every), F.lit(fleet.periods), F.lit(fleet.every))
    rows = events.select("cluster", "leaders", F.explode(times).alias("period"))
    rows = rows.where(F.col("leaders")[F.col("period")].isNull())
    return line(fleet, rows, "cycle", begins(fleet, F.col("period")))


def _assigned(fleet: Fleet, held: DataFrame) -> DataFrame:
    """What a broker that went down had owned."""
    rows = held.where("moved")
    late = F.pmod("bundle", F.lit(AT_ONCE)) * APART + MOVED_AFTER * SECOND
    at = begins(fleet, F.col("since")) + late
    bundle = F.col("name").alias("bundle")
    return line(fleet, rows, "assigned", at, bundle=bundle, **_broker(fleet))


def _splits(fleet: Fleet, bundles: DataFrame) -> DataFrame:
    """Bundles with too many topics."""
    rows = bundles.withColumn("ends", F.col("splits")[F.col("bundle")])
    rows = rows.where(F.col("ends").isNotNull())
    number, lower, upper = F.col("bundle"), F.col("lower"), F.col("upper")
    mid = middle(lower, upper)
    into = F.array(name(number, lower, mid), name(number, mid, upper))
    at = begins(fleet, F.col("ends")) + SPLIT_AFTER * SECOND
    bundle, cause = name(number, lower, upper), F.lit(AUTOMATIC)
    return line(fleet, rows, "split", at, bundle=bundle, into=into, cause=cause)
