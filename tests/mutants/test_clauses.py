"""Each clause has a defect that drawn cases show, and an implementation that it allows."""

from pathlib import Path

import pytest
import yaml
from pulsar_conformance import specs

from mutants.clauses import (
    allowances,
    found_by_drawn_cases,
    is_held,
    outcomes_of,
    rules_with_clauses_due,
)
from mutants.defects import defects

SEEDS = (1, 2, 3)
"""Seeds of drawn cases, other than the seed of `test_seeded_defects`."""

SAMPLED = 30
"""The usual tests try one in this many clauses; `nox -s thorough` tries all clauses."""

UNHELD = Path(__file__).parent / "unheld.yaml"

MOST_UNHELD = 4
"""Maximum number of rules in `unheld.yaml`; lower it whenever a rule leaves the list."""

DEFECTS = {one.name: one for one in defects()}
CLAUSES = [
    (rule, clause)
    for rule in specs.load().rules.values()
    if not rule.judged_by
    for clause in rule.clauses
]
"""The clauses that single cases can show; `audit/test_loop_clauses.py` has those of simulations."""


def sampled(pairs):
    for number, (rule, name) in enumerate(dict.fromkeys(pairs)):
        marks = () if number % SAMPLED == 0 else pytest.mark.thorough
        yield pytest.param(rule, name, id=f"{rule}-{name.replace(' ', '_')}", marks=marks)


def broken():
    return sampled((rule.id, one.broken_by) for rule, one in CLAUSES if one.broken_by)


def allowed():
    return sampled((rule.id, one.most) for rule, one in CLAUSES if one.most)


def test_the_defect_of_a_clause_is_one_of_its_rule():
    wrong = [
        (rule.id, one.broken_by)
        for rule, one in CLAUSES
        if one.broken_by
        and (one.broken_by not in DEFECTS or DEFECTS[one.broken_by].rule != rule.id)
    ]
    assert not wrong


def test_no_defect_breaks_two_clauses():
    named = [one.broken_by for _, one in CLAUSES if one.broken_by]
    assert len(named) == len(set(named))


def test_the_allowances_are_those_that_clauses_name():
    assert {one.most for _, one in CLAUSES if one.most} == {*allowances()}


def test_the_list_of_rules_with_a_clause_that_nothing_breaks_only_shrinks():
    listed = yaml.safe_load(UNHELD.read_text("utf-8"))
    assert [rule.id for rule in rules_with_clauses_due() if not is_held(rule)] == [*listed]
    assert all(listed.values())
    assert len(listed) <= MOST_UNHELD


@pytest.mark.parametrize(("rule", "name"), list(broken()))
def test_a_broken_clause_is_found_by_drawn_cases_alone(rule, name):
    unseen = [seed for seed in SEEDS if not found_by_drawn_cases(DEFECTS[name], seed)]
    assert not unseen, f"{rule} does not show it with these seeds"


@pytest.mark.parametrize(("rule", "name"), list(allowed()))
def test_nothing_that_a_clause_allows_is_accused(rule, name):
    outcomes, differs = outcomes_of(allowances()[name], specs.load().rules[rule], SEEDS[0])
    words = {one.word for one in outcomes}
    assert "violated" not in words, [one.answered for one in outcomes if one.violated][:1]
    assert "allowed" in words
    assert differs == bool(allowances()[name].file)
