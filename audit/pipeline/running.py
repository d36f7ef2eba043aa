"""Makes the tables that are missing or stale, each after those that it is made of.

Where only the history is another one, what has changed in it is looked at first: a table that was
made of what was there before keeps what is of an earlier time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from queue import SimpleQueue
from threading import Lock, Semaphore
from typing import NamedTuple

from pulsar_conformance.audit.input.sources import NEVER, first_of
from pulsar_conformance.audit.pipeline.marks import Mark
from pulsar_conformance.audit.pipeline.steps import Tables, TableStep, fingerprints
from pulsar_conformance.audit.pipeline.workers import TableProgress, Tell, done
from pulsar_conformance.audit.pipeline.writing import Store
from pyspark.errors import PySparkException

BEGUN = "audit"
"""A mark that is no table's: the folder is an audit's."""

SetUp = Callable[[Store, str, bool], None]
"""Sets the session of a store up for a table, and for whether only a part of it is made."""


class _Written(NamedTuple):
    """Rows that were written; since when the table is another one; what it was before, if it was
    made anew in part."""

    rows: int
    since: datetime = NEVER
    before: str = ""


def make(
    store: Store,
    every: Iterable[TableStep],
    tell: Tell,
    set_up: SetUp = lambda _store, _table, _part: None,
    at_once: int = 1,
    beside: Callable[[], Store | None] = lambda: None,
) -> Mapping[str, Mark]:
    """Make every table that is not there as it would be made now.

    Where none of those is there yet, so many are made `at_once`; they are set up alike. Else one is
    made whole at a time, and of another one what has changed, by the store `beside` if it can be
    had: it is the same with settings of its own.
    """
    marks, steps = dict(store.marks.read()), {step.table: step for step in every}
    if BEGUN not in marks:
        store.marks.begin(BEGUN)
    wanted = fingerprints(steps.values())
    stale = [name for name in steps if not _is_made(marks.get(name), wanted[name])]
    if marks.keys().isdisjoint(stale):
        stores = [store] * at_once
    else:
        other, at_once = beside(), 1
        stores = [store] if other is None else [store, other]
    making = _Making(stores, steps, wanted, set_up, marks, Semaphore(at_once))
    after = {name: steps[name].parents for name in stale}
    progress = TableProgress(list(steps), stale, marks, tell)
    for table in done(after, making.make, len(stores)):
        progress.done(table)
    return {name: marks[name] for name in steps}


def _is_made(mark: Mark | None, wanted: str) -> bool:
    return mark is not None and mark.fingerprint == wanted


@dataclass
class _Making:
    """Tables on their way to what they would be now."""

    stores: Sequence[Store]
    steps: Mapping[str, TableStep]
    wanted: Mapping[str, str]
    set_up: SetUp
    marks: dict[str, Mark]
    whole: Semaphore
    """How many are made whole at a time."""

    idle: SimpleQueue[Store] = field(default_factory=SimpleQueue)
    turn: Lock = field(default_factory=Lock)
    """Marks are written one after the other."""

    def __post_init__(self) -> None:
        for store in self.stores:
            self.idle.put(store)

    def make(self, table: str) -> None:
        """One table, or what is another one in it, of those that it is made of."""
        store = self.idle.get()
        try:
            self._make(store, self.steps[table])
        finally:
            for other in self.stores:
                if other is not store:
                    other.forget(table)
            self.idle.put(store)

    def _make(self, store: Store, step: TableStep) -> None:
        begun = time.monotonic()
        old = self.marks.get(step.table)
        if old is not None:
            self._mark(step, None)
        written = self._in_part(store, step, old)
        if written is None:
            with self.whole:
                begun = time.monotonic()
                written = self._whole(store, step)
        took = time.monotonic() - begun
        rows, since, before = written
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
            rows = store.write(step.table, step.make(tables))
        except PySparkException:
            if step.otherwise is None:
                raise
            rows = store.write(step.table, step.otherwise(tables))
        if step.finish is not None:
            step.finish()
        return _Written(rows)

    def _in_part(self, store: Store, step: TableStep, old: Mark | None) -> _Written | None:
        """None where all of it has to be made: what is there is not of what was there before."""
        if old is None or old.method != step.method:
            return None
        since = self._since(step, old)
        if step.parents and since is None:
            return None
        self.set_up(store, step.table, True)
        try:
            made = _again(store, step, old, since)
        except PySparkException:
            return None
        return made and _Written(*made, old.fingerprint)

    def _since(self, step: TableStep, old: Mark) -> datetime | None:
        """Since when what a table is made of is other than when it was made, if that is known."""
        first = self.marks.get(next(iter(self.steps)))
        if not step.parents or first is None or not first.before:
            return None
        before = fingerprints(self.steps.values(), first.before)
        parents = [self.marks[one] for one in step.parents]
        known = all(
            mark.before == before[one] for one, mark in zip(step.parents, parents, strict=True)
        )
        if not known or old.fingerprint != before[step.table]:
            return None
        return min(self.marks[one].since for one in step.dating or step.parents)


def _again(
    store: Store, step: TableStep, old: Mark, since: datetime | None
) -> tuple[int, datetime] | None:
    """Make what is another one in a table that is of a time or later; the rows that were written,
    and since when it is another one."""
    if since is None:
        return step.renew(old) if step.renew is not None else None
    reached = _reached(store, step, since)
    if step.again is None:
        rows, other = store.compared(step.table, step.make(_tables(store, step)), step.passing)
        return rows, min(reached, other)
    if reached == NEVER and step.dated:
        return 0, NEVER
    made = step.again(_tables(store, step, step.table), reached)
    rows = store.update(step.table, made, reached)
    return rows, reached if reached == NEVER else reached - step.hindsight


def _reached(store: Store, step: TableStep, since: datetime) -> datetime:
    """Since when a table is another one where what it is made of is."""
    if step.reach is None or since == NEVER:
        return since
    return first_of(step.reach(_tables(store, step, step.table), since), "cycle")


def _tables(store: Store, step: TableStep, *more: str) -> Tables:
    return {one: store.read(one) for one in (*step.parents, *more)}
