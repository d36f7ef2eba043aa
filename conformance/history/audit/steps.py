"""The steps of an audit: which table is made of which, and of what else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache, partial
from importlib.resources import files
from typing import Any

from pulsar_conformance.conformance.history.audit.plan import AuditPlan, Silver
from pulsar_conformance.conformance.history.audit.tables import TABLES
from pulsar_conformance.conformance.history.audit.writing import ASKED, PARTITION
from pulsar_conformance.conformance.history.cycles.gold import GOLD
from pulsar_conformance.conformance.history.input.records import quarantine
from pulsar_conformance.conformance.history.input.silver import SILVER
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

Tables = Mapping[str, DataFrame]
HISTORY = "pulsar_conformance.conformance.history"
READING = ("pulsar_conformance.adapters.spark", f"{HISTORY}.input")
DECIDING = (*READING, f"{HISTORY}.cycles", "pulsar_conformance.specs")
JUDGING = (
    *DECIDING,
    f"{HISTORY}.verdicts",
    f"{HISTORY}.verdicts.checks",
    "pulsar_conformance.conformance.core",
)
"""What decides what is in the tables, by how they come about: when it changes, they are made anew.

Tolerances are in `core`, and rules and documented defaults in `specs`.
"""

JUDGED = ("broker_decisions", "findings", "verdicts")

COMPARED = tuple(GOLD)[: list(GOLD).index("decisions") + 1]
"""The tables that are made once more where other settings are asked about."""


@dataclass(frozen=True)
class TableStep:
    """A table, what it is made of, and how; `options` are all that it depends on besides."""

    table: str
    parents: tuple[str, ...]
    make: Callable[[Tables], DataFrame]
    options: str = ""
    otherwise: Callable[[Tables], DataFrame] | None = None
    """How it is made where that breaks."""


def steps(source: TableStep, plan: AuditPlan, asked: AuditPlan | None) -> Iterator[TableStep]:
    """Every step after `source`, which makes `records`, in order."""
    yield source
    yield TableStep("quarantine", ("records",), lambda made: quarantine(made["records"]))
    for name in SILVER:
        yield TableStep(name, ("records",), partial(_silver, name))
    yield from _gold(plan, tuple(GOLD), "")
    if asked is not None:
        yield from _gold(asked, COMPARED, ASKED)


def _silver(name: str, tables: Tables) -> DataFrame:
    return SILVER[name](tables["records"])


def _gold(plan: AuditPlan, names: tuple[str, ...], prefix: str) -> Iterator[TableStep]:
    before: tuple[str, ...] = ()
    for name in names:
        parents = (*SILVER, *(prefix + one for one in before))
        yield TableStep(
            prefix + name, parents, partial(_made, name, prefix, before, plan), told(plan)
        )
        before += (name,)


def _made(
    name: str, prefix: str, before: tuple[str, ...], plan: AuditPlan, tables: Tables
) -> DataFrame:
    silver = Silver(**{one: tables[one] for one in SILVER})
    made = {one: tables[prefix + one] for one in before}
    rows = GOLD[name](silver, made, plan)
    at = F.coalesce("cycle", "at") if "at" in rows.columns else F.col("cycle")
    return rows.withColumn("day", F.to_date(at))


def told(plan: AuditPlan) -> str:
    """All that a plan says, as text."""
    return json.dumps(asdict(plan), default=str, sort_keys=True)


def fingerprints(every: list[TableStep]) -> dict[str, str]:
    """Of each table: all that goes into it, what its parents are made of included."""
    found: dict[str, str] = {}
    for step in every:
        name = step.table.removeprefix(ASKED)
        of = [step.table, PARTITION, TABLES[name].schema, step.options, code(_made_by(name))]
        found[step.table] = digest(of, *(found[one] for one in step.parents))
    return found


def digest(*parts: Any) -> str:
    """A short text that is another one where anything is other."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def _made_by(table: str) -> tuple[str, ...]:
    """The packages whose code makes a table."""
    if table in JUDGED:
        return JUDGING
    return DECIDING if table in GOLD else READING


@cache
def code(packages: tuple[str, ...]) -> str:
    """A fingerprint of the code and the data in packages."""
    texts = [
        (package, one.name, one.read_text("utf-8"))
        for package in packages
        for folder in (files(package), files(package) / "rules")
        if folder.is_dir()
        for one in folder.iterdir()
        if one.name.endswith((".py", ".yaml"))
    ]
    return digest(sorted(texts))
