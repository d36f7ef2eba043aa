"""Clusters under constant load that shed in real time, cycle after cycle, while `collect` records.

The leader sheds by its own timer, once a minute. As clients, this program looks up what was
unloaded once the cycle is over; then the brokers carry what they own. The times of the leader's
cycles are merged into the history.

`overload`: one of four brokers is always over 85 %, so that OverloadShedder sheds in every cycle.
`threshold`: ThresholdShedder remembers earlier usage; three brokers join, and three stop.

python recorded_loop.py VERSION JARS TEMPORARY HISTORY overload|threshold [CYCLES]
"""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import jpype
from pulsar_conformance.adapters.admin_api import requests
from pulsar_conformance.adapters.cluster.host import ClusterHost
from pulsar_conformance.adapters.cluster.metadata import ranges_between
from pulsar_conformance.adapters.cluster.timers import _task_class
from recorded_troubles import CAPACITY, MB, PROGRAM, Troubled

PACKAGE = "org.apache.pulsar.broker.loadbalance.impl."
SPACE = "shop/eu"
SETTINGS = {
    "loadBalancerSheddingEnabled": False,
    "loadBalancerSheddingIntervalMinutes": 1,
    "loadBalancerSheddingGracePeriodMinutes": 2,
    "loadBalancerBrokerOverloadedThresholdPercentage": 85,
    "loadBalancerAutoBundleSplitEnabled": False,
    "loadBalancerDistributeBundlesEvenlyEnabled": False,
    "loadBalancerReportUpdateMinIntervalMillis": 5000,
    "loadBalancerReportUpdateMaxIntervalMinutes": 1,
    "loadBalancerReportUpdateThresholdPercentage": 1,
    "loadBalancerHostUsageCheckIntervalMinutes": 1000,
}
ENABLED = "loadBalancerSheddingEnabled"
STRATEGY = "loadBalancerLoadSheddingStrategy"


@dataclass(frozen=True)
class Loop:
    """Megabytes per second of each broker's bundles at first, and the brokers that come and go."""

    megabytes: tuple[tuple[int, ...], ...]
    settings: Mapping[str, object]
    joins: Mapping[int, str] = field(default_factory=dict)
    stops: Mapping[int, str] = field(default_factory=dict)
    """Brokers by the number of the first cycle with or without them."""


LOOPS = {
    "overload": Loop(
        ((32, 15, 14, 35), (21, 22), (31, 12, 24), (5, 34, 29, 20, 26, 8)),
        {STRATEGY: f"{PACKAGE}OverloadShedder"},
    ),
    "threshold": Loop(
        ((31, 19, 17, 13, 11, 2), (23, 12, 6, 3, 15), (7, 5, 21)),
        {
            STRATEGY: f"{PACKAGE}ThresholdShedder",
            "loadBalancerHistoryResourcePercentage": 0.9,
            "loadBalancerBrokerThresholdShedderPercentage": 5,
        },
        joins={3: "broker-4", 9: "broker-5", 15: "broker-6"},
        stops={6: "broker-2", 12: "broker-3", 18: "broker-4"},
    ),
}
SOON = 4.0
"""Seconds before a cycle in which this program does nothing."""

AFTER = 1.0
"""Seconds after a cycle until clients return."""

STOPPED = 12.0
"""Seconds after a broker has stopped until clients return: the others have reported by then."""


class Looping(Troubled):
    """The cluster, its clients, its recorder, and the leader's cycles."""

    def __init__(self, host: ClusterHost, history: str, loop: Loop) -> None:
        super().__init__(host, history)
        self.cluster.doomed = set()
        self.loop, self.settings = loop, {**SETTINGS, **loop.settings}
        self.topics: dict[str, str] = {}
        self.megabytes: dict[str, int] = {}
        self.cycles: list[datetime] = []
        self._due: datetime | None = None

    def up(self, name: str) -> None:
        """Start a broker."""
        self.cluster.start(name, CAPACITY, self.host._defaults, self.settings, {**self.settings})
        self.tell(up=name)

    def create(self) -> None:
        """Create the namespace, with a topic in each bundle."""
        sizes = [size for row in self.loop.megabytes for size in row]
        self.ask(requests.create_tenant(SPACE.partition("/")[0]))
        self.ask(requests.create_namespace(SPACE, len(sizes)))
        cuts = self.cluster.ask(*requests.boundaries_of(SPACE)).read
        bundles = [f"{SPACE}/{one}" for one in ranges_between(cuts["boundaries"])]
        self.megabytes = dict(zip(bundles, sizes, strict=True))
        for number in count():
            topic = f"persistent://{SPACE}/orders-{number}"
            part = self.cluster.ask(*requests.bundle_of(topic)).text
            self.topics.setdefault(f"{SPACE}/{part}", topic)
            if len(self.topics) == len(sizes):
                return

    def give(self) -> None:
        """Unload each bundle to the broker that has it at first, and look it up."""
        bundles = iter(self.megabytes)
        for number, row in enumerate(self.loop.megabytes, 1):
            broker = self.cluster.brokers[f"broker-{number}"].ports.broker
            for _ in row:
                bundle = next(bundles)
                if self.owners().get(bundle) != f"broker-{number}":
                    self.ask(requests.unload_bundle(bundle, broker))
                    self.ask(requests.look_up(self.topics[bundle]))
        self.tell(owners=self.owners())

    def owners(self) -> dict:
        """The owner of each bundle of users."""
        return {one: name for one, (name, _) in self.cluster.owned([SPACE]).items()}

    def serve(self) -> None:
        """Let clients look up what nobody owns, and brokers carry what they own."""
        owners = self.owners()
        lost = [bundle for bundle in self.megabytes if bundle not in owners]
        for bundle in lost:
            self.ask(requests.look_up(self.topics[bundle]))
        owners = self.owners()
        for name, broker in self.cluster.brokers.items():
            table = {}
            for bundle, megabytes in self.megabytes.items() if self.carried else ():
                if owners.get(bundle) == name:
                    carried = float(megabytes * MB)
                    rates = {"msgRateIn": carried / 10_000, "msgThroughputIn": carried}
                    table[bundle] = {"topics": 1, "producerCount": 1, "consumerCount": 1, **rates}
            total = sum(one["msgThroughputIn"] for one in table.values())
            broker.set_load(min(total, CAPACITY), table)

    def look_at_timer(self) -> float:
        """Seconds until the leader's next cycle, 0 while one runs; a cycle that began is noted."""
        leader = self.cluster.brokers[self.cluster.leader()]
        queue = list(leader.timers._pool.getQueue().toArray())
        tasks = [one for one in queue if _task_class(one) == "LoadSheddingTask"]
        if not tasks:
            return 0.0
        milliseconds = jpype.JClass("java.util.concurrent.TimeUnit").MILLISECONDS
        millis = int(tasks[0].getDelay(milliseconds))
        due = datetime.now(UTC) + timedelta(milliseconds=millis)
        if self._due is not None and due - self._due > timedelta(seconds=5):
            self.cycles.append(self._due)
            self.tell(cycle=len(self.cycles) - 1, began=self._due.isoformat())
            self._due = due
            time.sleep(AFTER)
        self._due = due
        return millis / 1000

    def wait_for_cycle(self) -> None:
        """Let time pass until the next cycle is over and clients are back."""
        known = len(self.cycles)
        while len(self.cycles) == known:
            left = self.look_at_timer()
            if left > SOON:
                self.serve()
            time.sleep(0.5)
        self.serve()
        self.tell(owners=self.owners(), leader=self.cluster.leader())

    def record(self) -> subprocess.Popen:
        """Start `collect`."""
        url = f"http://{self.cluster.brokers['broker-1'].ports.broker}"
        words = [sys.executable, "-c", PROGRAM, "collect", url, "--output", self.history]
        return subprocess.Popen([*words, "--every", "4"])


def play(story: Looping, cycles: int) -> None:
    """Let the cluster shed for a number of cycles."""
    loop = story.loop
    story.up("broker-1")
    story.create()
    for number in range(2, len(loop.megabytes) + 1):
        story.up(f"broker-{number}")
    story.serve()
    story.give()
    story.carried = 1
    story.wait_for_cycle()
    time.sleep(10)
    story.serve()
    time.sleep(10)
    collect = story.record()
    time.sleep(10)
    story.cycles.clear()
    story.ask(requests.set_dynamic(ENABLED, "true"))
    story.tell(enabled=True, leads=story.cluster.leader())
    for cycle in range(cycles):
        if cycle in loop.joins:
            story.up(loop.joins[cycle])
        if cycle in loop.stops:
            story.stop(loop.stops[cycle])
            time.sleep(STOPPED)
        story.wait_for_cycle()
    time.sleep(20)
    collect.send_signal(signal.SIGTERM)
    collect.wait(60)
    merge_cycles(Path(story.history), story.cycles)


def merge_cycles(history: Path, cycles: list[datetime]) -> None:
    """Write the history as one file, with a record of each cycle."""
    lines = [json.loads(one) for file in sorted(history.glob("*.jsonl")) for one in file.open()]
    cluster = lines[0]["cluster"]
    lines += [{"cluster": cluster, "at": stamp(at), "kind": "cycle"} for at in cycles]
    lines.sort(key=lambda one: one["at"])
    text = "".join(f"{json.dumps(one)}\n" for one in lines)
    history.with_suffix(".jsonl").write_text(text, "utf-8")


def stamp(time: datetime) -> str:
    """A time as `collect` writes it."""
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def main(
    version: str, jars: str, temporary: str, history: str, name: str, cycles: str = "21"
) -> None:
    """Record one loop."""
    told = {"version": version, "folders": [jars], "folder": temporary, "settings": {}}
    sys.argv[1] = json.dumps({**told, "manager": "modular", "brokers": 8, "crash": "close"})
    story = Looping(ClusterHost("documented-4.2", {}), history, LOOPS[name])
    play(story, int(cycles))


if __name__ == "__main__":
    from script import run_script

    run_script(main)
