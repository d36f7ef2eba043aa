"""Each known deviation of a running cluster occurs whenever its story is played."""

import re
from pathlib import Path

import pytest
from pulsar_conformance import specs
from pulsar_conformance.adapters.pulsar.versions import releases
from pulsar_conformance.conformance.cases.deviations import load_deviations
from pulsar_conformance.conformance.cases.saved import load_saved as load_case
from pulsar_conformance.conformance.engine.attribute import own_faults
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.judge import AppliedRule, JudgedImplementation

pytestmark = pytest.mark.cluster

FILES = sorted((Path(__file__).parents[3] / "fixtures" / "deviations").glob("cluster-*.yaml"))
TIMES = [2, pytest.param(5, marks=pytest.mark.thorough)]
"""Numbers of times that a story is played, in usual and in thorough tests.

Questions about single decisions are asked only once.
"""


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_case_breaks_its_rule_each_time(file, times):
    manager, version = re.fullmatch(r"cluster(?:-([a-z]+))?-(\d.*)", file.stem).groups()
    adapter = f"cluster:{version},manager={manager or 'modular'}"
    implementation = Implementation(adapter, releases()[version].documents, {})
    subject = JudgedImplementation.before_asking(implementation)
    try:
        for one in load_deviations(file):
            assert one.implementation == implementation.name
            applied = AppliedRule(specs.load().rules[one.rule], subject)
            for case in one.cases:
                trial = load_case(case).trial
                story = "cluster.replay" in trial.operations
                found = own_faults(applied, [trial] * (times if story else 1))
                assert all(found), one.rule
                if case == one.cases[0] and one.answers:
                    assert {fault.outcome.answered for fault in found} == {one.answers}
    finally:
        implementation.close()
