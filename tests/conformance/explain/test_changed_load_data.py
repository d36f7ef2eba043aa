"""Load data of the extensible manager: with other settings, both decisions are shown."""

import json

import pytest
from pulsar_conformance.conformance.commands.main import main

MB = 1_000_000
TOP = [
    {"bundleName": f"t/n/0x{part}", "stats": {"msgThroughputIn": rate * MB}}
    for part, rate in (("00000000_0x80000000", 15), ("80000000_0xffffffff", 9))
]


@pytest.fixture
def saved(tmp_path):
    """Save the load data of three brokers, one file for each, and return the folder."""
    for name, load in (("b1", 0.8), ("b2", 0.5), ("b3", 0.4)):
        one = {"weightedMaxEMA": load, "msgThroughputEMA": 100 * load * MB}
        top = {"topBundlesLoadData": TOP} if name == "b1" else {}
        (tmp_path / f"{name}.json").write_text(json.dumps({**one, **top}))
    return tmp_path


@pytest.fixture
def explained(saved, capsys):
    def ask(*settings):
        words = [word for one in settings for word in ("--setting", one)]
        assert main(["explain", str(saved), "--release", "4.0.7", *words]) == 0
        return capsys.readouterr().out

    return ask


# Deviation of 80, 50 and 40 %: 0.17. By default, 0.25 is allowed, and no broker is idle.
def test_a_changed_target_sheds_and_the_decision_before_is_shown(explained):
    out = explained("loadBalancerBrokerLoadTargetStd=0.1")
    now, _, before = out.partition("without the changed settings\n")
    assert "answer: from b1 to b3 first" in now
    assert before == "answer: unload nothing\n"


def test_a_change_without_effect_is_said(explained):
    out = explained("loadBalancerBrokerLoadTargetStd=0.2")
    assert out.endswith("the changed settings do not affect which bundles go\n")
    assert "without the changed settings" not in explained()


def test_top_bundles_beside_the_load_in_one_file_are_used(explained):
    out = " ".join(explained("loadBalancerBrokerLoadTargetStd=0.1").split())
    assert "(80 % - 40 %) / 2 / 80 % of 80 MB/s = 20 MB/s" in out
    assert "goes t/n/0x00000000_0x80000000 15 MB/s leaves 5 MB/s" in out
    assert "stays t/n/0x80000000_0xffffffff 9 MB/s" in out
