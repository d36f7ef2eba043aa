"""TransferShedder in Spark, computed independently, moves the same bundles as in the model."""

from random import Random

import pytest
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.conformance.shedding import draw_transfer as draws
from pulsar_conformance.conformance.shedding.operations import CYCLES, SHED
from pulsar_conformance.reference.shedding import HITS, TRANSFER_SHEDDER, WITH_POLICIES
from standins.sparks import NAME, spark

assert spark
pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

PROFILE = "documented-4.2"
SEEDS = 3
ONE_CYCLE = (
    draws.one_condition,
    draws.even_loads,
    draws.few_brokers,
    draws.without_transfers,
    draws.outdated,
    draws.without_data,
    draws.under_policies,
    draws.policy_excludes_least_loaded,
    draws.excluded,
    draws.top_bundles,
)
IN_A_ROW = (draws.hits_in_a_row, draws.after_an_unload)


def cycle(found, **changes):
    """Return a cycle that unloads immediately, unless a test sets hits or a delay."""
    settings = {HITS: 0, **found["settings"]}
    case = {"strategy": TRANSFER_SHEDDER, "recentlyUnloaded": {}, **found, "settings": settings}
    return {**case, **changes}


def single_cycles():
    for seed in range(SEEDS):
        for draw in ONE_CYCLE:
            yield cycle(draw(Random(seed)))
        yield from (one.case for one in draws.with_and_without_strategy(Random(seed)).questions)


def grouped():
    """Yield cycles in which groups and policies exclude some destinations."""
    for seed in range(SEEDS):
        found = cycle(draws.policy_excludes_least_loaded(Random(seed)))
        busiest = found["isolation"][0]["primary"][0]
        spaces = sorted({one.rpartition("/")[0] for one in found["bundles"]})
        groups = dict.fromkeys(spaces, "apart")
        yield {**found, "groups": groups}
        yield {**found, "groups": groups, "isolation": []}
        policy = {"namespaces": spaces, "primary": [busiest], "secondary": [], "least": 2}
        others = [name for name in found["brokers"] if name != busiest]
        yield {**found, "isolation": [{**policy, "secondary": others[:1]}]}


def asked(operation, cases):
    with connect("reference", PROFILE, {}) as model, connect(NAME, PROFILE, {}) as engine:
        return list(zip(engine.ask(operation, cases), model.ask(operation, cases), strict=True))


def test_a_cycle_moves_the_bundles_that_the_model_moves():
    cases = [*single_cycles(), *grouped()]
    both = asked(SHED.id, cases)
    assert sum(bool(expected["unload"]) for _, expected in both) > SEEDS * 5
    assert any(case["settings"].get(WITH_POLICIES) for case in cases)
    for case, (answer, expected) in zip(cases, both, strict=True):
        assert answer.keys() == {"unload"}, answer
        assert SHED.matches(expected, answer), (case, expected, answer)


def test_cycles_in_a_row_count_hits_and_wait_after_an_unload():
    cases = [draw(Random(seed)).questions[0].case for seed in range(1, SEEDS) for draw in IN_A_ROW]
    both = asked(CYCLES.id, cases)
    assert sum(any(one["unload"] for one in expected["cycles"]) for _, expected in both) >= SEEDS
    for case, (answer, expected) in zip(cases, both, strict=True):
        assert CYCLES.matches(expected, answer), (case, expected, answer)
