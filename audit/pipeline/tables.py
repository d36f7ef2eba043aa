"""The tables of an audit. Each has a declaration of its columns, its parents and its builder.

Records and quarantine come from the lines of a history. Silver tables (samples, actions, contexts)
come from the usable records. Gold tables come from silver tables: what was known, decided and done
in each shedding cycle. Times are UTC.

A recorded cycle is evaluated at its own `moment`. An assumed cycle is evaluated at the first and
the last moment at which it can have run.

Builders are lazy and write nothing, but some run a small job to choose a plan. `cycles` looks for
the days with records, `verdicts` for violated rules, `unloads` and `split_findings` for the number
of unloads and splits, `transfer_findings` for the extensible manager, `broker_decisions` and
`findings` for the strategies in use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from pulsar_conformance.adapters.spark.shapes import AVERAGE, BUNDLE, RATES, RESOURCES, SETTINGS
from pulsar_conformance.audit.input import silver
from pulsar_conformance.audit.input.parsing import LOAD, RECORD_COLUMNS
from pulsar_conformance.audit.input.records import quarantine
from pulsar_conformance.audit.pipeline.plan import AuditPlan, GoldTables, Silver
from pulsar_conformance.audit.tables import (
    averages,
    causes,
    cycles,
    decisions,
    last_reports,
    usages,
)
from pulsar_conformance.audit.verdicts import splits, transfers, verdicts
from pulsar_conformance.audit.verdicts.checks import acts
from pyspark.sql import DataFrame

KEYS = "cluster string, day date"
"""Columns of every table: the cluster, and the day of `at` or `cycle`, the partition column."""

PERCENT = f"struct<{', '.join(f'{name} double' for name in RESOURCES)}>"
"""Spark type of the usage of each resource, in percent of its limit."""

MEMORY = (
    "struct<least double, most double, after double, width double, ever_least double, "
    "ever_most double, apart double>"
)
"""Spark type of a leader's memory of a broker after a cycle.

`least` and `most` are bounds of the usage, and `after` is the usage smoothed with its history.
`width` is the width of the range of possible smoothed usages, `NaN` if the weight of the history is
unknown. `ever_least` and `ever_most` also include the usage that former leaders knew. `apart` is
the maximum change of the smoothed usage if that usage is included; null without former leaders.
"""

IF_KEPT = "struct<least double, most double, lower double, upper double>"
"""Spark type of the bounds of a broker's usage if the leader has the memory of former leaders."""

SESSION: Mapping[str, str] = {
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": "false",
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "false",
    "spark.sql.files.openCostInBytes": "131072",
}
"""Settings of a Spark session that builds tables of any size.

They switch off optimizer rules that find nothing in these tables, and let a task read many small
files.
"""

PACKAGE = "pulsar_conformance.audit"
READING = ("pulsar_conformance.adapters.spark", f"{PACKAGE}.input")
DECIDING = (*READING, f"{PACKAGE}.tables", "pulsar_conformance.specs")
JUDGING = (
    *DECIDING,
    f"{PACKAGE}.verdicts",
    f"{PACKAGE}.verdicts.checks",
    "pulsar_conformance.conformance.common",
)
"""Packages whose code and data determine the content of tables.

If one of them changes, the tables are rebuilt. Tolerances are in `common`, rules and documented
defaults in `specs`.
"""


@dataclass(frozen=True)
class AuditTable:
    """A table: its columns besides `KEYS`, the columns that identify a row, and the packages that
    build it.
    """

    columns: str
    identity: tuple[str, ...] = ()
    code: tuple[str, ...] = READING

    @property
    def schema(self) -> str:
        """All columns in Spark's notation; the partition column is the last."""
        return f"{self.columns}, {KEYS}"


@dataclass(frozen=True)
class RecordsTable(AuditTable):
    """A silver table, built from the table `records` alone."""

    build: Callable[[DataFrame], DataFrame] = silver.actions


@dataclass(frozen=True, kw_only=True)
class GoldTable(AuditTable):
    """A table built from the silver tables and from its `parents`, which are other gold tables."""

    build: Callable[[Silver, GoldTables, AuditPlan], DataFrame]
    parents: tuple[str, ...] = ()
    code: tuple[str, ...] = DECIDING

    compared: bool = False
    """True for a small table, which is always rebuilt completely and then compared to find what
    changed.
    """

    ignored_columns: tuple[str, ...] = ()
    """Columns of a compared table. If only these change, other tables need no rebuild."""

    self_dependent: bool = False
    """True if new rows depend on earlier rows of the same table."""

    affected_cycles: Callable[[DataFrame, Silver, datetime], DataFrame] | None = None
    """A function that returns the cycles affected by records at or after a time.

    Its arguments are the table's own rows, the silver tables and the time. None if the first
    changes of the parents determine the affected cycles.
    """

    by_rule: bool = False
    """True if the table has a row per rule; such a table is not built for other settings."""

    as_documented: Callable[[DataFrame], DataFrame] | None = None
    """A function that converts the release's rows to the rows by its documents; None if there is
    none.
    """


def _return_unchanged(rows: DataFrame) -> DataFrame:
    return rows


RECORDS: Mapping[str, AuditTable] = {
    "records": AuditTable(
        "file string, line string, kind string, at timestamp, used boolean, reason string, "
        f"said struct<{RECORD_COLUMNS}>"
    ),
}

BUILT_FROM_RECORDS: Mapping[str, RecordsTable] = {
    "quarantine": RecordsTable(
        "file string, line string, kind string, at timestamp, reason string",
        build=quarantine,
    ),
    "broker_samples": RecordsTable(
        f"at timestamp, broker string, percent {PERCENT}, {RATES}, bundles array<string>, "
        "written timestamp",
        ("cluster", "at", "broker"),
        build=silver.broker_samples,
    ),
    "bundle_samples": RecordsTable(
        f"at timestamp, broker string, bundle string, {RATES}, topics double, "
        "producerCount double, consumerCount double",
        ("cluster", "at", "broker", "bundle"),
        build=silver.bundle_samples,
    ),
    "actions": RecordsTable(
        "at timestamp, kind string, bundle string, broker string, into array<string>, cause string",
        ("cluster", "at", "kind", "bundle"),
        build=silver.actions,
    ),
    "contexts": RecordsTable(
        "at timestamp, kind string, broker string, bundle string, name string, "
        f"members array<string>, owners map<string, array<string>>, settings {SETTINGS}, "
        f"data {BUNDLE}, anew boolean, load {LOAD}",
        ("cluster", "at", "kind", "broker", "bundle", "name"),
        build=silver.contexts,
    ),
}

SILVER: Mapping[str, RecordsTable] = {
    name: table for name, table in BUILT_FROM_RECORDS.items() if name != "quarantine"
}

GOLD: Mapping[str, GoldTable] = {
    "cycles": GoldTable(
        "cycle timestamp, logged boolean, moments array<timestamp>, since timestamp, "
        f"until timestamp, upto timestamp, doubt string, settings {SETTINGS}, strategy string, "
        f"former {SETTINGS}, other_strategy string",
        ("cluster", "cycle"),
        build=lambda recorded, _made, plan: cycles.cycles_table(recorded, plan),
        compared=True,
        # If a term ends later, nothing before its end changes. If a cycle ends later, only its
        # unloads change, which have a table of their own.
        ignored_columns=("until", "upto"),
        affected_cycles=cycles.affected_cycles,
    ),
    "unloads": GoldTable(
        "cycle timestamp, at timestamp, broker string, bundle string, cause string, "
        "open boolean, owner string, basis string",
        ("cluster", "cycle", "at", "broker", "bundle"),
        build=causes.unload_rows,
        parents=("cycles",),
        as_documented=_return_unchanged,
        compared=True,
    ),
    "last_reports": GoldTable(
        f"cycle timestamp, moment timestamp, broker string, reported timestamp, percent {PERCENT}, "
        f"{RATES}, standing string, note string",
        ("cluster", "cycle", "moment", "broker"),
        build=last_reports.last_reports,
        parents=("cycles",),
        as_documented=_return_unchanged,
    ),
    "broker_usage": GoldTable(
        "cycle timestamp, moment timestamp, broker string, since timestamp, back timestamp, "
        f"percent {PERCENT}, present double, observed boolean, before double, used double, "
        "least double, most double, lower double, upper double, messages double, bytes double, "
        f"memory {MEMORY}, if_kept {IF_KEPT}, "
        "standing string, note string",
        ("cluster", "cycle", "moment", "broker"),
        build=usages.usages,
        parents=("cycles", "last_reports"),
        self_dependent=True,
    ),
    "split_findings": GoldTable(
        "cycle timestamp, rule string, verdict string, evidence string",
        ("cluster", "cycle", "rule"),
        build=verdicts.split_findings,
        affected_cycles=splits.affected_splits,
        by_rule=True,
        code=JUDGING,
    ),
    "transfer_findings": GoldTable(
        "cycle timestamp, rule string, verdict string, evidence string",
        ("cluster", "cycle", "rule"),
        build=transfers.findings_about_transfers,
        parents=("unloads",),
        affected_cycles=transfers.affected_turns,
        by_rule=True,
        code=JUDGING,
    ),
    "bundle_averages": GoldTable(
        "cycle timestamp, moment timestamp, broker string, bundle string, "
        f"shortTermData {AVERAGE}, longTermData {AVERAGE}, moved double, surely_moved double, "
        f"contested boolean, documented {averages.DOCUMENTED_TYPE}",
        ("cluster", "cycle", "moment", "broker", "bundle"),
        build=averages.averages_table,
        parents=("cycles", "unloads", "last_reports"),
        as_documented=averages.as_documented,
    ),
    "broker_decisions": GoldTable(
        f"cycle timestamp, moment timestamp, broker string, {acts.COLUMNS}, "
        f"decisions array<struct<{decisions.COLUMNS}>>",
        ("cluster", "cycle", "moment", "broker"),
        build=verdicts.broker_decisions,
        parents=("cycles", "unloads", "bundle_averages", "broker_usage"),
        code=JUDGING,
    ),
    "decisions": GoldTable(
        f"cycle timestamp, moment timestamp, broker string, {decisions.COLUMNS}",
        ("cluster", "cycle", "moment", "broker", "bundle"),
        build=decisions.decisions_table,
        parents=("broker_decisions",),
    ),
    "findings": GoldTable(
        "cycle timestamp, moment timestamp, rule string, verdict string, evidence string, "
        "follows string",
        ("cluster", "cycle", "rule"),
        build=verdicts.findings,
        parents=(
            *("cycles", "unloads", "bundle_averages", "broker_usage", "broker_decisions"),
            *("split_findings", "transfer_findings"),
        ),
        by_rule=True,
        code=JUDGING,
    ),
    "verdicts": GoldTable(
        "cycle timestamp, rule string, verdict string, evidence string, follows string, "
        "case string",
        ("cluster", "cycle", "rule"),
        build=verdicts.verdicts,
        parents=(
            *("cycles", "unloads", "last_reports"),
            *("bundle_averages", "broker_usage", "findings"),
        ),
        by_rule=True,
        code=JUDGING,
    ),
}

TABLES: Mapping[str, AuditTable] = {**RECORDS, **BUILT_FROM_RECORDS, **GOLD}
"""Tables by name, each after the tables that it is built from."""
