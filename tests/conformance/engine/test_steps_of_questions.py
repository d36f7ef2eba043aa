"""The headings of the steps that a failure prints for each of its questions."""

from dataclasses import replace

import pytest
from pulsar_conformance import fixtures
from pulsar_conformance.conformance.common.events import Failure
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


def test_brokers_with_equal_steps_are_folded(judged):
    lines = model_derivation(judged, Trial(tuple(questions("threshold-80-and-0-on"))))
    assert [line.split() for line in lines if " as b" in line] == [["b3", "to", "b10", "as", "b2"]]
    assert not any(line.startswith("b4") for line in lines)


def test_a_failure_shows_the_defaults_that_its_rule_concerns_and_counts_the_others():
    weight, limit, least = (
        f"{name} (default of documented-4.2)" for name in ("weight=1.0", "limit=10", "least=10.0")
    )
    shown = (weight, limit, least, "enabled=true (case)")
    failure = Failure("case.json", "2 brokers", ("too little (least)",), "a", "b", "c")
    failure = replace(failure, settings=shown)
    assert failure.settings_about(()) == ", ".join(shown)
    left = f"{limit}, {least}, enabled=true (case), 1 other by default"
    assert failure.settings_about(["limit"]) == left
