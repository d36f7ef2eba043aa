"""The output of a comparison of two implementations, in which a broken rule comes first."""

import os
import re
import shlex
from pathlib import Path

import pytest
from pulsar_conformance.conformance.cases.saved import load_saved
from pulsar_conformance.conformance.commands.main import main

TESTS = Path(__file__).parents[2]
SHEDDING = ("--operation", "shed.select", "--examples", "15")
OPEN = "both answers are allowed: the documents leave this open"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))


def variant(name):
    return f"python:standins.variants:{name}"


def diff(capfd, *words):
    status = main(["diff", *words])
    out, err = capfd.readouterr()
    assert "Traceback" not in out + err
    return status, out, err


def smallest(out):
    [file] = re.findall(r"^  smallest case  (\S+)", out, re.MULTILINE)
    return load_saved(Path(file)).trial


def test_equal_implementations_differ_in_nothing(capfd):
    status, out, _ = diff(capfd, "reference", variant("Same"), "--examples", "2")
    assert status == 0
    lines = out.splitlines()
    none = re.compile(r"\S+: \d+ cases?, none decided differently")
    assert [line for line in lines if not none.fullmatch(line)] == []
    assert "settings.defaults: 1 case, none decided differently" in lines


def test_a_tie_taken_otherwise_is_allowed(capfd):
    status, out, _ = diff(capfd, "reference", variant("Contrary"), *SHEDDING)
    assert status == 1
    assert OPEN in out
    assert "breaks" not in out
    assert re.search(r"^shed.select: \d+ cases, \d+ decided differently$", out, re.MULTILINE)
    assert len(smallest(out).questions[0].case["brokers"]) <= 3


@pytest.mark.parametrize("turned", [False, True])
def test_a_difference_that_breaks_a_rule_comes_first(capfd, turned):
    pair = ["reference", variant("Forgetful")]
    status, out, _ = diff(capfd, *(pair[::-1] if turned else pair), *SHEDDING)
    assert status == 1
    assert OPEN not in out
    mine = out.index("\n  forgetful: ")
    assert out.index("breaks ") > mine
    assert ("reference" in out[mine:]) is turned
    assert re.search(r"^    breaks (OVERLOAD-02|THRESHOLD-\d\d): \w", out, re.MULTILINE)
    [(_, case)] = smallest(out).questions
    assert len(case["brokers"]) <= 3
    assert "to shed" in out


def test_the_case_of_a_broken_rule_can_be_replayed(capfd):
    _, out, _ = diff(capfd, "reference", variant("Forgetful"), *SHEDDING)
    [rule] = re.findall(r"^    breaks (\S+):", out, re.MULTILINE)[:1]
    [file] = re.findall(r"^  smallest case  (\S+)", out, re.MULTILINE)
    words = ["run", "--adapter", variant("Forgetful"), "--rules", rule, "--replay", file]
    assert main(words) == 1
    assert f"{rule} violated by forgetful" in capfd.readouterr().out


def test_readings_taken_otherwise_are_reported_and_each_is_judged_by_its_own(capfd):
    status, out, _ = diff(capfd, "reference", variant("One"), *SHEDDING)
    assert status == 1
    assert (
        out.splitlines()[0] == "reading overload-amount: the first follows margin, the second one"
    )
    assert OPEN in out
    reading = ("--reading", "overload-amount=one")
    assert diff(capfd, "reference", variant("One"), *SHEDDING, *reading)[0] == 0


def test_who_decides_nothing_breaks_rules(capfd):
    words = ["--operation", "usage.nic", "--examples", "5"]
    status, out, _ = diff(capfd, "reference", "python:standins.nulls:Nothing", *words)
    assert status == 1
    assert re.search(r"^    breaks USAGE-\d\d: ", out, re.MULTILINE)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["reference", "refrence"], "did you mean reference?"),
        (["reference", "reference", "--judge-by", "documented-9"], "documented-9 is not a profile"),
        (
            ["reference", "reference", "--operation", "shed.slect"],
            "can be compared; choose from settings.defaults",
        ),
        (["reference", "reference", "--reading", "overload-amount"], "write NAME=VALUE"),
        (["reference", "exec:no-such-program"], "command not found: no-such-program"),
    ],
)
def test_a_mistake_is_one_clear_message(words, told, capfd):
    status, out, err = diff(capfd, *words)
    assert (status, out) == (2, "")
    assert told in err
    assert err.startswith("pulsar-conformance: "), shlex.join(words)
