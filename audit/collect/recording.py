"""Observing a cluster at intervals, and recording the changes."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from pulsar_conformance.adapters.admin_api.http import NoAnswer
from pulsar_conformance.adapters.operated.looking import ClusterObserver, Observation
from pulsar_conformance.adapters.operated.sight import ObservedState
from pulsar_conformance.audit.collect.changes import (
    Entry,
    attribute_to_shedding,
    attribute_to_shutdown,
    count_newly_shed,
    events_between,
    initial_entries,
    mark_causes_unknown,
    possibly_stopping_brokers,
    state_after,
    unexplained_bundles,
)
from pulsar_conformance.audit.collect.files import Recording

Tell = Callable[[str], None]

MAX_STOP = timedelta(seconds=60)
"""Maximum time from the first bundle that a stopping broker releases until the broker is gone: the
default of brokerShutdownTimeoutMs, after which the broker ends itself. A broker with few bundles
stops within 2 or 3 seconds.
"""

MAX_PAUSE = timedelta(seconds=10)
"""Maximum time between the releases of two bundles by a stopping broker, or from its last release
until the broker is gone.
"""


class Recorder:
    """Observes one cluster, and records its changes."""

    def __init__(self, looker: ClusterObserver, recording: Recording, tell: Tell) -> None:
        self._looker = looker
        self._recording = recording
        self._tell = tell
        self._before = state_after(recording.newest_records())
        self._troubles: dict[str, str] = {}
        self._held: deque[tuple[datetime, list[Entry]]] = deque()
        """Entries that are not written yet, with the time of their observation.

        The cause of an unload may still become known: its broker may be stopping, or its bundle may
        be in transfer.
        """
        self._unowned: dict[str, datetime] = {}
        """By bundle: the last time at which a released bundle was seen without an owner."""

    def run(
        self, every: float, duration: float | None, stop: threading.Event, *, first: bool = True
    ) -> None:
        """Observe the cluster every `every` seconds until `duration` seconds have passed or `stop`
        is set.

        If `first` is false, the caller has already made the first observation. Errors:
        `CannotWrite`; `NoAnswer` if the cluster does not answer the first observation.
        """
        begun = due = time.monotonic()
        if not first:
            stop.wait(every)
        try:
            while not stop.is_set():
                try:
                    self.observe(first=first)
                except NoAnswer as error:
                    if first:
                        raise
                    self._report_troubles({"cluster": str(error)})
                first = False
                due = max(due + every, time.monotonic())
                if duration is not None and due - begun > duration:
                    return
                stop.wait(due - time.monotonic())
        finally:
            self.flush()

    def flush(self) -> None:
        """Write all held entries. Unloads that are still unexplained get the cause `unknown`.

        Errors: `CannotWrite`.
        """
        while self._held:
            at, entries = self._held.popleft()
            mark_causes_unknown(entries)
            self._recording.write(at, entries)

    def observe(self, *, first: bool) -> None:
        """Observe the cluster once, and record its changes. Errors: `NoAnswer`, `CannotWrite`."""
        before = self._before or ObservedState()
        look = self._looker.observe(before)
        at = datetime.now(UTC)
        if first:
            self._tell(describe_recording(self._looker.cluster, look))
        self._report_troubles(dict(look.troubles))
        for _, held in self._held:
            attribute_to_shutdown(held, look.sight)
        if self._before is None or self._recording.starts_file(at):
            self.flush()
            entries = list(initial_entries(look.sight))
        else:
            entries = list(events_between(before, look.sight))
            together = [one for _, held in self._held for one in held] + entries
            attribute_to_shedding(together, count_newly_shed(before, look.sight, entries))
        entries += [
            _load_report_entry(broker, report) for broker, report in sorted(look.reports.items())
        ]
        self._held.append((at, entries))
        holder = look.sight.owner_by_bundle()
        for _, held in self._held:
            released = unexplained_bundles(held, look.sight)
            self._unowned |= {bundle: at for bundle in released if bundle not in holder}
        while self._held and not self._is_undecided(at, look.sight):
            self._recording.write(*self._held.popleft())
        self._before = look.sight

    def _is_undecided(self, at: datetime, now: ObservedState) -> bool:
        """True if a later observation may reveal the cause of the oldest held unloads.

        Their broker may be stopping, or TransferShedder may be moving their bundles to another
        broker.
        """
        since, oldest = self._held[0]
        if at - since >= MAX_STOP:
            return False
        last = (self._unowned.get(one, since) for one in unexplained_bundles(oldest, now))
        if any(at - one < MAX_PAUSE for one in last):
            return True
        lately = (held for time, held in self._held if at - time < MAX_PAUSE)
        releasing = {broker for held in lately for broker in possibly_stopping_brokers(held, now)}
        return not releasing.isdisjoint(possibly_stopping_brokers(oldest, now))

    def _report_troubles(self, now: dict[str, str]) -> None:
        """Report once when a part of the cluster becomes unreadable, and once when it is readable
        again.

        `now` gives the parts that are unreadable, each with the error.
        """
        for what, why in now.items():
            if what not in self._troubles:
                self._tell(f"{what}: {why}")
        for what in self._troubles:
            if what not in now:
                self._tell(f"{what}: readable again")
        self._troubles = now


def _load_report_entry(broker: str, report: object) -> Entry:
    return {"kind": "load_report", "broker": broker, "report": report}


def describe_recording(cluster: str, look: Observation) -> str:
    """Return text on what is recorded and what cannot be, with the consequences for an audit."""
    unseen = [f"{what} ({CONSEQUENCES[what]})" for what in look.troubles if what in CONSEQUENCES]
    if look.sight.is_extensible:
        unseen.append("load data (rules that depend on loads are undecided)")
    unseen.append("bundle data (averages begin with this history)")
    unseen.append("shedding cycles (an audit assumes one at every interval)")
    unseen.append("a bundle that returns to its broker before the next observation")
    count = len(look.sight.owners)
    plural = "" if count == 1 else "s"
    return f"{cluster}, {count} broker{plural}; not seen: {', '.join(unseen)}"


CONSEQUENCES = {
    "leader": "an audit assumes cycles from the first line on",
    "settings": "an audit assumes the documented defaults",
    "domains": "placement by failure domains is not judged",
    "groups": "placement by anti-affinity groups is not judged",
    "causes of unloading": "the cause of an unload is unknown unless it is a split or a shutdown",
}
"""For each part of the cluster, the consequence for an audit if it cannot be read."""
