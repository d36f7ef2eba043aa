"""How much of an implementation the model predicts, and why it misses the rest."""

import os
import re
from collections import Counter
from pathlib import Path

import pytest
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.conformance.compare.predictions import OPEN, Share, left_open

TESTS = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _standins(monkeypatch):
    paths = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))


def predict(capfd, *words):
    status = main(["predict", *words, "--examples", "3"])
    out, err = capfd.readouterr()
    return status, out.splitlines(), err


def test_the_model_predicts_itself(capfd):
    status, out, _ = predict(capfd, "reference", "--operation", "usage.max")
    assert status == 0
    [line] = out
    assert line.startswith("usage.max: ")
    assert line.endswith("(100.0 %)")


def test_as_many_decisions_are_asked_as_wanted_where_there_are_so_many(capfd):
    """Draws of network cards soon repeat themselves; those of averages do not."""
    words = ("--operation", "usage.nic", "--operation", "average.broker", "--decisions", "300")
    status, out, _ = predict(capfd, "reference", *words)
    assert status == 0
    cards, averages = (re.match(r"([a-z.]+): (\d+) of \2 \(100.0 %\)", line) for line in out)
    assert 10 < int(cards[2]) < 300
    assert int(averages[2]) == 300


def test_misses_are_grouped_by_what_is_broken(capfd):
    words = ("python:standins.variants:Forgetful", "--operation", "shed.select")
    _, out, _ = predict(capfd, *words)
    first, *causes = out
    assert "(100.0 %)" not in first
    assert any("OVERLOAD-02" in cause for cause in causes)


def test_what_is_not_offered_is_told(capfd):
    status, _, err = predict(capfd, "reference", "--operation", "shed.selekt")
    assert status == 2
    assert "shed.selekt is not offered" in err


def test_a_share_is_written_with_its_causes_the_commonest_first():
    share = Share("shed.select", 430, Counter({"rare": 6, "common": 12}))
    assert list(share.lines()) == [
        "shed.select: 412 of 430 (95.8 %)",
        "    12  common",
        "     6  rare",
    ]


ONE, OTHER = {"broker": "b1", "bundle": "x"}, {"broker": "b1", "bundle": "y"}
ELSEWHERE = {"broker": "b2", "bundle": "z"}


@pytest.mark.parametrize(
    ("unloaded", "how"),
    [
        ([OTHER, ONE], "no rule is broken: UniformLoadShedder unloads the same in another order"),
        ([OTHER], "no rule is broken: UniformLoadShedder takes other bundles of the same brokers"),
        ([], "no rule is broken: UniformLoadShedder unloads nothing"),
        ([ONE, ELSEWHERE], "no rule is broken: UniformLoadShedder unloads from other brokers"),
        (None, OPEN),
    ],
)
def test_what_is_left_open_is_told_apart(unloaded, how):
    case = {"strategy": "org.apache.pulsar.broker.loadbalance.impl.UniformLoadShedder"}
    answer = {"percent": 1} if unloaded is None else {"unload": unloaded}
    assert left_open(case, {"unload": [ONE, OTHER]}, answer) == how
