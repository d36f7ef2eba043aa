"""Figures of the long run, by released Pulsar's own classes."""

import json

import pytest
from pulsar_conformance.conformance.commands.main import main

pytestmark = pytest.mark.pulsar

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
