"""A cycle's case has the reported usage, and each profile decides by its own smoothed usage.

b1 is at 20 % of CPU and 90 % of memory in the first cycle, and at 85 and 90 % in the second; both
cycles count half. By the release, which ignores memory, b1 is at 52.5 %, the average is 24.17 %,
and 52.5 - 34.17 + 5 = 23.33 % go: two of six equal bundles. By the documents, b1 is at
0.5 * 90 + 0.5 * 90 = 90 %, the average is 36.67 %, and 90 - 36.67 + 5 = 58.33 % go: four.
"""

import json
import re
from datetime import timedelta

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance import specs
from pulsar_conformance.conformance.commands.main import main
from standins.exported import START, history_lines, report, stamp
from standins.sparks import CORES, spark

pytestmark = pytest.mark.spark

assert spark
BUNDLES = [f"acme/orders/0x{part:x}0000000_0x{part + 1:x}0000000" for part in range(8)]
OWNED = {"b1:8080": BUNDLES[:6], "b2:8080": BUNDLES[6:7], "b3:8080": BUNDLES[7:]}
SETTINGS = {
    "loadBalancerLoadSheddingStrategy": (
        "org.apache.pulsar.broker.loadbalance.impl.ThresholdShedder"
    ),
    "loadBalancerBrokerThresholdShedderPercentage": 10,
    "loadBalancerHistoryResourcePercentage": 0.5,
    "lowerBoundarySheddingEnabled": False,
    "loadBalancerBundleUnloadMinThroughputThreshold": 1,
}


def records():
    yield 0, {"kind": "settings", "settings": SETTINGS}
    yield 0.1, {"kind": "leader", "broker": "b2:8080"}
    for minute, usage in ((0.5, 20), (1.5, 85), (3.5, 85)):
        for broker, owned in OWNED.items():
            busy = broker == "b1:8080"
            own = {
                "cpu": {"usage": usage if busy else 10, "limit": 100},
                "memory": {"usage": 90 if busy else 10, "limit": 100},
            }
            said = {**report(broker, minute, owned), **own}
            yield minute, {"kind": "load_report", "broker": broker, "report": said}
        yield minute + 0.1, {"kind": "cycle"}
    for bundle in (*BUNDLES[:5], BUNDLES[6]):
        broker = "b1:8080" if bundle in OWNED["b1:8080"] else "b2:8080"
        yield 1.61, {"kind": "unloaded", "bundle": bundle, "broker": broker, "cause": "shedding"}


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reported")
    events = sorted(records(), key=lambda one: one[0])
    (folder / "history.jsonl").write_text(history_lines("eu", events))
    return folder


@pytest.fixture
def ask(spark, history, capsys):
    """Return a function that asks about the second cycle, by one profile or by both."""

    def told(*profile, of=("--why", BUNDLES[0]), choose=()):
        out = str(history / "-".join(("out", *profile)))
        words = ["--input", str(history / "history.jsonl"), "--output", out, "--spark", CORES]
        at = stamp(START + timedelta(minutes=2))
        judge = [word for one in profile for word in ("--judge-by", one)]
        judge += [word for one in choose for word in ("--reading", one)]
        capsys.readouterr()
        main(["audit", *words, *judge, *of, *(["--at", at] if of else [])])
        return " ".join(capsys.readouterr().out.split())

    return told


def unloads(said):
    """Return the number of bundles of b1 that a decision unloads."""
    several = re.search(r"unload (\d+) bundles", said)
    return int(several[1]) if several else said.count("of b1:8080")


def answer_of(text):
    own = text.partition(" answer ")[2].partition(" other decisions")[0]
    return unloads(own.rpartition("the whole decision: ")[2])


def test_the_documents_decide_with_their_own_usage(ask):
    beside = ask()
    assert "by released-3.0" in beside
    assert answer_of(beside) == 2
    other = beside.partition("other decisions about this case documented-3.0 ")[2]
    assert unloads(other.partition(" to see why")[0]) == 4
    # Alternatives of chosen readings are not judged, which would take seconds for each.
    chosen = specs.load().default_readings("documented-3.0")
    assert answer_of(ask("documented-3.0", choose=map("=".join, chosen.items()))) == 4


@pytest.mark.thorough
def test_a_profile_that_was_not_audited_is_asked_with_a_reservation(ask):
    alone = ask("released-3.0")
    assert answer_of(alone) == 2
    told = "usageHistory is used as given for both profiles, although documented-3.0 includes"
    assert told in alone.partition("other decisions about this case")[2]
    assert "usageHistory" not in ask().partition("other decisions")[2]


def test_a_saved_case_has_what_was_reported(ask, history):
    ask(of=())
    saved = [json.loads(one.read_text()) for one in (history / "out" / "cases").glob("*.json")]
    assert saved
    for one in saved:
        assert one["profile"] == "released-3.0"
        assert one["case"]["brokers"]["b1:8080"]["memory"] == {"usage": 90.0, "limit": 100}
        assert one["case"]["settings"]["loadBalancerBundleUnloadMinThroughputThreshold"] == 1
