"""The options that a report of several clusters prints show the rule, in its cluster alone."""

import json

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.conformance.commands.main import main
from standins.sparks import CORES, spark
from standins.written_histories import histories, lines

pytestmark = [pytest.mark.spark, pytest.mark.thorough]

assert spark

PROFILE = "documented-4.2"
CLUSTERS = {
    "4-2-a-report-that-may-be-late": "THRESHOLD-18",
    "planned-and-elsewhere": "PLANNED-02",
    "transfer-uneven-loads": "TRANSFER-06",
}
"""Histories with a rule that is undecided, one for each kind of options."""


def test_the_options_of_each_undecided_rule_show_it(spark, tmp_path, capsys):
    named = {name: part for name, profile, part in histories() if profile == PROFILE}
    every = [line for name in CLUSTERS for line in lines(named[name], name)]
    (tmp_path / "history.json").write_text("\n".join(every) + "\n")
    words = ["audit", "--input", str(tmp_path / "history.json"), "--output", str(tmp_path / "out")]
    words += ["--spark", CORES, "--judge-by", PROFILE]
    assert main([*words, "--json", str(tmp_path / "found.json")]) in (0, 1)
    report = " ".join(capsys.readouterr().out.split())
    undecided = json.loads((tmp_path / "found.json").read_text())["undecided"]
    assert set(CLUSTERS.values()) <= {one["rule"] for one in undecided}
    first = {one["explained_by"]: one for one in undecided if one["rule"] in CLUSTERS.values()}
    for options, one in first.items():
        assert f"see {options}" in report
        assert options.startswith(f"--cluster {one['cluster']} ")
        assert main([*words, *options.split()]) == 0
        told = capsys.readouterr().out
        assert f"{one['rule']} undecided" in " ".join(told.split())
        others = [name for name in CLUSTERS if name != one["cluster"]]
        assert not [line for line in told.splitlines() for name in others if line.endswith(name)]
