"""If one cluster changes, the rows of that cluster are rebuilt, and all other rows are kept."""

from datetime import UTC, datetime, timedelta

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.audit.input.by_cluster import (
    MAX_NAMED_CLUSTERS,
    NEVER,
    RebuildTimes,
    limit_clusters,
)
from pulsar_conformance.audit.input.records import shard_number
from pulsar_conformance.audit.pipeline.tables import TABLES
from pulsar_conformance.audit.pipeline.writing import Store
from standins.sparks import audit_session, spark

pytestmark = pytest.mark.spark

assert audit_session
assert spark

START, HOUR, DAY = datetime(2026, 11, 20, tzinfo=UTC), timedelta(hours=1), timedelta(days=1)
TABLE = "split_findings"
CLUSTERS = tuple("abcdef")
CHANGED = "c"
SINCE = START + DAY + 10 * HOUR


def test_clusters_that_change_on_one_day_are_rebuilt_together():
    change = RebuildTimes({"a": START, "b": START + HOUR, "c": START + DAY, "d": START + 2 * DAY})
    first, second, rest = change.groups(all_rows=True)
    assert (first.clusters, first.since) == (("a", "b"), START)
    assert (second.clusters, second.since) == (("c", "d"), START + DAY)
    assert (rest.since, rest.others) == (NEVER, True)
    assert list(RebuildTimes().groups()) == []
    level = change.with_common_times()
    assert level.named == {"a": START, "b": START, "c": START + DAY, "d": START + DAY}


def test_of_two_changes_the_earlier_counts_for_each_cluster():
    one, two = (
        RebuildTimes({"a": START + DAY, "b": START}),
        RebuildTimes({"a": START}, START + HOUR),
    )
    both = one.merged_with(two)
    assert (both.named, both.others) == ({"a": START, "b": START}, START + HOUR)
    assert both == two.merged_with(one)
    assert one.merged_with(RebuildTimes()) == one
    assert one.moved_earlier(HOUR).since == START - HOUR
    assert not RebuildTimes().moved_earlier(HOUR)


def test_of_many_clusters_those_that_change_first_are_named():
    times = {f"c{number}": START + number * HOUR for number in range(MAX_NAMED_CLUSTERS + 50)}
    change = limit_clusters(times)
    assert len(change.named) == MAX_NAMED_CLUSTERS
    assert change.others == times[f"c{MAX_NAMED_CLUSTERS}"]


def rows(session, clusters, times, word):
    each = [(time, "SPLIT-05", word, "", one, time.date()) for one in clusters for time in times]
    return session.createDataFrame(each, TABLES[TABLE].schema)


def told(frame):
    return sorted((row["cluster"], row["cycle"], row["verdict"]) for row in frame.collect())


@pytest.mark.parametrize("shards", [1, 8])
def test_the_rows_of_other_clusters_are_kept(audit_session, tmp_path, shards):
    store = Store(audit_session, str(tmp_path), shards=shards)
    times = [START + number * 5 * HOUR for number in range(10)]
    empty = audit_session.createDataFrame([], TABLES["records"].schema)
    store.write("records", store.keep("records", empty))
    store.write(TABLE, store.keep(TABLE, rows(audit_session, CLUSTERS, times, "before")))
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.parquet")}
    later = [time + HOUR for time in times if time >= SINCE]
    change = RebuildTimes({CHANGED: SINCE})
    store.update(TABLE, rows(audit_session, CHANGED, later, "after"), change)
    expected = [
        *((one, time, "before") for one in CLUSTERS for time in times if one != CHANGED),
        *((CHANGED, time, "before") for time in times if time < SINCE),
        *((CHANGED, time, "after") for time in later),
    ]
    naive = [(one, time.replace(tzinfo=None), word) for one, time, word in expected]
    assert told(store.read(TABLE)) == sorted(naive)
    kept = {file for file, time in before.items() if file.exists()}
    assert {file for file in kept if "day=2026-11-20" in str(file)}
    if shards > 1:
        named = audit_session.createDataFrame([(CHANGED,)], "cluster string")
        (place,) = named.select(shard_number(shards)).first()
        of_day = {file for file in before if "day=2026-11-21" in str(file)}
        others = {file for file in of_day if f"shard={place}/" not in str(file)}
        assert others
        assert others <= kept
    store.update(TABLE, rows(audit_session, CHANGED, [], "after"), RebuildTimes({CHANGED: START}))
    assert told(store.read(TABLE)) == sorted(one for one in naive if one[0] != CHANGED)
    assert (
        store.read(TABLE).columns
        == store.with_table_columns(TABLE, empty_of(audit_session)).columns
    )


def empty_of(session):
    return session.createDataFrame([], TABLES[TABLE].schema)
