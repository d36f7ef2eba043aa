"""How a broker's usage follows its traffic in a simulation that starts from reports."""

import json
from pathlib import Path

import pytest
from pulsar_conformance.audit.simulation.cluster.leader import LeaderMemory
from pulsar_conformance.audit.simulation.snapshots import snapshot_world
from pulsar_conformance.conformance.commands.main import main

REPORTS = Path("fixtures/reports/three-brokers/modular")
ASSUMED = (
    "each broker's CPU and network use grow with its traffic in the ratio of its own load report"
)


def broker(cpu, megabytes, name="a/b/0x00000000_0xffffffff"):
    """Return a report with this percentage of CPU, and a bundle with this traffic."""
    rates = {"msgThroughputIn": megabytes * 1e6, "msgThroughputOut": 0}
    return {
        "cpu": {"usage": cpu, "limit": 100},
        **rates,
        "bundles": [name],
        "lastStats": {name: rates},
    }


def world_with(**brokers):
    return snapshot_world("reports", brokers, {}, {}, [])


@pytest.mark.parametrize(
    ("cpu", "megabytes", "with_50"),
    [(90, 0.001, 90 + 25), (50, 0.09, 50 + 24.955), (40, 10, 4 * 50), (0, 0.001, 0), (7, 0, 32)],
)
def test_much_usage_with_little_traffic_is_not_multiplied(cpu, megabytes, with_50):
    """The other brokers have 50 % at 100 MB/s, so 50 MB/s cost 25 % of CPU."""
    world = world_with(one=broker(50, 100), other=broker(50, 100), odd=broker(cpu, megabytes))
    odd = world.brokers[2]
    fixed, each = odd.uses["cpu"]
    assert odd.percents(megabytes * 1e6)["cpu"] == pytest.approx(cpu)
    assert fixed + each * 50e6 == pytest.approx(with_50, rel=1e-3)
    assert world.brokers[0].percents(50e6)["cpu"] == 25
    told = [note for note in world.notes if note.startswith("odd: ")]
    assert len(told) == (cpu / 5 > megabytes > 0)


def test_a_note_says_which_use_is_not_that_of_traffic():
    world = world_with(one=broker(50, 100), odd=broker(90, 0.001))
    assert world.notes[-1] == (
        "odd: 90 % of cpu with 1 KB/s is over 10 times the use of the other brokers with as "
        "much traffic; its use is assumed to grow with traffic as on the other brokers"
    )
    alone = world_with(odd=broker(90, 0.001), idle=broker(3, 0))
    assert not any(note.startswith("odd") for note in alone.notes)


@pytest.mark.parametrize(
    "start", [("--reports", REPORTS), ("--history", "fixtures/histories/cluster-3.0.7.json.gz")]
)
def test_the_assumption_is_reported_in_text_and_json(capsys, start):
    words = ("simulate", *map(str, start), "--cycles", "2", "--json")
    assert main(list(words)) == 0
    said = capsys.readouterr()
    assert ASSUMED in " ".join(said.err.split())
    [course] = json.loads(said.out)
    assert any(note.startswith(ASSUMED) for note in course["notes"])


@pytest.mark.parametrize(
    ("twice", "boundary", "least", "expected"),
    [
        (True, True, 0, [50, 65, 82.5]),
        (True, True, 30, [50, 65, 91.25]),
        (True, False, 0, [50, 60, 80]),
        (False, True, 0, [50, 60, 80]),
    ],
)
def test_a_release_with_a_lower_boundary_smooths_usage_twice(twice, boundary, least, expected):
    """Unless a broker sheds an excess, as `one` does in the last cycle: 82.5 > 50.8 + 15.

    It would shed 21.7 % of 100 MB/s. That is less than 30 MiB/s, so the unload is not for the
    excess in the second case.
    """
    settings = {
        "loadBalancerHistoryResourcePercentage": 0.5,
        "loadBalancerBrokerThresholdShedderPercentage": 15,
        "lowerBoundarySheddingEnabled": boundary,
        "loadBalancerBundleUnloadMinThroughputThreshold": least,
    }
    leader = LeaderMemory(settings, {}, float, {}, smooths_twice=twice)
    found = []
    for cycle, (cpu, unloads) in enumerate([(50, []), (70, []), (100, [{"broker": "one"}])]):
        loads = {"one": cpu, "two": 40, "three": 30}
        brokers = {name: broker(used, 100, f"a/{name}/0x0_0x1") for name, used in loads.items()}
        leader.remember_usage(leader.shedding_question(cycle, "ThresholdShedder", brokers))
        leader.smooth_again(unloads)
        found.append(leader.decided["one"])
    assert found == expected
