"""No violation is found in recorded clusters in which brokers stopped, were killed or were late.

`standins/recorded_troubles.py` recorded them. In both, broker 1 was over 85 % and shed by
OverloadShedder. The strategy was then changed at runtime. The change takes effect when a broker
that was started afterwards becomes leader; in 3.0.7, this leader had to shed by ThresholdShedder.
"""

import gzip
import json
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.conformance.commands.main import main
from standins.sparks import CORES, spark

pytestmark = pytest.mark.spark

assert spark
FOLDER = Path(__file__).parents[2] / "fixtures" / "histories"
GUIDE = (Path(__file__).parents[2] / "reports/site/guides/audit-a-fleet.md").read_text("utf-8")
RELEASES = {"3.0.7": "released-3.0", "4.2.4": "released-4.2"}
WRONG = ("violated", "not done though due")


def recorded(release):
    with gzip.open(FOLDER / f"cluster-{release}-troubles.json.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


class Audited:
    """A recorded history, the summary of its audit, and answers about it."""

    def __init__(self, release, folder):
        self.release = release
        self.lines = recorded(release)
        history = FOLDER / f"cluster-{release}-troubles.json.gz"
        self._words = ["audit", "--input", str(history), "--output", str(folder / "out")]
        self._words += ["--spark", CORES, "--judge-by", RELEASES[release]]
        self.status, self.report = printed([*self._words, "--json", str(folder / "found.json")])
        self.found = json.loads((folder / "found.json").read_text())

    def of_users(self, kind):
        return [
            one
            for one in self.lines
            if one["kind"] == kind and "pulsar/" not in one.get("bundle", "")
        ]

    def about(self, broker):
        return self.asked("--broker", broker)

    def asked(self, *options):
        status, text = printed([*self._words, *options])
        assert status == 0
        return text


def printed(words):
    """Return a command's status and what it prints."""
    with redirect_stdout(StringIO()) as out:
        return main(words), out.getvalue()


@pytest.fixture(scope="module", params=["3.0.7", pytest.param("4.2.4", marks=pytest.mark.thorough)])
def audited(request, spark, tmp_path_factory):
    return Audited(request.param, tmp_path_factory.mktemp("troubled"))


def test_nobody_is_accused_and_each_event_is_named(audited):
    found = audited.found
    assert audited.status == 0
    assert found["wrong"] == 0
    assert sum(found["lines"]["quarantined"].values()) == 0
    rules = found["rules"].values()
    assert not any(one[name] for one in rules for name in WRONG)
    causes = found["unloads"]["causes"]
    assert causes["admin"] == 1
    assert causes["shedding"] >= 2
    assert found["unloads"]["open"] == 0
    late, leader, _follower = shutdowns(audited)
    told = audited.about(late)
    assert "reports again after" in told
    assert "loadBalancerLoadSheddingStrategy is set to ThresholdShedder" in told
    assert told.count("shutdown: recorded") >= 2
    assert "becomes leader in place of this broker, which shut down" in audited.about(leader)


def test_what_is_undecided_is_named_and_explained(audited):
    """The options that the report prints show the verdict, its open point, and its arithmetic."""
    found = audited.found
    rules = {rule for rule, counts in found["rules"].items() if counts["undecided"]}
    assert {one["rule"] for one in found["undecided"]} == rules != set()
    assert max(map(len, audited.report.splitlines()[:-1])) <= 80
    words = " ".join(audited.report.split())
    answers = {}
    for one in found["undecided"]:
        options = one["explained_by"]
        assert options
        assert f"see {options}" in words
        assert one["open_point"] in words
        if options not in answers:
            answers[options] = " ".join(audited.asked(*options.split()).split())
        told = answers[options]
        assert "is also owned by" not in told
        assert f"{one['rule']} undecided: " in told
        assert one["open_point"] in told


def test_the_report_says_what_the_guide_shows(audited):
    if audited.release == "3.0.7":
        shown = re.search(r"^OVERLOAD-04 undecided.*?(?=^```)", GUIDE, re.M | re.S)[0]
        assert shown in audited.report


def test_a_bundle_of_two_reports_is_worked_out_for_each_owner(audited):
    if audited.release == "3.0.7":
        told = audited.about("127.0.0.1:35921")
        assert "bundles in the last reports of several brokers" in told
        assert told.count("shed.select:") == 2
        assert "127.0.0.1:34441: its shutdown is recorded" in " ".join(told.split())


def shutdowns(audited):
    """Return the brokers that ended: first the late broker, which was killed, then the leader."""
    gone = [one["broker"] for one in audited.lines if one.get("cause") == "shutdown"]
    return list(dict.fromkeys(gone))
