"""The headings of the steps that a failure prints for each of its questions."""

import pytest
from pulsar_conformance import fixtures
from pulsar_conformance.conformance.common.trial import Question, Trial
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.judge import JudgedImplementation
from pulsar_conformance.conformance.engine.report import model_derivation


@pytest.fixture(scope="module")
def judged():
    implementation = Implementation("reference", "documented-3.0", {})
    yield JudgedImplementation.before_asking(implementation)
    implementation.close()


def questions(name):
    return [Question(*pair) for pair in fixtures.example_named(name).questions]


def test_each_of_several_different_questions_has_a_heading(judged):
    [first], [second] = map(questions, ("shed-grace-29-minutes", "overload-95-over-85"))
    lines = model_derivation(judged, Trial((first, first, second)))
    headings = [line for line in lines if line.startswith(("question ", "asked "))]
    assert headings == ["question 1 of 2", "asked 2 times", "question 2 of 2"]
    assert lines[0] == headings[0]


def test_a_single_question_has_none(judged):
    lines = model_derivation(judged, Trial(tuple(questions("shed-grace-29-minutes"))))
    assert lines
    assert not any(line.startswith("question ") for line in lines)
