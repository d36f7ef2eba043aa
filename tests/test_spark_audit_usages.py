"""A usage with its history, carried over many cycles, is what one would carry by hand."""

from datetime import UTC, datetime, timedelta
from math import isnan
from random import Random

import pytest
from pulsar_conformance.conformance.history.cycles.usages import BLOCK, after_each
from standins.sparks import spark

assert spark

START = datetime(2026, 11, 20, tzinfo=UTC)
ROWS = (
    "cluster string, broker string, since timestamp, cycle timestamp, present double, kept double"
)


def by_hand(items):
    """After each cycle; NaN where the share that is kept is not known."""
    now, after = None, []
    for present, kept in items:
        if now is None or kept == 0:
            now = present
        elif kept is None:
            now = float("nan")
        else:
            now = now * kept + present * (1 - kept)
        after.append(now)
    return after


COURSES = {
    "always": lambda _random, _nth: 0.9,
    "never": lambda _random, _nth: 0.0,
    "changed": lambda random, _nth: random.choice([0.0, 0.5, 0.9, 1.0]),
    "unknown": lambda _random, _nth: None,
    "unknown-once": lambda _random, nth: None if nth == BLOCK + 3 else 0.5,
    "unknown-until-forgotten": lambda _random, nth: None if nth < 5 else 0.0 if nth == 9 else 0.5,
}


@pytest.mark.parametrize("length", [1, BLOCK, BLOCK + 1, 3 * BLOCK + 7])
def test_history_is_carried_over_blocks_of_cycles(spark, length):
    random, rows, expected = Random(length), [], {}
    for name, share in COURSES.items():
        items = [(random.uniform(0, 100), share(random, nth)) for nth in range(length)]
        expected[name] = by_hand(items)
        for nth, (present, kept) in enumerate(items):
            cycle = START + timedelta(minutes=nth)
            rows.append(("c", name, START, cycle, present, kept))
    random.shuffle(rows)
    found = after_each(spark.session.createDataFrame(rows, ROWS)).orderBy("broker", "cycle")
    carried = {name: [] for name in COURSES}
    for row in found.collect():
        carried[row["broker"]].append(row["after"])
    for name, after in expected.items():
        assert len(carried[name]) == length
        for mine, told in zip(after, carried[name], strict=True):
            assert isnan(mine) == isnan(told), name
            assert isnan(mine) or told == pytest.approx(mine, abs=1e-9), name
