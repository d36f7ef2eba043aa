"""Decisions that change from release to release."""

import importlib.util
import json
import shutil
from pathlib import Path

import pytest
from pulsar_conformance.conformance.commands.main import main

NEEDED = ("java", "javac", "mvn")
HERE = all(map(shutil.which, NEEDED)) and importlib.util.find_spec("jpype") is not None
pytestmark = [
    pytest.mark.pulsar,
    pytest.mark.skipif(not HERE, reason="needs Java, Maven and the extra pulsar"),
]


def test_4_2_4_weighs_usages_and_moves_no_thousand_messages_more(tmp_path, monkeypatch, capfd):
    """The command finds two changed behaviors, and two weights that became 0."""
    monkeypatch.chdir(tmp_path)
    words = ("--operation", "usage.max", "--operation", "shed.select", "--examples", "3")
    assert main(["changes", "3.0.7", "4.2.4", *words, "--json", "found.json"]) == 0
    out, _ = capfd.readouterr()
    [pair] = json.loads(Path("found.json").read_text())
    found = {(one["operation"], one["cause"]): one for one in pair["changes"]}
    slack = found["shed.select", "uniform-slack"]
    assert len(slack["case"]["brokers"]) == 2
    assert slack["answers"]["3.0.7"]["unload"] != slack["answers"]["4.2.4"]["unload"]
    assert any(cause.startswith("overload-usage") for _, cause in found)
    changed = {one["name"]: (one["older"], one["newer"]) for one in pair["settings"]}
    assert changed["loadBalancerMemoryResourceWeight"] == (1.0, 0.0)
    assert changed["loadBalancerDirectMemoryResourceWeight"] == (1.0, 0.0)
    wide = [line for line in out.splitlines() if len(line) > 80]
    assert [line for line in wide if len(line.split()) > 1] == []
