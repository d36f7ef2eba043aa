"""Each seeded defect is found under its own rule, with a case that a person can check."""

import pytest
from pulsar_conformance import specs

from mutants import defects

LARGE = frozenset(
    {
        "a count that goes on",
        "all partitions of a topic share its bundle",
        "twice the default number of bundles",
    }
)
"""Defects that no small case can show: the namespace needs nearly its maximum number of bundles,
more topics than bundles, or too many topics to share a bundle by chance.
"""

SAMPLED = 16
"""The usual tests try one in this many defects; `nox -s thorough` tries all defects."""


def tried():
    for number, one in enumerate(defects.defects()):
        marks = () if number % SAMPLED == 0 else pytest.mark.thorough
        yield pytest.param(one, id=one.name.replace(" ", "_"), marks=marks)


@pytest.mark.parametrize("defect", list(tried()))
def test_a_defect_is_found_under_its_own_rule(defect):
    found = defects.shown(defect)
    assert found is not None, f"{defect.rule} does not see it"
    assert found.small or defect.name in LARGE, (found.brokers, found.bundles)


def test_there_are_defects_of_every_area_with_rules_of_its_own():
    areas = {specs.load().rules[one.rule].area for one in defects.defects()}
    assert len(defects.defects()) >= 190
    assert areas >= {"USAGE", "DATA", "SHED", "OVERLOAD", "THRESHOLD", "UNIFORM", "PLACE", "ANTI"}
    assert areas >= {"BUNDLE", "SPLIT", "MANAGER", "OWN", "REPORT", "ANSWER"}
