"""Steps of an audit: each one builds a table from its parents, completely or from a time on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import cache, partial
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from pulsar_conformance.audit.input.changes import AROUND
from pulsar_conformance.audit.pipeline.marks import Mark
from pulsar_conformance.audit.pipeline.plan import WHOLE, AuditPlan, Silver
from pulsar_conformance.audit.pipeline.tables import GOLD, OF_RECORDS, SILVER, TABLES
from pulsar_conformance.audit.pipeline.writing import (
    ASKED,
    DOCUMENTED,
    PARTITION,
    base_name,
    from_day,
)
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

Tables = Mapping[str, DataFrame]
FindAffected = Callable[[DataFrame, Silver, datetime], DataFrame]

INCREMENTAL = tuple(name for name, table in GOLD.items() if not table.compared)
"""Large gold tables, of which only the days from the first affected one on are rebuilt."""

FOUND_BY = ("findings", *GOLD["findings"].parents, *GOLD["broker_decisions"].parents)
"""Tables that are built again for judging by the documents as well."""

COMPARED = tuple(name for name, table in GOLD.items() if not table.by_rule)
"""Tables that are also built for other settings."""


@dataclass(frozen=True)
class TableStep:
    """A table, its parents, and how it is built; `options` are its only other input."""

    table: str
    parents: tuple[str, ...]
    build: Callable[[Tables], DataFrame]
    options: str = ""

    fallback: Callable[[Tables], DataFrame] | None = None
    """Builds the table if `build` fails in Spark."""

    build_since: Callable[[Tables, datetime], DataFrame] | None = None
    """Builds the days from a time on, from the parents and the table's own rows; None if
    impossible.
    """

    dating_parents: tuple[str, ...] = ()
    """The parents whose change dates count; all by default."""

    affected_cycles: Callable[[Tables, datetime], DataFrame] | None = None
    """Returns the rows affected by changes at or after a time; the changes start at the earliest
    `cycle`.
    """

    lookback: timedelta = timedelta()
    """A late record can describe events up to this long before its own timestamp."""

    ignored_columns: tuple[str, ...] = ()
    """Columns of a compared table whose changes do not matter."""

    finish: Callable[[], None] | None = None
    """Called after the whole table has been written."""

    refresh: Callable[[Mark], tuple[int, datetime] | None] | None = None
    """Rebuilds the changed part of a table without parents. Returns the number of rows and the time
    from which on they were rebuilt, or None if impossible.
    """

    @property
    def has_day(self) -> bool:
        """True if every row has a day."""
        return base_name(self.table) in GOLD

    @property
    def method(self) -> str:
        """Fingerprint of the code that builds it, without that of its parents."""
        table = TABLES[base_name(self.table)]
        return digest(self.table, PARTITION, table.schema, code(table.code))


def build_steps(
    source: TableStep,
    plan: AuditPlan,
    asked: AuditPlan | None,
    documented: AuditPlan | None = None,
) -> Iterator[TableStep]:
    """Yield every step in order; `source` builds `records`.

    `asked` is a plan with other settings, `documented` a plan for the documents of the judging
    release.
    """
    yield source
    for name, table in OF_RECORDS.items():
        yield TableStep(
            name,
            ("records",),
            partial(_of_records, table.build),
            build_since=partial(_of_records_since, table.build),
            lookback=AROUND,
        )
    yield from (_gold_step(plan, name, "") for name in GOLD)
    if asked is not None:
        yield from (_gold_step(asked, name, ASKED) for name in COMPARED)
    if documented is not None:
        yield from (_gold_step(documented, name, DOCUMENTED) for name in GOLD if name in FOUND_BY)


OfRecords = Callable[[DataFrame], DataFrame]


def _of_records(build: OfRecords, tables: Tables) -> DataFrame:
    return build(tables["records"])


def _of_records_since(build: OfRecords, tables: Tables, since: datetime) -> DataFrame:
    return build(from_day(tables["records"], since))


def _gold_step(plan: AuditPlan, name: str, prefix: str) -> TableStep:
    table = GOLD[name]
    parents = tuple(prefix + parent for parent in table.parents)
    find = table.affected_cycles
    return TableStep(
        prefix + name,
        (*SILVER, *parents),
        partial(_gold, name, prefix, table.parents, plan),
        plan_as_json(plan),
        build_since=None if table.compared else partial(_gold_since, name, prefix, plan),
        dating_parents=parents,
        affected_cycles=None if find is None else partial(_affected, find, prefix + name),
        ignored_columns=table.ignored_columns,
    )


def _silver(tables: Tables) -> Silver:
    return Silver(**{name: tables[name] for name in SILVER})


def _affected(find: FindAffected, own: str, tables: Tables, since: datetime) -> DataFrame:
    return find(tables[own], _silver(tables), since)


def _gold(
    name: str,
    prefix: str,
    parents: tuple[str, ...],
    plan: AuditPlan,
    tables: Tables,
    whole: Tables = MappingProxyType({}),
) -> DataFrame:
    made = {parent: tables[prefix + parent] for parent in parents}
    made |= {f"{WHOLE}{parent}": table for parent, table in whole.items()}
    rows = GOLD[name].build(_silver(tables), made, plan)
    at = F.coalesce("cycle", "at") if "at" in rows.columns else F.col("cycle")
    return rows.withColumn("day", F.to_date(at))


def _gold_since(
    name: str, prefix: str, plan: AuditPlan, tables: Tables, since: datetime
) -> DataFrame:
    """Build the rows of cycles from a time on."""
    table = GOLD[name]
    later = replace(plan, since=max(since, plan.since or since))
    continues = table.self_dependent and plan.since is None
    by_day = INCREMENTAL if table.self_dependent and not continues else (*INCREMENTAL, "cycles")
    recent = {
        prefix + parent: from_day(tables[prefix + parent], since)
        for parent in table.parents
        if parent in by_day
    }
    own = tables[prefix + name].where(F.col("cycle") < F.lit(since))
    parents = (*table.parents, name) if continues else table.parents
    given = {**tables, **recent, prefix + name: own}
    whole = {one: tables[prefix + one] for one in table.parents}
    rows = _gold(name, prefix, parents, later, given, whole)
    return rows.where(F.col("cycle") >= F.lit(since))


def plan_as_json(plan: AuditPlan) -> str:
    """Return the parts of a plan that concern a table, as text."""
    stated = {name: value for name, value in asdict(plan).items() if name != "beside"}
    return json.dumps(stated, default=str, sort_keys=True)


def fingerprints(every: Iterable[TableStep], first: str = "") -> dict[str, str]:
    """Return the fingerprint of each table: of all its input and of its parents.

    `first` replaces the fingerprint of the first table if it was built from other input than the
    present one.
    """
    found: dict[str, str] = {}
    for step in every:
        of = digest(step.method, step.options, *(found[parent] for parent in step.parents))
        found[step.table] = first if first and not step.parents else of
    return found


def digest(*parts: Any) -> str:
    """Return a fingerprint of the arguments."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


@cache
def code(packages: tuple[str, ...]) -> str:
    """Return a fingerprint of the code and data in packages."""
    texts = [
        (package, file.name, file.read_text("utf-8"))
        for package in packages
        for folder in (files(package), files(package) / "rules")
        if folder.is_dir()
        for file in folder.iterdir()
        if file.name.endswith((".py", ".yaml"))
    ]
    return digest(sorted(texts))
