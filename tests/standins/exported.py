"""One history of a cluster in each format in which operators may have it."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

START = datetime(2026, 11, 20, 10, 0, tzinfo=UTC)
CLUSTER = "eu-1"
BUNDLES = [f"acme/orders/0x{part:x}0000000_0x{part + 1:x}0000000" for part in range(6)]
FIRST = {"b1:8080": BUNDLES[:3], "b2:8080": BUNDLES[3:5], "b3:8080": BUNDLES[5:]}
AFTER = {"b1:8080": BUNDLES[1:3], "b2:8080": [*BUNDLES[3:5], BUNDLES[0]], "b3:8080": BUNDLES[5:]}
ROUNDS = {0: FIRST, 5: FIRST, 10: AFTER}
"""The bundles of each broker, by minutes since the start; a bundle is unloaded in between."""

UNLOADED_AT = START + timedelta(minutes=6, seconds=1)
USAGE = {"b1:8080": 80.0, "b2:8080": 30.0, "b3:8080": 20.0}


def report(broker, minutes, owned):
    rates = {"msgRateIn": 100.0, "msgRateOut": 100.0}
    rates |= {"msgThroughputIn": 2e6, "msgThroughputOut": 2e6}
    counts = {"topics": 5, "producerCount": 1, "consumerCount": 1}
    return {
        "cpu": {"usage": USAGE[broker], "limit": 100.0},
        "memory": {"usage": 5.0, "limit": 100.0},
        "bundles": owned,
        "lastStats": {bundle: {**rates, **counts} for bundle in owned},
        "brokerVersionString": "3.0.7",
        "lastUpdate": int((START + timedelta(minutes=minutes)).timestamp() * 1000),
        **{name: len(owned) * rate for name, rate in rates.items()},
    }


REPORTS = [
    (minutes, broker, report(broker, minutes, owned))
    for minutes, owners in ROUNDS.items()
    for broker, owned in owners.items()
]
UNLOADED = {
    "kind": "unloaded",
    "bundle": BUNDLES[0],
    "broker": "b1:8080",
    "cause": "shedding",
}


def stamp(at):
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def own_records():
    """Return the history in the format of the suite."""
    for minutes, broker, one in REPORTS:
        at = stamp(START + timedelta(minutes=minutes))
        yield {"kind": "load_report", "cluster": CLUSTER, "at": at, "broker": broker, "report": one}
    yield {"cluster": CLUSTER, "at": stamp(UNLOADED_AT), **UNLOADED}


def lines(records):
    return "".join(f"{json.dumps(one)}\n" for one in records)


def history_lines(cluster, events):
    """Return events of a cluster, each with its minutes since the start, in the suite's format."""
    return lines(
        {"cluster": cluster, "at": stamp(START + timedelta(minutes=at)), **one}
        for at, one in events
    )


LOGGED = (
    "ModularLoadManagerImpl - [ThresholdShedder] Unloading bundle: "
    f"{BUNDLES[0]} from broker b1:8080 to dest broker b2:8080"
)
PLANNED = (
    "ThresholdShedder - Attempting to shed load on b1:8080, which has max resource usage above "
    "avgUsage and threshold 80% > 43% + 10% -- Offloading at least 3 MByte/s of traffic"
)


def curl_folder(folder):
    for minutes, broker, one in REPORTS:
        file = folder / f"{minutes:02d}" / broker / "load-report"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(one))
    return folder


def znodes(folder):
    text = "".join(
        f"get /loadbalance/brokers/{broker}\n{json.dumps(one)}\ncZxid = 0x1f\n"
        for _, broker, one in REPORTS
    )
    file = folder / "znodes.txt"
    file.write_text(text)
    return file


def one_object(folder):
    for minutes in ROUNDS:
        whole = {broker: one for at, broker, one in REPORTS if at == minutes}
        (folder / f"all-{minutes}.json").write_text(json.dumps(whole, indent=2))
    return folder


METRICS = {"msg_rate_in": "msgRateIn", "msg_rate_out": "msgRateOut"}
METRICS |= {f"msg_throughput_{way}": f"msgThroughput{way.title()}" for way in ("in", "out")}


def series():
    """Yield the series of a range query: usage, bundles and the leader's number of unloads."""
    found = {}
    for minutes, broker, one in REPORTS:
        at = START.timestamp() + 60 * minutes
        labels = (("broker", broker), ("cluster", CLUSTER))
        found.setdefault(("pulsar_lb_cpu_usage", labels), []).append([at, str(one["cpu"]["usage"])])
        for bundle, stats in one["lastStats"].items():
            for metric, name in METRICS.items():
                key = (f"pulsar_bundle_{metric}", (*labels, ("bundle", bundle)))
                found.setdefault(key, []).append([at, str(stats[name])])
    counted = [[START.timestamp() + 60 * at, str(count)] for at, count in ((0, 7), (5, 7), (10, 8))]
    found["pulsar_lb_unload_bundle_total", (("broker", "b1:8080"),)] = counted
    for (name, labels), values in found.items():
        yield {"metric": {"__name__": name, **dict(labels)}, "values": values}


GUIDE = Path(__file__).parents[2] / "reports" / "site" / "guides" / "audit-a-fleet.md"


def example_records():
    """Return the lines of the history that the guide shows."""
    _, _, after = GUIDE.read_text("utf-8").partition("```jsonl\n")
    return after.partition("```")[0].splitlines()
