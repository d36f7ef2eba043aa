"""The tables of an audit, each with its columns as Spark types; times are UTC.

From a history come `records` and `quarantine`, from the records that can be used the samples,
actions and contexts, and from those what was known, decided and done at each shedding cycle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pulsar_conformance.adapters.spark.shapes import AVERAGE, BUNDLE, RATES, RESOURCES, SETTINGS
from pulsar_conformance.conformance.audit.parsing import SAID

KEYS = "cluster string, day date"
"""What every table is partitioned by: the cluster, and the day of `at` or of `cycle`."""

PERCENT = f"struct<{', '.join(f'{name} double' for name in RESOURCES)}>"
"""What a broker uses of each resource, in percent of its limit."""


@dataclass(frozen=True)
class Table:
    """A table: its columns beside `KEYS`, and those that tell its rows apart."""

    columns: str
    identity: tuple[str, ...]

    @property
    def schema(self) -> str:
        """Every column, the partitions last, as Spark reads them back."""
        return f"{self.columns}, {KEYS}"


TABLES: Mapping[str, Table] = {
    "records": Table(
        "file string, line string, kind string, at timestamp, used boolean, reason string, "
        f"said struct<{SAID}>",
        (),
    ),
    "quarantine": Table("file string, line string, kind string, at timestamp, reason string", ()),
    "broker_samples": Table(
        f"at timestamp, broker string, percent {PERCENT}, {RATES}, bundles array<string>",
        ("cluster", "at", "broker"),
    ),
    "bundle_samples": Table(
        f"at timestamp, broker string, bundle string, {RATES}, topics double, "
        "producerCount double, consumerCount double",
        ("cluster", "at", "broker", "bundle"),
    ),
    "actions": Table(
        "at timestamp, kind string, bundle string, broker string, into array<string>",
        ("cluster", "at", "kind", "bundle"),
    ),
    "contexts": Table(
        "at timestamp, kind string, broker string, bundle string, name string, "
        f"members array<string>, owners map<string, array<string>>, settings {SETTINGS}, "
        f"data {BUNDLE}",
        ("cluster", "at", "kind", "broker", "bundle", "name"),
    ),
    "bundle_averages": Table(
        f"cycle timestamp, broker string, bundle string, shortTermData {AVERAGE}, "
        f"longTermData {AVERAGE}",
        ("cluster", "cycle", "bundle"),
    ),
    "broker_usage": Table(
        f"cycle timestamp, broker string, percent {PERCENT}, history array<double>, "
        "used double, messages double, bytes double",
        ("cluster", "cycle", "broker"),
    ),
    "decisions": Table(
        "cycle timestamp, broker string, bundle string, strategy string, used double, "
        "average double, threshold double, need double, traffic double, above double, "
        "movable boolean, chosen boolean, unloaded boolean, why string",
        ("cluster", "cycle", "broker", "bundle"),
    ),
    "verdicts": Table(
        "cycle timestamp, rule string, verdict string, evidence string, case string",
        ("cluster", "cycle", "rule"),
    ),
}
"""By name, in the order in which each is made from those before it."""
