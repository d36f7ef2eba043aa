"""The reference simulates 1,000 cycles of ten brokers with 64 bundles each in at most five
seconds.
"""

import time

import pytest
from pulsar_conformance.audit.simulation.variants import Variant, simulate_worlds
from pulsar_conformance.audit.simulation.worlds import world_of

CYCLES = 1_000
MOST_SECONDS = 5.0
ATTEMPTS = 3
"""Number of attempts, since on a busy machine even processor time is longer."""

BROKERS = [{"count": 5, "bundles": 64, "usage": 70}, {"count": 5, "bundles": 64, "usage": 40}]


def seconds(shape):
    """Return the processor time of a simulation in seconds."""
    world = world_of("ten", {"brokers": BROKERS, "load": {"shape": shape}})
    variant = Variant("reference", "documented-3.0", "ThresholdShedder", {})
    began = time.process_time()
    [course] = simulate_worlds(variant, [world], CYCLES, {})
    assert len(course.cycles) == CYCLES
    assert course.sheds
    return time.process_time() - began


@pytest.mark.thorough
@pytest.mark.parametrize("shape", ["constant", "daily", "bursty", "drifting", "hot"])
def test_a_thousand_cycles_take_seconds(shape):
    assert any(seconds(shape) <= MOST_SECONDS for _ in range(ATTEMPTS))
