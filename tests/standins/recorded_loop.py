"""Clusters under constant load that shed in real time, cycle after cycle, while `collect` records.

The leader sheds by its own timer, once a minute. After a cycle, this program looks up the unloaded
bundles, as clients would; then the brokers carry the load of the bundles that they own. The times
of the leader's cycles are merged into the history.

`overload`: one of four brokers is always over 85 %, so that OverloadShedder sheds in every cycle.
`threshold`: ThresholdShedder remembers earlier usage; three brokers join, and three stop.
`uniform`: the same with UniformLoadShedder.

python recorded_loop.py VERSION JARS TEMPORARY HISTORY overload|threshold|uniform [CYCLES]
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
from pulsar_conformance.adapters.admin_api.waiting import ConditionTimeout
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
    # Only changes are reported: a leader that sheds while it reads a report can see a partial sum.
    "loadBalancerReportUpdateMaxIntervalMinutes": 1000,
    "loadBalancerReportUpdateThresholdPercentage": 1,
    "loadBalancerHostUsageCheckIntervalMinutes": 1000,
}
ENABLED = "loadBalancerSheddingEnabled"
STRATEGY = "loadBalancerLoadSheddingStrategy"


@dataclass(frozen=True)
class Loop:
    """The initial MB/s of each broker's bundles, and the brokers that join and stop."""

    megabytes: tuple[tuple[int, ...], ...]
    settings: Mapping[str, object]
    joins: Mapping[int, str] = field(default_factory=dict)
    stops: Mapping[int, str] = field(default_factory=dict)
    """Brokers that stop, like `joins` by the number of the first cycle after the change."""


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
    "uniform": Loop(
        ((31, 19, 17, 13, 11, 2), (23, 12, 6, 3, 15), (7, 5, 21)),
        {
            STRATEGY: f"{PACKAGE}UniformLoadShedder",
            "loadBalancerMsgRateDifferenceShedderThreshold": 50,
            "maxUnloadPercentage": 0.4,
        },
        joins={3: "broker-4", 9: "broker-5", 15: "broker-6"},
        stops={6: "broker-2", 12: "broker-3", 18: "broker-4"},
    ),
}
QUIET_SECONDS = 4.0
"""Seconds before each cycle during which this program does nothing."""

PATIENCE = 120.0
"""Maximum seconds until the leader has all reports."""

AFTER = 1.0
"""Seconds after a cycle until clients return."""


class Looping(Troubled):
    """The cluster, its clients, its recorder, and the leader's cycles."""

    every = "4"
    """Seconds between two observations of the recorder."""

    stopped_for = 12.0
    """Seconds from a broker's stop until clients return, when the other brokers have reported."""

    def __init__(self, host: ClusterHost, history: str, loop: Loop) -> None:
        super().__init__(host, history)
        self.cluster.doomed = set()
        self.loop, self.settings = loop, {**SETTINGS, **loop.settings}
        self.topics: dict[str, str] = {}
        self.megabytes: dict[str, int] = {}
        self.cycles: list[datetime] = []
        self.carries: dict[str, float] = {}
        """Bytes per second of each broker."""
        self.due: datetime | None = None

    def up(self, name: str) -> None:
        """Start a broker."""
        self.cluster.start(name, CAPACITY, self.host._defaults, self.settings, {**self.settings})
        self.tell(up=name)

    def create(self) -> None:
        """Create the namespace, and a topic in each of its bundles."""
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
        """Unload each bundle to its initial broker, and look it up."""
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
        """Return the owner of each bundle of users' namespaces."""
        return {one: name for one, (name, _) in self.cluster.owned_bundles([SPACE]).items()}

    def serve(self) -> None:
        """Look up bundles without an owner, as clients do, and set each broker's load."""
        owners = self.owners()
        lost = [bundle for bundle in self.megabytes if bundle not in owners]
        for bundle in lost:
            self.ask(requests.look_up(self.topics[bundle]))
        owners = self.owners()
        self.carries = {}
        for name, broker in self.cluster.brokers.items():
            table = {}
            for bundle, megabytes in self.megabytes.items() if self.carried else ():
                if owners.get(bundle) == name:
                    carried = float(megabytes * MB)
                    rates = {"msgRateIn": carried / 10_000, "msgThroughputIn": carried}
                    table[bundle] = {"topics": 1, "producerCount": 1, "consumerCount": 1, **rates}
            total = self.carries[name] = sum(one["msgThroughputIn"] for one in table.values())
            broker.set_load(min(total, CAPACITY), table)

    def settle(self) -> None:
        """Let clients and brokers work until the leader has all reports.

        The leader counts a bundle at the broker that it chose until that broker reports the bundle,
        even if another broker owns it. No history shows this, so no history must start in this
        state.
        """
        end = time.monotonic() + PATIENCE
        self.serve()
        while not self.is_settled():
            if time.monotonic() > end:
                raise ConditionTimeout("the leader lacks a report")
            time.sleep(0.2)

    def is_settled(self) -> bool:
        """True if the leader knows each broker's load, and every placed bundle was reported."""
        data = self.cluster.brokers[self.cluster.leader()].manager._load_data()
        names = {broker.ports.broker: name for name, broker in self.cluster.brokers.items()}
        known = {str(one): said for one, said in data.getBrokerData().items()}
        if known.keys() != names.keys():
            return False
        carried = {
            names[one]: float(said.getLocalData().getMsgThroughputIn())
            for one, said in known.items()
        }
        reserved = any(len(said.getPreallocatedBundleData()) for said in known.values())
        averaged = {str(one) for one in data.getBundleData().keySet()}
        return not reserved and carried == self.carries and averaged >= self.megabytes.keys()

    def pending_cycles(self) -> list:
        """Return the leader's next cycle in its timer; empty while a cycle runs."""
        queue = list(self.cluster.brokers[self.cluster.leader()].timers._pool.getQueue().toArray())
        return [one for one in queue if _task_class(one) == "LoadSheddingTask"]

    def look_at_timer(self) -> float:
        """Record a cycle that began; return the seconds until the next, 0 while a cycle runs."""
        tasks = self.pending_cycles()
        if not tasks:
            return 0.0
        milliseconds = jpype.JClass("java.util.concurrent.TimeUnit").MILLISECONDS
        millis = int(tasks[0].getDelay(milliseconds))
        due = datetime.now(UTC) + timedelta(milliseconds=millis)
        if self.due is not None and due - self.due > timedelta(seconds=5):
            self.cycles.append(self.due)
            self.tell(cycle=len(self.cycles) - 1, began=self.due.isoformat())
            self.due = due
            time.sleep(AFTER)
        self.due = due
        return millis / 1000

    def wait_for_cycle(self) -> None:
        """Let time pass until the next cycle is over and clients are back."""
        known = len(self.cycles)
        while len(self.cycles) == known:
            left = self.look_at_timer()
            if left > QUIET_SECONDS:
                self.serve()
            time.sleep(0.5)
        self.serve()
        self.tell(owners=self.owners(), leader=self.cluster.leader())

    def record(self) -> subprocess.Popen:
        """Start `collect`."""
        url = f"http://{self.cluster.brokers['broker-1'].ports.broker}"
        words = [sys.executable, "-c", PROGRAM, "collect", url, "--output", self.history]
        return subprocess.Popen([*words, "--every", self.every])

    def in_history(self, at: datetime) -> datetime:
        """Return the time in the history that corresponds to a time of the clock."""
        return at


def play(story: Looping, cycles: int) -> None:
    """Let the cluster shed for a number of cycles."""
    loop = story.loop
    story.up("broker-1")
    story.create()
    for number in range(2, len(loop.megabytes) + 1):
        story.up(f"broker-{number}")
    story.carried = 1
    story.settle()
    story.give()
    story.settle()
    story.wait_for_cycle()
    story.settle()
    collect = story.record()
    time.sleep(10)
    story.cycles.clear()
    story.ask(requests.set_dynamic_setting(ENABLED, "true"))
    story.tell(enabled=True, leads=story.cluster.leader())
    for cycle in range(cycles):
        if cycle in loop.joins:
            story.up(loop.joins[cycle])
        if cycle in loop.stops:
            story.stop(loop.stops[cycle])
            time.sleep(story.stopped_for)
        story.wait_for_cycle()
    time.sleep(20)
    collect.send_signal(signal.SIGTERM)
    collect.wait(60)
    merge_cycles(story)


def merge_cycles(story: Looping) -> None:
    """Write the history as one file, with a record of each cycle."""
    history = Path(story.history)
    lines = [json.loads(one) for file in sorted(history.glob("*.jsonl")) for one in file.open()]
    cluster = lines[0]["cluster"]
    lines += [{"cluster": cluster, "at": stamp(at), "kind": "cycle"} for at in story.cycles]
    for line in lines:
        line["at"] = stamp(story.in_history(datetime.fromisoformat(line["at"])))
    lines.sort(key=lambda one: one["at"])
    text = "".join(f"{json.dumps(one)}\n" for one in lines)
    history.with_suffix(".jsonl").write_text(text, "utf-8")


def stamp(time: datetime) -> str:
    """Format a time as `collect` writes it."""
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def main(
    version: str,
    jars: str,
    temporary: str,
    history: str,
    name: str,
    cycles: str = "21",
    kind: type[Looping] = Looping,
) -> None:
    """Record one loop."""
    told = {"version": version, "folders": [jars], "folder": temporary, "settings": {}}
    sys.argv[1] = json.dumps({**told, "manager": "modular", "brokers": 8, "crash": "close"})
    play(kind(ClusterHost("documented-4.2", {}), history, LOOPS[name]), int(cycles))


if __name__ == "__main__":
    from script import run_script

    run_script(main)
