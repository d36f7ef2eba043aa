"""The settings that a failure lists have the names that the judged documents give them."""

from pathlib import Path

import pytest
from pulsar_conformance.conformance.cases.saved import load_saved
from pulsar_conformance.conformance.common.trial import Question, Trial
from pulsar_conformance.conformance.engine.report import settings_in_force

ROOT = Path(__file__).parents[3]
CASE = ROOT / "fixtures/cases/shed.select/0202da1fe537.json"
FORMER, PRESENT = "loadBalancerBandwithInResourceWeight", "loadBalancerBandwidthInResourceWeight"


def listed(profile, **settings):
    [(operation, case)] = load_saved(CASE).trial.questions
    trial = Trial((Question(operation, {**case, "settings": settings}),))
    lines = settings_in_force(profile, {}, trial)
    return [line for line in lines if line.startswith((FORMER, PRESENT))]


@pytest.mark.parametrize(
    ("profile", "name"), [("documented-3.0", FORMER), ("documented-4.2", PRESENT)]
)
def test_a_default_has_the_name_that_the_documents_give_it(profile, name):
    assert listed(profile) == [f"{name}=1.0 (default of {profile})"]


def test_a_name_that_the_documents_replaced_is_said_beside_its_new_one():
    assert listed("documented-4.2", **{FORMER: 0.5}) == [f"{FORMER}=0.5 (case; now {PRESENT})"]


def test_the_new_name_wins_where_a_case_has_it():
    assert listed("documented-4.2", **{PRESENT: 0.5}) == [f"{PRESENT}=0.5 (case)"]
