"""What was known, decided and done at each shedding cycle: tables of what was recorded.

Each function makes one table of `tables.TABLES`, without `day`, of those before it. They are lazy,
and read and write nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pulsar_conformance.conformance.audit.plan import Plan, Silver
from pyspark.sql import DataFrame

Made = Mapping[str, DataFrame]
"""Gold tables by their names, those that were made before."""


def averages(silver: Silver, plan: Plan) -> DataFrame:
    """`bundle_averages`: what each bundle carries, and how long ago it was unloaded."""
    raise NotImplementedError


def usages(silver: Silver, plan: Plan) -> DataFrame:
    """`broker_usage`: what each broker uses and carries, by its last report."""
    raise NotImplementedError


def decisions(silver: Silver, made: Made, plan: Plan) -> DataFrame:
    """`decisions`: what the rules decide about each bundle, why, and what was done."""
    raise NotImplementedError


def verdicts(silver: Silver, made: Made, plan: Plan) -> DataFrame:
    """`verdicts`: whether what was done is allowed, a row for each rule that a cycle is about."""
    raise NotImplementedError


GOLD: Mapping[str, Callable[[Silver, Made, Plan], DataFrame]] = {
    "bundle_averages": lambda silver, _made, plan: averages(silver, plan),
    "broker_usage": lambda silver, _made, plan: usages(silver, plan),
    "decisions": decisions,
    "verdicts": verdicts,
}
"""By the table's name, in the order in which they are made."""

SESSION: Mapping[str, str] = {"spark.sql.requireAllClusterKeysForCoPartition": "false"}
"""With these settings of a Spark session, rows move between tasks no more often than they must."""
