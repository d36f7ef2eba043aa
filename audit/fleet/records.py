"""Records as lines of JSON, and the names and times in them, as columns."""

from __future__ import annotations

from pulsar_conformance.audit.fleet.size import START, Fleet
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

SECOND = 1000

LEADS = "yyyy-MM-dd'T'HH:mm:ss"
"""What every time begins with; the session's time zone is UTC."""

NOTE = "rule string, note string"


def begins(fleet: Fleet, period: Column) -> Column:
    """When a period begins, in milliseconds since 1970."""
    return (period.cast("bigint") * fleet.seconds + START) * SECOND


def broker_name(fleet: Fleet, number: Column) -> Column:
    """As `Fleet.broker`."""
    return F.concat(F.lit("broker-"), _padded(number, fleet.brokers), F.lit(":8080"))


def cluster_name(fleet: Fleet, number: Column) -> Column:
    """As `Fleet.cluster`."""
    return F.concat(F.lit("fleet-"), _padded(number, fleet.clusters))


def _padded(number: Column, most: int) -> Column:
    return F.lpad((number + 1).cast("string"), len(str(most)), "0")


def line(fleet: Fleet, rows: DataFrame, kind: str, at: Column, **fields: Column) -> DataFrame:
    """The rows as records of a kind: `kind` and `value`; `at` is milliseconds since 1970."""
    moment = F.timestamp_millis(at)
    fraction = F.when(at % SECOND != 0, F.date_format(moment, ".SSS")).otherwise(F.lit(""))
    record = F.struct(
        F.lit(kind).alias("kind"),
        cluster_name(fleet, F.col("cluster")).alias("cluster"),
        F.concat(F.date_format(moment, LEADS), fraction, F.lit("Z")).alias("at"),
        *(column.alias(name) for name, column in fields.items()),
    )
    return rows.select(F.lit(kind).alias("kind"), F.to_json(record).alias("value"))
