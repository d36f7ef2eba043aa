"""The pages about how much the suite detects."""

from datetime import date

from pulsar_conformance import fixtures

from mutants import judge, judge_page
from mutants.__main__ import sampled
from mutants.explained import Explained
from mutants.page import is_missed, killed_share, page
from mutants.results import Fate


def fate(verdict, by="", number=1):
    name = f"overload.py:share_to_shed:number:{number}"
    return Fate(name, "5", "6", verdict, "OVERLOAD-02", by, 0.1)


OPEN = next(one.id for one in fixtures.examples() if one.shows_model_answer)
KILLED, LIVES = fate("killed", "drawn"), fate("survived", number=2)
LEFT_OPEN = fate("survived", OPEN, number=3)
ONLY_BY_HAND = fate("survived", "overload-95-over-85", number=4)


def test_a_mutant_that_the_documents_leave_open_is_not_missed():
    assert [is_missed(one) for one in (KILLED, LIVES, LEFT_OPEN, ONLY_BY_HAND)] == [
        False,
        True,
        False,
        True,
    ]
    assert killed_share([KILLED, LIVES, LEFT_OPEN]) == 0.5


def test_a_page_of_drawn_cases_says_that_it_is_of_a_sample_and_why_each_lives():
    text = page([KILLED, LIVES, LEFT_OPEN, ONLY_BY_HAND], {}, [], of=(40, 9), drawn=True)
    assert "Of 40 mutants these are 4, drawn by a fixed seed." in text
    assert "| left open by the documents | 1 |" in text
    assert "| survived | 2 |" in text
    assert f"documents leave it open; only the worked example `{OPEN}`" in text
    assert "**survived**; the worked example `overload-95-over-85` (OVERLOAD-02) tells it" in text
    assert "Seeded defects" not in text


def test_a_smaller_sample_is_the_beginning_of_a_larger_one():
    chosen = sampled(range(1000), 20)
    assert len({*chosen}) == 20
    assert sampled(range(1000), 30)[:20] == chosen
    assert {*sampled([1, 2], 20)} == {1, 2}


def test_the_page_of_the_judge_lists_those_that_live():
    results = [
        {"id": "shedding/overload.py:a:number:1", "was": "5", "becomes": "6", "by": "it fails"},
        {"id": "shedding/overload.py:b:number:1", "was": "x | y", "becomes": "x", "by": ""},
    ]
    results = [{**one, "seed": "7"} for one in results]
    text = judge_page.page(results, 10, {})
    assert "2 of 10 were tried, drawn by seed 7" in text
    assert "1 are killed,\n50.0%, and 1 live." in text
    assert "| shedding/overload.py | 1 | 1 |" in text
    row = "| `shedding/overload.py:b:number:1` | `x \\| y` → `x` |"
    assert f"{row} **not explained** |" in text
    known = {results[1]["id"]: Explained(results[1]["id"], "x | y", "x", "y implies x", "")}
    assert f"{row} y implies x |" in judge_page.page(results, 10, known)


def test_a_sample_of_mutants_of_the_judge_can_be_added_to_another(tmp_path):
    first, again, other = (
        {"id": f"shedding/overload.py:{name}:number:1", "was": "5", "becomes": "6", "by": by}
        for name, by in (("a", ""), ("a", "it fails"), ("b", "it fails"))
    )
    judge.publish([first], 10, 7, tmp_path, add=False)
    judge.publish([again, other], 10, 8, tmp_path, add=True)
    assert "2 of 10 were tried, drawn by seed 8" in (tmp_path / "judge.md").read_text("utf-8")
    judge.publish([first], 10, 9, tmp_path, add=True)
    text = (tmp_path / "judge.md").read_text("utf-8")
    assert "2 of 10 were tried, drawn by seeds 8 and 9: 1 are killed" in text
    judge.publish([first], 10, 7, tmp_path, add=False)
    assert "1 of 10 were tried, drawn by seed 7" in (tmp_path / "judge.md").read_text("utf-8")


def test_a_page_says_of_which_day_it_is():
    text = page([KILLED], {}, [], of=(1, 0), made=date(2026, 11, 23))
    assert "Made on 2026-11-23, of the model as it was that day" in text
    assert f"Made on {date.today()}, " in page([KILLED], {}, [], of=(1, 0))
