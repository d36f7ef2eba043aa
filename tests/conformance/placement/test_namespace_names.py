"""Policies may select namespaces by regular expressions, but a namespace has a plain name."""

import pytest
from pulsar_conformance.conformance.cases.legality import case_flaw
from pulsar_conformance.conformance.placement.operations import CHANGE
from pulsar_conformance.specs import load

DEFAULTS = load().defaults("documented-4.2")


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("bank/orders", True),
        ("acme.com/eu:orders=v1.1", True),
        ("bank/eu/orders", True),
        ("bank/.*", False),
        ("bank/orders|eu", False),
        ("bank/ümlaut", False),
    ],
)
def test_a_namespace_has_a_name_that_pulsar_accepts(name, plain):
    case = {**CHANGE.examples[0], "namespaces": ["t/a", name]}
    problem = case_flaw(CHANGE.id, case, DEFAULTS)
    assert (problem is None) == plain
    assert plain or f"{name!r} is not the name of a namespace" in problem
