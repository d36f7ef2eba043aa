"""Simulations of releases, which choose among brokers with equal message rates at random."""

import json
from pathlib import Path

import pytest
from pulsar_conformance.conformance.commands.main import main
from sampling import ordinarily

PLAYGROUND = Path(__file__).parents[2] / "reports/site/assets/playground.py"
NEWEST, WORDS = "released-4.2", ("--world", "two-sizes", "--cycles", "120")


@pytest.fixture
def simulated(capsys):
    """Return a function that simulates: it returns the output on one line, or the JSON in it."""

    def simulate(*words):
        assert main(["simulate", *words]) == 0
        out = capsys.readouterr().out
        return json.loads(out) if "--json" in words else " ".join(out.split())

    return simulate


# Each of the four brokers has ten bundles with the same rates, so that all have the same message
# rate in cycle 0. No document says which of several equal brokers gets a bundle.
def test_placements_that_a_release_decides_at_random_are_reported(simulated):
    words = (*WORDS, "--compare", f"profile={NEWEST}")
    text = simulated(*words)
    assert text.count("at random") == 1
    assert "(2): 126 placements, the first in cycle 0, were among brokers that rank equally" in text
    assert "the release chooses one of them at random, so its result may differ" in text
    documented, released = simulated(*words, "--json")
    assert "random" not in documented
    assert released["random"] == {"placements": 126, "first_cycle": 0}


def test_a_single_placement_at_random_is_reported(simulated):
    text = simulated("--world", "hot-key", "--cycles", "60", "--profile", NEWEST)
    assert "1 placement, in cycle 14, was among brokers that rank equally" in text


def test_nothing_is_said_to_be_random_if_no_brokers_rank_equally(simulated):
    words = ("--world", "daily", "--cycles", "120", "--profile", NEWEST)
    assert "at random" not in simulated(*words)
    [course] = simulated(*words, "--json")
    assert course["unloads"]
    assert "random" not in course


# If the first of equal brokers took every bundle, the cluster would rest after 16 cycles.
def test_not_always_the_first_of_equal_brokers_takes_a_bundle(simulated):
    [course] = simulated(*WORDS, "--profile", NEWEST, "--json", "--moves")
    assert course["rest"] is None
    assert len({one["target"] for one in course["moves"] if one["cycle"] == 0}) > 1


def test_the_playground_chooses_the_same_of_equal_brokers(simulated):
    names = {}
    exec(PLAYGROUND.read_text("utf-8"), names)
    loop = {"world": "two-sizes", "strategy": "ThresholdShedder", "placing": "itself"}
    asked = {"loop": {**loop, "cycles": 3, "settings": ""}, "ask": "", "case": {}, "first": 0}
    shown = json.loads(names["simulate"](json.dumps({"profile": NEWEST, **asked})))
    moved = [(one[0], one[2]) for each in shown["cycles"] for one in each["moves"]]
    words = ("--world", "two-sizes", "--cycles", "3", "--profile", NEWEST, "--json", "--moves")
    [course] = simulated(*words)
    assert moved == [(one["bundle"], one["target"]) for one in course["moves"]]
    assert shown["random"].startswith(f"{course['random']['placements']} placements, the first")


@pytest.mark.pulsar
@pytest.mark.parametrize("version", ordinarily("4.2.4", ["3.0.7", "4.2.4"]))
def test_the_model_and_the_classes_choose_the_same_of_equal_brokers(simulated, version):
    followed = f"reference profile=released-{version[:3]}"
    classes, model = simulated(
        f"pulsar:{version}", *WORDS, "--compare", followed, "--json", "--moves"
    )
    assert classes["moves"] == model["moves"]
    assert classes["random"] == model["random"]
