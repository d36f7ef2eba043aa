"""Reasons why brokers stay overloaded in a simulation, the table of its moves, and
unbounded usage.
"""

import json
import re

import pytest
from pulsar_conformance.conformance.commands.main import main

HISTORY = "loadBalancerHistoryResourcePercentage"
CPU = "loadBalancerCPUResourceWeight=0.5"
OVER = "loadBalancerBrokerOverloadedThresholdPercentage=40"


@pytest.fixture
def world(tmp_path):
    """Return a function that writes a file with a world whose brokers have given usages."""

    def written(*usages):
        file = tmp_path / "world.yaml"
        file.write_text(json.dumps({"brokers": [{"bundles": 4, "usage": one} for one in usages]}))
        return str(file)

    return written


@pytest.fixture
def simulate(capsys):
    def run(*words):
        status = main(["simulate", *words])
        said = capsys.readouterr()
        return status, said.out, " ".join(said.err.split())

    return run


def text_after_table(out):
    return " ".join(out.split()).partition("the release leaves it out.")[2].strip()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--profile", "released-3.0"), "broker-1 is under 50 + 10: it keeps all"),
        (("--profile", "documented-3.0"), "broker-1 is not above 60 %: it keeps all"),
        (
            ("--profile", "documented-4.2", "--strategy", "AvgShedder"),
            "AvgShedder also decides by earlier cycles; explain gives the reason in a single cycle",
        ),
    ],
)
def test_a_broker_that_stays_overloaded_is_named_with_the_reason(simulate, world, words, why):
    words = ("--world", world(50, 50), "--cycles", "3", "--setting", OVER, *words)
    _, out, _ = simulate(*words)
    text = text_after_table(out)
    assert f"broker-1 ends at 50 %, over 40 %, and sheds nothing: {why}" in text


@pytest.mark.parametrize("profile", ["released-3.0", "documented-3.0"])
def test_a_usage_without_weights_is_told_from_the_one_that_is_compared(simulate, world, profile):
    weights = [f"loadBalancerBandwith{way}ResourceWeight=0.5" for way in ("In", "Out")]
    words = [one for weight in (OVER, *weights, CPU) for one in ("--setting", weight)]
    words = ("--world", world(50, 50), "--cycles", "3", "--profile", profile, *words)
    text = text_after_table(simulate(*words)[1])
    told = (
        "broker-1 ends at 50 % (without weights), over 40 %, and sheds nothing: it counts as 25 %"
    )
    assert told in text
    assert "with its weight" in text


EXCLUDED = "loadBalancerSheddingExcludedNamespaces"
ENABLED = "loadBalancerSheddingEnabled"
TWO_EXCLUDED = f"the 2 bundles that it would unload stay: {EXCLUDED} names their namespaces"


@pytest.mark.parametrize(
    ("strategy", "setting", "why"),
    [
        ("OverloadShedder", f"{EXCLUDED}=shop/events", f"stays: {EXCLUDED} names its namespace"),
        ("ThresholdShedder", f"{EXCLUDED}=shop/events", TWO_EXCLUDED),
        ("OverloadShedder", f"{ENABLED}=false", f"{ENABLED} is not true"),
    ],
)
def test_the_reason_is_what_keeps_bundles_and_not_that_enough_has_gone(
    simulate, world, strategy, setting, why
):
    words = ("--profile", "released-4.2", "--strategy", strategy, "--setting", setting)
    text = text_after_table(simulate("--world", world(92, 20), "--cycles", "3", *words)[1])
    assert "broker-1 ends at 92 %, over 85 %, and sheds nothing:" in text
    assert why in text
    assert "enough has gone" not in text
    assert ", on broker-" not in text


def test_a_broker_that_gets_its_bundles_back_is_said_to(simulate, world):
    words = ("--profile", "released-3.0", "--strategy", "OverloadShedder", "--cycles", "5")
    text = text_after_table(simulate("--world", world(95, 95), *words)[1])
    assert "sheds nothing: the bundles that it would unload are placed on it again" in text


def test_up_to_three_are_named_and_only_in_a_single_simulation(simulate, world):
    words = ("--world", world(50, 50, 50, 50, 50), "--cycles", "3")
    _, out, _ = simulate(*words, "--setting", OVER)
    assert text_after_table(out).count("and sheds nothing") == 3
    assert "2 more brokers over 40 %" in out
    _, out, _ = simulate(*words, "--setting", OVER, "--compare", "strategy=OverloadShedder")
    assert "and sheds nothing" not in out
    _, out, _ = simulate(*words)
    assert "and sheds nothing" not in out


def test_the_moves_are_a_table(simulate):
    words = ("--world", "ninety-ten", "--cycles", "50", "--setting", f"{HISTORY}=0")
    status, out, _ = simulate(*words, "--moves")
    assert status == 0
    moves = json.loads(simulate(*words, "--moves", "--json")[1])[0]["moves"]
    assert f"{len(moves)} moves" in out
    first = moves[0]
    shown = f"cycle {first['cycle']}  {first['bundle']}: {first['source']} → {first['target']}"
    assert f"{shown} (shed)" in out
    assert out.count(" → broker-") == len(moves) > 0


def test_a_history_that_grows_without_bounds_is_refused_with_its_cycle(simulate, tmp_path):
    """Brokers accept this history share of 90; `explain` and `--setting` do not."""
    conf = tmp_path / "broker.conf"
    conf.write_text(f"{HISTORY}=90\nloadBalancerBrokerOverloadedThresholdPercentage=20\n")
    words = ("--reports", "fixtures/reports/three-brokers/modular", "--conf", str(conf))
    status, out, err = simulate(*words)
    assert (status, out) == (2, "")
    told = re.search(
        rf"{HISTORY}=90: usage smoothed with this share is infinite after (\d+) cycles; give a "
        r"share between 0 and 1, or at most --cycles \1$",
        err,
    )
    assert told
    status, out, err = simulate(*words, "--cycles", told[1])
    assert status in (0, 1)
    assert f"its smoothed usage has become infinite ({HISTORY})" in " ".join(out.split())
    assert "Error" not in err


DIRECT = "loadBalancerDirectMemoryResourceWeight"


def test_a_full_resource_that_does_not_count_is_named_with_its_brokers(simulate):
    """By default, direct memory has the weight 1 in 3.0, and 0 in 4.2."""
    words = ("--reports", "fixtures/reports/full-direct-memory", "--cycles", "40")
    older = simulate(*words, "--profile", "released-3.0")[1]
    assert "not count as load (" not in " ".join(older.split())
    newer = (*words, "--profile", "released-4.2")
    out = " ".join(simulate(*newer)[1].split())
    why = f"which does not count as load ({DIRECT} is 0)"
    told = f"directMemory, {why}, ends over 85 %: broker-1 at 95 %"
    assert f"ThresholdShedder: {told}" in out
    assert "Resources with a weight of 0 count in neither over nor spread" in out
    both = simulate(*words, "--profile", "released-3.0", "--compare", "profile=released-4.2")[1]
    assert f"released-4.2: {told}" in " ".join(both.split())
    assert " ".join(both.split()).count("does not count as load (") == 1
    [course] = json.loads(simulate(*newer, "--json")[1])
    assert course["uncounted"] == {"directMemory": {"broker-1": 95}}
    weighted = simulate(*newer, "--setting", f"{DIRECT}=0.01")[1]
    assert "not count as load (" not in " ".join(weighted.split())
