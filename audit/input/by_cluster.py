"""The first change in each cluster, from which the rows of that cluster are rebuilt.

If a late file belongs to one cluster, the rows of all other clusters are kept.
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
"""Time of the first change in a cluster in which nothing changes."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

MAX_NAMED_CLUSTERS = 100
"""Maximum number of clusters with their own rebuild time; all others share one."""

MAX_CHANGED_CLUSTERS = 5_000
"""Number of changed clusters above which all clusters share the earliest time."""

DAY, CLUSTER = "day", "cluster"


@dataclass(frozen=True)
class ClusterGroup:
    """Clusters whose rows are rebuilt together, from the time `since` on."""

    since: datetime
    clusters: tuple[str, ...]
    others: bool = False
    """True if the group consists of all clusters except `clusters`, and of the rows without a
    cluster.
    """

    def select(self, rows: DataFrame) -> DataFrame:
        """Return the rows of the group's clusters."""
        if not self.clusters:
            return rows if self.others else rows.where(F.lit(False))
        named = F.col(CLUSTER).isin(*self.clusters)
        return rows.where(F.isnull(CLUSTER) | ~named if self.others else named)


@dataclass(frozen=True)
class RebuildTimes:
    """The times from which rows are rebuilt: one for each named cluster, and one for all
    `others`.
    """

    named: Mapping[str, datetime] = field(default_factory=dict)
    others: datetime = NEVER

    @property
    def since(self) -> datetime:
        """The earliest rebuild time of any cluster."""
        return min((*self.named.values(), self.others))

    def __bool__(self) -> bool:
        return self.since != NEVER

    def moved_earlier(self, interval: timedelta) -> RebuildTimes:
        """Return a copy in which each time is earlier by the interval `interval`."""
        times = {name: time - interval for name, time in self.named.items()}
        return RebuildTimes(times, self.others - interval if self.others != NEVER else NEVER)

    def merged_with(self, other: RebuildTimes) -> RebuildTimes:
        """Return, for each cluster, the earlier of the rebuild times of this object and `other`."""
        names = {**self.named, **other.named}
        times = {
            name: min(self.named.get(name, self.others), other.named.get(name, other.others))
            for name in names
        }
        return limit_clusters(times, min(self.others, other.others))

    def groups(self, *, all_rows: bool = False) -> Iterator[ClusterGroup]:
        """Yield at most three groups of clusters, each with the earliest rebuild time in the group.

        The first group is the largest set of named clusters whose first changes are on one day. The
        second has all other named clusters. The third has the unnamed clusters and the rows without
        a cluster. If no unnamed cluster changes, the third is left out unless `all_rows` is true.
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

    def with_common_times(self) -> RebuildTimes:
        """Return a copy in which all clusters of a group have the earliest time of the group."""
        named = (group for group in self.groups() if not group.others)
        return RebuildTimes(
            {name: group.since for group in named for name in group.clusters}, self.others
        )

    @property
    def all_clusters(self) -> ClusterGroup:
        """A single group of all clusters that change."""
        if self.others != NEVER:
            return ClusterGroup(self.since, (), others=True)
        return ClusterGroup(self.since, tuple(sorted(self.named)))

    def time_column(self) -> Column:
        """Return a column with the time from which a row's cluster is rebuilt."""
        others = F.lit(self.others)
        if not self.named:
            return others
        times = (F.lit(one) for pair in sorted(self.named.items()) for one in pair)
        return F.coalesce(F.create_map(*times)[F.col(CLUSTER)], others)

    def from_day(self, rows: DataFrame) -> DataFrame:
        """Return the rows on the days that are rebuilt, and the rows without a day."""
        return rows.where(F.isnull(DAY) | (self._is_rewritten() & self.covers_day()))

    def unchanged_rows(self, rows: DataFrame, time: str) -> DataFrame:
        """Return rows that do not change but are in the same files as rows that are rebuilt.

        The files of a day contain the rows of all clusters. If a day is rewritten for one cluster,
        its files must keep the rows of every cluster before the cluster's rebuild time. `time` is
        the column with a row's time.
        """
        covered = self.covers_day() if time == DAY else F.col(time) >= self.time_column()
        return rows.where(self._is_rewritten() & ~covered)

    def covers_day(self) -> Column:
        """Return a column that is true if a row's day is rebuilt in its cluster.

        These are the days from that of the cluster's rebuild time on.
        """
        return F.col(DAY) >= F.to_date(self.time_column())

    def _is_rewritten(self) -> Column:
        return F.col(DAY) >= F.lit(self.since.date())


def limit_clusters(times: Mapping[str, datetime], others: datetime = NEVER) -> RebuildTimes:
    """Return rebuild times with at most `MAX_NAMED_CLUSTERS` named clusters.

    All other clusters share the earliest of their times.
    """
    named = sorted((time, name) for name, time in times.items() if time != others)
    if len(named) <= MAX_NAMED_CLUSTERS:
        return RebuildTimes({name: time for time, name in named}, others)
    others = min(others, named[MAX_NAMED_CLUSTERS][0])
    return RebuildTimes(
        {name: time for time, name in named[:MAX_NAMED_CLUSTERS] if time < others}, others
    )


def rebuild_times_of(rows: DataFrame, time: str) -> RebuildTimes:
    """Return rebuild times: for each cluster, the earliest time in the column `time`."""
    each = rows.where("cluster is not null").groupBy(CLUSTER)
    first = each.agg(F.unix_micros(F.min(time)).alias("first")).where("first is not null")
    earliest = first.orderBy("first").limit(MAX_CHANGED_CLUSTERS + 1)
    return rebuild_times_of_pairs([(row[0], row[1]) for row in collect_small(earliest)])


def rebuild_times_of_pairs(pairs: Sequence[tuple[str, int | None]]) -> RebuildTimes:
    """Return rebuild times, given pairs of a cluster and a time in microseconds since 1970."""
    times = {name: time_from_micros(micros) for name, micros in pairs if micros is not None}
    if len(pairs) > MAX_CHANGED_CLUSTERS:
        return RebuildTimes({}, min(times.values(), default=NEVER))
    return limit_clusters(times)


def time_from_micros(micros: int | None) -> datetime:
    """Convert microseconds since 1970 to a time; None becomes `NEVER`."""
    return NEVER if micros is None else EPOCH + timedelta(microseconds=micros)
