"""One name for each broker: that in its load reports, however other records spell it."""

from __future__ import annotations

from dataclasses import replace

from pulsar_conformance.audit.pipeline.plan import Silver
from pyspark.sql import Column
from pyspark.sql import functions as F

SCHEME = r"^[a-zA-Z][a-zA-Z+.-]*://|/+$"
HOST = r"^(\[[^\]]+\]|[^:/]+)"
STANDARD = r":(6650|6651|8080|8443|80|443)$"
"""Ports of a broker's own services: with one of these, the host alone identifies it."""


def as_reported(silver: Silver) -> Silver:
    """Return the tables with the brokers of actions named as in load reports.

    A record may name a broker by URL, or by a different one of its ports.
    """
    plain = F.regexp_replace("broker", SCHEME, "")
    hosts = silver.broker_samples.select("cluster", "broker").distinct()
    hosts = hosts.groupBy("cluster", _host(plain).alias("host")).agg(
        F.min("broker").alias("known"), F.count(F.lit(1)).alias("brokers")
    )
    hosts = hosts.where("brokers = 1").drop("brokers")
    named = silver.actions.withColumn("host", F.when(plain.rlike(STANDARD), _host(plain)))
    named = named.join(F.broadcast(hosts), ["cluster", "host"], "left")
    named = named.withColumn("broker", F.coalesce("known", plain))
    return replace(silver, actions=named.select(*silver.actions.columns))


def _host(name: Column) -> Column:
    return F.nullif(F.regexp_extract(name, HOST, 1), F.lit(""))
