"""A cluster is at rest only if further cycles would unload nothing."""

import json
from dataclasses import replace

import pytest
from audit.test_simulation_in_turn import AllAtOnce
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.audit.simulation.deciding import decision_setup
from pulsar_conformance.audit.simulation.loop import Simulation
from pulsar_conformance.audit.simulation.measures import measures_of
from pulsar_conformance.audit.simulation.rules import loop_faults
from pulsar_conformance.audit.simulation.worlds import named_world, world_of
from pulsar_conformance.conformance.commands.main import main

BROKERS = [
    {"bundles": 1, "usage": 20, "capacity": 40},
    {"bundles": 4, "usage": 80, "capacity": 100},
]
"""The smoothed usage of the first broker rises after an unload until it sheds a bundle, too."""

HISTORY = "loadBalancerHistoryResourcePercentage"
GRACE = "loadBalancerSheddingGracePeriodMinutes"
AVERAGE_HITS = "loadBalancerAvgShedderHitCountLowThreshold"
LATER = 28
"""The cycle in which the first broker sheds."""


def simulate(cycles, profile="released-3.0", strategy="ThresholdShedder", **more):
    connection = more.pop("connection", None) or connect("reference", profile, {})
    world = more.pop("world", None) or world_of("it", {"brokers": BROKERS, "settings": {GRACE: 2}})
    released = profile if profile.startswith("released") else None
    operations = connection.hello.operations
    settings = more.pop("settings", {})
    deciding = decision_setup(strategy, settings, "itself", profile, released, operations)
    return Simulation(world, deciding, connection).run(cycles, "it")


@pytest.mark.parametrize("cycles", [8, 12, 20, LATER])
def test_quiet_cycles_are_no_rest_as_long_as_smoothed_usage_leads_to_another_unload(cycles):
    course = simulate(cycles)
    assert course.cycles[-1].number - course.sheds[-1].cycle > 3
    assert (measures_of(course).outcome, course.next_unload) == ("ongoing", LATER)


def test_the_next_unload_is_the_one_that_a_longer_simulation_has():
    assert len(simulate(LATER + 1).cycles[LATER].sheds) == 1
    longer = simulate(300)
    assert measures_of(longer).rest == longer.sheds[-1].cycle + 1 > LATER
    assert longer.settled


def test_without_a_history_the_same_cluster_is_at_rest_after_its_first_unload():
    course = simulate(12, settings={HISTORY: 0})
    assert measures_of(course).rest == course.sheds[-1].cycle + 1 < 3


@pytest.mark.parametrize(("share", "settled"), [(0.9, True), (0.999, False), (1, False)])
def test_a_history_that_does_not_converge_in_time_leaves_the_end_open(share, settled):
    world = named_world("ninety-ten")
    course = simulate(
        80, world=world, settings={HISTORY: share, GRACE: 2}, strategy="OverloadShedder"
    )
    assert course.settled is settled
    assert (measures_of(course).rest is not None) is settled


@pytest.mark.parametrize("kind", [AllAtOnce, None])
@pytest.mark.parametrize(("hits", "unload"), [(8, None), (40, 39)])
def test_a_strategy_that_waits_for_hits_is_asked_until_it_has_them(kind, hits, unload):
    profile = "documented-4.2"
    connection = kind("reference", profile, {}) if kind else None
    settings = {AVERAGE_HITS: hits, "loadBalancerAvgShedderHitCountHighThreshold": hits, GRACE: 2}
    world = named_world("ninety-ten")
    more = {"settings": settings, "world": world, "connection": connection}
    course = simulate(30, profile, "AvgShedder", **more)
    assert (course.next_unload, course.settled) == (unload, unload is None)


def test_splits_and_changing_loads_leave_the_last_quarter_as_the_criterion():
    for name in ("growing", "drifting"):
        course = simulate(60, world=named_world(name), strategy="OverloadShedder")
        assert measures_of(course).rest == 0
        assert not course.settled


def test_a_broker_is_said_to_stay_overloaded_only_if_the_cluster_is_at_rest():
    data = {"brokers": [{"bundles": 4, "usage": 95}, {"bundles": 0, "usage": 0}]}
    off = {"loadBalancerSheddingEnabled": False}
    course = simulate(50, world=world_of("stuck", data), settings=off)
    assert [one.rule.id for one in loop_faults(course)] == ["LOOP-05"]
    assert not loop_faults(replace(course, settled=False))


def test_the_command_names_the_cycle_of_the_next_unload(tmp_path, capsys):
    file = tmp_path / "world.yaml"
    file.write_text(json.dumps({"brokers": BROKERS, "settings": {GRACE: 2}}))
    words = ("simulate", "--world", str(file), "--profile", "released-3.0", "--cycles")
    main([*words, "12"])
    said = " ".join(capsys.readouterr().out.split())
    assert f"the next unload would be in cycle {LATER}; --cycles {LATER + 1} includes it" in said
    assert "if none would follow until smoothed usage converges" in said
    main([*words, "12", "--json"])
    assert json.loads(capsys.readouterr().out)[0]["next_unload"] == LATER
    main([*words, "300"])
    assert "next unload would" not in capsys.readouterr().out
