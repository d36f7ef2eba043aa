"""The time from which on two versions of a table differ."""

from datetime import UTC, datetime, timedelta

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.audit.input.by_cluster import RebuildTimes
from pulsar_conformance.audit.input.changes import TableDifference, compare_tables
from standins.sparks import audit_session, spark

pytestmark = pytest.mark.spark

assert audit_session
assert spark

START = datetime(2026, 11, 20, tzinfo=UTC)
SCHEMA = "cluster string, cycle timestamp, at timestamp, told string, passed string"


def at(hour):
    return None if hour is None else START + timedelta(hours=hour)


BEFORE = ((1, 1, "a", "x"), (2, 3, "b", "x"), (None, 4, "c", "x"), (5, None, "d", "x"))

CHANGES = {
    "nothing": ((), None, None),
    "a row more": (((6, 6, "e", "x"),), 6, 6),
    "a row twice": (((2, 3, "b", "x"),), 2, 2),
    "a row less": ((2,), 2, 2),
    "without a cycle": ((None, (None, 4, "other", "x")), 4, 4),
    "another that counts": ((5, (5, None, "other", "x")), 5, 5),
    "another that passes": ((1, (1, 1, "a", "y")), 1, None),
    "both": ((1, (1, 1, "a", "y"), 5, (5, None, "other", "x")), 1, 5),
}
"""Changes by name: hours of the cycles whose rows are removed, and rows that are added; then the
hour of the first difference, and the hour from which on results differ.
"""


@pytest.mark.parametrize("change", CHANGES)
def test_since_when_a_table_is_another_one(audit_session, change):
    changed, anything, telling = CHANGES[change]
    gone = [one for one in changed if not isinstance(one, tuple)]
    kept = [row for row in BEFORE if row[0] not in gone]
    rows = [*kept, *(one for one in changed if isinstance(one, tuple))]
    new, old = (
        audit_session.createDataFrame([("c1", at(r[0]), at(r[1]), *r[2:]) for r in table], SCHEMA)
        for table in (rows, BEFORE)
    )
    times = (anything, telling)
    wanted = TableDifference(
        *(RebuildTimes({} if one is None else {"c1": at(one)}) for one in times)
    )
    assert compare_tables(new, old, ("passed",)) == wanted
