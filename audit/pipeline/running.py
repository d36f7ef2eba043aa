"""Building of missing or stale tables, each after its parents.

If only the history has changed, the time of the first change is found, and tables keep their rows
of earlier days.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from queue import SimpleQueue
from threading import Lock, Semaphore
from typing import NamedTuple

from pulsar_conformance.audit.input.changes import NEVER, first_of
from pulsar_conformance.audit.pipeline.marks import Mark
from pulsar_conformance.audit.pipeline.steps import Tables, TableStep, fingerprints
from pulsar_conformance.audit.pipeline.workers import TableProgress, Tell, completed
from pulsar_conformance.audit.pipeline.writing import Store
from pyspark.errors import PySparkException

BEGUN = "audit"
"""A mark that belongs to no table: it shows that the folder is an audit's."""

SetUp = Callable[[Store, str, bool], None]
"""Configures a store's session for a table; the flag is true if only a part is built."""


class _Written(NamedTuple):
    """Rows written, and the first change; `before` is the previous fingerprint if in part."""

    rows: int
    since: datetime = NEVER
    before: str = ""


def build_tables(
    store: Store,
    every: Iterable[TableStep],
    tell: Tell,
    set_up: SetUp = lambda _store, _table, _part: None,
    at_once: int = 1,
    beside: Callable[[], Store | None] = lambda: None,
    damaged: Callable[[str, str], None] = lambda _table, _why: None,
) -> Mapping[str, Mark]:
    """Build every table that is missing or stale.

    On a first run, `at_once` tables are built in parallel with one configuration. Later, one table
    at a time is built completely, while the changed part of another is built in the store `beside`,
    if there is one: the same folder with its own session. `damaged` is called with the name of each
    table whose files have changed since they were written, and with the difference; the table is
    rebuilt.
    """
    steps = {step.table: step for step in every}
    before = store.marks.read()
    marks = undamaged_marks(store, before, steps, damaged)
    if BEGUN not in marks:
        store.marks.begin(BEGUN)
    for table in before.keys() - marks.keys():
        store.marks.put(table, None)
    wanted = fingerprints(steps.values())
    stale = _stale(marks, wanted)
    if marks.keys().isdisjoint(stale):
        stores = [store] * at_once
    else:
        other, at_once = beside(), 1
        stores = [store] if other is None else [store, other]
    builder = _Builder(stores, steps, wanted, set_up, marks, Semaphore(at_once))
    after = {name: steps[name].parents for name in stale}
    progress = TableProgress(list(steps), stale, marks, tell)
    for table in completed(after, builder.build, len(stores)):
        progress.done(table)
    return {name: marks[name] for name in steps}


def undamaged_marks(
    store: Store,
    marks: Mapping[str, Mark],
    steps: Mapping[str, TableStep],
    damaged: Callable[[str, str], None],
) -> dict[str, Mark]:
    """Return the marks of tables whose files are unchanged since they were written."""
    kept = dict(marks)
    for table in steps:
        why = store.damage(table, marks[table]) if table in marks else None
        if why is not None:
            damaged(table, why)
            del kept[table]
    return kept


def stale_tables(
    store: Store, every: Iterable[TableStep], damaged: Callable[[str, str], None]
) -> list[str]:
    """Return the tables that are missing, damaged or built from different input; write nothing."""
    steps = {step.table: step for step in every}
    marks = undamaged_marks(store, store.marks.read(), steps, damaged)
    return _stale(marks, fingerprints(steps.values()))


def _stale(marks: Mapping[str, Mark], wanted: Mapping[str, str]) -> list[str]:
    return [
        name
        for name, fingerprint in wanted.items()
        if name not in marks or marks[name].fingerprint != fingerprint
    ]


@dataclass
class _Builder:
    """Builds tables in several threads, each with its own store."""

    stores: Sequence[Store]
    steps: Mapping[str, TableStep]
    wanted: Mapping[str, str]
    set_up: SetUp
    marks: dict[str, Mark]
    whole: Semaphore
    """Limits how many tables are built completely at a time."""

    idle: SimpleQueue[Store] = field(default_factory=SimpleQueue)
    turn: Lock = field(default_factory=Lock)
    """Lock for writing marks."""

    def __post_init__(self) -> None:
        for store in self.stores:
            self.idle.put(store)

    def build(self, table: str) -> None:
        """Build one table, completely or only its changed part."""
        store = self.idle.get()
        try:
            self._build(store, self.steps[table])
        finally:
            for other in self.stores:
                if other is not store:
                    other.forget(table)
            self.idle.put(store)

    def _build(self, store: Store, step: TableStep) -> None:
        begun = time.monotonic()
        old = self.marks.get(step.table)
        if old is not None:
            self._mark(step, None)
        store.manifests.remove(step.table)
        written = self._in_part(store, step, old)
        if written is None:
            with self.whole:
                begun = time.monotonic()
                written = self._whole(store, step)
        took = time.monotonic() - begun
        rows, since, before = written
        store.manifests.write(step.table)
        mark = Mark(self.wanted[step.table], rows, took, step.method, before, since)
        self.marks[step.table] = mark
        self._mark(step, mark)

    def _mark(self, step: TableStep, mark: Mark | None) -> None:
        with self.turn:
            self.stores[0].marks.put(step.table, mark)

    def _whole(self, store: Store, step: TableStep) -> _Written:
        self.set_up(store, step.table, False)
        tables = _tables(store, step)
        try:
            rows = store.write(step.table, step.build(tables))
        except PySparkException:
            if step.fallback is None:
                raise
            rows = store.write(step.table, step.fallback(tables))
        if step.finish is not None:
            step.finish()
        return _Written(rows)

    def _in_part(self, store: Store, step: TableStep, old: Mark | None) -> _Written | None:
        """Rebuild the changed part; None if the existing table was built from different parents."""
        if old is None or old.method != step.method:
            return None
        since = self._since(step, old)
        if step.parents and since is None:
            return None
        self.set_up(store, step.table, True)
        try:
            written = _refresh(store, step, old, since)
        except PySparkException:
            return None
        return written and _Written(*written, old.fingerprint)

    def _since(self, step: TableStep, old: Mark) -> datetime | None:
        """Return the time of the first change in a table's parents, or None if unknown."""
        first = self.marks.get(next(iter(self.steps)))
        if not step.parents or first is None or not first.before:
            return None
        before = fingerprints(self.steps.values(), first.before)
        parents = [self.marks[name] for name in step.parents]
        known = all(
            mark.before == before[name] for name, mark in zip(step.parents, parents, strict=True)
        )
        if not known or old.fingerprint != before[step.table]:
            return None
        return min(self.marks[name].since for name in step.dating_parents or step.parents)


def _refresh(
    store: Store, step: TableStep, old: Mark, since: datetime | None
) -> tuple[int, datetime] | None:
    """Rebuild rows at or after `since`; return rows written and the first changed time."""
    if since is None:
        return step.refresh(old) if step.refresh is not None else None
    first = _first_affected(store, step, since)
    if step.build_since is None:
        rows = step.build(_tables(store, step))
        count, changed = store.update_compared(step.table, rows, step.ignored_columns)
        return count, min(first, changed)
    if first == NEVER and step.has_day:
        return 0, NEVER
    built = step.build_since(_tables(store, step, step.table), first)
    count = store.update(step.table, built, first)
    return count, first if first == NEVER else first - step.lookback


def _first_affected(store: Store, step: TableStep, since: datetime) -> datetime:
    """Return the first time at which a table changes if its parents change at `since`."""
    if step.affected_cycles is None or since == NEVER:
        return since
    return first_of(step.affected_cycles(_tables(store, step, step.table), since), "cycle")


def _tables(store: Store, step: TableStep, *more: str) -> Tables:
    return {name: store.read(name) for name in (*step.parents, *more)}
