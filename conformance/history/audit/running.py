"""Makes the tables that are missing or stale, one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

from pulsar_conformance.conformance.history.audit.steps import Tables, TableStep, fingerprints
from pulsar_conformance.conformance.history.audit.writing import Mark, Store
from pulsar_conformance.conformance.history.input.files import InputFiles
from pulsar_conformance.conformance.history.input.lines import lines
from pulsar_conformance.conformance.history.input.records import as_stray, records, stray_days
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

BEGUN = "audit"
"""A mark that is no table's: the folder is an audit's."""

Tell = Callable[[str, Mark | None], None]
"""Is told the name of each table: before it is made, and with its mark when it is there."""


SetUp = Callable[[str], None]
"""Sets the session up for a table."""


def make(
    store: Store, every: Iterable[TableStep], tell: Tell, set_up: SetUp = lambda _: None
) -> Mapping[str, Mark]:
    """Make every table that is not there as it would be made now."""
    ordered = list(every)
    wanted, marks = fingerprints(ordered), dict(store.marks())
    if BEGUN not in marks:
        store.mark(BEGUN, Mark("-", 0, 0.0))
    for step in ordered:
        mark = marks.get(step.table)
        if mark is None or mark.fingerprint != wanted[step.table]:
            tell(step.table, None)
            set_up(step.table)
            if mark is not None:
                store.mark(step.table, None)
            mark = marks[step.table] = _written(store, step, wanted[step.table])
            store.mark(step.table, mark)
        tell(step.table, mark)
    return {step.table: marks[step.table] for step in ordered}


def _written(store: Store, step: TableStep, fingerprint: str) -> Mark:
    begun = time.monotonic()
    tables = {one: store.read(one) for one in step.parents}
    try:
        rows = store.write(step.table, step.make(tables))
    except PySparkException:
        if step.otherwise is None:
            raise
        rows = store.write(step.table, step.otherwise(tables))
    if step.table == "records":
        _quarantine_strays(store)
    return Mark(fingerprint, rows, time.monotonic() - begun)


def _quarantine_strays(store: Store) -> None:
    """Rewrite the partitions of days that are none of a cluster's history, if there are any."""
    there = store.read("records")
    days = stray_days(there)
    if days.isEmpty():
        return
    store.replace("records", as_stray(there, days))


def source(store: Store, path: str, there: InputFiles) -> TableStep:
    """The step that reads a history."""

    def read(whole: bool) -> Callable[[Tables], DataFrame]:
        return lambda _: records(lines(store.spark, path, there, whole))

    broken = read(False) if there.files.get("parquet") else None
    return TableStep("records", (), read(True), there.fingerprint, broken)
