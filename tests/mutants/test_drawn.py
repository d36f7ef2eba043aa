"""Mutants that drawn cases catch without worked examples, and how a stopped run continues."""

from argparse import Namespace

import pytest

from mutants import __main__ as command
from mutants import evaluations
from mutants.evaluations import drawn_for, drawn_in_turn, worked
from mutants.explained import all_mutants
from mutants.hunting import Catch, first_wrong
from mutants.loading import another_model
from mutants.making import UNASKED, changed, modules
from mutants.results import Fate, StoredResults

CAUGHT = {
    "story/events.py:_leave_domain:filter:1": "ANTI-16",
    "cluster.py:Stats.read:number:1": "SPLIT-05",
    "cluster.py:Rates.read:number:2": "SPLIT-03",
    "splitting.py:where_limits_are_exceeded:number:5": "SPLIT-28",
    "splitting.py:where_limits_are_exceeded:number:6": "SPLIT-28",
    "splitting.py:where_limits_are_exceeded:number:7": "SPLIT-28",
    "written.py:(MILLIS, SECONDS):unit:1": "REPORT-16",
}
"""Mutants whose differences show only for a broker that moves to an earlier domain, for fields that
are left out, for sums at a limit, or for a moment just before the end of an interval.
"""

OPEN = "shedding.py:select_movable:comparison:1"
"""A mutant that only an example of the model alone shows, since rounding may decide."""


def mutant(name):
    [found] = [one for one in all_mutants() if one.id == name]
    return found


@pytest.fixture(scope="module")
def examples():
    return worked()


@pytest.mark.parametrize("name", CAUGHT)
def test_drawn_cases_of_a_rule_catch_a_mutant(name):
    one = mutant(name)
    model = another_model({one.file: changed(one)})[""].Model
    drawn = [asked for index in (0, 1) for asked in drawn_for(CAUGHT[name], index)]
    assert first_wrong(model, drawn) == (CAUGHT[name], "drawn")


def test_a_constant_may_matter_to_operations_of_other_modules(examples, monkeypatch):
    monkeypatch.setattr(evaluations, "drawn_for", lambda rule, _index: iter([rule]))
    inside = next(
        line for one in examples for file, line in sorted(one.entered) if file == "reports.py"
    )
    asked_about_function = {*drawn_in_turn(examples, "reports.py", inside)}
    asked_about_constant = {*drawn_in_turn(examples, "reports.py", None)}
    assert "REPORT-02" in asked_about_function
    assert "REPORT-18" in asked_about_constant - asked_about_function


def test_survivors_of_a_stopped_run_are_asked_worked_examples(tmp_path):
    one, file = mutant(OPEN), tmp_path / "results-drawn.jsonl"
    StoredResults(file).begin([Fate.of(one, Catch(False, seconds=60.0), {})])
    kept = tmp_path / "results.jsonl"
    args = Namespace(kept=kept, drawn=True, anew=False, explained=False, workers=1)
    [fate] = command._fates([one], args)
    assert (fate.verdict, fate.by) == ("survived", "shed-just-enough")


def test_modules_that_no_rule_judges_are_not_entered_by_examples(examples):
    assert not UNASKED & {*modules()}
    assert not UNASKED & {file for one in examples for file, _ in one.entered}
