"""Strategies that count over cycles give the same answers cycle by cycle as for all cycles
at once.
"""

import pytest
from pulsar_conformance import specs
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.adapters.reference import ReferenceConnection
from pulsar_conformance.audit.simulation.deciding import DecisionSetup
from pulsar_conformance.audit.simulation.loop import Simulation
from pulsar_conformance.audit.simulation.smallest.search import ShedQuestions
from pulsar_conformance.audit.simulation.worlds import named_world

PROFILE = "documented-4.2"
STRATEGIES = ["TransferShedder", "AvgShedder"]


class AllAtOnce(ReferenceConnection):
    """The reference without a leader that keeps state, so each question has all cycles so far."""

    def in_turn(self):
        return None


def simulated(connection, world, strategy, cycles):
    deciding = DecisionSetup(strategy, {}, specs.load().defaults(PROFILE), remembers=True)
    return Simulation(named_world(world, 1), deciding, connection).run(cycles, "it")


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("world", ["five-and-idle", "ninety-ten"])
def test_a_leader_asked_cycle_by_cycle_unloads_what_it_would_if_asked_all_at_once(world, strategy):
    whole = simulated(AllAtOnce("reference", PROFILE, {}), world, strategy, 12)
    one_by_one = simulated(connect("reference", PROFILE, {}), world, strategy, 12)
    assert one_by_one.sheds == whole.sheds
    assert whole.sheds


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_cycle_costs_no_more_after_many_others(strategy, monkeypatch):
    connection = connect("reference", PROFILE, {})
    leader = connection.in_turn()
    monkeypatch.setattr(connection, "in_turn", lambda: leader)
    monkeypatch.setattr(connection, "ask", _asked_about_one_cycle(connection.ask))
    simulated(connection, "bursty", strategy, 60)
    assert len(leader._earlier) <= 34  # TransferShedder's delay and the life of load data.


def test_a_search_asks_such_a_strategy_too():
    asked = ShedQuestions(connect("reference", PROFILE, {}))
    assert simulated(asked, "ninety-ten", "TransferShedder", 5).sheds


def _asked_about_one_cycle(ask):
    def asked(operation, cases):
        assert operation != "shed.cycles"
        return ask(operation, cases)

    return asked
