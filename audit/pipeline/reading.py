"""Building of the table `records`, from all files of a history or only from changed ones."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial

from pulsar_conformance.audit.input.changes import (
    changed_files,
    current_sources,
    differs_since,
    first_of,
)
from pulsar_conformance.audit.input.files import InputFiles
from pulsar_conformance.audit.input.lines import read_lines
from pulsar_conformance.audit.input.records import (
    as_stray,
    deduplicate,
    has_strays,
    parse_each,
    records,
    stray_days,
    undo_deduplication,
)
from pulsar_conformance.audit.pipeline.marks import Mark
from pulsar_conformance.audit.pipeline.steps import Tables, TableStep, digest
from pulsar_conformance.audit.pipeline.writing import Store, from_day
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

RECORDS = "records"


def source(store: Store, path: str, there: InputFiles) -> TableStep:
    """Return the step that reads a history."""

    # Files are listed before they are read; lines appended meanwhile are read by the next audit.
    def listed() -> DataFrame:
        return current_sources(store.spark, path, there)

    def read(whole: bool) -> Callable[[Tables], DataFrame]:
        def read_all(_: Tables) -> DataFrame:
            store.read_from(listed())
            return records(read_lines(store.spark, path, there, whole))

        return read_all

    def refresh(old: Mark) -> tuple[int, datetime] | None:
        listing = store.listing(listed())
        found = _renewed(store, path, there, old, listing)
        if found is not None:
            store.read_from(listing)
        return found

    fallback = read(False) if there.files.get("parquet") else None
    return TableStep(
        RECORDS,
        (),
        read(True),
        there.fingerprint,
        fallback,
        finish=partial(_quarantine_strays, store),
        refresh=refresh,
    )


def _quarantine_strays(store: Store) -> None:
    """Quarantine the records of stray days."""
    there = store.read(RECORDS)
    days = stray_days(there)
    if days.isEmpty():
        return
    store.replace(RECORDS, as_stray(there, days))


def _renewed(
    store: Store, path: str, there: InputFiles, old: Mark, listing: DataFrame
) -> tuple[int, datetime] | None:
    """Rebuild the days of which changed files have records.

    Return the number of rows and the time of the first change. None if all files have to be read:
    the changed files are unknown, or there are stray days, which depend on all other days.
    """
    known = store.sources()
    of = known.select("fingerprint").first()
    if of is None or digest(old.method, of["fingerprint"]) != old.fingerprint:
        return None
    new = changed_files(listing, known)
    if new is None:
        return None
    read = store.read(RECORDS)
    touched = F.col("file").isin(*new.touched)
    said = parse_each(read_lines(store.spark, path, there, of=new.files)).localCheckpoint()
    since = differs_since(read.where(touched), said) if new.touched else first_of(said, "at")
    others = undo_deduplication(from_day(read, since)).where(~touched)
    rows = deduplicate(others.unionByName(from_day(said, since)))
    count = store.update(RECORDS, rows, since)
    return None if has_strays(store.read(RECORDS)) else (count, since)
