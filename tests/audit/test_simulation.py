"""Simulations: numbers worked out by hand, rules about many cycles, seeded defects and mistakes."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from pulsar_conformance import specs
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.adapters.reference import ReferenceConnection
from pulsar_conformance.audit.simulation.course import BundleMove, decode_course, encode_course
from pulsar_conformance.audit.simulation.deciding import (
    LEAST_USED,
    OTHERS,
    DecisionSetup,
    decision_setup,
)
from pulsar_conformance.audit.simulation.loop import Simulation
from pulsar_conformance.audit.simulation.measures import measures_of, shortest_period
from pulsar_conformance.audit.simulation.reporting import simulation_lines
from pulsar_conformance.audit.simulation.rules import CHECKS, loop_faults, loop_rules
from pulsar_conformance.audit.simulation.worlds import named_world, world_of, world_titles
from standins.loops import Circling, Confused, Forgetting, Losing

STRATEGIES = Path(__file__).parents[2] / "reports/strategies"
HISTORY = "loadBalancerHistoryResourcePercentage"
GRACE = "loadBalancerSheddingGracePeriodMinutes"
NEWEST, DOCUMENTED = "released-3.0", "documented-3.0"


def simulate(world, strategy="ThresholdShedder", cycles=200, profile=NEWEST, **more):
    """Simulate a world; `connection` replaces the reference."""
    connection = more.pop("connection", None) or connect("reference", profile, {})
    settings = {**specs.load().profile(profile).hidden, **more.pop("settings", {})}
    deciding = DecisionSetup(strategy, settings, specs.load().defaults(profile), **more)
    world = named_world(world) if isinstance(world, str) else world
    return Simulation(world, deciding, connection).run(cycles, "it")


def broken(course):
    return {fault.rule.id for fault in loop_faults(course)}


# 3.0.7 sheds 90 - 50 - 10 + 5 = 35 points, 31.5 of 90 % in bundles of 9 %: four, and is at rest.
# With a history of 0.9 the usage counts as 0.9 x 90 + 0.1 x 54 = 86.4 % in cycle 1, so that 31.4 %
# of 54 go: two, and so on, until each of the ten bundles is within its grace period.
@pytest.mark.parametrize(("history", "unloads"), [(0, 4), (0.9, 10)])
def test_a_history_costs_six_more_unloads(history, unloads):
    course = simulate("ninety-ten", settings={HISTORY: history}, placing=LEAST_USED)
    measured = measures_of(course)
    assert measured.unloads == unloads
    assert measured.unloads_of_one == 1
    assert measured.rest is not None


def test_a_history_moves_the_load_of_a_relieved_broker_until_the_other_is_full():
    """PIP-364: at 90 and 10 %, broker 1 counts as overloaded long after it is relieved.

    Its score is 90, then 90 x 0.9 + 54 x 0.1 = 86.4, then 86.4 x 0.9 + 36 x 0.1 = 81.36 and
    75.024. With an average of 50 and a threshold of 10, it sheds 35, 31.4, 26.36 and 20.024 % of
    90, 54, 36 and 18 %: four, two, two and one bundle of 9 %. The last bundle stays. In the end,
    the brokers' usages are swapped, although the first cycle had balanced them at 54 and 46 %.
    """
    course = simulate("ninety-ten", settings={HISTORY: 0.9}, placing=OTHERS, cycles=5)
    first = [cycle.usage["broker-1"] for cycle in course.cycles]
    assert first == [90, 54, 36, 18, 9]
    assert course.cycles[-1].usage["broker-2"] == 91
    without = simulate("ninety-ten", settings={HISTORY: 0}, placing=OTHERS, cycles=5)
    assert without.cycles[-1].usage == {"broker-1": 54, "broker-2": 46}


def test_the_documents_shed_five_bundles_of_nine_percent():
    """90 - (50 - 5) = 45 % of 90 is 40.5: four bundles of 9 % are only 36, so five are shed."""
    course = simulate("ninety-ten", profile=DOCUMENTED, settings={HISTORY: 0})
    assert len(course.sheds) == 5
    assert course.cycles[1].usage == {"broker-1": 45.0, "broker-2": 55.0}


def test_brokers_that_are_all_overloaded_unload_for_ever():
    measured = measures_of(simulate("all-busy", "OverloadShedder"))
    assert measured.rest is None
    assert measured.unloads > 100


def test_an_idle_broker_beside_five_at_half_is_left_alone():
    """No broker exceeds the limit of 250 / 6 + 10 = 51.7 %, so nothing is unloaded."""
    measured = measures_of(simulate("five-and-idle"))
    assert (measured.unloads, measured.rest, measured.spread_last) == (0, 0, 50)


def test_the_overload_shedder_moves_one_bundle():
    """(90 - 85) + 5 = 10 % of 90 is 9, so one bundle of 9 % is shed."""
    course = simulate("ninety-ten", "OverloadShedder")
    assert [move.cycle for move in course.sheds] == [0]
    assert course.cycles[-1].usage == {"broker-1": 81.0, "broker-2": 19.0}


def test_the_documents_example_of_three_brokers_is_at_rest_on_its_limit():
    """Two bundles of 5 % are shed: 40 - (20 - 5) = 25 % of 40 is 10, with an average of 20 %.

    The broker is then at 30 %, which does not exceed the limit of 20 + 10.
    """
    brokers = [{"bundles": 8, "usage": 40}, {"count": 2, "bundles": 2, "usage": 10}]
    course = simulate(
        world_of("three", {"brokers": brokers}), profile=DOCUMENTED, settings={HISTORY: 0}
    )
    assert [move.target for move in course.sheds] == ["broker-2", "broker-3"]
    assert list(course.cycles[-1].usage.values()) == [30, 15, 15]
    assert measures_of(course).rest == 1


@pytest.mark.parametrize("boundary", [False, True])
def test_the_documents_example_of_an_idle_broker_needs_the_lower_boundary(boundary):
    """Bundles are shed only with the lower boundary: no broker exceeds the limit of 72.7 + 10 %."""
    brokers = [{"count": 10, "bundles": 8, "usage": 80}, {"bundles": 0, "usage": 0}]
    settings = {"lowerBoundarySheddingEnabled": boundary}
    course = simulate(
        world_of("eleven", {"brokers": brokers}), cycles=20, profile=DOCUMENTED, settings=settings
    )
    assert bool(course.sheds) == boundary
    assert (course.cycles[-1].usage["broker-11"] > 0) == boundary


def test_a_crashed_broker_loses_its_bundles_to_the_others():
    course = simulate("crash", cycles=12)
    assert measures_of(course).failovers == 12
    assert "broker-2" not in course.cycles[-1].usage
    assert sum(course.cycles[-1].usage.values()) == pytest.approx(240)
    assert broken(course) <= {"LOOP-02"}


def test_bundles_with_too_many_topics_are_split_and_their_halves_stay():
    course = simulate("growing", cycles=40)
    assert measures_of(course).splits == 18
    [cycle] = [one for one in course.cycles if one.splits]
    assert cycle.number == 31  # 700 + 31 x 10 topics are over 1000
    whole, parts = next(iter(cycle.splits.items()))
    assert {cycle.owners[part] for part in parts} == {course.cycles[0].owners[whole]}
    assert cycle.reported == cycle.traffic
    assert any("18 splits, 36 bundles in the end" in one for one in simulation_lines([course]))
    assert "splits" not in " ".join(simulation_lines([simulate("crash", cycles=2)]))


def test_a_course_can_be_sent_as_text():
    losing = simulate("ninety-ten", cycles=3, connection=Confused("reference", NEWEST, {}))
    assert any(one.refused for one in losing.cycles)
    for course in (simulate("growing", cycles=40), losing):
        assert decode_course(json.loads(json.dumps(encode_course(course))), course.world) == course


@pytest.mark.parametrize("shape", ["hot", "daily"])
def test_a_split_loses_no_traffic_and_does_not_divide_a_hot_topic(shape):
    data = {"brokers": [{"count": 2, "bundles": 2, "usage": 20}], "load": {"shape": shape}}
    growing = {**data, "topics": {"first": 990, "each_cycle": 1}}
    split, whole = (
        simulate(world_of("it", one, seed=3), cycles=20, settings={GRACE: 100})
        for one in (growing, data)
    )
    assert measures_of(split).splits >= 4
    assert split.cycles[-1].traffic == pytest.approx(whole.cycles[-1].traffic, abs=20)
    assert max(split.cycles[-1].usage.values()) >= (60 if shape == "hot" else 20)


@pytest.mark.parametrize("name", world_titles())
def test_the_reference_keeps_what_must_hold_in_every_world(name):
    for strategy in ("ThresholdShedder", "OverloadShedder", "UniformLoadShedder"):
        course = simulate(name, strategy, cycles=60)
        assert [fault for fault in loop_faults(course) if fault.verdict == "fail"] == []


def test_the_same_seed_gives_the_same_course():
    first, second, other = (
        simulate(named_world("bursty", seed), "UniformLoadShedder", cycles=40) for seed in (1, 1, 2)
    )
    assert first.cycles == second.cycles
    assert first.cycles != other.cycles


@pytest.mark.parametrize(
    ("row", "period"),
    [
        ([0, 1, 0, 1, 0, 1], 2),
        ([9, 9, 0, 1, 2, 0, 1, 2, 0, 1, 2], 3),
        ([0, 1, 2, 3, 4, 5, 6] * 3, 7),
        ([0, 1, 2, 3, 4, 5, 6], None),
        ([1, 0, 0, 0, 0, 0], None),
        ([0, 0, 0, 1, 1, 1] * 3, 6),
        ([0, 1, 0, 1, 1], None),
    ],
)
def test_the_end_of_a_row_repeats(row, period):
    assert shortest_period(row) == period


@pytest.mark.parametrize("period", [2, 3, 7])
@pytest.mark.parametrize("grace", [0, 30])
def test_a_shedder_that_circles_is_found_with_its_period(period, grace):
    data = {"brokers": [{"count": period, "bundles": 2, "usage": 40}]}
    connection = Circling("reference", NEWEST, {})
    course = simulate(
        world_of("ring", data), cycles=100, connection=connection, settings={GRACE: grace}
    )
    assert measures_of(course).period == period
    assert "LOOP-07" in broken(course)
    assert ("LOOP-01" in broken(course)) == (grace > 0)
    assert ("LOOP-03" in broken(course)) == (period == 2)


def test_a_shedder_that_forgets_the_grace_period_is_found():
    connection = Forgetting("reference", NEWEST, {})
    course = simulate("all-busy", "OverloadShedder", cycles=20, connection=connection)
    [fault] = [one for one in loop_faults(course) if one.rule.id == "LOOP-01"]
    assert fault.cycle >= 10
    assert fault.verdict == "fail"


@pytest.mark.parametrize(
    ("defect", "text"), [(Losing, "has no owner"), (Confused, "which broker-1 owns")]
)
def test_a_bundle_without_its_owner_is_found(defect, text):
    course = simulate("ninety-ten", cycles=3, connection=defect("reference", NEWEST, {}))
    [fault] = [one for one in loop_faults(course) if one.rule.id == "LOOP-06"]
    assert text in fault.text
    assert fault.verdict == "fail"


class Splitting(ReferenceConnection):
    """Splits one bundle twice in a cycle, and a bundle that does not exist."""

    def exchange(self, operation, batch):
        if operation == "bundles.split_candidates":
            name = min(batch[0]["brokers"]["broker-1"]["bundles"])
            return [{"split": [name, name, "a/b/0x00000000_0xffffffff"], "unload": []}]
        return super().exchange(operation, batch)


def test_a_split_of_an_absent_bundle_is_found():
    course = simulate("growing", cycles=2, connection=Splitting("reference", NEWEST, {}))
    [fault] = [one for one in loop_faults(course) if one.rule.id == "LOOP-06"]
    assert "no such bundle" in fault.text
    assert measures_of(course).splits == 2


def test_a_balanced_cluster_is_left_alone():
    data = {"brokers": [{"count": 3, "bundles": 4, "usage": 60}]}
    connection = Circling("reference", NEWEST, {})
    assert "LOOP-04" in broken(simulate(world_of("even", data), cycles=2, connection=connection))
    assert broken(simulate(world_of("even", data), cycles=50)) == set()


def test_an_overloaded_broker_beside_an_idle_one_is_found():
    data = {"brokers": [{"bundles": 4, "usage": 95}, {"bundles": 0, "usage": 0}]}
    off = {"loadBalancerSheddingEnabled": False}
    assert broken(simulate(world_of("stuck", data), cycles=50, settings=off)) == {"LOOP-05"}


def test_each_rule_of_the_long_run_has_a_check():
    assert set(CHECKS) == {rule.id for rule in specs.load().rules.values() if rule.area == "LOOP"}


def test_the_guide_has_every_rule_with_its_sections():
    guide = (STRATEGIES.parent / "site/guides/what-if.md").read_text("utf-8")
    for rule in loop_rules().values():
        sources = (one for one in rule.sources if one.document == "load-balance-3.0")
        sections = ", ".join(source.section for source in sources)
        assert f"| `{rule.id}`, {rule.level} | {rule.title} | {sections} |" in guide


def test_an_unloaded_bundle_leaves_its_owner_where_the_owner_may_not_take_it():
    course = simulate("ninety-ten", settings={HISTORY: 0.9}, placing=OTHERS, cycles=10)
    assert all(move.target != move.source for move in course.sheds)
    assert len(course.sheds) == 9


def test_the_transfer_shedder_moves_half_of_the_difference_once_it_is_sure():
    """Loads of 90 and 10 % deviate by 40 points, more than 25, so each cycle counts as a hit.

    More than three hits are needed, so nothing is moved in cycles 0 to 2. Half of the difference is
    40 points, enough for four bundles of 9 %. The loads of 54 and 46 % then deviate by 4 points.
    """
    profile = "documented-4.2"
    course = simulate("ninety-ten", "TransferShedder", 10, profile, remembers=True)
    assert [len(cycle.sheds) for cycle in course.cycles] == [0, 0, 0, 4, *[0] * 6]
    assert {move.target for move in course.sheds} == {"broker-2"}
    assert course.cycles[-1].usage == {"broker-1": 54, "broker-2": 46}


def test_a_bundle_that_goes_to_a_busier_broker_may_come_in_exchange():
    small = BundleMove(3, "t/ns/small", "idle", "busy")
    large = BundleMove(3, "t/ns/large", "busy", "idle")
    told = "t/ns/small goes to busy at 90 %, from idle at 33 %"
    for sheds, more in (((small,), ""), ((small, large), ", in exchange for bundles of busy")):
        usage = {"busy": 90, "idle": 33}
        cycle = SimpleNamespace(number=3, usage=usage, sheds=sheds, weighted=usage)
        found = list(CHECKS["LOOP-02"](SimpleNamespace(cycles=[cycle])))
        assert found == [(3, told + more)]
        cycle.weighted = {"busy": 27, "idle": 33}
        assert not [*CHECKS["LOOP-02"](SimpleNamespace(cycles=[cycle]))]


def heaps(memory, profile):
    """Simulate two brokers at 90 and 10 % of CPU with the same usage of heap memory."""
    world = named_world("ninety-ten")
    brokers = [replace(one, uses={**one.uses, "memory": (memory, 0)}) for one in world.brokers]
    released = profile if profile.startswith("released") else None
    connection = connect("reference", profile, {})
    operations = connection.hello.operations
    deciding = decision_setup("ThresholdShedder", {}, OTHERS, profile, released, operations)
    return Simulation(replace(world, brokers=brokers), deciding, connection).run(40, "it")


@pytest.mark.parametrize("profile", ["released-3.0", "released-4.2", "documented-4.2"])
def test_heap_memory_that_is_no_load_changes_neither_decisions_nor_figures(profile):
    """If it counted, a heap usage of 75 % would hide that a broker is relieved or idle."""
    without, full = heaps(0, profile), heaps(75, profile)
    assert len(without.sheds) > 1
    assert without.cycles == full.cycles
    assert measures_of(full).spread_first == 80


def test_heap_memory_counts_by_the_documents_of_3_0():
    assert measures_of(heaps(75, DOCUMENTED)).spread_first == 15
