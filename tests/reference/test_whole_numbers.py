"""A whole number means the same with and without decimals, as JSON Schema has it: 4 and 4.0."""

import pytest
from pulsar_conformance import specs
from pulsar_conformance.adapters.protocol import JSON
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.conformance.drawing.drawing import draw
from pulsar_conformance.reference import Model
from pulsar_conformance.reference.context import MissingSetting

DRAWN = 3
PROFILES = ("documented-2.4", "documented-5.0", "released-4.2")
TEXTS = ("ignored", "unsupported", "refused")
"""Fields with a text, which may quote a number as it was written."""


def with_decimals(value: JSON) -> JSON:
    """Return a JSON value whose whole numbers are written with decimals."""
    if isinstance(value, dict):
        return {name: with_decimals(one) for name, one in value.items()}
    if isinstance(value, list):
        return [with_decimals(one) for one in value]
    whole = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if whole and value < 2**53 else value


def without_texts(value: JSON) -> JSON:
    """Return an answer whose texts are replaced by their names."""
    if isinstance(value, dict):
        return {name: name in TEXTS or without_texts(one) for name, one in value.items()}
    return list(map(without_texts, value)) if isinstance(value, list) else value


def answer_to(model, operation, case):
    try:
        return without_texts(model.answer(operation, case))
    except MissingSetting:
        return None


@pytest.mark.parametrize("profile", PROFILES)
def test_whole_numbers_with_decimals_give_the_same_answers(profile):
    model = Model(profile, {})
    for rule in specs.load().rules_of(profile):
        if rule.id not in checks():
            continue
        for trial in draw(checks()[rule.id].draws, DRAWN, f"decimals/{rule.id}"):
            for operation, case in trial.questions:
                expected = answer_to(model, operation, case)
                answered = answer_to(model, operation, with_decimals(case))
                assert answered == expected, (rule.id, operation, case)
