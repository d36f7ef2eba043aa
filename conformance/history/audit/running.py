"""Makes the tables that are missing or stale, each after those that it is made of.

Where only the history is another one, what has changed in it is looked at first: a table that was
made of what was there before keeps what is of an earlier time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from typing import NamedTuple

from pulsar_conformance.conformance.history.audit.marks import Mark
from pulsar_conformance.conformance.history.audit.steps import Tables, TableStep, fingerprints
from pulsar_conformance.conformance.history.audit.workers import workers
from pulsar_conformance.conformance.history.audit.writing import Store
from pulsar_conformance.conformance.history.input.sources import NEVER, first_of
from pyspark.errors import PySparkException

BEGUN = "audit"
"""A mark that is no table's: the folder is an audit's."""

Tell = Callable[[str, Mark | None], None]
"""Is told the name of each table: before it is made, and with its mark when it is there."""

SetUp = Callable[[str, bool], None]
"""Sets the session up for a table, and for whether only a part of it is made."""


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
    set_up: SetUp = lambda _table, _part: None,
    at_once: int = 1,
) -> Mapping[str, Mark]:
    """Make every table that is not there as it would be made now.

    Where none of those is there yet, so many are made `at_once`; they are set up alike.
    """
    making = _Making(store, list(every), set_up, dict(store.marks.read()))
    if BEGUN not in making.marks:
        store.marks.begin(BEGUN)
    stale = [step for step in making.steps if making.is_stale(step)]
    anew = all(step.table not in making.marks for step in stale)
    with workers(at_once if anew else 1) as threads:
        begun: dict[str, Future[None]] = {}
        for step in stale:
            parents = [begun[one] for one in step.parents if one in begun]
            begun[step.table] = threads.submit(making.make, step, parents)
        for step in making.steps:
            if step.table in begun:
                tell(step.table, None)
                begun[step.table].result()
            tell(step.table, making.marks[step.table])
    return {step.table: making.marks[step.table] for step in making.steps}


@dataclass
class _Making:
    """Tables on their way to what they would be now."""

    store: Store
    steps: list[TableStep]
    set_up: SetUp
    marks: dict[str, Mark]
    wanted: Mapping[str, str] = field(init=False)
    turn: Lock = field(default_factory=Lock)
    """Marks are written one after the other."""

    def __post_init__(self) -> None:
        self.wanted = fingerprints(self.steps)

    def is_stale(self, step: TableStep) -> bool:
        """Whether a table is not there as it would be made now."""
        mark = self.marks.get(step.table)
        return mark is None or mark.fingerprint != self.wanted[step.table]

    def make(self, step: TableStep, parents: Iterable[Future[None]]) -> None:
        """One table, or what is another one in it, after those that it is made of."""
        for one in parents:
            one.result()
        begun = time.monotonic()
        old = self.marks.get(step.table)
        if old is not None:
            self._mark(step, None)
        written = self._in_part(step, old) or self._whole(step)
        took = time.monotonic() - begun
        rows, since, before = written
        mark = Mark(self.wanted[step.table], rows, took, step.method, before, since)
        self.marks[step.table] = mark
        self._mark(step, mark)

    def _mark(self, step: TableStep, mark: Mark | None) -> None:
        with self.turn:
            self.store.marks.put(step.table, mark)

    def _whole(self, step: TableStep) -> _Written:
        self.set_up(step.table, False)
        tables = self._tables(step)
        try:
            rows = self.store.write(step.table, step.make(tables))
        except PySparkException:
            if step.otherwise is None:
                raise
            rows = self.store.write(step.table, step.otherwise(tables))
        if step.finish is not None:
            step.finish()
        return _Written(rows)

    def _in_part(self, step: TableStep, old: Mark | None) -> _Written | None:
        """None where all of it has to be made: what is there is not of what was there before."""
        if old is None or old.method != step.method:
            return None
        since = self._since(step, old)
        if step.parents and since is None:
            return None
        self.set_up(step.table, True)
        try:
            made = self._again(step, old, since)
        except PySparkException:
            return None
        return made and _Written(*made, old.fingerprint)

    def _again(
        self, step: TableStep, old: Mark, since: datetime | None
    ) -> tuple[int, datetime] | None:
        if since is None:
            return step.renew(old) if step.renew is not None else None
        tables = self._tables(step)
        if step.again is None:
            rows, other = self.store.compared(step.table, step.make(tables), step.passing)
            own = {step.table: self.store.read(step.table)}
            return rows, self._reached(step, {**tables, **own}, min(since, other))
        since = self._reached(step, tables, since)
        return self.store.update(step.table, step.again(tables, since), since), since

    @staticmethod
    def _reached(step: TableStep, tables: Tables, since: datetime) -> datetime:
        """Since when a table is another one where what it is made of is."""
        if step.reach is None or since == NEVER:
            return since
        return min(since, first_of(step.reach(tables, since), "cycle"))

    def _since(self, step: TableStep, old: Mark) -> datetime | None:
        """Since when what a table is made of is other than when it was made, if that is known."""
        first = self.marks.get(self.steps[0].table)
        if not step.parents or first is None or not first.before:
            return None
        before = fingerprints(self.steps, first.before)
        parents = [self.marks[one] for one in step.parents]
        known = all(
            mark.before == before[one] for one, mark in zip(step.parents, parents, strict=True)
        )
        if not known or old.fingerprint != before[step.table]:
            return None
        return min(mark.since for mark in parents)

    def _tables(self, step: TableStep) -> Tables:
        return {one: self.store.read(one) for one in step.parents}
