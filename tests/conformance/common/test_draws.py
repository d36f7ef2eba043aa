"""Draws contain no duplicates, are the same for the same seed, and work with plain Hypothesis."""

import os
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture.provider_conformance import run_conformance_test
from pulsar_conformance import specs
from pulsar_conformance.conformance.bundles import draw_namespaces as namespaces
from pulsar_conformance.conformance.bundles import draw_splits as splits
from pulsar_conformance.conformance.bundles import growth
from pulsar_conformance.conformance.cases.legality import case_flaw, trial_flaw
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.conformance.drawing import loads
from pulsar_conformance.conformance.drawing.drawing import IndependentDraws, draw
from pulsar_conformance.conformance.load_data import averages, reports, usage
from pulsar_conformance.conformance.placement import draw_domains as domains
from pulsar_conformance.conformance.placement import draw_placements as placements
from pulsar_conformance.conformance.shedding import draw_cycles as shedding
from sampling import one_in

EXAMPLES = 100
PROFILES = (
    "documented-3.0",
    "documented-2.10",
    "documented-2.4",
    "documented-5.0",
    "unwritten-3.0",
)
RULES = sorted(
    {rule.id for one in PROFILES for rule in specs.load().rules_of(one) if rule.untestable is None}
)
FEWER = {
    **{rule: 1 for rule in RULES if rule.startswith("CONFIG-")},
    "BUNDLE-01": 17,
    "BUNDLE-02": 17,
    "MANAGER-01": 2,
    "MANAGER-03": 1,
    "MANAGER-14": 1,
    "PLACE-05": 16,
    "PLANNED-03": 16,
    "PLANNED-06": 16,
    "REPORT-10": 1,
    "USAGE-05": 25,
    "USAGE-06": 15,
    "USAGE-07": 25,
}
"""For each rule with fewer distinct cases than are requested, the number of these cases."""

DEFAULTS = specs.load().defaults("documented-3.0")


@pytest.mark.parametrize("rule", one_in(4, RULES))
def test_drawn_cases_of_a_rule_are_all_different(rule):
    drawn = draw(checks()[rule].draws, EXAMPLES, f"distinct/{rule}")
    assert len({trial.fingerprint for trial in drawn}) == len(drawn) == FEWER.get(rule, EXAMPLES)


def test_the_backend_passes_the_conformance_test_of_hypothesis():
    run_conformance_test(
        IndependentDraws, settings=settings(max_examples=20, stateful_step_count=10)
    )


@pytest.mark.parametrize(
    ("strategy", "count"),
    [
        (st.just("one"), 1),
        (st.sampled_from(range(34)), 34),
        (st.tuples(st.integers(1, 4), st.booleans(), st.sampled_from("abc")), 24),
        (st.one_of(st.just(1), st.integers(3, 5), st.integers(4, 7)), 6),
        (st.integers(0, 20).filter(lambda number: number % 2), 10),
        (st.lists(st.booleans(), max_size=3), 15),
        (st.integers(0, 2**64).map(lambda number: number % 5), 5),
    ],
)
def test_a_finite_strategy_gives_each_value_once_and_ends(strategy, count):
    drawn = draw(strategy, 100, "finite")
    assert len(drawn) == len(set(map(str, drawn))) == count


def test_imports_and_hash_seeds_do_not_change_draws():
    program = (
        "from pulsar_conformance.conformance.shedding import draw_cycles as shedding\n"
        "from pulsar_conformance.conformance.drawing.drawing import draw\n"
        "for trial in draw(shedding.cycle_trials(shedding.any_strategy), 20, 'process'):\n"
        "    print(trial.fingerprint)\n"
    )
    here = [
        one.fingerprint for one in draw(shedding.cycle_trials(shedding.any_strategy), 20, "process")
    ]
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        assert done.stdout.split() == here


def test_the_smallest_value_comes_first():
    assert draw(st.integers(3, 10**6), 5, "smallest")[0] == 3


@pytest.mark.parametrize("fewest", [1, 2, 3])
def test_clusters_are_of_any_size(fewest):
    sizes = draw(loads.sizes(fewest), 300, "sizes")
    brokers = Counter(size.brokers for size in sizes)
    assert {*range(fewest, 12)} < set(brokers) <= {*range(fewest, 12), 60, 110}
    assert max(brokers.values()) < len(sizes) / 4
    assert max(Counter(size.bundles for size in sizes).values()) < len(sizes) / 5


@settings(max_examples=20)
@given(shedding.cases(shedding.overload, shedding.threshold, shedding.uniform))
def test_plain_hypothesis_draws_legal_shedding_cases(case):
    assert case_flaw("shed.select", case, DEFAULTS) is None
    owned = [bundle for one in case["brokers"].values() for bundle in one["bundles"]]
    assert len(owned) == len(set(owned))


@settings(max_examples=20)
@given(placements.cases(placements.balanced, placements.around_the_threshold, fewest=1))
def test_plain_hypothesis_draws_legal_placement_cases(case):
    assert set(case["candidates"]) <= set(case["brokers"])


@settings(max_examples=30)
@given(
    st.one_of(
        averages.any_number(),
        averages.brokers(),
        domains.spreading(domains.even),
        growth.automatic_splits(),
        namespaces.locate(),
        reports.any_report(),
        splits.any_split(),
        usage.any_broker(),
    )
)
def test_plain_hypothesis_draws_legal_trials_of_other_operations(trial):
    assert trial_flaw(trial, DEFAULTS) is None
