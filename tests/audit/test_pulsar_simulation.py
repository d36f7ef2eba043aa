"""Measures of simulations in which the classes of released Pulsar decide."""

import json
from pathlib import Path

import pytest
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.conformance.commands.main import main

pytestmark = pytest.mark.pulsar

PUBLISHED = Path(__file__).parents[2] / "reports/strategies/simulations.json"
HISTORY = "loadBalancerHistoryResourcePercentage"


def simulate(capsys, *words):
    assert main(["simulate", "pulsar:3.0.7", "--cycles", "40", "--json", *words]) == 0
    return {tuple(one["variant"].split()[2:]): one for one in json.loads(capsys.readouterr().out)}


def test_a_history_of_nine_tenths_makes_ten_unloads_of_four(capsys):
    words = ("--place", "least-used", "--compare", f"{HISTORY}=0")
    found = simulate(capsys, "--world", "ninety-ten", *words)
    assert [one["unloads"] for one in found.values()] == [10, 4]
    assert [one["rest"] for one in found.values()] == [4, 1]


def test_brokers_that_are_all_overloaded_unload_for_ever(capsys):
    [found] = simulate(capsys, "--world", "all-busy", "--strategy", "OverloadShedder").values()
    assert found["rest"] is None
    assert found["unloads"] > 20


def test_an_idle_broker_beside_five_at_half_is_left_alone(capsys):
    [found] = simulate(capsys, "--world", "five-and-idle").values()
    assert (found["unloads"], found["spread_last"]) == (0, 50)


@pytest.mark.thorough
@pytest.mark.parametrize("version", ["3.0.7", "4.2.4"])
def test_the_table_of_strategies_has_all_of_a_release_and_is_current(version, capsys):
    adapter, world, cycles = f"pulsar:{version}", "ninety-ten", 120
    published = [
        one
        for one in json.loads(PUBLISHED.read_text("utf-8"))
        if one["variant"].startswith(adapter) and one["world"] == world
    ]
    with connect(adapter, "documented-4.2", {}) as connection:
        offered = {f"{adapter} strategy={name}" for name in connection.hello.strategies}
    assert {one["variant"] for one in published} == offered
    compared = [word for one in sorted(offered) for word in ("--compare", one)]
    words = ["simulate", adapter, "--world", world, "--cycles", str(cycles), "--json", *compared]
    main(words)
    found = {one["variant"]: one for one in json.loads(capsys.readouterr().out)}
    assert found == {one["variant"]: one for one in published}
