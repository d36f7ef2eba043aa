"""Each clause of a rule about the long run is broken by its defect, in a world in which the model
keeps it.
"""

import pytest
from pulsar_conformance import specs
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.audit.simulation.deciding import DecisionSetup
from pulsar_conformance.audit.simulation.loop import Simulation
from pulsar_conformance.audit.simulation.rules import loop_faults, loop_rules
from pulsar_conformance.audit.simulation.worlds import named_world, world_of
from standins.loops import Busiest, Circling, Confused, Forgetting, Losing, Resting

PROFILE = "documented-3.0"
ALL_BUSY, NINETY_TEN = named_world("all-busy"), named_world("ninety-ten")


def ring(brokers):
    return world_of("ring", {"brokers": [{"count": brokers, "bundles": 2, "usage": 40}]})


FULL = [{"bundles": 4, "usage": 95}, {"bundles": 0, "usage": 0}, {"bundles": 4, "usage": 60}]
WORLD = world_of("full", {"brokers": FULL})
FULLER = world_of("fuller", {"brokers": [{"bundles": 8, "usage": 99}, *FULL]})

DEFECTS = {
    "forgets the grace period after ten cycles": (Forgetting, ALL_BUSY, "OverloadShedder"),
    "places on the busiest broker": (Busiest, FULLER, "OverloadShedder"),
    "oscillates with period 2": (Circling, ring(2), "OverloadShedder"),
    "oscillates with period 3": (Circling, ring(3), "OverloadShedder"),
    "oscillates with period 7": (Circling, ring(7), "OverloadShedder"),
    "never sheds": (Resting, WORLD, "OverloadShedder"),
    "loses what it sheds": (Losing, NINETY_TEN, "ThresholdShedder"),
    "unloads from others": (Confused, NINETY_TEN, "ThresholdShedder"),
}
CLAUSES = [(rule.id, clause) for rule in loop_rules().values() for clause in rule.clauses]


def broken(connection, world, strategy):
    """Return the rules that an implementation breaks in a world within 60 cycles."""
    deciding = DecisionSetup(strategy, {}, specs.load().defaults(PROFILE))
    return {one.rule.id for one in loop_faults(Simulation(world, deciding, connection).run(60, ""))}


def test_every_defect_is_of_a_clause_and_every_clause_has_one():
    assert {clause.broken_by for _, clause in CLAUSES} == set(DEFECTS)
    assert all(rule.clauses for rule in loop_rules().values())


@pytest.mark.parametrize(
    ("rule", "clause"), CLAUSES, ids=lambda one: getattr(one, "broken_by", one)
)
def test_the_defect_of_a_clause_breaks_it_where_the_model_does_not(rule, clause):
    defect, *world = DEFECTS[clause.broken_by]
    assert rule in broken(defect("reference", PROFILE, {}), *world)
    assert rule not in broken(connect("reference", PROFILE, {}), *world)
