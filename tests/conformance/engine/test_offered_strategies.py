"""An implementation is asked for the strategies alone that its hello message lists."""

import json
from pathlib import Path

from pulsar_conformance.conformance.commands.main import main

ADAPTER = "python:standins.variants:OnlyOverload"
TESTS = Path(__file__).parents[2]


def test_a_strategy_left_to_the_settings_is_not_asked_of_who_lacks_it(
    tmp_path, capsys, monkeypatch
):
    """By default ThresholdShedder runs, which this implementation does not offer."""
    monkeypatch.setenv("PYTHONPATH", str(TESTS), prepend=":")
    out = tmp_path / "out"
    rules = ("OVERLOAD-01", "OVERLOAD-02", "THRESHOLD-01", "THRESHOLD-03")
    chosen = [word for rule in rules for word in ("--rules", rule)]
    words = ("run", "--adapter", ADAPTER, *chosen, "--examples", "20", "--out", str(out))
    assert main([*words]) == 0
    lines = (out / "verdicts.jsonl").read_text("utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    verdicts = {one["rule"]: one["verdict"] for one in found if one["kind"] == "verdict"}
    assert verdicts == {
        "OVERLOAD-01": "pass",
        "OVERLOAD-02": "pass",
        "THRESHOLD-01": "not_applicable",
        "THRESHOLD-03": "not_applicable",
    }
    assert "ThresholdShedder" in capsys.readouterr().out
