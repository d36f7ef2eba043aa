"""Correct implementations pass with every seed."""

import shutil

import pytest
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.run import Run

PROFILE = "documented-3.0"
FEW = 3
"""Number of cases per rule and seed; a rule that these do not reach is not judged."""

needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="needs java 17")
needs_go = pytest.mark.skipif(shutil.which("go") is None, reason="needs go 1.21")
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs node 20")

SEEDS = {
    "reference": range(100, 105),
    "sample:java": range(20),
    "sample:javascript": range(200, 205),
    "sample:go": range(300, 305),
}
MARKS = {"sample:java": needs_java, "sample:javascript": needs_node, "sample:go": needs_go}
SAMPLED = 1
"""Number of seeds per implementation in usual tests; `nox -s conformance` uses another seed."""


def marks_of(adapter, number):
    """Return the marks of an implementation under one of its seeds."""
    needed = [MARKS[adapter]] if adapter in MARKS else []
    return needed if number < SAMPLED else [*needed, pytest.mark.thorough]


@pytest.fixture(scope="module")
def implementations():
    """Provide one connection per implementation, for all seeds."""
    runs = {}
    yield runs
    for run in runs.values():
        run.close()


@pytest.mark.parametrize(
    ("adapter", "seed"),
    [
        pytest.param(adapter, seed, marks=marks_of(adapter, number))
        for adapter, seeds in SEEDS.items()
        for number, seed in enumerate(seeds)
    ],
)
def test_an_implementation_without_a_mistake_passes(adapter, seed, implementations, tmp_path):
    plan = Plan.make([adapter], [PROFILE], examples=FEW, seed=seed, root=tmp_path)
    run = Run(plan, adapter, PROFILE)
    run._reached = implementations.setdefault(adapter, run).implementation
    rules = plan.rules_of(PROFILE)
    run.prepare()
    verdicts = [run.verdict(rule) for rule in rules]
    wrong = [one for one in verdicts if one.verdict in ("fail", "error", "unexpected_pass")]
    assert wrong == []
    offered = [one for one in verdicts if one.verdict != "not_applicable"]
    assert sum(one.verdict == "pass" for one in offered) > len(offered) / 2
