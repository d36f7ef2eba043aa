"""Lines of a history, and the rows that Spark reads from them."""

import json
from collections import Counter

from pulsar_conformance.audit.input.files import current_files
from pulsar_conformance.audit.input.lines import read_lines
from pulsar_conformance.audit.input.records import records

HALVES = ["t/ns/0x00000000_0x80000000", "t/ns/0x80000000_0xffffffff"]
WHOLE = "t/ns/0x00000000_0xffffffff"
RATES = {"msgRateIn": 1.5, "msgRateOut": 2, "msgThroughputIn": 3e6, "msgThroughputOut": 4e6}
STATS = {**RATES, "topics": 3, "producerCount": 2, "consumerCount": 1}


def line(kind, at="2026-11-20T10:00:00Z", **fields):
    return json.dumps({"kind": kind, "cluster": "eu-1", "at": at, **fields})


def said(**changes):
    """Return a load report with some fields changed."""
    return {
        "cpu": {"usage": 50, "limit": 200},
        **RATES,
        "bundles": HALVES,
        "lastStats": dict.fromkeys(HALVES, STATS),
        **changes,
    }


def report(at="2026-11-20T10:00:00Z", broker="b1:8080", **changes):
    return line("load_report", at, broker=broker, report=said(**changes))


def data(**changes):
    average = {**RATES, "numSamples": 3}
    return line("bundle_data", bundle=WHOLE, data={"shortTermData": average, **changes})


def load(**changes):
    """Return the load data of a broker of the extensible manager, with some fields changed."""
    top = [{"bundleName": WHOLE, "stats": STATS}]
    told = {"weightedMaxEMA": 0.5, "msgThroughputIn": 3e6, "topBundlesLoadData": top}
    return line("load_data", broker="b1:8080", load={**told, "bundleCount": 3, **changes})


GOOD = [
    report(),
    report(broker="[::1]:8080", webServiceUrl="http://x", extra=[{"a": None}]),
    line("owners", owners={"b1:8080": HALVES, "b2:8080": []}),
    line("unloaded", bundle=WHOLE, broker="b1:8080"),
    line("assigned", bundle="p/c/ns/0x00000000_0xffffffff", broker="b1:8080"),
    line("split", bundle=WHOLE, into=HALVES),
    line("leader", broker="b1:8080"),
    line("cycle", at="2026-11-20T11:00:00.123456+01:00"),
    line("domain", name="rack-1", members=["b1:8080"]),
    line("group", name="far-apart", members=["t/ns"]),
    line("settings", settings={"loadBalancerSheddingEnabled": True, "other": {"a": 1}}),
    data(longTermData={**RATES, "numSamples": 900, "maxSamples": 1000}),
    report("2026-11-20T10:05:00Z", memory={"usage": -1, "limit": -1}) + "\r",
    load(),
]


def as_bytes(text):
    return text if isinstance(text, bytes) else text.encode()


def history(folder, texts, name="history.jsonl"):
    folder.mkdir(exist_ok=True, parents=True)
    (folder / name).write_bytes(b"".join(as_bytes(text) + b"\n" for text in texts))
    return folder


def told(session, folder, whole=True):
    """Return each row of `records`: file name, line, whether it is used, and the reason if not."""
    rows = records(read_lines(session, str(folder), current_files(session, str(folder)), whole))
    chosen = rows.select("file", "line", "used", "reason").collect()
    return [(row[0].rpartition("/")[2], row[1], row[2], row[3]) for row in chosen]


def reasons(rows):
    return Counter(reason for _, _, _, reason in rows)
