"""Loops recorded anew from clusters of 4.2.4, for three minutes each, unload like their
simulations.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pulsar_conformance.adapters.pulsar.connect import released_jars
from pulsar_conformance.adapters.pulsar.target import Target
from pulsar_conformance.audit.simulation.measures import match_with_recorded
from pulsar_conformance.audit.simulation.recorded import recorded_world
from pulsar_conformance.audit.simulation.variants import Variant, simulate_worlds

pytestmark = pytest.mark.cluster

VERSION, RELEASE = "4.2.4", "released-4.2"
SCRIPT = Path(__file__).parents[1] / "standins/hurried_loop.py"
CYCLES = 20
NAMES = {
    "OverloadShedder": "overload",
    "ThresholdShedder": "threshold",
    "UniformLoadShedder": "uniform",
}
LEAST_UNLOADS = 8


def record(name, folder):
    """Record a loop, and return its history."""
    _, jars = released_jars(Target(VERSION))
    temporary, history = folder / "cluster", folder / "history"
    temporary.mkdir()
    words = [VERSION, str(jars), str(temporary), str(history), name, str(CYCLES)]
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *words], capture_output=True, text=True, timeout=800
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return history.with_suffix(".jsonl")


def brokers_without_traffic(history):
    """Yield time and broker of reports with CPU usage but no traffic, as Pulsar may write them."""
    for line in map(json.loads, history.open()):
        report = line.get("report")
        if report and report["cpu"]["usage"] and not report["lastStats"]:
            yield line["at"], line["broker"]


@pytest.mark.parametrize("strategy", NAMES)
def test_a_loop_recorded_now_and_its_simulation_unload_alike(strategy, tmp_path):
    history = record(NAMES[strategy], tmp_path)
    assert list(brokers_without_traffic(history)) == []
    variant = Variant("reference", RELEASE, strategy, {})
    [course] = simulate_worlds(variant, [recorded_world(history)], CYCLES, {})
    found = match_with_recorded(course)
    assert (found.recorded, found.simulated) == (frozenset(), frozenset())
    assert found.alike == found.cycles == CYCLES
    assert found.unloads >= LEAST_UNLOADS
