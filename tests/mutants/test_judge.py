"""Mutants of the checks: which changes are made, and that the seeded defects reveal them."""

import pytest

from mutants import judge
from mutants.explained import FOLDER, explained_in, stale


def test_checks_and_their_quantities_are_changed_and_draws_are_not():
    changed = {
        f"{file}:{one.function}" for file in judge.judge_modules() for one in judge.mutants_of(file)
    }
    assert "shedding/overload.py:sheds_no_more_than_it_takes" in changed
    assert "shedding/quantities.py:overload_need" in changed
    assert not {one for one in changed if "draw" in one}
    assert len({one.partition(":")[0] for one in changed}) == len(judge.judge_modules())


def test_no_explanation_is_stale():
    every = [one for file in judge.judge_modules() for one in judge.mutants_of(file)]
    assert list(stale(explained_in(FOLDER, judge.EXPLAINED), every)) == []


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "by"),
    [
        ("bundles/splitting.py:_expect_equal_halves:comparison:1", "SPLIT-10 accuses the model"),
        (
            "shedding/overload.py:sheds_no_more_than_it_takes:comparison:2",
            "OVERLOAD-03 accuses the model",
        ),
    ],
)
def test_a_wrong_judge_is_shown_by_what_it_says_of_the_model_and_of_defects(name, by):
    [mutant] = [one for one in judge.mutants_of(name.partition(":")[0]) if one.id == name]
    assert judge.try_in_new_process(mutant)["by"] == by
    [fate] = judge.try_mutants([mutant])
    assert fate["by"] == by
