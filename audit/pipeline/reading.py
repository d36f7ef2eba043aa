"""The table `records`: of all files of a history, or of those that are new beside what was read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial

from pulsar_conformance.audit.input.files import InputFiles
from pulsar_conformance.audit.input.lines import lines
from pulsar_conformance.audit.input.records import (
    as_said,
    as_stray,
    each_said,
    has_strays,
    once_each,
    records,
    stray_days,
)
from pulsar_conformance.audit.input.sources import differs_since, first_of, fresh, sources
from pulsar_conformance.audit.pipeline.marks import Mark
from pulsar_conformance.audit.pipeline.steps import Tables, TableStep, digest
from pulsar_conformance.audit.pipeline.writing import Store, from_day
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

RECORDS = "records"


def source(store: Store, path: str, there: InputFiles) -> TableStep:
    """The step that reads a history."""

    # Files are listed before any is read: what is written to one meanwhile is read the next time.
    def listed() -> DataFrame:
        return sources(store.spark, path, there)

    def read(whole: bool) -> Callable[[Tables], DataFrame]:
        def read_all(_: Tables) -> DataFrame:
            store.read_from(listed())
            return records(lines(store.spark, path, there, whole))

        return read_all

    def renew(old: Mark) -> tuple[int, datetime] | None:
        listing = store.listing(listed())
        found = _renewed(store, path, there, old, listing)
        if found is not None:
            store.read_from(listing)
        return found

    broken = read(False) if there.files.get("parquet") else None
    return TableStep(
        RECORDS,
        (),
        read(True),
        there.fingerprint,
        broken,
        finish=partial(_quarantine_strays, store),
        renew=renew,
    )


def _quarantine_strays(store: Store) -> None:
    """Rewrite the partitions of days that are none of a cluster's history, if there are any."""
    there = store.read(RECORDS)
    days = stray_days(there)
    if days.isEmpty():
        return
    store.replace(RECORDS, as_stray(there, days))


def _renewed(
    store: Store, path: str, there: InputFiles, old: Mark, listing: DataFrame
) -> tuple[int, datetime] | None:
    """The days that the files that are new tell of, with what all others say of them.

    The number of rows, and since when the table is another one. None where all files have to be
    read: it is not known which are new, or whether a clock was wrong hangs on all days.
    """
    known = store.sources()
    of = known.select("fingerprint").first()
    if of is None or digest(old.method, of["fingerprint"]) != old.fingerprint:
        return None
    new = fresh(listing, known)
    if new is None:
        return None
    read = store.read(RECORDS)
    touched = F.col("file").isin(*new.touched)
    said = each_said(lines(store.spark, path, there, of=new.files)).localCheckpoint()
    since = differs_since(read.where(touched), said) if new.touched else first_of(said, "at")
    others = as_said(from_day(read, since)).where(~touched)
    rows = once_each(others.unionByName(from_day(said, since)))
    count = store.update(RECORDS, rows, since)
    return None if has_strays(store.read(RECORDS)) else (count, since)
