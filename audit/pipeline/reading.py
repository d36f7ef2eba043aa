"""Building the table `records` from all files of a history, or only from changed ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pulsar_conformance.audit.input.by_cluster import Renewal, renewal_of
from pulsar_conformance.audit.input.changes import (
    by_files,
    changed_files,
    differing,
)
from pulsar_conformance.audit.input.files import InputFiles
from pulsar_conformance.audit.input.lines import read_lines
from pulsar_conformance.audit.input.reasons import STRAY
from pulsar_conformance.audit.input.records import (
    as_stray,
    deduplicate,
    has_strays,
    parse_each,
    records,
    stray_days,
    undo_deduplication,
    used_days,
)
from pulsar_conformance.audit.pipeline.marks import Mark
from pulsar_conformance.audit.pipeline.steps import Tables, TableStep, digest
from pulsar_conformance.audit.pipeline.writing import Store
from pyspark.sql import DataFrame

RECORDS = "records"


def source(store: Store, path: str, there: InputFiles) -> TableStep:
    """Return the step that reads a history."""

    # Files are listed before they are read; lines appended meanwhile are read by the next audit.
    def read(whole: bool) -> Callable[[Tables], DataFrame]:
        def read_all(_: Tables) -> DataFrame:
            store.read_from(there)
            return records(read_lines(store.spark, path, there, whole), store.shards)

        return read_all

    def refresh(old: Mark) -> tuple[int, Renewal] | None:
        found = _renewed(store, path, there, old)
        if found is not None:
            store.read_from(there)
        return found

    fallback = read(False) if there.files.get("parquet") else None
    return TableStep(
        RECORDS,
        (),
        read(True),
        there.fingerprint,
        fallback,
        observed=used_days(),
        finish=partial(_quarantine_strays, store),
        refresh=refresh,
    )


def _quarantine_strays(store: Store, told: Mapping[str, Any]) -> None:
    """Quarantine the records of stray days; skip this if all days are close together."""
    if told["first"] is None or told["last"] - told["first"] <= STRAY:
        return
    there = store.read(RECORDS)
    days = stray_days(there)
    if days.isEmpty():
        return
    store.replace(RECORDS, as_stray(there, days))


def _renewed(store: Store, path: str, there: InputFiles, old: Mark) -> tuple[int, Renewal] | None:
    """Rebuild the days on which changed files have records.

    Return the number of rows and the first changes. None if all files must be read: the changed
    files are unknown, or there are stray days, which depend on all other days.
    """
    known = store.sources()
    if known is None or digest(old.method, known.fingerprint) != old.fingerprint:
        return None
    new = changed_files(there, known.kinds)
    if new is None:
        return None
    read = store.read(RECORDS)
    former, others = by_files(read, new.touched)
    said = parse_each(read_lines(store.spark, path, there, of=new.files)).localCheckpoint()
    change = renewal_of(differing(former, said) if new.touched else said, "at")
    others = undo_deduplication(change.from_day(others))
    rows = deduplicate(others.unionByName(change.from_day(said)), store.shards)
    count = store.update(RECORDS, rows, change)
    return None if has_strays(store.read(RECORDS)) else (count, change)
