"""A run does not mistake a defect for an alternative of a reading."""

import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.readings import resolve_readings
from sampling import one_in

from mutants.defects import defects
from mutants.judged import MutantConnection
from mutants.loading import another_model

PROFILE = "documented-3.0"

FOLLOWS = {
    "messages for bytes": {"shed-measure"},
    "the long term for the short": {"shed-window"},
    "one bundle in a cycle": {"overload-amount"},
    "overloaded at the threshold": {"overload-trigger"},
    "the overload threshold everywhere": {"overload-scope"},
    "a topic is unloaded with its bundle": {"unload-topic"},
    "a second domain is allowed": {"second-domain"},
    "partitions never share": {"partitions"},
    "the excess as a multiple": {"uniform-multiplier"},
}
"""Defects that follow another alternative of a reading, with the readings."""

ALIKE = {
    "usage without its limit": {"lower-boundary"},
    "everybody below the average is idle": {"lower-boundary"},
    "evened out at any difference": {"uniform-trigger", "uniform-difference"},
    "difference in percent of the highest": {"uniform-multiplier"},
    "settings of the question before": {"lower-boundary"},
    "placed by the short term": {"placement-score"},
    "where most of the group are": {"domain-counts"},
}
"""Defects whose answers look like another alternative of a reading, but differ elsewhere, too."""


class Silent(Implementation):
    """A changed model that declares none of the readings that it follows."""

    @property
    def declared(self):
        """Return no readings, whatever the model declares."""
        return {}

    def __init__(self, model):
        self._made = model(PROFILE)
        super().__init__("mutant", PROFILE, {})

    def _open_connection(self):
        return MutantConnection(self._made, PROFILE, {})


@pytest.mark.parametrize("defect", one_in(32, defects()), ids=lambda one: one.name)
def test_no_reading_is_found_that_a_defect_does_not_follow(defect):
    model = another_model({defect.file: defect.source})[""].Model
    found = resolve_readings(Silent(model), seed=5)
    usual = specs.load().default_readings(PROFILE)
    other = {
        name
        for name, how in found.how.items()
        if how == "found" and found.chosen[name] != usual[name]
    }
    assert other <= FOLLOWS.get(defect.name, set()) | ALIKE.get(defect.name, set())


def test_the_named_defects_are_there():
    names = {one.name for one in defects()}
    assert {*FOLLOWS, *ALIKE} <= names
