"""If a number of the documents is changed by one step up or down, a worked example fails."""

import pytest
from mutants.children import run_tasks
from mutants.evaluations import PROFILES, worked
from mutants.explained import all_mutants, explained
from mutants.hunting import Catch, catch_by_examples, first_wrong
from pulsar_conformance import specs
from pulsar_conformance.reference import Model
from sampling import one_in

NUMBERS = [
    one
    for one in all_mutants()
    if one.operator in ("number", "unit") and one.function.isupper()
    if one.id not in explained() and not one.file.startswith("story/")
]
"""Numbers in constants and tables of the model for single questions."""

STEP = {"loadBalancerHistoryResourcePercentage": 0.1}
"""Steps of settings for which 1 is too large a step."""

PROFILE = PROFILES[0]
DEFAULTS = [
    (name, value + step)
    for name, value in specs.load().defaults(PROFILE).items()
    if isinstance(value, int | float) and not isinstance(value, bool)
    for step in (-STEP.get(name, 1), STEP.get(name, 1))
]


@pytest.fixture(scope="module")
def examples():
    return worked()


def caught(task, work):
    [(_, catch)] = run_tasks([task], work, lambda *_: Catch(False), 1, 120)
    return catch.caught


def test_there_are_the_numbers_that_the_documents_print():
    named = {one.function for one in NUMBERS}
    assert named >= {"MARGIN", "BELOW_AVERAGE", "LOWER_BOUNDARY_LOAD", "FEWEST_BUNDLES"}
    assert named >= {"NEVER_MEASURED_MESSAGES", "NEVER_MEASURED_KILOBYTES", "KILOBYTE", "MEGABYTE"}
    settings = {name for name, _ in DEFAULTS}
    assert "loadBalancerBrokerOverloadedThresholdPercentage" in settings
    assert "loadBalancerNamespaceMaximumBundles" in settings


@pytest.mark.parametrize("mutant", one_in(4, NUMBERS), ids=lambda one: f"{one.id}:{one.becomes}")
def test_a_number_of_the_model_a_step_off_breaks_a_worked_example(mutant, examples):
    assert caught(mutant, lambda one: catch_by_examples(one, examples))


@pytest.mark.parametrize(("name", "value"), DEFAULTS)
def test_a_default_a_step_off_breaks_a_worked_example(name, value, examples, monkeypatch):
    right = specs.Specs.defaults

    def off(self, profile):
        return {**right(self, profile), name: value}

    def wrong(profile, readings):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(specs.Specs, "defaults", off)
            return Model(profile, readings)

    asked = sorted(
        (one for one in examples if one.profile == PROFILE),
        key=lambda one: "settings.defaults" not in one.trial.operations,
    )
    rule, _ = first_wrong(wrong, asked)
    assert rule
