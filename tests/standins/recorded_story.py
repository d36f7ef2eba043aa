"""Plays a story on a cluster; the recorder observes the cluster once after each event.

python recorded_story.py VERSION JARS TEMPORARY HISTORY [average]
"""

import json
import sys
from datetime import datetime, timedelta
from pathlib import Path

from pulsar_conformance.adapters.admin_api.remote import Access, AdminApi
from pulsar_conformance.adapters.cluster.host import ClusterHost
from pulsar_conformance.adapters.operated.looking import ClusterObserver
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


AVERAGE = {
    **SETTINGS,
    "loadBalancerLoadSheddingStrategy": f"{PACKAGE}AvgShedder",
    "loadBalancerLoadPlacementStrategy": f"{PACKAGE}AvgShedder",
    "loadBalancerSheddingGracePeriodMinutes": 3,
    "maxUnloadPercentage": 0.5,
}
MINUTE = {"tick": {"minutes": 1}}
SIZES = (35, 25, 10, 8, 6, 4, 3)
EVENED_OUT = [
    up(1),
    *({"namespace": {"name": f"shop/ns-{n}", "bundles": 1}} for n, _ in enumerate(SIZES)),
    *(topic(n, size) for n, size in enumerate(SIZES)),
    up(2),
    *[MINUTE] * 4,
    up(3),
    *[MINUTE] * 13,
]
"""AvgShedder balances two brokers that are 91 points apart, then a third, 46 and later 24 apart."""


def in_story_time(lines: list[dict], events: list[dict]) -> list[dict]:
    """Return the lines with the times of the story: an event takes six seconds, a tick its minutes.

    For each tick, a record of the cycle is added, after the brokers' reports and before the
    unloads.
    """
    looks = sorted({line["at"] for line in lines})
    assert len(looks) == len(events), (len(looks), len(events))
    begun = now = datetime.fromisoformat(looks[0])
    found, ran = [], begun
    for look, event in zip(looks, events, strict=True):
        mine = [line for line in lines if line["at"] == look]
        acts = [line for line in mine if line["kind"] in ("unloaded", "assigned")]
        ticked = "tick" in event
        step = timedelta(minutes=event["tick"]["minutes"]) if ticked else timedelta(seconds=6)
        now = max(now, ran) + step
        for line in mine:
            if line["kind"] == "load_report":
                line["report"]["lastUpdate"] = round(now.timestamp() * 1000)
            if line["kind"] == "leader" and now - begun < timedelta(minutes=1):
                line["anew"] = True
        found += [{**line, "at": stamp(now)} for line in mine if line not in acts]
        if ticked:
            ran = now + timedelta(seconds=CYCLE_AFTER)
            found.append({"kind": "cycle", "cluster": mine[0]["cluster"], "at": stamp(ran)})
        acted = ran + timedelta(seconds=0.5) if ticked else now
        found += [{**line, "at": stamp(acted)} for line in acts]
    return found


CYCLE_AFTER = 10
"""Seconds from the reports of a tick to its cycle."""


def stamp(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def main(version: str, jars: str, temporary: str, history: str, name: str = "") -> None:
    told = {"version": version, "folders": [jars], "folder": temporary, "settings": {}}
    told |= {"manager": "modular", "brokers": 4, "crash": "close"}
    sys.argv[1] = json.dumps(told)
    average = name == "average"
    host = ClusterHost("documented-4.2" if average else "documented-3.0", {})
    from pulsar_conformance.adapters.cluster.story import LiveStory

    cluster = host._cluster
    cluster.begin()
    story = LiveStory(cluster, AVERAGE if average else SETTINGS, host._defaults, {})
    recorder = None
    for event in EVENED_OUT if average else EVENTS:
        [(kind, about)] = event.items()
        step = story.play_event(kind, about)
        print(json.dumps({"event": event, "step": step, "ports": cluster.names()}), flush=True)
        if recorder is None:
            [broker] = cluster.brokers.values()
            api = AdminApi(Access(f"http://{broker.ports.broker}"))
            looker = ClusterObserver.of(api, None)
            recording = Recording(Path(history), looker.cluster)
            recorder = Recorder(looker, recording, lambda text: print(text, file=sys.stderr))
            recorder.observe(first=True)
        else:
            recorder.observe(first=False)
    recorder.flush()
    if average:
        [file] = Path(history).glob("*.jsonl")
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        told = in_story_time(lines, EVENED_OUT)
        file.write_text("".join(json.dumps(line) + "\n" for line in told))


if __name__ == "__main__":
    from script import run_script

    run_script(main)
