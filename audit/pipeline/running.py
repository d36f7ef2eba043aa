"""Building tables that are missing or stale, each after its parents.

If only the history has changed, the first change in each cluster is found. Tables then keep the
rows of earlier days and of all other clusters.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from queue import SimpleQueue
from threading import Lock, Semaphore
from typing import NamedTuple

from pulsar_conformance.audit.input.by_cluster import ClusterGroup, RebuildTimes, rebuild_times_of
from pulsar_conformance.audit.pipeline.marks import Mark
from pulsar_conformance.audit.pipeline.steps import Tables, TableStep, fingerprints
from pulsar_conformance.audit.pipeline.workers import TableProgress, Tell, run_jobs
from pulsar_conformance.audit.pipeline.writing import Store
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

UNCHANGED = RebuildTimes()

PLAN = "plan of "
"""Prefix of the name of a job that plans a table instead of building it."""

AUDIT_MARK = "audit"
"""Name of a mark that belongs to no table; it shows that a folder is the output of an audit."""

SetUp = Callable[[Store, str, bool], None]
"""A function that configures a store's session for a table.

Its arguments: the store, the table's name, and whether only a part of the table is built.
"""


class _Written(NamedTuple):
    """The number of rows written, and the first changes.

    `before` is the fingerprint of the table before a partial build; otherwise it is empty.
    """

    rows: int
    change: RebuildTimes = UNCHANGED
    before: str = ""


def build_tables(
    store: Store,
    every: Iterable[TableStep],
    tell: Tell,
    set_up: SetUp = lambda _store, _table, _part: None,
    at_once: int = 1,
    beside: Callable[[], Store | None] = lambda: None,
    damaged: Callable[[str, str], None] = lambda _table, _why: None,
    *,
    configured_alike: bool = True,
) -> Mapping[str, Mark]:
    """Build every table that is missing or stale.

    On a first run, `at_once` tables are built in parallel, in one session if all tables are
    `configured_alike`. If tables stay in memory, a table is planned while its parents are still
    being written. On a later run, only one table at a time is built completely. Meanwhile, the
    changed part of another table may be built in the store that `beside` returns, which has the
    same folder but its own session. If a table's files have changed since they were written,
    `damaged` is called with the table's name and a description of the change, and the table is
    rebuilt.
    """
    steps = {step.table: step for step in every}
    before = store.marks.read()
    marks = undamaged_marks(store, before, steps, damaged)
    if AUDIT_MARK not in marks:
        store.marks.begin(AUDIT_MARK, store.shards)
    for table in before.keys() - marks.keys():
        store.marks.put(table, None)
    wanted = fingerprints(steps.values())
    stale = _stale_names(marks, wanted)
    if marks.keys().isdisjoint(stale):
        others = [store if configured_alike else beside() for _ in range(at_once - 1)]
        stores = [store, *(other for other in others if other is not None)]
    else:
        other, at_once = beside(), 1
        stores = [store] if other is None else [store, other]
    builder = _Builder(stores, steps, wanted, set_up, marks, Semaphore(at_once))
    progress = TableProgress(list(steps), stale, marks, tell)
    for job in run_jobs(builder.jobs(stale), builder.run, len(stores)):
        if not job.startswith(PLAN):
            progress.done(job)
    return {name: marks[name] for name in steps}


def undamaged_marks(
    store: Store,
    marks: Mapping[str, Mark],
    steps: Mapping[str, TableStep],
    damaged: Callable[[str, str], None],
) -> dict[str, Mark]:
    """Return the marks of tables whose files have not changed since they were written."""
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
    """Return the names of tables that are missing, damaged, or built from other input."""
    steps = {step.table: step for step in every}
    marks = undamaged_marks(store, store.marks.read(), steps, damaged)
    return _stale_names(marks, fingerprints(steps.values()))


def _stale_names(marks: Mapping[str, Mark], wanted: Mapping[str, str]) -> list[str]:
    return [
        name
        for name, fingerprint in wanted.items()
        if name not in marks or marks[name].fingerprint != fingerprint
    ]


@dataclass
class _Builder:
    """Builds tables in several threads; each thread has a store of its own."""

    stores: Sequence[Store]
    steps: Mapping[str, TableStep]
    wanted: Mapping[str, str]
    set_up: SetUp
    marks: dict[str, Mark]
    whole_builds: Semaphore
    """Semaphore that limits the number of tables that are built completely at the same time."""

    planned: dict[str, DataFrame] = field(default_factory=dict)
    """The rows of tables that are planned but not written, not yet computed."""

    planning: dict[str, float] = field(default_factory=dict)
    """Seconds that planning took for each table that is planned but not written, by name."""

    idle: SimpleQueue[Store] = field(default_factory=SimpleQueue)
    turn: Lock = field(default_factory=Lock)
    """Lock that lets one thread at a time write a mark."""

    def __post_init__(self) -> None:
        for store in self.stores:
            self.idle.put(store)

    def jobs(self, stale: Iterable[str]) -> Mapping[str, Sequence[str]]:
        """Return the jobs that build tables, each with the jobs that must be complete before.

        If tables stay in memory, a first run has two jobs for each table: one plans it, the other
        writes it.
        """
        (store, *others), first = self.stores, not self.marks
        if not (first and store.in_one and all(other is store for other in others)):
            return {name: self.steps[name].parents for name in stale}
        jobs: dict[str, Sequence[str]] = {}
        for name in stale:
            jobs[PLAN + name] = [
                one if self.steps[one].finish else PLAN + one for one in self.steps[name].parents
            ]
            jobs[name] = [PLAN + name]
        return jobs

    def run(self, job: str) -> None:
        """Do a job: plan a table, or build it; only a part of an existing table may be built."""
        store, table = self.idle.get(), job.removeprefix(PLAN)
        try:
            if job.startswith(PLAN):
                begun = time.monotonic()
                self._plan(store, self.steps[table])
                self.planning[table] = time.monotonic() - begun
            else:
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
            self._write_mark(step, None)
        store.manifests.remove(step.table)
        written = self._build_part(store, step, old)
        if written is None:
            with self.whole_builds:
                begun = time.monotonic()
                written = self._build_whole(store, step)
        took = time.monotonic() - begun + self.planning.get(step.table, 0.0)
        rows, change, before = written
        store.manifests.write(step.table)
        mark = Mark(self.wanted[step.table], rows, took, step.method, before, change)
        self.marks[step.table] = mark
        self._write_mark(step, mark)

    def _write_mark(self, step: TableStep, mark: Mark | None) -> None:
        with self.turn:
            self.stores[0].marks.put(step.table, mark)

    def _plan(self, store: Store, step: TableStep) -> None:
        self.set_up(store, step.table, False)
        self.planned[step.table] = store.keep(step.table, step.build(_read_tables(store, step)))

    def _build_whole(self, store: Store, step: TableStep) -> _Written:
        try:
            if step.table not in self.planned:
                self._plan(store, step)
            told = store.write(step.table, self.planned.pop(step.table), *step.observed)
        except PySparkException:
            if step.fallback is None:
                raise
            rows = store.keep(step.table, step.fallback(_read_tables(store, step)))
            told = store.write(step.table, rows, *step.observed)
        if step.finish is not None:
            step.finish(told)
        return _Written(int(told["rows"]))

    def _build_part(self, store: Store, step: TableStep, old: Mark | None) -> _Written | None:
        """Rebuild the changed part of a table; None if the whole table must be built."""
        if old is None or old.method != step.method:
            return None
        change = self._parents_change(step, old)
        if step.parents and change is None:
            return None
        self.set_up(store, step.table, True)
        try:
            written = _refresh(store, step, old, change)
        except PySparkException:
            return None
        return written and _Written(*written, old.fingerprint)

    def _parents_change(self, step: TableStep, old: Mark) -> RebuildTimes | None:
        """Return the first changes in a table's parents.

        None if the changes are unknown, or if the table was not built from the previous version of
        its parents.
        """
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
        dating = (self.marks[name].change for name in step.dating_parents or step.parents)
        return reduce(RebuildTimes.merged_with, dating)


def _refresh(
    store: Store, step: TableStep, old: Mark, change: RebuildTimes | None
) -> tuple[int, RebuildTimes] | None:
    """Rebuild the rows that may have changed; return the number of rows written and the first
    changes.

    `change` gives the first changes of the table's parents; None for a table without parents.
    Return None if the table must be built completely.
    """
    if change is None:
        return step.refresh(old) if step.refresh is not None else None
    first = _first_affected(store, step, change).with_common_times()
    if step.build_since is None:
        if not change:
            return 0, change
        group = change.all_clusters
        rows = step.build(_read_tables(store, step, group=group))
        own = store.read(step.table, group)
        count, changed = store.update_compared(step.table, rows, own, step.ignored_columns)
        return count, first.merged_with(changed)
    if not first and step.has_day:
        return 0, first
    built = [
        step.build_since(_read_tables(store, step, step.table, group=group), group.since)
        for group in first.groups(all_rows=not step.has_day)
    ]
    count = store.update(step.table, reduce(DataFrame.unionByName, built), first)
    return count, first.moved_earlier(step.lookback)


def _first_affected(store: Store, step: TableStep, change: RebuildTimes) -> RebuildTimes:
    """Return the times from which a table changes because its parents changed."""
    if step.affected_cycles is None or not change:
        return change
    found = [
        step.affected_cycles(_read_tables(store, step, step.table, group=group), group.since)
        for group in change.groups()
    ]
    return rebuild_times_of(reduce(DataFrame.unionByName, found), "cycle")


def _read_tables(
    store: Store, step: TableStep, *more: str, group: ClusterGroup | None = None
) -> Tables:
    return {name: store.read(name, group) for name in (*step.parents, *more)}
