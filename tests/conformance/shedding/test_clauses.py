"""Implementations that go as far as a clause of a shedding rule allows."""

import pytest
from mutants.defects import Defect, shown

EXAMPLES = 60

MIXED = "observed = (*broker.history,"

ALLOWED = [
    Defect(
        "all bundles but one",
        "Where all are too little, an overloaded broker sheds a proper subset.",
        "OVERLOAD-02",
        "overload.py",
        "return take(cycle, broker, need_of(cycle, broker))",
        "taken = take(cycle, broker, need_of(cycle, broker))\n"
        "    short = sum(map(cycle.traffic, taken), Fraction(0)) < need_of(cycle, broker)\n"
        "    return taken[: max(1, len(broker.bundles) - 1)] if short else taken",
        {"overload-amount": "margin"},
    ),
    Defect(
        "the mean of the history",
        "Earlier observations count alike.",
        "THRESHOLD-16",
        "threshold.py",
        MIXED,
        "past = broker.history\n"
        "        observed = (*([sum(past, ZERO) / len(past)] if past else []),",
        {},
    ),
    Defect(
        "the last observation as history",
        "Only the observation before the present one counts.",
        "THRESHOLD-17",
        "threshold.py",
        MIXED,
        "observed = (*broker.history[-1:],",
        {},
    ),
]


@pytest.mark.parametrize("allowed", ALLOWED, ids=lambda one: one.name.replace(" ", "_"))
def test_what_a_clause_allows_breaks_no_rule(allowed):
    assert shown(allowed, EXAMPLES) is None
