"""Each check rejects at least one implementation that looks only at the form of a question."""

from functools import cache
from pathlib import Path

import pytest
from pulsar_conformance import specs
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.adapters.validation import check_answers
from pulsar_conformance.conformance.cases.legality import trial_flaw
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.conformance.drawing.drawing import draw
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.reference import Readings
from sampling import one_in
from standins.nulls import NULLS, Stranger

EXAMPLES = 40
DOCUMENTED = (
    "documented-3.0",
    "documented-2.10",
    "documented-2.4",
    "documented-4.2",
    "documented-4.0",
    "documented-5.0",
)
RELEASED = tuple(f"released-{version}" for version in ("5.0", "4.2", "4.0", "3.0", "2.10", "2.4"))
NEWEST_FIRST = (*DOCUMENTED, "unwritten-3.0", *RELEASED)

CONTENT = {
    "ANSWER-02": "each answers a case in one way; see Fickle",
    "ANSWER-03": "each answers a case in one way; see Fickle",
    "ANSWER-05": "each answers every case; see tests/conformance/engine/test_one_bad_case.py",
    **dict.fromkeys(
        ("DATA-11", "DATA-12", "MANAGER-08", "REPORT-11", "REPORT-12"),
        "none of them tells what is written down; see tests/conformance/stories/test_written.py",
    ),
}
"""Rules that every null implementation keeps, each with the reason why that is unavoidable."""

TESTABLE = [rule.id for rule in specs.load().rules.values() if rule.untestable is None]
DEMANDED = [rule for rule in TESTABLE if specs.load().rules[rule].level == "must"]


def evaluator_of(rule):
    """Return an evaluator for the newest profile with the rule, under the rule's readings."""
    profile = next(one for one in NEWEST_FIRST if rule in specs.load().rules_of(one))
    return RuleEvaluator(specs.load().defaults(profile), Readings.of(profile, rule.reading))


@cache
def evaluator_and_trials(rule_id):
    """Return a rule's evaluator, and legal trials drawn for the rule."""
    evaluator = evaluator_of(specs.load().rules[rule_id])
    strategy = checks()[rule_id].draws.filter(
        lambda trial: not trial_flaw(trial, evaluator.defaults)
    )
    return evaluator, draw(strategy, EXAMPLES, f"nulls/{rule_id}")


def outcomes(rule_id, null):
    """Yield a rule's outcome for a null implementation on each of the rule's trials."""
    evaluator, trials = evaluator_and_trials(rule_id)
    for trial in trials:
        answers = [null().answer(*question) for question in trial.questions]
        for question, answer in zip(trial.questions, answers, strict=True):
            check_answers(question.operation, [answer])
        yield evaluator.judge(rule_id, trial, answers)


@pytest.mark.parametrize("rule_id", one_in(4, DEMANDED))
def test_each_rule_is_broken_by_a_null_implementation(rule_id):
    broken = [
        null.__name__ for null in NULLS if any(one.violated for one in outcomes(rule_id, null))
    ]
    assert broken or rule_id in CONTENT, f"{rule_id} is content with all of them"
    assert not (broken and rule_id in CONTENT), f"{rule_id} is broken by {broken}: unlist it"


@pytest.mark.parametrize("rule_id", one_in(4, TESTABLE))
def test_senseless_answers_that_the_schema_allows_are_judged_without_errors(rule_id):
    for outcome in outcomes(rule_id, Stranger):
        assert outcome.word in ("allowed", "violated", "not_reached")


def test_null_implementations_can_be_judged_as_adapters(monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[2])
    for null in (*NULLS, Stranger):
        with connect(f"python:standins.nulls:{null.__name__}", "documented-3.0", {}) as connection:
            assert connection.hello.name == null.__name__
            case = {"settings": {}, "weighted": False, "broker": {}}
            assert len(connection.ask("usage.max", [case] * 2)) == 2
