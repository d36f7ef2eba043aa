"""A cluster with troubled brokers, which runs in real time while `collect` records it.

One bundle is shed, another is unloaded by an administrator, and the strategy is changed. A broker
is late (SIGSTOP), another is killed (SIGKILL), a third joins, and the leader and a follower shut
down. At the end, the leader is a broker that was started after the change.

python recorded_troubles.py VERSION JARS TEMPORARY HISTORY
"""

import json
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime

from pulsar_conformance.adapters.admin_api import requests
from pulsar_conformance.adapters.admin_api.http import NoAnswer
from pulsar_conformance.adapters.cluster.host import ClusterHost

PACKAGE = "org.apache.pulsar.broker.loadbalance.impl."
SETTINGS = {
    "loadBalancerSheddingEnabled": True,
    "loadBalancerLoadSheddingStrategy": f"{PACKAGE}OverloadShedder",
    "loadBalancerSheddingIntervalMinutes": 1,
    "loadBalancerSheddingGracePeriodMinutes": 30,
    "loadBalancerBrokerOverloadedThresholdPercentage": 85,
    "loadBalancerBrokerThresholdShedderPercentage": 10,
    "loadBalancerHistoryResourcePercentage": 0.0,
    "loadBalancerAutoBundleSplitEnabled": False,
    "loadBalancerReportUpdateMinIntervalMillis": 5000,
}
MB = 1_000_000
CAPACITY = 100 * MB
MEGABYTES = {1: 30, 2: 25, 3: 20, 4: 10, 5: 5, 6: 1}
"""Throughput in MB/s of each namespace, by its number; a namespace has one bundle and one topic."""

WHOLE = "0x00000000_0xffffffff"
PROGRAM = "import sys; from pulsar_conformance.conformance.commands.main import main; main()"


def topic(number: int) -> str:
    """Return the topic of a namespace."""
    return f"persistent://shop/ns-{number}/orders"


class Troubled:
    """The cluster, its clients, and its recorder."""

    def __init__(self, host: ClusterHost, history: str) -> None:
        self.host, self.cluster, self.history = host, host._cluster, history
        self.cluster.doomed = {f"broker-{number}" for number in range(1, 9)}
        self.cluster.begin()
        self.carried, self.stopped = 0, set()

    def tell(self, **event) -> None:
        """Print what happens, with its time."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        print(json.dumps({"at": at, **event, "ports": self.cluster.names()}), flush=True)

    def up(self, name: str) -> None:
        """Start a broker."""
        self.cluster.start(name, CAPACITY, self.host._defaults, SETTINGS, {**SETTINGS})
        self.tell(up=name)

    def ask(self, request) -> None:
        """Send a request to a running broker, and ignore the answer."""
        running = [one for one in self.cluster.brokers if one not in self.stopped]
        index = list(self.cluster.brokers).index(running[0])
        try:
            reply = self.cluster.ask(*request, index=index, seconds=5)
            if not reply.is_success:
                self.tell(request=request[1], refused=reply.rejection)
        except NoAnswer as error:
            self.tell(request=request[1], unanswered=str(error))

    def owners(self) -> dict:
        """Return the owner of each bundle of users' namespaces."""
        return {
            bundle: name
            for bundle, (name, _) in self.cluster.owned_bundles(
                [f"shop/ns-{number}" for number in MEGABYTES]
            ).items()
        }

    def serve(self) -> None:
        """Look up bundles without an owner, as clients do, and set each broker's load."""
        owners = self.owners()
        for number in MEGABYTES:
            if f"shop/ns-{number}/{WHOLE}" not in owners:
                self.ask(requests.look_up(topic(number)))
        owners = self.owners()
        for name, broker in list(self.cluster.brokers.items()):
            if name in self.stopped:
                continue
            table = {}
            for number, megabytes in MEGABYTES.items():
                bundle = f"shop/ns-{number}/{WHOLE}"
                if owners.get(bundle) == name:
                    bytes_in = float(megabytes * MB * self.carried)
                    rates = {"msgRateIn": bytes_in / 10_000, "msgThroughputIn": bytes_in}
                    table[bundle] = {"topics": 1, **rates}
            broker.set_load(sum(one["msgThroughputIn"] for one in table.values()), table)

    def wait(self, seconds: float) -> None:
        """Let time pass while clients and brokers work."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.serve()
            time.sleep(0.5)
        self.tell(owners=self.owners(), leader=self.cluster.leader_node())

    def signal(self, name: str, number: int) -> None:
        """Send a signal to the process of a broker."""
        self.cluster.brokers[name]._child._child.send_signal(number)
        self.tell(signalled=name, signal=signal.Signals(number).name)

    def stop(self, name: str) -> None:
        """Shut a broker down gracefully."""
        self.tell(stops=name)
        self.cluster.brokers.pop(name).stop()
        self.tell(stopped=name)

    def record(self) -> subprocess.Popen:
        """Start `collect`."""
        url = f"http://{self.cluster.brokers['broker-1'].ports.broker}"
        words = [sys.executable, "-c", PROGRAM, "collect", url, "--output", self.history]
        return subprocess.Popen([*words, "--every", "2"])


def play(story: Troubled) -> None:
    """Play all events, which takes about thirteen minutes."""
    story.up("broker-1")
    story.ask(requests.create_tenant("shop"))
    for number in MEGABYTES:
        story.ask(requests.create_namespace(f"shop/ns-{number}", 1))
    story.serve()
    story.up("broker-2")
    story.up("broker-3")
    collect = story.record()
    story.wait(10)
    story.carried = 1
    story.wait(125)
    story.ask(requests.unload_bundle(f"shop/ns-4/{WHOLE}"))
    story.tell(unloaded="ns-4")
    story.wait(20)
    name = "loadBalancerLoadSheddingStrategy"
    story.ask(requests.set_dynamic_setting(name, f"{PACKAGE}ThresholdShedder"))
    story.tell(changed=name)
    story.wait(130)
    story.stopped.add("broker-3")
    story.signal("broker-3", signal.SIGSTOP)
    story.wait(75)
    story.signal("broker-3", signal.SIGCONT)
    story.stopped.clear()
    story.wait(40)
    story.signal("broker-3", signal.SIGKILL)
    killed = story.cluster.brokers.pop("broker-3")
    story.wait(20)
    story.cluster.metadata.end_session(killed.ports.broker)
    story.tell(session_ended="broker-3")
    story.wait(70)
    story.up("broker-4")
    story.wait(30)
    story.stop("broker-1")
    story.wait(75)
    story.up("broker-1")
    story.wait(10)
    story.stop("broker-2")
    story.wait(135)
    collect.send_signal(signal.SIGTERM)
    collect.wait(60)


def main(version: str, jars: str, temporary: str, history: str) -> None:
    """Record one cluster."""
    told = {"version": version, "folders": [jars], "folder": temporary, "settings": {}}
    told |= {"manager": "modular", "brokers": 8, "crash": "kill"}
    sys.argv[1] = json.dumps(told)
    play(Troubled(ClusterHost("documented-3.0", {}), history))


if __name__ == "__main__":
    from script import run_script

    run_script(main)
