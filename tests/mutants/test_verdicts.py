"""The cases drawn with a fixed seed, and each rule's verdicts, are those in verdicts.json."""

import pytest

from mutants.evaluations import PROFILES, profile_of
from mutants.verdicts import (
    aimed_cases,
    aimed_readings,
    judged_rules,
    record,
    recorded,
    recorded_aims,
)

RENEW = "if that is intended, record it with PYTHONPATH=tests python -m mutants.verdicts"


def test_the_verdicts_of_each_judged_rule_are_recorded():
    assert sorted(recorded()) == judged_rules()
    assert sorted(recorded_aims()) == aimed_readings()


@pytest.mark.parametrize("rule", judged_rules())
def test_each_rule_draws_the_recorded_cases_and_judges_answers_as_recorded(rule):
    now, known = record(rule), recorded()[rule]
    assert now.cases == known.cases, f"a seed draws other cases than before; {RENEW}"
    assert now.verdicts == known.verdicts, RENEW
    assert now.messages == known.messages, f"messages have other texts; {RENEW}"
    assert now.operations == known.operations, f"cases are legal or determined otherwise; {RENEW}"


@pytest.mark.parametrize("reading", aimed_readings())
def test_the_cases_aimed_at_each_reading_are_those_recorded(reading):
    assert aimed_cases(reading) == recorded_aims()[reading], RENEW


def test_no_documented_rule_accuses_the_model_and_none_fails_on_an_answer():
    for rule, known in recorded().items():
        assert not [word for word in known.verdicts if "e" in word], rule
        if profile_of(rule) in PROFILES:
            assert not [word for word in known.verdicts if word.startswith("v")], rule
