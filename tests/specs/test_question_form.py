"""Missing properties are found without a validator just as with a validator."""

import copy

import pytest
from pulsar_conformance.adapters.validation import case_schema_error
from pulsar_conformance.fixtures import examples
from pulsar_conformance.specs.questions import missing_property, why_no_question

QUESTIONS = {question[0]: question for one in reversed(examples()) for question in one.questions}


def smaller(value, path=()):
    """Yield every case with one property or element removed, and the path of the removed part."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from smaller(inner, (*path, key))


def without(case, path):
    changed = copy.deepcopy(case)
    owner = changed
    for key in path[:-1]:
        owner = owner[key]
    del owner[path[-1]]
    return changed


@pytest.mark.parametrize("operation", sorted(QUESTIONS))
def test_a_missing_property_is_named_as_the_validator_names_it(operation):
    case = QUESTIONS[operation][1]
    assert missing_property(operation, case) == ""
    for path in list(smaller(case))[:200]:
        changed = without(case, path)
        wrong = case_schema_error(operation, changed) or ""
        expected = wrong if wrong.endswith("is a required property") else ""
        assert missing_property(operation, changed) == expected, path


def test_a_question_has_an_operation_and_a_case():
    assert why_no_question({"ask": "usage.nic", "case": {}}) == ""
    assert why_no_question({"ask": "usage.nic"}).endswith('{...}}: it has no "case"')
    assert why_no_question([]).endswith("{...}}")
