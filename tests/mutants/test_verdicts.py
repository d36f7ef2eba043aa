"""The verdicts of each rule on right and altered answers are those recorded in verdicts.json."""

import pytest

from mutants.verdicts import judged_rules, recorded, verdicts


def test_the_verdicts_of_each_judged_rule_are_recorded():
    assert sorted(recorded()) == judged_rules()


@pytest.mark.parametrize("rule", judged_rules())
def test_each_rule_judges_answers_as_recorded(rule):
    changed = "if the new verdicts are right, record them with python -m mutants.verdicts"
    assert verdicts(rule) == recorded()[rule], changed
