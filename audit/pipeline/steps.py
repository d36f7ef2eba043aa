"""The steps of an audit: each builds a table from its parents, completely or from a time on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import cache, partial, reduce
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from pulsar_conformance.audit.input.by_cluster import RebuildTimes
from pulsar_conformance.audit.input.changes import RECORD_DELAY
from pulsar_conformance.audit.pipeline.marks import Mark
from pulsar_conformance.audit.pipeline.plan import ALL_DAYS_PREFIX, AuditPlan, Silver
from pulsar_conformance.audit.pipeline.tables import BUILT_FROM_RECORDS, GOLD, SILVER, TABLES
from pulsar_conformance.audit.pipeline.writing import (
    ASKED,
    DOCUMENTED,
    PARTITION,
    base_name,
    from_day,
)
from pulsar_conformance.audit.tables.cycles import CYCLE_SETTINGS, USUAL_REPORT_MINUTES
from pulsar_conformance.audit.tables.settings_at import REPORT_AGE, SHEDDING_INTERVAL
from pulsar_conformance.audit.verdicts import splits
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

Tables = Mapping[str, DataFrame]
FindAffected = Callable[[DataFrame, Silver, datetime], DataFrame]

INCREMENTAL = tuple(name for name, table in GOLD.items() if not table.compared)
"""Large gold tables: after a change, only the days from the first affected one on are rebuilt."""

JUDGED_FROM = ("findings", "broker_decisions", "broker_usage")
DOCUMENTED_TABLES = ("findings", *(parent for name in JUDGED_FROM for parent in GOLD[name].parents))
"""Tables that are built a second time to judge by the documents of a release."""

COUNTERFACTUAL_TABLES = tuple(name for name, table in GOLD.items() if not table.by_rule)
"""Tables that are built a second time for the other settings that an audit compares."""


@dataclass(frozen=True)
class TableStep:
    """A table, its parents, and the function that builds it.

    `options` describes everything else that the table's content depends on.
    """

    table: str
    parents: tuple[str, ...]
    build: Callable[[Tables], DataFrame]
    options: str = ""

    fallback: Callable[[Tables], DataFrame] | None = None
    """A function that builds the table if `build` fails in Spark."""

    build_since: Callable[[Tables, datetime], DataFrame] | None = None
    """A function that builds the days from a time on, given the parents and the table's own rows.

    None if the table can only be built completely.
    """

    dating_parents: tuple[str, ...] = ()
    """The parents whose first changes determine the table's first change; all parents if empty."""

    affected_cycles: Callable[[Tables, datetime], DataFrame] | None = None
    """A function that returns rows affected by records at or after a time.

    In each `cluster`, the table changes from the earliest `cycle` of these rows on.
    """

    lookback: timedelta = timedelta()
    """Maximum time by which a record may be later than the events that it describes."""

    ignored_columns: tuple[str, ...] = ()
    """Columns of a compared table. If only these change, other tables need no rebuild."""

    observed: tuple[Column, ...] = ()
    """Aggregates that Spark computes while it writes the complete table."""

    finish: Callable[[Mapping[str, Any]], None] | None = None
    """A function that gets the values of `observed` after the complete table was written."""

    refresh: Callable[[Mark], tuple[int, RebuildTimes] | None] | None = None
    """A function that rebuilds the changed part of a table without parents. It returns the number
    of rows, and the times from which rows were rebuilt; None if the table must be built completely.
    """

    @property
    def has_day(self) -> bool:
        """True if every row of the table has a day."""
        return base_name(self.table) in GOLD

    @property
    def method(self) -> str:
        """Fingerprint of the code that builds the table; it excludes the code of the parents."""
        table = TABLES[base_name(self.table)]
        return digest(self.table, PARTITION, table.schema, code_fingerprint(table.code))


def build_steps(
    source: TableStep,
    plan: AuditPlan,
    asked: AuditPlan | None,
    documented: AuditPlan | None = None,
) -> Iterator[TableStep]:
    """Yield all steps; parents come before the tables that are built from them.

    `source` builds `records`. `asked` is a plan with other settings. If the audit judges by a
    release, `documented` is a plan for the documents of this release.
    """
    yield source
    for name, table in BUILT_FROM_RECORDS.items():
        yield TableStep(
            name,
            ("records",),
            partial(_build_from_records, table.build),
            build_since=partial(_build_from_records_since, table.build),
            lookback=RECORD_DELAY,
        )
    yield from (_gold_step(plan, name, _PlanTables()) for name in GOLD)
    if asked is not None:
        yield from (_gold_step(asked, name, _PlanTables(ASKED)) for name in COUNTERFACTUAL_TABLES)
    if documented is not None:
        yield from _documented_steps(plan, documented)


OfRecords = Callable[[DataFrame], DataFrame]


def _build_from_records(build: OfRecords, tables: Tables) -> DataFrame:
    return build(tables["records"])


def _build_from_records_since(build: OfRecords, tables: Tables, since: datetime) -> DataFrame:
    return build(from_day(tables["records"], since))


@dataclass(frozen=True)
class _PlanTables:
    """The tables of one plan.

    `prefix` is the beginning of the tables' names. `shared` are the tables that a plan for the
    documents of a release has in common with the plan for the release itself; they have no prefix.
    """

    prefix: str = ""
    shared: frozenset[str] = frozenset()

    def stored_name(self, table: str) -> str:
        """Return the name under which a table is stored."""
        return table if table in self.shared else self.prefix + table

    def read(self, table: str, rows: DataFrame) -> DataFrame:
        """Return the rows of a table, converted to the form that this plan needs."""
        shown = GOLD[table].as_documented
        return shown(rows) if shown is not None and table in self.shared else rows


def _documented_steps(plan: AuditPlan, documented: AuditPlan) -> Iterator[TableStep]:
    """Yield the steps that judge by a release's documents, except those of shared tables."""
    plan_tables = _documented_plan_tables(plan, documented)
    for name in GOLD:
        if name in DOCUMENTED_TABLES and name not in plan_tables.shared:
            step = _gold_step(documented, name, plan_tables)
            yield _documented_cycles(step, plan, documented) if name == "cycles" else step


def _documented_plan_tables(plan: AuditPlan, documented: AuditPlan) -> _PlanTables:
    """Return the `_PlanTables` of `documented`, the plan that judges by the documents.

    The release and its documents share a table if they agree in all defaults and readings that
    affect it.
    """
    same = {plan.readings[name] == documented.readings[name] for name in SHARED_READINGS}
    same |= {_default_of(plan, name) == _default_of(documented, name) for name in SHARED_SETTINGS}
    shared = {name for name in GOLD if all(same) and GOLD[name].as_documented is not None}
    shared |= {SPLITS} if splits.judge_splits_alike(plan, documented) else set()
    return _PlanTables(DOCUMENTED, frozenset(shared))


def tables_by_documents(tables: Tables, plan: AuditPlan, documented: AuditPlan) -> Tables:
    """Return the tables for judging by a release's documents, under the names of the release's
    tables.

    Empty if the audit does not judge by the documents.
    """
    plan_tables = _documented_plan_tables(plan, documented)
    stored = {name: plan_tables.stored_name(name) for name in DOCUMENTED_TABLES}
    if not tables.keys() >= {*stored.values()}:
        return {}
    return {name: plan_tables.read(name, tables[place]) for name, place in stored.items()}


SPLITS = "split_findings"
SHARED_SETTINGS, SHARED_READINGS = (
    (SHEDDING_INTERVAL, REPORT_AGE),
    ("kilobyte", "grace-of"),
)
"""Settings and readings in which a release and its documents must agree to share tables."""


def _documented_cycles(step: TableStep, plan: AuditPlan, documented: AuditPlan) -> TableStep:
    """Return a step that copies the release's cycles if the documents give the same cycles.

    They may give others only if some cycle lacks a setting for which they have another default.
    """
    other = [
        one for one in CYCLE_SETTINGS if _default_of(plan, one) != _default_of(documented, one)
    ]

    def build(tables: Tables) -> DataFrame:
        known = tables["cycles"]
        open_ones = (~F.map_contains_key("settings", name) for name in other)
        open_one = reduce(Column.__or__, open_ones, F.lit(False))
        return known if known.where(open_one).isEmpty() else step.build(tables)

    return replace(step, parents=(*step.parents, "cycles"), build=build)


def _default_of(plan: AuditPlan, setting: str) -> Any:
    """Return the value that the plan uses if a setting is not recorded."""
    found = plan.defaults.get(setting)
    return USUAL_REPORT_MINUTES if found is None and setting == REPORT_AGE else found


def _gold_step(plan: AuditPlan, name: str, plan_tables: _PlanTables) -> TableStep:
    table = GOLD[name]
    parents = tuple(map(plan_tables.stored_name, table.parents))
    find, own = table.affected_cycles, plan_tables.prefix + name
    return TableStep(
        own,
        (*SILVER, *parents),
        partial(_build_gold, name, plan_tables, table.parents, plan),
        plan_as_json(plan if table.by_rule else replace(plan, chosen=())),
        build_since=None if table.compared else partial(_build_gold_since, name, plan_tables, plan),
        dating_parents=parents,
        affected_cycles=None if find is None else partial(_find_affected, find, own),
        ignored_columns=table.ignored_columns,
    )


def _silver_tables(tables: Tables) -> Silver:
    return Silver(**{name: tables[name] for name in SILVER})


def _find_affected(find: FindAffected, own: str, tables: Tables, since: datetime) -> DataFrame:
    return find(tables[own], _silver_tables(tables), since)


def _build_gold(
    name: str,
    plan_tables: _PlanTables,
    parents: tuple[str, ...],
    plan: AuditPlan,
    tables: Tables,
    whole: Tables = MappingProxyType({}),
) -> DataFrame:
    made = {
        parent: plan_tables.read(parent, tables[plan_tables.stored_name(parent)])
        for parent in parents
    }
    made |= {f"{ALL_DAYS_PREFIX}{parent}": table for parent, table in whole.items()}
    return GOLD[name].build(_silver_tables(tables), made, plan)


def _build_gold_since(
    name: str, plan_tables: _PlanTables, plan: AuditPlan, tables: Tables, since: datetime
) -> DataFrame:
    """Build the rows of a table for the cycles at or after a time."""
    table, own = GOLD[name], plan_tables.prefix + name
    later = replace(plan, since=max(since, plan.since or since))
    continues = table.self_dependent and plan.since is None
    by_day = () if table.self_dependent and not continues else (*INCREMENTAL, "cycles")
    recent = {
        place: from_day(tables[place], since)
        for place in (
            plan_tables.stored_name(parent) for parent in table.parents if parent in by_day
        )
    }
    before = tables[own].where(F.col("cycle") < F.lit(since))
    parents = (*table.parents, name) if continues else table.parents
    whole = {
        one: plan_tables.read(one, tables[plan_tables.stored_name(one)]) for one in table.parents
    }
    rows = _build_gold(name, plan_tables, parents, later, {**tables, **recent, own: before}, whole)
    return rows.where(F.col("cycle") >= F.lit(since))


def plan_as_json(plan: AuditPlan) -> str:
    """Return a plan as JSON text.

    The text includes the documents' alternative of the reading `window` if that adds columns to the
    release's tables.
    """
    stated = {name: value for name, value in asdict(plan).items() if name != "by_documents_too"}
    stated["documents"] = plan.documents and plan.documents.readings["window"]
    return json.dumps(stated, default=str, sort_keys=True)


def fingerprints(every: Iterable[TableStep], first: str = "") -> dict[str, str]:
    """Return the fingerprint of each table: a hash of its code, its options and its parents'
    fingerprints.

    `first`, if given, is used as the fingerprint of tables without parents, such as the fingerprint
    of an earlier input.
    """
    found: dict[str, str] = {}
    for step in every:
        of = digest(step.method, step.options, *(found[parent] for parent in step.parents))
        found[step.table] = first if first and not step.parents else of
    return found


def digest(*parts: Any) -> str:
    """Return a hash of the arguments."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


@cache
def code_fingerprint(packages: tuple[str, ...]) -> str:
    """Return a hash of the code and data files in these packages."""
    texts = [
        (package, file.name, file.read_text("utf-8"))
        for package in packages
        for folder in (files(package), files(package) / "rules")
        if folder.is_dir()
        for file in folder.iterdir()
        if file.name.endswith((".py", ".yaml"))
    ]
    return digest(sorted(texts))
