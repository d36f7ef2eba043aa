"""The end of a grace period: what counts as its beginning, and what is said about it.

Three clusters under OverloadShedder are judged by the readings in which every unload starts the
grace period of 30 minutes, whose last moment belongs to it. In each, b1 unloads bundle 3 at about
5:00. b2 takes it, and sheds it in the cycle of 35:00, in which b2 is at 90 %: 10 % of its 60 MB/s
have to go, and 3 is the heaviest.
"""

import json
import re

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.conformance.commands.main import main
from standins.sparks import CORES, spark
from standins.written_histories import lines, stamp

pytestmark = pytest.mark.spark

assert spark
SECOND = 1 / 60
FIRST = {
    "shed": (5 + SECOND, "shedding"),
    "by-hand-late": (5 + 3 * SECOND, "admin"),
    "by-hand-later": (5 + 6 * SECOND, "admin"),
}
"""The time at which b1 unloads bundle 3, and the cause, by cluster."""


def history(name):
    at, cause = FIRST[name]
    usage = 90 if cause == "shedding" else 50
    return {
        "events": [
            {4: f"b1 {usage} 0-3"},
            {4: "b2 10 4=10 5=10"},
            {5: "cycle"},
            {at: f"b1 unloads 3 {cause}"},
            {5.5: "assigned 3 b2"},
            {"9,14,19,24,29": "b1 50 0-2"},
            {"9,14,19,24,29": "b2 50 3 4=10 5=10"},
            {"10,15,20,25,30": "cycle"},
            {34: "b1 50 0-2"},
            {34: "b2 90 3 4=10 5=10"},
            {35: "cycle"},
            {35 + SECOND: "b2 unloads 3 shedding"},
            {39: "b1 50 0-3"},
            {39: "b2 40 4=10 5=10"},
            {40: "cycle"},
        ]
    }


@pytest.fixture(scope="module")
def asked(spark, tmp_path_factory):
    """Run the audit; return the words of the command, and the folder with its input and output."""
    folder = tmp_path_factory.mktemp("grace")
    every = [line for name in FIRST for line in lines(history(name), name)]
    (folder / "history.json").write_text("\n".join(every) + "\n")
    words = ["audit", "--input", str(folder / "history.json"), "--output", str(folder / "out")]
    words += ["--spark", CORES, "--judge-by", "documented-3.0", "--reading", "grace-starts=unload"]
    words += ["--reading", "grace-edge=blocked"]
    assert main([*words, "--json", str(folder / "found.json")]) == 1
    return words, folder


def test_an_unload_by_another_clock_accuses_only_beyond_five_seconds(asked):
    """SHED-04 is broken 29:59 after a shed and 29:54 after an unload by hand, but not at 29:57."""
    _, folder = asked
    found = json.loads((folder / "found.json").read_text())
    assert found["wrong"] == found["rules"]["SHED-04"]["violated"] == 2
    cases = {file.name for file in (folder / "out" / "cases").glob("SHED-04-*")}
    assert {name.removeprefix("SHED-04-").partition("-2026")[0] for name in cases} == {
        "shed",
        "by-hand-later",
    }


def test_the_minutes_are_those_to_the_cycle(asked, capsys):
    words, _ = asked
    capsys.readouterr()
    assert main([*words, "--why", name_of_three(asked), "--at", stamp(35.5)]) == 0
    told = capsys.readouterr().out
    of_shed = told[told.index(", shed\n") :]
    text = " ".join(of_shed.split())
    assert "unloaded 29.98 minutes before the cycle, grace 30" in text
    assert "the minutes since an unload are counted up to 2026-11-20T00:35:00Z" in text
    assert re.search(r"unloaded 29\.98 minutes ago", text)


def name_of_three(asked):
    record = next(one for one in records(asked) if one["kind"] == "unloaded")
    return record["bundle"]


def records(asked):
    return map(json.loads, (asked[1] / "history.json").read_text().splitlines())
