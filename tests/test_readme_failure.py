"""The failure shown in the README has the calculation that `explain` prints for its case."""

import json
import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
LOWER, UPPER = "shop/eu/0x00000000_0x20000000", "shop/eu/0x20000000_0x40000000"
CASE = {
    "strategy": "org.apache.pulsar.broker.loadbalance.impl.OverloadShedder",
    "settings": {},
    "brokers": {
        "broker-0": {
            "cpu": {"usage": 95, "limit": 100},
            "msgThroughputIn": 100_000_000,
            "msgThroughputOut": 100_000_000,
            "bundles": [LOWER, UPPER],
        },
        "broker-1": {},
    },
    "bundles": {
        LOWER: {"shortTermData": {"msgThroughputIn": 10_000_000, "numSamples": 1}},
        UPPER: {"shortTermData": {"msgThroughputIn": 20_000_000, "numSamples": 1}},
    },
    "recentlyUnloaded": {},
}


def test_the_failure_shown_is_calculated_as_its_case_is(explain):
    shown = README.read_text("utf-8").partition("OVERLOAD-02 violated by")[2].partition("```")[0]
    lines = re.findall(r"^ {6}(\w.*)$", shown, re.MULTILINE)
    assert len(lines) == 8
    status, out, _ = explain(json.dumps({"ask": "shed.select", "case": CASE}))
    assert status == 0
    explained = [line.strip() for line in out.splitlines()]
    # `explain` adds the amount in MiB/s, which a failure leaves out.
    assert [one for one in lines if not any(line.startswith(one) for line in explained)] == []
