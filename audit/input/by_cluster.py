"""The time from which rows have changed, for each cluster.

A late file of one cluster changes nothing in the others, whose rows are therefore kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

from pulsar_conformance.adapters.spark.configuring import collect_small
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

NEVER = datetime(9999, 1, 1, tzinfo=UTC)
"""Time that stands for the absence of any change."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

NAMED = 100
"""Maximum number of clusters that have a time of their own."""

MOST = 5_000
"""Number of changed clusters above which all clusters have the same time."""

DAY, CLUSTER = "day", "cluster"


@dataclass(frozen=True)
class ClusterGroup:
    """Clusters whose rows are rebuilt together, from one time on."""

    since: datetime
    clusters: tuple[str, ...]
    others: bool = False
    """True if the group has all clusters except these, and the rows without a cluster."""

    def select(self, rows: DataFrame) -> DataFrame:
        """Return the rows of the group's clusters."""
        if not self.clusters:
            return rows if self.others else rows.where(F.lit(False))
        named = F.col(CLUSTER).isin(*self.clusters)
        return rows.where(F.isnull(CLUSTER) | ~named if self.others else named)


@dataclass(frozen=True)
class Renewal:
    """The time of the first change in each named cluster, and that in all `others`."""

    named: Mapping[str, datetime] = field(default_factory=dict)
    others: datetime = NEVER

    @property
    def since(self) -> datetime:
        """The earliest of all times."""
        return min((*self.named.values(), self.others))

    def __bool__(self) -> bool:
        return self.since != NEVER

    def moved_earlier(self, by: timedelta) -> Renewal:
        """Return a copy in which all times are earlier by an interval."""
        times = {name: time - by for name, time in self.named.items()}
        return Renewal(times, self.others - by if self.others != NEVER else NEVER)

    def merged_with(self, other: Renewal) -> Renewal:
        """Return the earlier of both times for each cluster."""
        names = {**self.named, **other.named}
        times = {
            name: min(self.named.get(name, self.others), other.named.get(name, other.others))
            for name in names
        }
        return limit_clusters(times, min(self.others, other.others))

    def parts(self, *, all_rows: bool = False) -> Iterator[ClusterGroup]:
        """Yield groups of clusters that are rebuilt together: those that change from one day on,
        and the others.

        With `all_rows`, the last group includes rows without a cluster.
        """
        by_day: defaultdict[date, list[str]] = defaultdict(list)
        for name, time in self.named.items():
            by_day[time.astimezone(UTC).date()].append(name)
        groups = sorted(by_day.values(), key=len, reverse=True)
        for names in (*groups[:1], [name for group in groups[1:] for name in group]):
            if names:
                yield ClusterGroup(min(self.named[name] for name in names), tuple(sorted(names)))
        if all_rows or self.others != NEVER:
            yield ClusterGroup(self.others, tuple(sorted(self.named)), others=True)

    def with_common_times(self) -> Renewal:
        """Return a copy in which the clusters of each part have the same time."""
        named = (part for part in self.parts() if not part.others)
        return Renewal({name: part.since for part in named for name in part.clusters}, self.others)

    @property
    def all_clusters(self) -> ClusterGroup:
        """The group of all clusters that change."""
        if self.others != NEVER:
            return ClusterGroup(self.since, (), others=True)
        return ClusterGroup(self.since, tuple(sorted(self.named)))

    def time_column(self) -> Column:
        """Return a column with the time of each row's cluster."""
        others = F.lit(self.others)
        if not self.named:
            return others
        times = (F.lit(one) for pair in sorted(self.named.items()) for one in pair)
        return F.coalesce(F.create_map(*times)[F.col(CLUSTER)], others)

    def from_day(self, rows: DataFrame) -> DataFrame:
        """Return the rows without a day, and those from the day of their cluster's time on."""
        return rows.where(F.isnull(DAY) | (self._is_rewritten() & self.covers_day()))

    def unchanged_rows(self, rows: DataFrame, time: str) -> DataFrame:
        """Return the unchanged rows on days that are rewritten.

        They are on the first changed day or later, and before their cluster's time in the column
        `time`.
        """
        covered = self.covers_day() if time == DAY else F.col(time) >= self.time_column()
        return rows.where(self._is_rewritten() & ~covered)

    def covers_day(self) -> Column:
        """True if a row's day is that of its cluster's time, or later."""
        return F.col(DAY) >= F.to_date(self.time_column())

    def _is_rewritten(self) -> Column:
        return F.col(DAY) >= F.lit(self.since.date())


def limit_clusters(times: Mapping[str, datetime], others: datetime = NEVER) -> Renewal:
    """Return a renewal with at most `NAMED` clusters; the others share their earliest time."""
    named = sorted((time, name) for name, time in times.items() if time != others)
    if len(named) <= NAMED:
        return Renewal({name: time for time, name in named}, others)
    others = min(others, named[NAMED][0])
    return Renewal({name: time for time, name in named[:NAMED] if time < others}, others)


def renewal_of(rows: DataFrame, time: str) -> Renewal:
    """Return the renewal that begins, in each cluster, with the earliest time in a column."""
    each = rows.where("cluster is not null").groupBy(CLUSTER)
    first = each.agg(F.unix_micros(F.min(time)).alias("first")).where("first is not null")
    earliest = first.orderBy("first").limit(MOST + 1)
    return renewal_of_pairs([(row[0], row[1]) for row in collect_small(earliest)])


def renewal_of_pairs(found: Sequence[tuple[str, int | None]]) -> Renewal:
    """Return a renewal from the names of clusters and their times in microseconds since 1970."""
    times = {name: time_from_micros(micros) for name, micros in found if micros is not None}
    if len(found) > MOST:
        return Renewal({}, min(times.values(), default=NEVER))
    return limit_clusters(times)


def time_from_micros(micros: int | None) -> datetime:
    """Convert microseconds since 1970 to a time; None becomes `NEVER`."""
    return NEVER if micros is None else EPOCH + timedelta(microseconds=micros)
