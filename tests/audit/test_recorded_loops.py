"""Simulations make the same unloads as loops recorded from clusters of 4.2.4.

The simulations take from a recording only the loads of bundles, the first owners, the times of
cycles, and the brokers that joined and stopped. A single different decision would change the state
on which all later decisions depend. `standins/recorded_loop.py` recorded the loops in real time,
with leaders that shed by their own timer; for `uniform`, `standins/hurried_loop.py` skipped the
waits between cycles. `test_cluster_loops.py` records the loops anew.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.audit.simulation.deciding import ITSELF, decision_setup
from pulsar_conformance.audit.simulation.loop import Simulation
from pulsar_conformance.audit.simulation.measures import match_with_recorded, measures_of
from pulsar_conformance.audit.simulation.recorded import MAX_DELAY_OF_SHED, recorded_world
from pulsar_conformance.audit.simulation.reporting import simulation_lines
from pulsar_conformance.audit.simulation.rules import loop_faults
from pulsar_conformance.audit.simulation.variants import Variant, simulate_worlds
from pulsar_conformance.audit.simulation.worlds import BadWorld, RecordedUnload
from pulsar_conformance.conformance.commands.main import main

FOLDER = Path("fixtures/histories")
GRACE = "loadBalancerSheddingGracePeriodMinutes"
RELEASE, DOCUMENTS = "released-4.2", "documented-4.2"
NAMES = {
    "OverloadShedder": "overload",
    "ThresholdShedder": "threshold",
    "UniformLoadShedder": "uniform",
}
LOOPS = {"OverloadShedder": (23, 36), "ThresholdShedder": (22, 10), "UniformLoadShedder": (20, 15)}
"""Number of cycles and of unloads in each recorded loop, by strategy."""


def loop_file(strategy):
    return FOLDER / f"cluster-4.2.4-{NAMES[strategy]}.json.gz"


def course(strategy, profile=RELEASE, adapter="reference", settings=None):
    world = recorded_world(loop_file(strategy))
    variant = Variant(adapter, profile, strategy, settings or {})
    [found] = simulate_worlds(variant, [world], len(world.clock), {})
    return found


@pytest.mark.parametrize("strategy", LOOPS)
def test_a_real_loop_and_its_simulation_unload_alike(strategy):
    cycles, unloads = LOOPS[strategy]
    found = match_with_recorded(course(strategy))
    assert (found.cycles, found.alike, found.unloads) == (cycles, cycles, unloads)
    assert cycles >= 20


@pytest.mark.pulsar
@pytest.mark.parametrize("strategy", LOOPS)
def test_a_real_loop_and_its_release_s_classes_unload_alike(strategy):
    found = match_with_recorded(course(strategy, adapter="pulsar:4.2.4"))
    assert found.alike == found.cycles == LOOPS[strategy][0]


@pytest.mark.parametrize(
    ("strategy", "profile", "settings", "first"),
    [
        ("OverloadShedder", RELEASE, {GRACE: 3}, 3),
        ("OverloadShedder", RELEASE, {GRACE: 1}, 1),
        ("ThresholdShedder", DOCUMENTS, {}, 0),
        ("ThresholdShedder", RELEASE, {"loadBalancerHistoryResourcePercentage": 0.8}, 6),
        ("ThresholdShedder", RELEASE, {"loadBalancerBrokerThresholdShedderPercentage": 10}, 3),
        ("UniformLoadShedder", RELEASE, {"maxUnloadPercentage": 0.2}, 0),
        ("UniformLoadShedder", RELEASE, {"loadBalancerMsgRateDifferenceShedderThreshold": 80}, 13),
    ],
)
def test_other_settings_or_documents_differ_from_the_real_loop(strategy, profile, settings, first):
    assert match_with_recorded(course(strategy, profile, settings=settings)).alike == first


@pytest.mark.parametrize(
    ("strategy", "changed", "first"),
    [
        # A placed bundle counts at its new broker when the cycle's next bundle is placed.
        ("OverloadShedder", {"reserves": True}, 0),
        # The leader still remembers the averages of a stopped broker's bundles.
        ("ThresholdShedder", {"forgets": False}, 6),
        # If cycles took no time, a grace period of two minutes would protect a bundle in three
        # cycles.
        ("OverloadShedder", {"clock": tuple(range(24))}, 3),
    ],
)
def test_each_habit_of_the_leader_is_needed(strategy, changed, first):
    world = recorded_world(loop_file(strategy))
    length = len(world.clock)
    with connect("reference", RELEASE, {}) as connection:
        operations = connection.hello.operations
        deciding = decision_setup(strategy, {}, ITSELF, RELEASE, RELEASE, operations)
        if "clock" in changed:
            world = replace(world, **changed)
        else:
            deciding = replace(deciding, **changed)
        found = Simulation(world, deciding, connection).run(length, "changed")
    assert match_with_recorded(found).alike == first


def test_brokers_that_joined_and_stopped_do_so_in_the_simulation():
    world = recorded_world(loop_file("ThresholdShedder"))
    assert [(one.cycle, one.up) for one in world.events] == [
        (3, True),
        (6, False),
        (9, True),
        (12, False),
        (15, True),
        (18, False),
    ]
    assert [one.up for one in world.brokers].count(False) == 3


def test_the_command_says_how_far_the_simulation_is_as_recorded(capsys):
    words = ["simulate", "--history", str(loop_file("ThresholdShedder")), "--cycles", "22"]
    assert main([*words, "--profile", RELEASE]) == 0
    assert "10 unloads in 22 cycles, all as recorded" in capsys.readouterr().out
    main([*words, "--profile", RELEASE, "--setting", "loadBalancerHistoryResourcePercentage=0"])
    out = " ".join(capsys.readouterr().out.split())
    told = "the first cycle whose unloads differ is cycle 1 (2026-11-27T00:31:55.358Z), counted"
    assert f"{told} from 0: recorded" in out
    assert "simulated nothing" in out


@pytest.mark.parametrize("words", [[], ["--profile", "documented-3.0"]])
def test_a_history_is_simulated_by_the_release_that_its_reports_name(capsys, words):
    asked = ["simulate", "--history", str(loop_file("ThresholdShedder")), "--cycles", "22"]
    assert main([*asked, *words]) == 0
    out, err = capsys.readouterr()
    assert ("all as recorded" in out) is (not words)
    assert (f"simulated by {RELEASE}" in " ".join(err.split())) is (not words)


BUNDLE = "shop/eu/0x00000000_0xffffffff"


def written(tmp_path, acts):
    """Write a history with two brokers, and cycles after 60, 120 and 180 seconds."""

    def line(second, kind, **fields):
        at = f"2026-01-01T00:{second // 60:02}:{second % 60:02}Z"
        return {"kind": kind, "cluster": "c", "at": at, **fields}

    def report(second, broker, bundles):
        rates = {"msgThroughputIn": 5e7, "msgRateIn": 10.0}
        said = {
            "cpu": {"usage": 50.0 * len(bundles), "limit": 100.0},
            "bundles": bundles,
            "lastStats": dict.fromkeys(bundles, rates),
            **{name: value * len(bundles) for name, value in rates.items()},
        }
        return line(second, "load_report", broker=broker, report=said)

    lines = [line(second, "cycle") for second in (60, 120, 180)]
    lines += [report(second, "one:1", [BUNDLE]) for second in range(10, 190, 10)]
    lines += [report(second, "two:1", []) for second in range(70, 150, 10)]
    lines += [line(second, **fields) for second, fields in acts]
    file = tmp_path / "history.jsonl"
    file.write_text("".join(f"{json.dumps(one)}\n" for one in lines))
    return file


def unloaded(cause):
    return {"kind": "unloaded", "bundle": BUNDLE, "broker": "one:1", "cause": cause}


ASSIGNED = {"kind": "assigned", "bundle": BUNDLE, "broker": "two:1"}


@pytest.mark.parametrize(
    ("cause", "after", "counts"),
    [
        ("shedding", 2, True),
        ("shedding", 50, True),
        ("admin", 2, True),
        ("unknown", MAX_DELAY_OF_SHED.seconds + 1, False),
        ("shutdown", 2, False),
        ("split", 2, False),
    ],
)
def test_an_unload_soon_after_a_cycle_counts_unless_its_cause_is_another(
    tmp_path, cause, after, counts
):
    acts = [(120 + after, unloaded(cause)), (120 + after + 3, ASSIGNED)]
    found = recorded_world(written(tmp_path, acts)).unloads
    assert found == ((RecordedUnload(1, BUNDLE, "one:1", "two:1"),) if counts else ())


def test_a_broker_is_up_while_it_reports_and_cycles_keep_their_times(tmp_path):
    world = recorded_world(written(tmp_path, [(30, unloaded("shedding"))]))
    assert world.unloads == ()
    assert world.clock == (0, 1, 2)
    assert world.cycle_text(2) == "cycle 2 (2026-01-01T00:03:00Z)"
    assert world.cycle_text(3) == replace(world, began=None).cycle_text(3) == "cycle 3"
    assert [(one.cycle, one.broker, one.up) for one in world.events] == [
        (1, "two:1", True),
        (2, "two:1", False),
    ]
    assert world.minutes_at(1, 5) == 1
    assert world.minutes_at(4, 5) == 12
    assert replace(world, clock=()).minutes_at(4, 5) == 20


def test_a_simulation_without_recorded_cycles_is_compared_with_none(tmp_path):
    world = recorded_world(written(tmp_path, []))
    [found] = simulate_worlds(
        Variant("reference", RELEASE, "ThresholdShedder", {}), [replace(world, clock=())], 3, {}
    )
    assert match_with_recorded(found) is None
    with pytest.raises(BadWorld, match="no load reports"):
        recorded_world(Path("README.md"))


def test_brokers_that_do_not_start_as_recorded_are_named(tmp_path, capsys):
    """Later, `b1` uses 30 % for twice the traffic: 15 % in the first cycle instead of 40 %."""

    def report(minute, broker, cpu, megabytes):
        rates = {"msgThroughputIn": megabytes * 1e6, "msgThroughputOut": 0}
        said = {
            "cpu": {"usage": cpu, "limit": 100},
            **rates,
            "bundles": [f"a/{broker}/0x00000000_0xffffffff"],
            "lastStats": {f"a/{broker}/0x00000000_0xffffffff": rates},
        }
        return {"kind": "load_report", "at": stamp(minute), "broker": broker, "report": said}

    def stamp(minute):
        return f"2026-11-20T10:{minute:02}:00Z"

    records = [
        *(report(0, one, 40, 10) for one in ("b1", "b2")),
        {"kind": "cycle", "at": stamp(1)},
        *(report(5, *how) for how in (("b1", 30, 20), ("b2", 40, 10))),
        {"kind": "cycle", "at": stamp(6)},
    ]
    history, page = tmp_path / "history.jsonl", tmp_path / "page.html"
    history.write_text("".join(json.dumps({"cluster": "eu", **one}) + "\n" for one in records))
    main(["simulate", "--history", str(history), "--cycles", "2", "--page", str(page)])
    told = "so the first cycle does not start as recorded: b1 at 15.0 % of cpu, recorded as 40.0 %"
    assert told in " ".join(capsys.readouterr().err.split())
    assert told in " ".join(page.read_text().split())


def test_a_single_cycle_is_counted_in_the_singular(tmp_path, capsys):
    lines = written(tmp_path, []).read_text().splitlines()
    file = tmp_path / "one.jsonl"
    file.write_text("\n".join(lines[:1] + lines[3:]))
    assert main(["simulate", "--history", str(file), "--cycles", "1"]) == 0
    out, err = capsys.readouterr()
    assert "1 cycle of c is replayed at its recorded time\n" in err
    assert "\n1 cycle at its recorded time, " in out


def test_the_long_run_is_judged_by_recorded_times():
    """Two hours between recorded cycles are longer than any grace period."""
    made = course("OverloadShedder")
    judged = replace(made, settings={**made.settings, GRACE: 30})
    assert "LOOP-01" in {fault.rule.id for fault in loop_faults(judged)}
    hours = tuple(120.0 * number for number in range(len(made.world.clock)))
    slow = replace(judged, world=replace(made.world, clock=hours))
    assert "LOOP-01" not in {fault.rule.id for fault in loop_faults(slow)}
    over = [measures_of(one).over_minutes for one in (judged, slow)]
    assert 0 < over[0] < over[1] / 50
    assert f"{len(made.cycles)} cycles at their recorded times" in "\n".join(
        simulation_lines([slow])
    )
