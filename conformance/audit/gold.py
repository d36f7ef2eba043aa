"""What was known, decided and done at each shedding cycle: tables of what was recorded.

Each function makes one table of `tables.TABLES`, without `day`, of those before it. They are lazy,
and read and write nothing; `verdicts` alone looks first whether anything is broken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pulsar_conformance.conformance.audit.averages import averages
from pulsar_conformance.conformance.audit.cycles import cycles
from pulsar_conformance.conformance.audit.decisions import decisions
from pulsar_conformance.conformance.audit.plan import Made, Plan, Silver
from pulsar_conformance.conformance.audit.usages import usages
from pulsar_conformance.conformance.audit.verdicts import broker_decisions, findings, verdicts
from pyspark.sql import DataFrame

__all__ = [
    "GOLD",
    "SESSION",
    "averages",
    "broker_decisions",
    "cycles",
    "decisions",
    "findings",
    "usages",
    "verdicts",
]
GOLD: Mapping[str, Callable[[Silver, Made, Plan], DataFrame]] = {
    "cycles": lambda silver, _made, plan: cycles(silver, plan),
    "bundle_averages": averages,
    "broker_usage": usages,
    "decisions": decisions,
    "broker_decisions": broker_decisions,
    "findings": findings,
    "verdicts": verdicts,
}
"""By the table's name, in the order in which they are made."""

SESSION: Mapping[str, str] = {"spark.sql.requireAllClusterKeysForCoPartition": "false"}
"""With these settings of a Spark session, rows move between tasks no more often than they must."""
