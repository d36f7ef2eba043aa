"""What brokers report of the bundles that they own, period by period."""

from __future__ import annotations

from pulsar_conformance.adapters.spark.shapes import RATE_FIELDS
from pulsar_conformance.audit.fleet import loads, owning, shape
from pulsar_conformance.audit.fleet.shape import PARTS
from pulsar_conformance.audit.fleet.size import START, Fleet
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

KEYS = ("cluster", "broker", "period")

EARLIEST, SPAN = 0.3, 0.6
"""The part of a period in which brokers report, each at its own time."""

OF_TASK = 400_000
"""Samples that one task works on, about."""


def offset(fleet: Fleet, broker: Column) -> Column:
    """Seconds from the beginning of a period to the report of a broker."""
    place = (broker + 0.5) / fleet.brokers
    return F.floor(F.lit(fleet.seconds) * (place * SPAN + EARLIEST))


def samples(fleet: Fleet, held: DataFrame, events: DataFrame) -> DataFrame:
    """A row for each bundle in each report, and one without a bundle for each report."""
    constants = loads.constants(fleet, F.col("cluster"), F.col("bundle"))
    held = held.select(
        "cluster",
        "broker",
        "since",
        "until",
        "bundle",
        "name",
        "part",
        "ends",
        *(column.alias(name) for name, column in constants.items()),
    )
    empty = owning.up(fleet, events)
    rows = held.unionByName(empty, allowMissingColumns=True)
    tasks = max(2, fleet.clusters * fleet.of_cluster * fleet.periods // OF_TASK)
    rows = rows.repartition(tasks, "cluster", "broker")
    periods = F.sequence(F.col("since"), F.col("until") - 1)
    rows = rows.select("*", F.explode(periods).alias("period"))
    now = loads.rates(fleet, F.col("cluster"), F.col("bundle"), F.col("period"))
    rows = rows.withColumns({**now, "topics": _topics()})
    return rows.withColumns({each: in_part(each) for each in (*RATE_FIELDS, "topics")})


def _topics() -> Column:
    return loads.topics_in(F.col("period"), F.col("ends"), F.col("topics"))


def in_part(field: str) -> Column:
    """How much of a bundle a part has: one a share of it, in whole units, and one the rest."""
    (one, share), (two, _) = PARTS.items()
    unit = shape.UNITS[field]
    first = F.floor(F.col(field) * share / unit) * unit
    return (
        F.when(F.col("part") == one, first)
        .when(F.col("part") == two, F.col(field) - first)
        .otherwise(F.col(field))
    )


def reports(fleet: Fleet, rows: DataFrame) -> DataFrame:
    """`KEYS` and `report`, as a broker writes it, from its `samples`."""
    there = F.col("name").isNotNull()
    stats = F.struct(
        *RATE_FIELDS,
        F.col("topics").cast("int").alias("topics"),
        (F.col("topics") * 3 / 5).cast("int").alias("producerCount"),
        (F.col("topics") / 3).cast("int").alias("consumerCount"),
        F.lit(0).alias("cacheSize"),
    )
    one = F.when(there, F.struct(F.col("name").alias("key"), stats.alias("value")))
    grouped = rows.groupBy(*KEYS).agg(
        *(
            F.coalesce(F.sum(F.when(there, F.col(name))), F.lit(0.0)).alias(name)
            for name in RATE_FIELDS
        ),
        F.array_sort(F.collect_list(one)).alias("stats"),
    )
    return grouped.select(*KEYS, report_of(fleet).alias("report"))


def report_of(fleet: Fleet) -> Column:
    """A load report of the modular load manager, from sums and `stats`."""
    size = fleet.bundles
    sums = {name: F.col(name) for name in RATE_FIELDS}
    used = shape.percents(size, sums, lambda one, other: F.least(one, F.lit(other)))
    usages = (
        F.struct(
            (used[name] * (limit / 100)).alias("usage"),
            F.lit(limit).alias("limit"),
        ).alias(name)
        for name, limit in shape.limits(size).items()
    )
    host = F.concat(F.lit("broker-"), F.col("broker") + 1, F.lit(".example.com"))

    def counted(name: str) -> Column:
        return F.aggregate("stats", F.lit(0), lambda sum_, one: sum_ + one["value"][name])

    nothing = F.array().cast("array<string>")
    return F.struct(
        F.concat(F.lit("http://"), host, F.lit(":8080")).alias("webServiceUrl"),
        F.concat(F.lit("pulsar://"), host, F.lit(":6650")).alias("pulsarServiceUrl"),
        F.lit(True).alias("persistentTopicsEnabled"),
        F.lit(True).alias("nonPersistentTopicsEnabled"),
        *usages,
        *RATE_FIELDS,
        (F.lit(1000) * reported_at(fleet)).alias("lastUpdate"),
        F.map_from_entries("stats").alias("lastStats"),
        counted("topics").alias("numTopics"),
        F.size("stats").alias("numBundles"),
        counted("consumerCount").alias("numConsumers"),
        counted("producerCount").alias("numProducers"),
        F.col("stats.key").alias("bundles"),
        nothing.alias("lastBundleGains"),
        nothing.alias("lastBundleLosses"),
        F.lit(shape.VERSION).alias("brokerVersionString"),
        F.lit("LocalBrokerData").alias("loadReportType"),
    )


def reported_at(fleet: Fleet) -> Column:
    """Seconds since 1970 of the report of a broker in a period."""
    begins = F.col("period").cast("bigint") * fleet.seconds + START
    return begins + offset(fleet, F.col("broker"))
