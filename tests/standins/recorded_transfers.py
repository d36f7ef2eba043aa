"""Clusters of the extensible manager that run in real time while `collect` records them.

`moves`: bundles transferred by TransferShedder, an unload by hand to a destination, a split, a
change of leader, a graceful stop. `crash`: the destination of transfers is killed while bundles are
on their way; afterwards the leader stops in order. The load data that the leader read are merged
in, as a client of its system topics would have seen them.

python recorded_transfers.py VERSION JARS TEMPORARY HISTORY moves|crash
"""

import json
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import jpype
from pulsar_conformance.adapters.admin_api import requests
from pulsar_conformance.adapters.cluster.host import ClusterHost
from recorded_troubles import CAPACITY, PROGRAM, WHOLE, Troubled

SETTINGS = {
    "loadBalancerSheddingEnabled": True,
    "loadBalancerSheddingIntervalMinutes": 1,
    "loadBalancerSheddingGracePeriodMinutes": 30,
    "loadBalancerBrokerLoadTargetStd": 0.25,
    "loadBalancerSheddingConditionHitCountThreshold": 1,
    "loadBalanceSheddingDelayInSeconds": 60,
    "loadBalancerHistoryResourcePercentage": 0.0,
    "loadBalancerMemoryResourceWeight": 0.0,
    "loadBalancerDirectMemoryResourceWeight": 0.0,
    "loadBalancerAutoBundleSplitEnabled": False,
    "loadBalancerReportUpdateMinIntervalMillis": 2000,
    "loadBalancerReportUpdateMaxIntervalMinutes": 1,
}
RARELY = {
    "crash": {
        "loadBalancerSheddingIntervalMinutes": 60,
        "loadBalancerSheddingConditionHitCountThreshold": 0,
    }
}
"""Settings of a story in which the program starts the only cycle, to observe the transfer."""

ON_ITS_WAY = ("Releasing", "Assigning")
PATIENCE = 30.0
LONGEST = 420.0
"""Maximum seconds until TransferShedder has transferred bundles."""


class Transferring(Troubled):
    """The cluster, its clients, its recorder, and the load data that its leader reads."""

    def __init__(self, host: ClusterHost, history: str, settings: dict) -> None:
        super().__init__(host, history)
        self.cluster.doomed = {"broker-3"}
        self.settings, self.loads = settings, []
        self._seen = {}

    def up(self, name: str, *, separate: bool = False) -> None:
        """Start a broker, in its own process if the story kills it later."""
        self.cluster.doomed = {name} if separate else set()
        self.cluster.start(name, CAPACITY, self.host._defaults, self.settings, {**self.settings})
        self.tell(up=name)

    def serve(self) -> None:
        """Let clients and brokers work, and record the load data that the leader reads."""
        super().serve()
        leader = next((one for one in self.cluster.brokers.values() if self._leads(one)), None)
        for name, broker in self.cluster.brokers.items() if leader else ():
            self._note(leader.manager, name, broker.ports.broker)

    def _leads(self, broker) -> bool:
        return broker.name not in self.stopped and hasattr(broker, "service") and broker.leads

    def _note(self, manager, name: str, broker: str) -> None:
        try:
            load, top = (_json(store.get(broker)) for store in manager._stores)
        except jpype.JException:  # A new leader subscribes only when it leads.
            return
        if load is None or self._seen.get(name) == (load, top):
            return
        self._seen[name] = (load, top)
        told = {**load, **(top or {})}
        at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self.loads.append({"kind": "load_data", "at": at, "broker": broker, "load": told})

    def record(self) -> subprocess.Popen:
        """Start `collect`."""
        url = f"http://{self.cluster.brokers['broker-1'].ports.broker}"
        words = [sys.executable, "-c", PROGRAM, "collect", url, "--output", self.history]
        return subprocess.Popen([*words, "--every", "1", "--time-limit", "1"])

    def give(self, number: int, name: str) -> None:
        """Unload a bundle to a destination, as an administrator does."""
        method, path, body = requests.unload_bundle(f"shop/ns-{number}/{WHOLE}")
        broker = self.cluster.brokers[name].ports.broker
        self.ask((method, f"{path}?destinationBroker={broker}", body))
        self.tell(given=f"ns-{number}", to=name)

    def wait_for_transfer(self) -> None:
        """Let time pass until bundles have left the first broker."""
        end = time.monotonic() + LONGEST
        while time.monotonic() < end:
            if any(name != "broker-1" for name in self.owners().values()):
                return
            self.wait(1)

    def leader(self):
        """Return the broker that is the leader."""
        return next(one for one in self.cluster.brokers.values() if self._leads(one))

    def moving(self) -> dict:
        """Return the bundles in transfer, with their destinations."""
        states = self.leader().manager._bundle_states()
        return {bundle: to for bundle, state, to, _ in states if state in ON_ITS_WAY}


def _json(found):
    """Return the value of a Java Optional as JSON, without the time `updatedAt`."""
    if found.isEmpty():
        return None
    mapper = jpype.JClass("org.apache.pulsar.common.util.ObjectMapperFactory").getMapper()
    told = json.loads(str(mapper.writer().writeValueAsString(found.get())))
    return {name: one for name, one in told.items() if name != "updatedAt"}


def begin(story: Transferring) -> subprocess.Popen:
    """Start the first broker with all bundles, and the recorder."""
    story.up("broker-1")
    story.ask(requests.create_tenant("shop"))
    for number in range(1, 7):
        story.ask(requests.create_namespace(f"shop/ns-{number}", 1))
    story.serve()
    story.up("broker-2")
    return story.record()


def moves(story: Transferring) -> None:
    """Play transfers, and requests of administrators."""
    collect = begin(story)
    story.up("broker-3")
    story.wait(5)
    story.carried = 1
    story.wait_for_transfer()
    story.wait(5)
    story.give(6, "broker-3" if story.owners()[f"shop/ns-6/{WHOLE}"] != "broker-3" else "broker-2")
    story.wait(10)
    story.ask(requests.split_bundle(f"shop/ns-5/{WHOLE}", None, [], unload=True))
    story.tell(split="ns-5")
    story.wait(10)
    former = story.leader().name
    while story.leader().name == former:
        story.cluster.depose_leader()
    story.tell(led=former, leads=story.leader().name)
    story.wait(10)
    story.stop(next(name for name in ("broker-3", "broker-2") if name != story.leader().name))
    story.wait(70)
    end(story, collect)


def crash(story: Transferring) -> None:
    """Kill the destination of a transfer before the transfer ends."""
    collect = begin(story)
    story.up("broker-3", separate=True)
    story.carried = 1
    story.wait(6)
    story.give(4, "broker-2")
    story.wait(64)
    story.stopped.add("broker-3")
    story.signal("broker-3", signal.SIGSTOP)
    scheduler = story.leader().manager.java
    scheduler = scheduler.getClass().getDeclaredField("unloadScheduler")
    scheduler.setAccessible(True)
    scheduler = scheduler.get(story.leader().manager.java)
    cycle = threading.Thread(target=scheduler.execute, daemon=True)
    cycle.start()
    begun = time.monotonic()
    while not story.moving() and time.monotonic() - begun < PATIENCE:
        time.sleep(0.05)
    story.tell(moving=story.moving())
    story.wait(4)
    story.tell(moving=story.moving())
    story.signal("broker-3", signal.SIGKILL)
    killed = story.cluster.brokers.pop("broker-3")
    story.cluster.metadata.end_session(killed.ports.broker)
    story.tell(session_ended="broker-3")
    story.wait(30)
    cycle.join(60)
    story.tell(cycle_ended=not cycle.is_alive())
    story.wait(10)
    story.up("broker-4")
    story.wait(5)
    story.stop("broker-1")
    story.wait(70)
    end(story, collect)


def end(story: Transferring, collect: subprocess.Popen) -> None:
    """Stop the recorder, and merge the load data into its history."""
    collect.send_signal(signal.SIGTERM)
    collect.wait(60)
    files = sorted(Path(story.history).glob("*.jsonl"))
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    lines += [{"cluster": lines[0]["cluster"], **one} for one in story.loads]
    lines.sort(key=lambda one: one["at"])
    text = "".join(f"{json.dumps(one)}\n" for one in lines)
    Path(story.history).with_suffix(".jsonl").write_text(text)


STORIES = {"moves": moves, "crash": crash}


def main(version: str, jars: str, temporary: str, history: str, name: str) -> None:
    """Record one cluster."""
    told = {"version": version, "folders": [jars], "folder": temporary, "settings": {}}
    told |= {"manager": "extensible", "brokers": 8, "crash": "kill"}
    sys.argv[1] = json.dumps(told)
    settings = {**SETTINGS, **RARELY.get(name, {})}
    STORIES[name](Transferring(ClusterHost("documented-4.2", {}), history, settings))


if __name__ == "__main__":
    from script import run_script

    run_script(main)
