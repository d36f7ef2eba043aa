"""A single name for each broker: the name in its load reports, whatever other records use."""

from __future__ import annotations

from dataclasses import replace

from pulsar_conformance.audit.pipeline.plan import Silver
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

SCHEME = r"^[a-zA-Z][a-zA-Z+.-]*://|/+$"
HOST = r"^(\[[^\]]+\]|[^:/]+)"
DOMAIN = r"^[^.\[]*[a-z][^.]*\."
"""Pattern of the start of a host name with a domain; an IP address does not match."""

STANDARD = r":(6650|6651|8080|8443|80|443)$"
"""Pattern of a port of a service of brokers; before such a port, the host identifies the broker."""


def with_reported_names(silver: Silver) -> Silver:
    """Return the tables with brokers named as in load reports.

    Other records may name a broker by a URL, with another of its ports, or with or without its
    domain. A small Spark job finds out if any record does.
    """
    spelt = silver.actions.select("cluster", "broker")
    spelt = spelt.union(silver.contexts.select("cluster", "broker")).where("broker is not null")
    names = _reported_names(spelt.distinct(), silver.broker_samples)
    if names.isEmpty():
        return silver
    return replace(
        silver,
        actions=_rename_brokers(silver.actions, names),
        contexts=_rename_brokers(silver.contexts, names),
    )


def _rename_brokers(rows: DataFrame, names: DataFrame) -> DataFrame:
    named = rows.join(F.broadcast(names), ["cluster", "broker"], "left")
    return named.withColumn("broker", F.coalesce("named", "broker")).select(*rows.columns)


def _reported_names(spelt: DataFrame, samples: DataFrame) -> DataFrame:
    """Return `cluster`, `broker` (the name in a record) and `named` (the name in load reports)."""
    plain = F.regexp_replace("broker", SCHEME, "")
    reported = samples.select("cluster", "broker").distinct().withColumn("host", _host_name(plain))
    whole, short = F.lit(False).alias("part"), F.lit(True).alias("part")
    hosts = reported.select("cluster", "broker", "host", whole).union(
        reported.where(F.col("host").rlike(DOMAIN)).select(
            "cluster", "broker", _first_label(), short
        )
    )
    hosts = hosts.groupBy("cluster", "host").agg(
        F.min("broker").alias("known"),
        F.count(F.lit(1)).alias("brokers"),
        F.min("part").alias("part"),
    )
    hosts = F.broadcast(hosts.where("brokers = 1").drop("brokers"))
    named = spelt.withColumn("host", F.when(plain.rlike(STANDARD), _host_name(plain)))
    named = named.join(hosts, ["cluster", "host"], "left")
    labels = hosts.where("not part").select(
        "cluster", F.col("host").alias("label"), F.col("known").alias("other")
    )
    named = named.withColumn("label", F.when(F.col("host").rlike(DOMAIN), _first_label()))
    named = named.join(labels, ["cluster", "label"], "left")
    named = named.withColumn("named", F.coalesce("known", "other", plain))
    return named.where("named != broker").select("cluster", "broker", "named")


def _host_name(name: Column) -> Column:
    return F.lower(F.nullif(F.regexp_extract(name, HOST, 1), F.lit("")))


def _first_label() -> Column:
    """Return the part of `host` before the first dot, as the column `host`."""
    return F.substring_index("host", ".", 1).alias("host")
