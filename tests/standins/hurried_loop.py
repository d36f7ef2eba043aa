"""Records the loops of `recorded_loop.py` in three minutes, without waiting for the leader's timer.

Once the leader has all reports and the recorder has seen them, the leader's next cycle is brought
forward, and the times of its earlier unloads are moved back by the same duration. The history
continues as if that duration had passed.

python hurried_loop.py VERSION JARS TEMPORARY HISTORY overload|threshold|uniform [CYCLES]
"""

import time
from datetime import UTC, datetime, timedelta

from pulsar_conformance.adapters.cluster.managers import shift_into_past
from pulsar_conformance.adapters.cluster.timers import NANOS
from pulsar_conformance.adapters.pulsar.jvm import java_class
from recorded_loop import Looping, main
from script import run_script

OBSERVED_SECONDS = 2.0
"""Seconds in which the recorder observes the cluster at least twice."""

LEAD_SECONDS = 1.0
"""Seconds until a cycle that was brought forward."""


class Hurried(Looping):
    """A cluster whose leader does not wait between its cycles."""

    every = "0.5"
    stopped_for = 4.0

    def __init__(self, *words) -> None:
        super().__init__(*words)
        self.settings["loadBalancerReportUpdateMinIntervalMillis"] = 1000
        self.skips: list[tuple[datetime, timedelta]] = []
        """The times at which time was skipped, each with the skipped duration."""

    def in_history(self, at: datetime) -> datetime:
        """Return the time in the history that corresponds to a time of the clock."""
        return at + sum((by for when, by in self.skips if when <= at), timedelta())

    def wait_for_cycle(self) -> None:
        """Skip the time until the next cycle, and wait until the cycle is over."""
        self.settle()
        time.sleep(OBSERVED_SECONDS)
        self.skip()
        super().wait_for_cycle()

    def skip(self) -> None:
        """Bring the leader's next cycle forward, and move its past unloads back by as much."""
        left = self.look_at_timer() - LEAD_SECONDS
        tasks = self.pending_cycles()
        if left <= 0 or not tasks:
            return
        leader = self.cluster.brokers[self.cluster.leader()]
        now = int(java_class("java.lang.System").nanoTime())
        leader.timers._set_time(tasks[0], now + round(LEAD_SECONDS * NANOS))
        shift_into_past(
            leader.manager._load_data().getRecentlyUnloadedBundles(), round(left * 1000)
        )
        at, by = datetime.now(UTC), timedelta(seconds=left)
        self.skips.append((at, by))
        self.due = at + timedelta(seconds=LEAD_SECONDS)


if __name__ == "__main__":
    run_script(lambda *words: main(*words, kind=Hurried))
