"""A story on a cluster, with one look of the recorder after each event.

python recorded_story.py VERSION JARS TEMPORARY HISTORY
"""

import json
import os
import sys
import traceback
from pathlib import Path

from pulsar_conformance.adapters.admin_api.remote import Access, AdminApi
from pulsar_conformance.adapters.cluster.host import ClusterHost
from pulsar_conformance.adapters.operated.looking import Looker
from pulsar_conformance.audit.collect.files import Recording
from pulsar_conformance.audit.collect.recording import Recorder

PACKAGE = "org.apache.pulsar.broker.loadbalance.impl."
SETTINGS = {
    "loadBalancerSheddingEnabled": True,
    "loadBalancerLoadSheddingStrategy": f"{PACKAGE}OverloadShedder",
    "loadBalancerReportUpdateMaxIntervalMinutes": 1,
    "loadBalancerSheddingIntervalMinutes": 1,
    "loadBalancerSheddingGracePeriodMinutes": 30,
    "loadBalancerBrokerOverloadedThresholdPercentage": 85,
    "loadBalancerAutoBundleSplitEnabled": False,
    "loadBalancerAutoUnloadSplitBundlesEnabled": True,
    "defaultNamespaceBundleSplitAlgorithm": "range_equally_divide",
    "failureDomainsEnabled": True,
}
MB = 1_000_000


def topic(number: int, megabytes: int) -> dict:
    name = f"persistent://shop/ns-{number}/orders"
    return {
        "topic": {"topic": name, "msgRateIn": 100 * megabytes, "msgThroughputIn": MB * megabytes}
    }


def up(number: int) -> dict:
    return {"broker_up": {"broker": f"broker-{number}", "capacity": 100 * MB}}


EVENTS = [
    up(1),
    *({"namespace": {"name": f"shop/ns-{number}", "bundles": 1}} for number in (1, 2, 3)),
    {"group": {"namespace": "shop/ns-3", "group": "apart"}},
    *(topic(number, size) for number, size in ((1, 60), (2, 30), (3, 1))),
    up(2),
    up(3),
    {"domain": {"name": "north", "brokers": ["broker-1", "broker-2"]}},
    {"tick": {"minutes": 1}},
    {"tick": {"minutes": 1}},
    {"unload": {"bundleOf": "persistent://shop/ns-2/orders"}},
    {"tick": {"minutes": 1}},
    {"split": {"bundleOf": "persistent://shop/ns-3/orders", "algorithm": None, "positions": []}},
    {"leader_lost": {}},
    {"leader_lost": {}},
    {"leader_lost": {}},
    {"tick": {"minutes": 1}},
    {"broker_down": {"broker": "broker-3"}},
    {"tick": {"minutes": 1}},
]


def main(version: str, jars: str, temporary: str, history: str) -> None:
    told = {"version": version, "folders": [jars], "folder": temporary, "settings": {}}
    told |= {"manager": "modular", "brokers": 4, "crash": "close"}
    sys.argv[1] = json.dumps(told)
    host = ClusterHost("documented-3.0", {})
    from pulsar_conformance.adapters.cluster.story import LiveStory

    cluster = host._cluster
    cluster.begin()
    story = LiveStory(cluster, SETTINGS, host._beneath, {})
    recorder = None
    for event in EVENTS:
        [(kind, about)] = event.items()
        step = story.happen(kind, about)
        print(json.dumps({"event": event, "step": step, "ports": cluster.names()}), flush=True)
        if recorder is None:
            [broker] = cluster.brokers.values()
            api = AdminApi(Access(f"http://{broker.ports.broker}"))
            looker = Looker.of(api, None)
            recording = Recording(Path(history), looker.cluster)
            recorder = Recorder(looker, recording, lambda text: print(text, file=sys.stderr))
            recorder.once(first=True)
        else:
            recorder.once(first=False)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)
