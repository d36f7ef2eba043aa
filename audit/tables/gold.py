"""What was known, decided and done at each shedding cycle: tables of what was recorded.

Each function makes one table of `tables.TABLES`, without `day`, of those before it. They are lazy,
and read and write nothing; but `cycles` looks first on which days anything is recorded, `verdicts`
whether anything is broken, `unloads` and `split_findings` how much was unloaded and split, and
`broker_decisions` and `findings` which strategies cycles follow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pulsar_conformance.audit.pipeline.plan import AuditPlan, Made, Silver
from pulsar_conformance.audit.tables.averages import averages
from pulsar_conformance.audit.tables.causes import unloads
from pulsar_conformance.audit.tables.cycles import cycles
from pulsar_conformance.audit.tables.decisions import decisions
from pulsar_conformance.audit.tables.usages import usages
from pulsar_conformance.audit.verdicts.verdicts import (
    broker_decisions,
    findings,
    split_findings,
    verdicts,
)
from pyspark.sql import DataFrame

__all__ = [
    "GOLD",
    "NEEDS",
    "SESSION",
    "averages",
    "broker_decisions",
    "cycles",
    "decisions",
    "findings",
    "split_findings",
    "unloads",
    "usages",
    "verdicts",
]
GOLD: Mapping[str, Callable[[Silver, Made, AuditPlan], DataFrame]] = {
    "cycles": lambda silver, _made, plan: cycles(silver, plan),
    "unloads": unloads,
    "broker_usage": usages,
    "split_findings": split_findings,
    "bundle_averages": averages,
    "broker_decisions": broker_decisions,
    "decisions": decisions,
    "findings": findings,
    "verdicts": verdicts,
}
"""By the table's name, in the order in which they are made."""

NEEDS: Mapping[str, tuple[str, ...]] = {
    "cycles": (),
    "unloads": ("cycles",),
    "broker_usage": ("cycles",),
    "split_findings": (),
    "bundle_averages": ("cycles", "unloads"),
    "broker_decisions": ("cycles", "unloads", "bundle_averages", "broker_usage"),
    "decisions": ("broker_decisions",),
    "findings": ("cycles", "broker_usage", "broker_decisions", "split_findings"),
    "verdicts": ("cycles", "bundle_averages", "broker_usage", "findings"),
}
"""Those before it that each is made of, besides what was recorded."""

SESSION: Mapping[str, str] = {
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
    "spark.sql.autoBroadcastJoinThreshold": "32k",
}
"""With these settings of a Spark session, rows move between tasks no more often than they must:
what is few is sent to where the many are. It comes to the driver first: rows take many times what
their files do, and `sizes.SUMMARIES` is the limit."""
