"""Usage and unloads of earlier cycles in explanations, and the notes if they are not known."""

import io
import json
import sys
from pathlib import Path

import pytest
from pulsar_conformance.conformance.commands.main import main

REPORTS = Path(__file__).parents[3] / "fixtures/reports/three-brokers/modular"
BUNDLE = "shop/eu/0x00000000_0x40000000"
STRATEGY = "loadBalancerLoadSheddingStrategy"
HISTORY = "usageHistory is unknown"
RECENT = (
    "recentlyUnloaded is assumed to be empty; a leader sheds no bundle that it unloaded within the "
    "last 30 minutes (loadBalancerSheddingGracePeriodMinutes)"
)


@pytest.fixture
def case(capsys):
    assert main(["case", str(REPORTS)]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def explained(monkeypatch, capsys):
    def explain(case, *options):
        stdin = io.TextIOWrapper(io.BytesIO(json.dumps(case).encode()))
        monkeypatch.setattr(sys, "stdin", stdin)
        assert main(["explain", "-", *options]) == 0
        return " ".join(capsys.readouterr().out.split())

    return explain


@pytest.mark.parametrize("profile", ["released-3.0", "documented-4.2"])
def test_each_step_of_the_smoothing_is_printed(case, explained, profile):
    case["case"]["brokers"]["broker-1"]["usageHistory"] = [50, 60]
    kept = ("--setting", "loadBalancerHistoryResourcePercentage=0.5")
    out = explained(case, "--judge-by", profile, *kept, "--all")
    assert "history 50 x 0.5 + 60 x 0.5 = 55 %" in out
    assert "history 55 x 0.5 + 72 x 0.5 = 63.5 %" in out
    assert out.count(" history ") == 2


@pytest.mark.parametrize(
    ("profile", "compared"),
    [("released-3.0", "is under 32.33 + 10"), ("documented-4.2", "is below 42.33 %")],
)
def test_a_decision_by_smoothed_usage_says_so(case, explained, profile, compared):
    brokers = case["case"]["brokers"]
    for name, now, before in (("broker-1", 100, 30), ("broker-2", 30, 30), ("broker-3", 30, 30)):
        brokers[name]["cpu"]["usage"] = now * brokers[name]["cpu"]["limit"] / 100
        brokers[name]["memory"]["usage"] = 0
        brokers[name]["usageHistory"] = [before]
    kept = ("--setting", "loadBalancerHistoryResourcePercentage=0.9")
    out = explained(case, "--judge-by", profile, *kept)
    assert f"broker-1 {compared} (its smoothed usage is 37 %, now 100 %): it keeps all" in out
    assert "decision broker-2 is" in out
    assert out.count("its smoothed usage") == 1


@pytest.mark.parametrize("profile", ["released-3.0", "documented-3.0"])
@pytest.mark.parametrize("threshold", ["10", "40"])
def test_a_bundle_that_stays_because_of_the_grace_period_names_it(
    case, explained, profile, threshold
):
    case["case"]["recentlyUnloaded"] = {BUNDLE: 29.98}
    given = ("--setting", f"loadBalancerBrokerThresholdShedderPercentage={threshold}")
    out = explained(case, "--judge-by", profile, *given, "--all")
    line = out.partition(f"stays {BUNDLE}")[2]
    assert "unloaded 29.98 minutes ago, grace 30" in line.partition(" stays ")[0]
    assert ("broker-1 keeps all; unloaded" in out) == (threshold == "40")


def notes(capsys):
    return " ".join(capsys.readouterr().err.split()).replace("pulsar-conformance: ", "")


def test_a_case_is_made_with_notes_on_what_reports_do_not_record(capsys):
    assert main(["case", str(REPORTS)]) == 0
    err = notes(capsys)
    assert HISTORY in err
    assert RECENT in err
    off = "loadBalancerSheddingGracePeriodMinutes=0"
    assert main(["case", str(REPORTS), "--setting", off]) == 0
    assert "recentlyUnloaded" not in notes(capsys)
    assert main(["case", str(REPORTS), "--operation", "bundles.split_candidates"]) == 0
    err = notes(capsys)
    assert "recentlyUnloaded" not in err
    assert HISTORY not in err


def test_the_grace_period_is_mentioned_if_anything_is_unloaded(capsys):
    assert main(["explain", str(REPORTS)]) == 0
    assert RECENT in notes(capsys)
    high = "loadBalancerBrokerThresholdShedderPercentage=60"
    assert main(["explain", str(REPORTS), "--setting", high]) == 0
    assert "recentlyUnloaded" not in notes(capsys)


def test_earlier_usage_does_not_matter_to_a_placement(capsys):
    assert main(["explain", str(REPORTS), "--place", BUNDLE]) == 0
    err = notes(capsys)
    assert HISTORY not in err
    assert "recentlyUnloaded" not in err
