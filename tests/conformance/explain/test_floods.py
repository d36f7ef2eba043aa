"""An explanation stays short, however many brokers, topics or bundles its case has."""

import json
import re

import pytest
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.fixtures import examples

MAX_LINES = 150
"""Maximum number of lines of an explanation without --all, except for examples and stories."""

RANGES = [f"shop/eu/0x{n << 20:08x}_0x{(n + 1) << 20:08x}" for n in range(300)]
RATES = {"msgRateIn": 100, "msgThroughputIn": 10**5, "numSamples": 10}
BROKERS = {
    f"b{n:02}": {
        "cpu": {"usage": n * 37 % 97, "limit": 100},
        "msgThroughputIn": 10**8,
        "bundles": RANGES[3 * n : 3 * n + 3],
        "lastStats": {one: {"topics": 40 + n} for one in RANGES[3 * n : 3 * n + 3]},
    }
    for n in range(100)
}
CLUSTER = {
    "settings": {"loadBalancerNamespaceBundleMaxTopics": 50},
    "brokers": BROKERS,
    "bundles": {
        one: {"shortTermData": RATES, "longTermData": {**RATES, "msgRateIn": 100 + n % 17}}
        for n, one in enumerate(RANGES)
    },
}
NEW = "shop/eu/0xc0000000_0xffffffff"
TOPICS = [f"persistent://shop/eu/t{n}" for n in range(1000)]
LARGE = {
    "place.select": {**CLUSTER, "bundle": NEW, "candidates": [*BROKERS], "preallocated": {}},
    "place.broker": {
        **CLUSTER,
        **{"bundle": NEW, "preallocated": {}, "isolation": [], "versions": {}},
        **{"domains": {"east": [*BROKERS]}, "groups": {"shop/eu": "g"}},
    },
    "bundles.split_candidates": {**CLUSTER, "leader": True, "namespaceBundles": {"shop/eu": 300}},
    "bundles.locate": {
        "topics": TOPICS,
        "boundaries": [*(f"0x{n << 20:08x}" for n in range(1 << 12)), "0xffffffff"],
    },
    "shed.select": {**CLUSTER, "strategy": "OverloadShedder", "recentlyUnloaded": {}},
}


@pytest.mark.parametrize("operation", LARGE)
def test_a_large_case_is_shortened_and_all_of_it_is_shown_on_request(operation, explain):
    case = json.dumps({"ask": operation, "case": LARGE[operation]})
    status, short, _ = explain(case, "--judge-by", "documented-3.0")
    _, complete, _ = explain(case, "--judge-by", "documented-3.0", "--all")
    assert status == 0
    assert len(short.splitlines()) <= min(MAX_LINES, len(complete.splitlines()) // 3)
    assert "--all lists each" in short
    assert "--all lists each" not in complete


def test_the_chosen_broker_is_among_those_that_are_shown(explain):
    case = json.dumps({"ask": "place.select", "case": LARGE["place.select"]})
    _, out, _ = explain(case)
    [chosen] = re.findall(r"^  broker  (\S+)$", out, re.MULTILINE)
    assert re.search(rf"^{chosen} .* msg/s long-term", out, re.MULTILINE)
    shown = len(re.findall(r"^b\d\d ", out, re.MULTILINE))
    assert f"{100 - shown} more" in out


def test_the_bundles_that_are_not_listed_are_counted(explain):
    case = json.dumps({"ask": "bundles.locate", "case": LARGE["bundles.locate"]})
    _, out, _ = explain(case)
    counts = out.partition("topics in each bundle\n")[2]
    listed = len(re.findall(r"^  0x", counts, re.MULTILINE))
    assert listed + sum(map(int, re.findall(r"^  (\d+) more", counts, re.MULTILINE))) == 1 << 12
    assert re.search(r"more +no topics \(--all lists each\)", counts)


def test_the_answer_of_many_parts_is_shortened(explain):
    case = json.dumps({"ask": "bundles.locate", "case": LARGE["bundles.locate"]})
    _, out, _ = explain(case)
    assert "and 992 more (--all lists each)" in out
    _, out, _ = explain(case, "--all")
    assert "more" not in out


def test_no_example_floods_the_terminal(capsys):
    """No explanation of an example is long, except for defaults of settings and for stories."""
    for example in examples():
        if {"settings.defaults", "cluster.replay"} & {one for one, _ in example.questions}:
            continue
        assert main(["explain", example.id]) == 0
        assert len(capsys.readouterr().out.splitlines()) <= MAX_LINES, example.id
