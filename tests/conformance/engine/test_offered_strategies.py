"""An implementation is asked only for the strategies that its hello message lists."""

import json
from pathlib import Path

import pytest
from pulsar_conformance.conformance.commands.main import main

TESTS = Path(__file__).parents[2]


@pytest.fixture
def verdicts(tmp_path, monkeypatch):
    """Return a function that judges a stand-in by some rules and returns their verdicts."""
    monkeypatch.setenv("PYTHONPATH", str(TESTS), prepend=":")

    def judged(standin, rules, profile="documented-3.0"):
        out = tmp_path / "out"
        chosen = [word for rule in rules for word in ("--rules", rule)]
        adapter = f"python:standins.variants:{standin}"
        words = ["run", "--adapter", adapter, "--judge-by", profile, *chosen]
        assert main([*words, "--examples", "20", "--out", str(out)]) == 0
        found = map(json.loads, (out / "verdicts.jsonl").read_text("utf-8").splitlines())
        return {one["rule"]: one["verdict"] for one in found if one["kind"] == "verdict"}

    return judged


def test_a_strategy_left_to_the_settings_is_not_asked_of_who_lacks_it(verdicts, capsys):
    """Rules of the default ThresholdShedder do not apply to an implementation without it."""
    rules = ("OVERLOAD-01", "OVERLOAD-02", "THRESHOLD-01", "THRESHOLD-03")
    assert verdicts("OnlyOverload", rules) == {
        "OVERLOAD-01": "pass",
        "OVERLOAD-02": "pass",
        "THRESHOLD-01": "not_applicable",
        "THRESHOLD-03": "not_applicable",
    }
    assert "ThresholdShedder" in capsys.readouterr().out


def test_transfer_shedder_is_not_asked_of_who_lacks_it_by_the_load_manager_of_a_case(verdicts):
    """A case that leaves the strategy to the extensible manager is one of TransferShedder."""
    rules = ("TRANSFER-03", "TRANSFER-04", "TRANSFER-08", "TRANSFER-09", "TRANSFER-18")
    for profile in ("documented-4.2", "documented-5.0"):
        found = verdicts("OnlyThreshold", (*rules, "SHED-02"), profile)
        assert found == {**dict.fromkeys(rules, "not_applicable"), "SHED-02": "pass"}


def test_a_strategy_of_later_documents_is_judged_by_what_holds_for_every_one(verdicts):
    """A strategy that only later documents describe passes the rules about all strategies.

    The judged documents give no defaults of its settings.
    """
    rules = ("SHED-02", "SHED-03", "SHED-04", "SHED-15")
    assert verdicts("LaterStrategy", rules) == dict.fromkeys(rules, "pass")
