"""The tables of an audit, each with its columns as Spark types; times are UTC.

From a history come `records` and `quarantine`, from the records that can be used the samples,
actions and contexts, and from those what was known, decided and done at each shedding cycle.
A cycle that is recorded is seen at one `moment`, its own; another at the first and the last
moment at which it can have been.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pulsar_conformance.adapters.spark.shapes import AVERAGE, BUNDLE, RATES, RESOURCES, SETTINGS
from pulsar_conformance.audit.input.parsing import SAID
from pulsar_conformance.audit.tables import decisions
from pulsar_conformance.audit.verdicts.checks import acts

KEYS = "cluster string, day date"
"""What every table has: the cluster, and the day of `at` or of `cycle`, which it is split by."""

PERCENT = f"struct<{', '.join(f'{name} double' for name in RESOURCES)}>"
"""What a broker uses of each resource, in percent of its limit."""


MEMORY = "struct<least double, most double, after double>"
"""What a leader remembers of a broker after a cycle: the least and the most that it used, and its
usage with its history; `NaN` where nobody knows which share of that counted."""


@dataclass(frozen=True)
class TableSchema:
    """A table: its columns beside `KEYS`, and those that tell its rows apart."""

    columns: str
    identity: tuple[str, ...]

    @property
    def schema(self) -> str:
        """Every column, the partition last, as Spark reads them back."""
        return f"{self.columns}, {KEYS}"


TABLES: Mapping[str, TableSchema] = {
    "records": TableSchema(
        "file string, line string, kind string, at timestamp, used boolean, reason string, "
        f"said struct<{SAID}>",
        (),
    ),
    "quarantine": TableSchema(
        "file string, line string, kind string, at timestamp, reason string", ()
    ),
    "broker_samples": TableSchema(
        f"at timestamp, broker string, percent {PERCENT}, {RATES}, bundles array<string>",
        ("cluster", "at", "broker"),
    ),
    "bundle_samples": TableSchema(
        f"at timestamp, broker string, bundle string, {RATES}, topics double, "
        "producerCount double, consumerCount double",
        ("cluster", "at", "broker", "bundle"),
    ),
    "actions": TableSchema(
        "at timestamp, kind string, bundle string, broker string, into array<string>, cause string",
        ("cluster", "at", "kind", "bundle"),
    ),
    "contexts": TableSchema(
        "at timestamp, kind string, broker string, bundle string, name string, "
        f"members array<string>, owners map<string, array<string>>, settings {SETTINGS}, "
        f"data {BUNDLE}, anew boolean",
        ("cluster", "at", "kind", "broker", "bundle", "name"),
    ),
    "cycles": TableSchema(
        "cycle timestamp, moments array<timestamp>, since timestamp, until timestamp, "
        f"upto timestamp, doubt string, settings {SETTINGS}, strategy string",
        ("cluster", "cycle"),
    ),
    "unloads": TableSchema(
        "cycle timestamp, at timestamp, broker string, bundle string, cause string, "
        "open boolean, owner string, basis string",
        ("cluster", "cycle", "at", "broker", "bundle"),
    ),
    "broker_usage": TableSchema(
        f"cycle timestamp, moment timestamp, broker string, since timestamp, percent {PERCENT}, "
        "present double, observed boolean, before double, used double, least double, "
        "most double, "
        f"messages double, bytes double, memory {MEMORY}",
        ("cluster", "cycle", "moment", "broker"),
    ),
    "split_findings": TableSchema(
        "cycle timestamp, rule string, verdict string, evidence string",
        ("cluster", "cycle", "rule"),
    ),
    "bundle_averages": TableSchema(
        f"cycle timestamp, moment timestamp, broker string, bundle string, "
        f"shortTermData {AVERAGE}, longTermData {AVERAGE}, moved double, surely_moved double",
        ("cluster", "cycle", "moment", "broker", "bundle"),
    ),
    "broker_decisions": TableSchema(
        f"cycle timestamp, moment timestamp, broker string, {acts.COLUMNS}, "
        f"decisions array<struct<{decisions.COLUMNS}>>",
        ("cluster", "cycle", "moment", "broker"),
    ),
    "decisions": TableSchema(
        f"cycle timestamp, moment timestamp, broker string, {decisions.COLUMNS}",
        ("cluster", "cycle", "moment", "broker", "bundle"),
    ),
    "findings": TableSchema(
        "cycle timestamp, moment timestamp, rule string, verdict string, evidence string, "
        "follows string",
        ("cluster", "cycle", "rule"),
    ),
    "verdicts": TableSchema(
        "cycle timestamp, rule string, verdict string, evidence string, follows string, "
        "case string",
        ("cluster", "cycle", "rule"),
    ),
}
"""By name, in the order in which each is made from those before it."""
