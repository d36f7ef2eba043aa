"""Building the table `records` from the files of a history: from all or from the changed ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pulsar_conformance.audit.input.by_cluster import RebuildTimes, rebuild_times_of
from pulsar_conformance.audit.input.changes import (
    changed_files,
    changed_records,
    split_by_files,
)
from pulsar_conformance.audit.input.files import InputFiles
from pulsar_conformance.audit.input.lines import read_lines
from pulsar_conformance.audit.input.reasons import STRAY_GAP_DAYS
from pulsar_conformance.audit.input.records import (
    deduplicate,
    has_strays,
    parse_each_line,
    quarantine_days,
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


def records_step(store: Store, path: str, there: InputFiles) -> TableStep:
    """Return the step that builds `records` from the files of a history."""

    # The files are listed before they are read: the next audit reads lines that were appended in
    # between.
    def read(whole: bool) -> Callable[[Tables], DataFrame]:
        def read_all(_: Tables) -> DataFrame:
            store.store_sources(there)
            return records(read_lines(store.spark, path, there, whole), store.shards)

        return read_all

    def refresh(old: Mark) -> tuple[int, RebuildTimes] | None:
        found = _rebuild_changed_days(store, path, there, old)
        if found is not None:
            store.store_sources(there)
        return found

    fallback = read(False) if {"parquet", "gzip"} & there.files.keys() else None
    return TableStep(
        RECORDS,
        (),
        read(True),
        there.fingerprint,
        fallback,
        observed=used_days(),
        finish=partial(_quarantine_stray_days, store),
        refresh=refresh,
    )


def _quarantine_stray_days(store: Store, days: Mapping[str, Any]) -> None:
    """Quarantine the records of stray days, given the first and last days with records.

    If all days are close together, no day can be stray.
    """
    if days["first"] is None or days["last"] - days["first"] <= STRAY_GAP_DAYS:
        return
    there = store.read(RECORDS)
    strays = stray_days(there)
    if strays.isEmpty():
        return
    store.replace(RECORDS, quarantine_days(there, strays))


def _rebuild_changed_days(
    store: Store, path: str, there: InputFiles, old: Mark
) -> tuple[int, RebuildTimes] | None:
    """Rebuild the days on which changed files have records; return the number of rows and the first
    changes.

    None if all files must be read, either because it is unknown which files have changed, or
    because there are stray days, which depend on all other days.
    """
    known = store.sources()
    if known is None or digest(old.method, known.fingerprint) != old.fingerprint:
        return None
    new = changed_files(there, known.kinds)
    if new is None:
        return None
    read = store.read(RECORDS)
    former, others = split_by_files(read, new.touched)
    said = parse_each_line(read_lines(store.spark, path, there, files=new.files)).localCheckpoint()
    change = rebuild_times_of(changed_records(former, said) if new.touched else said, "at")
    others = undo_deduplication(change.from_day(others))
    rows = deduplicate(others.unionByName(change.from_day(said)), store.shards)
    count = store.update(RECORDS, rows, change)
    return None if has_strays(store.read(RECORDS)) else (count, change)
