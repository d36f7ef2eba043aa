"""The share of an implementation's decisions that the model predicts, and the causes of
differences.
"""

import gzip
import json
import os
import re
from collections import Counter
from pathlib import Path

import pytest
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.conformance.compare.predictions import (
    BRANCHES,
    OPEN_DIFFERENCE,
    Share,
    branches_of,
    describe_open_difference,
)
from pulsar_conformance.specs import load
from release_cases.bundle import bundled

TESTS = Path(__file__).parents[2]
TITLE = load().profile("documented-3.0").title


@pytest.fixture(autouse=True)
def _standins(monkeypatch):
    paths = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))


def predict(capfd, *words):
    status = main(["predict", *words, "--examples", "3"])
    out, err = capfd.readouterr()
    *shares, of = re.split(r"\n(?=These)", out.strip()) if out else ("", "")
    return status, [*"\n".join(shares).splitlines(), " ".join(of.split())], err


def test_the_model_predicts_itself(capfd):
    status, out, _ = predict(capfd, "reference", "--operation", "usage.max")
    assert status == 0
    line, what = out
    assert what == f"These are questions drawn for the rules of {TITLE}."
    assert line.startswith("usage.max: ")
    assert line.endswith("(100.0 %)")


def test_as_many_decisions_are_asked_as_wanted_where_there_are_so_many(capfd):
    """Only `average.broker` has 300 different cases, and all are asked; `usage.nic` has fewer."""
    words = ("--operation", "usage.nic", "--operation", "average.broker", "--decisions", "300")
    status, out, _ = predict(capfd, "reference", *words)
    assert status == 0
    shares = (re.match(r"([a-z.]+): (\d+) of \2 \(100.0 %\)", line) for line in out[:-1])
    cards, averages, every = shares
    assert int(every[2]) == int(cards[2]) + int(averages[2])
    assert 10 < int(cards[2]) < 300
    assert int(averages[2]) == 300


def test_misses_are_grouped_by_what_is_broken(capfd):
    words = ("python:standins.variants:Forgetful", "--operation", "shed.select")
    _, out, _ = predict(capfd, *words)
    first, *causes = out
    assert "(100.0 %)" not in first
    assert any("OVERLOAD-02" in cause for cause in causes)


def test_a_tie_is_no_deviation(capfd, tmp_path):
    """A different choice among equal bundles is called a tie, although 4.0 breaks THRESHOLD-03."""
    rates = {"msgRateIn": 1, "msgRateOut": 1, "msgThroughputIn": 5e7, "msgThroughputOut": 5e7}
    samples = {**rates, "numSamples": 10, "maxSamples": 10}
    equals = [f"t/ns/{part}" for part in ("0x00000000_0x80000000", "0x80000000_0xffffffff")]
    broker = {"msgRateIn": 2, "msgRateOut": 2, "msgThroughputIn": 1e8, "msgThroughputOut": 1e8}
    usage = {"b1": {**broker, "bundles": equals, "cpu": {"usage": 90, "limit": 100}}}
    idle = {**dict.fromkeys(rates, 0), "bundles": [], "cpu": {"usage": 10, "limit": 100}}
    case = {
        "strategy": "ThresholdShedder",
        "settings": {},
        "brokers": {**usage, "b2": idle},
        "bundles": {one: {"shortTermData": samples, "longTermData": samples} for one in equals},
        "recentlyUnloaded": {},
    }
    file = tmp_path / "tie.jsonl"
    file.write_text(json.dumps({"ask": "shed.select", "case": case}), "utf-8")
    words = ("--judge-by", "released-4.0", "--cases", str(file))
    _, out, _ = predict(capfd, "python:standins.variants:OtherOfEquals", *words)
    told = " ".join(" ".join(out[:-1]).split())
    assert told.startswith("shed.select: 0 of 1 (0.00 %)")
    assert "ThresholdShedder unloads bundles with the same traffic instead" in told


def test_missed_questions_are_written_and_missed_again(capfd, tmp_path):
    file, words = tmp_path / "missed.jsonl", ("python:standins.variants:Forgetful",)
    _, out, _ = predict(capfd, *words, "--operation", "shed.select", "--missed", str(file))
    predicted, asked = map(int, re.findall(r"\d+", out[0])[:2])
    assert len(file.read_text("utf-8").splitlines()) == asked - predicted > 0
    _, out, _ = predict(capfd, *words, "--cases", str(file))
    assert out[0] == f"shed.select: 0 of {asked - predicted} (0.00 %)"


def test_missed_questions_need_a_folder(capfd, tmp_path):
    file = tmp_path / "none" / "missed.jsonl"
    words = ("reference", "--operation", "usage.nic", "--missed", str(file))
    status, _, err = predict(capfd, *words)
    assert status == 2
    assert f"{file}: No such file or directory" in err


def test_what_is_not_offered_is_reported(capfd):
    status, _, err = predict(capfd, "reference", "--operation", "shed.selekt")
    assert status == 2
    assert "shed.selekt cannot be predicted for this implementation" in err


def test_a_share_is_written_with_its_causes_the_commonest_first():
    share = Share("shed.select", 430, Counter({"rare": 6, "common": 12}))
    assert list(share.lines()) == [
        "shed.select: 412 of 430 (95.81 %)",
        "    12  common",
        "     6  rare",
    ]


ONE, OTHER = {"broker": "b1", "bundle": "x"}, {"broker": "b1", "bundle": "y"}
ELSEWHERE = {"broker": "b2", "bundle": "z"}


@pytest.mark.parametrize(
    ("unloaded", "how"),
    [
        (
            [OTHER, ONE],
            "no rule is broken: UniformLoadShedder unloads the same bundles in another order",
        ),
        (
            [OTHER],
            "no rule is broken: UniformLoadShedder unloads other bundles of the same brokers",
        ),
        ([], "no rule is broken: UniformLoadShedder unloads nothing"),
        ([ONE, ELSEWHERE], "no rule is broken: UniformLoadShedder unloads from other brokers"),
        (None, OPEN_DIFFERENCE),
    ],
)
def test_what_is_left_open_is_distinguished(unloaded, how):
    case = {"strategy": "org.apache.pulsar.broker.loadbalance.impl.UniformLoadShedder"}
    answer = {"percent": 1} if unloaded is None else {"unload": unloaded}
    assert describe_open_difference(case, {"unload": [ONE, OTHER]}, answer) == how


def test_a_release_is_asked_about_the_branches_of_its_source(capfd):
    words = ("reference", "--judge-by", "released-4.2", "--operation", "manager.choose")
    status, out, _ = predict(capfd, *words)
    assert status == 0
    count = len(branches_of("released-4.2")["manager.choose"])
    assert out[-1].endswith(f", and {count} for branches of its source.")


def test_questions_of_a_file_are_taken_as_they_are(capfd, tmp_path):
    file = tmp_path / "cases.jsonl"
    lines = gzip.decompress((BRANCHES / "released-4.2.jsonl.gz").read_bytes())
    file.write_bytes(lines)
    words = ("reference", "--judge-by", "released-4.2", "--cases", str(file))
    status, out, _ = predict(capfd, *words)
    assert status == 0
    assert out[-1] == f"These are questions of {file}."
    found = re.fullmatch(r"all: (\d+) of \1 \(100.0 %\)", out[-2])
    assert 80 < int(found[1]) <= len(lines.splitlines())


@pytest.mark.parametrize("text", [b"[]\n", b'{"ask": "usage.max"}\n', b"no JSON\n"])
def test_a_file_without_questions_gives_one_message(capfd, tmp_path, text):
    file = tmp_path / "cases.jsonl"
    file.write_bytes(text)
    status, _, err = predict(capfd, "reference", "--cases", str(file))
    assert status == 2
    assert f"{file}, line 1: " in err


def test_a_missing_file_of_questions_gives_one_message(capfd, tmp_path):
    status, _, err = predict(capfd, "reference", "--cases", str(tmp_path / "none.jsonl"))
    assert status == 2
    assert "none.jsonl: No such file" in err


@pytest.mark.parametrize("profile", [one.id for one in load().profiles.values() if one.released])
def test_the_bundled_branches_are_those_that_the_generator_draws(profile):
    assert gzip.decompress((BRANCHES / f"{profile}.jsonl.gz").read_bytes()) == bundled(profile)
