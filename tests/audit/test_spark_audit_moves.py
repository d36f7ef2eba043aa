"""The arithmetic of an unload is that of the last moment before the bundle moved."""

from datetime import UTC, datetime, timedelta

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.audit.verdicts.moves import moment_before_move
from standins.sparks import spark

pytestmark = pytest.mark.spark

assert spark
START = datetime(2026, 11, 20, tzinfo=UTC)
HELD = "cluster string, cycle timestamp, moment timestamp, broker string, bundle string, "
HELD += "contested boolean"
WENT = "cluster string, cycle timestamp, at timestamp, broker string, bundle string"
RAN = "cluster string, cycle timestamp, logged boolean"
EARLIER = [(5, 5, "b1"), (5, 9.9, "b1")]
"""The cycle of 5:00, which may have run until 9:54. Before the move, b1 had the bundle."""


def minute(count):
    return START + timedelta(minutes=count)


def stamp(count):
    return minute(count).strftime("%Y-%m-%dT%H:%M:%SZ")


def moments(held):
    """Yield a row for each moment at which a broker had a bundle: cycle, moment, broker."""
    for cycle, moment, broker in held:
        others = {one for *when, one in held if when == [cycle, moment]}
        contested = len(others) > 1
        yield "eu", minute(cycle), minute(moment), broker, "a", contested


@pytest.mark.parametrize(
    ("held", "at", "logged", "until", "expected"),
    [
        pytest.param(
            [*EARLIER, (10, 10, "b1"), (10, 12, "b2"), (10, 14.9, "b2")],
            *(12, False, None, (10, 10)),
            id="later-reports-of-the-cycle-show-the-move",
        ),
        pytest.param(
            [*EARLIER, (10, 10, "b1"), (10, 10, "b2"), (10, 14.9, "b2")],
            *(10, False, None, (5, 9.9)),
            id="the-next-owner-reported-first",
        ),
        pytest.param(
            [*EARLIER, (10, 10, "b2"), (10, 14.9, "b2")],
            *(10, False, None, (5, 9.9)),
            id="all-reports-of-the-cycle-show-the-move",
        ),
        pytest.param(
            [*EARLIER, (10, 10, "b1"), (10, 13, "b1")],
            *(13, False, None, (10, 13)),
            id="just-before-the-unload",
        ),
        pytest.param(
            [*EARLIER, (10, 10, "b1"), (10, 10, "b2")],
            *(10.1, True, None, (10, 10)),
            id="two-brokers-report-it-at-a-recorded-cycle",
        ),
        pytest.param(
            [*EARLIER, (10, 9.95, "b1"), (10, 10, "b1"), (10, 10.05, "b1")],
            *(9.99, True, None, (10, 10)),
            id="recorded-before-its-recorded-cycle",
        ),
        pytest.param(
            [*EARLIER, (10, 10, "b1"), (10, 13, "b1")],
            *(13, False, 12, None),
            id="asked-about-the-time-before",
        ),
        pytest.param(
            [(10, 10, "b2"), (10, 14.9, "b2")],
            *(10, False, None, None),
            id="never-reported",
        ),
    ],
)
def test_the_last_moment_before_the_move_is_found(spark, held, at, logged, until, expected):
    session = spark.session
    cycles = [("eu", minute(cycle), logged) for cycle in (5, 10)]
    tables = {
        "bundle_averages": session.createDataFrame(list(moments(held)), HELD),
        "cycles": session.createDataFrame(cycles, RAN),
    }
    went = session.createDataFrame([("eu", minute(10), minute(at), "b1", "a")], WENT)
    limit = None if until is None else minute(until)
    found = moment_before_move(tables, went, "eu", stamp(10), limit)
    assert found == (expected and tuple(map(stamp, expected)))
