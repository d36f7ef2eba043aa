"""Mutants of the model: how they are made and caught, and which changes are not made."""

import ast
import mmap

import pytest
from pulsar_conformance.reference import Model, overload
from pulsar_conformance.specs.errors import SpecError

from mutants import children, evaluations, hunting
from mutants.children import run_tasks
from mutants.evaluations import worked
from mutants.explained import all_mutants, explained, explained_in, stale
from mutants.hunting import Catch, catch_by_examples, first_wrong
from mutants.loading import another_model
from mutants.making import BESIDE, MODEL, changed, made, mutants

SOURCE = """
LIMIT = 1000

def picked(rows, least):
    '''The last ones.'''
    for row in sorted(rows):
        if least <= row.load < LIMIT and not row.gone:
            return [row.name, -1]
    raise ValueError("no row, 3 words")
"""


def of_source(source):
    return [(one.mutant, one) for one in made("x.py", source, ast.parse(source))]


def test_everything_that_decides_is_changed_and_nothing_else():
    found = {(one.function, one.operator, one.was, one.becomes) for one, _ in of_source(SOURCE)}
    assert found >= {
        ("LIMIT", "number", "1000", "1001"),
        ("LIMIT", "number", "1000", "999"),
        ("LIMIT", "unit", "1000", "1024"),
        ("picked", "order", "sorted(rows)", "list(rows)"),
        ("picked", "comparison", "least <= row.load < LIMIT", "least < row.load < LIMIT"),
        ("picked", "comparison", "least <= row.load < LIMIT", "least <= row.load <= LIMIT"),
        ("picked", "logic", "not row.gone", "row.gone"),
        ("picked", "sign", "-1", "1"),
        ("picked", "set", "[row.name, -1]", "[row.name]"),
    }
    texts = " ".join(was for _, _, was, _ in found)
    assert "words" not in texts
    assert "last ones" not in texts


KEPT_OUT = """
def number(data, place):
    if not isinstance(data, int):
        raise MissingSetting(place)
    why = f"{place}.limit"
    return {"unsupported": f"{data} is not documented", "why": why}
"""


def test_texts_and_what_keeps_illegal_cases_out_are_not_changed():
    changed_there = {one.was for one, _ in of_source(KEPT_OUT)}
    assert changed_there == {"'unsupported'", "'why'"}


def test_what_the_suite_alone_asks_of_the_model_makes_no_answer(examples):
    entered = {place for one in examples for place in one.entered}
    for name in BESIDE:
        file, _, function = name.partition(":")
        tree = ast.parse((MODEL / file).read_text("utf-8"))
        [line] = [
            min([one.lineno, *(decorator.lineno for decorator in one.decorator_list)])
            for one in ast.walk(tree)
            if isinstance(one, ast.FunctionDef) and one.name == function.rpartition(".")[2]
        ]
        assert (file, line) not in entered, name


def test_a_mutant_has_the_same_name_as_long_as_its_function_is_the_same():
    before = {one.id for one, _ in of_source(SOURCE)}
    after = {one.id for one, _ in of_source("OTHER = 5\n" + SOURCE)}
    assert after > before
    ids = [one.id for one in all_mutants()]
    assert len(ids) == len(set(ids))


def test_a_changed_source_differs_in_just_the_change():
    [one] = [one for one in mutants("overload.py") if one.id == "overload.py:MARGIN:number:1"]
    right = ast.unparse(ast.parse((MODEL / "overload.py").read_text("utf-8")))
    assert changed(one) == right.replace("MARGIN = Fraction(5)", "MARGIN = Fraction(6)")


def test_another_model_leaves_the_right_one_as_it_is():
    source = (MODEL / "overload.py").read_text("utf-8").replace("Fraction(5)", "Fraction(50)")
    modules = another_model({"overload.py": source})
    assert modules["overload"].MARGIN == 50
    assert overload.MARGIN == 5
    assert modules[""].Model is not Model
    import pulsar_conformance.reference as again

    assert again.Model is Model


@pytest.fixture(scope="module")
def examples():
    return worked()


def test_the_model_itself_is_not_caught(examples):
    modules = another_model({})
    assert first_wrong(modules[""].Model, examples[::20]) == ("", "")


CAUGHT = {
    "overload.py:share_to_shed:arithmetic:1": {"OVERLOAD-01", "OVERLOAD-02", "OVERLOAD-03"},
    "usage.py:_largest:order:1": {"USAGE-01", "USAGE-02", "USAGE-03"},
    "ranges.py:index_of:order:1": {"BUNDLE-04", "BUNDLE-12", "BUNDLE-11", "BUNDLE-13"},
}


@pytest.mark.parametrize("name", CAUGHT)
def test_a_mutant_is_caught_by_the_rule_that_it_breaks(name, examples):
    [mutant] = [one for one in mutants(name.partition(":")[0]) if one.id == name]
    [(_, catch)] = run_tasks([mutant], lambda one: catch_by_examples(one, examples), lost, 1, 60)
    assert catch.caught
    assert catch.rule in CAUGHT[name]


def lost(_mutant, status):
    return Catch(False, by=f"ended with {status}")


def test_a_mutant_without_end_is_caught(examples, monkeypatch):
    monkeypatch.setattr(hunting, "PATIENCE", 0.5)
    source = (MODEL / "overload.py").read_text("utf-8")
    endless = source.replace("    return usage - threshold + MARGIN", "    while True: pass")
    monkeypatch.setattr(hunting, "changed", lambda _one: endless)
    [mutant] = [
        one for one in mutants("overload.py") if one.id.endswith("share_to_shed:arithmetic:1")
    ]
    [(_, catch)] = run_tasks([mutant], lambda one: catch_by_examples(one, examples), lost, 1, 60)
    assert catch.by == "no end"


def only(file, was, becomes):
    """Return the model with one piece of its source replaced."""
    source = (MODEL / file).read_text("utf-8")
    assert source.count(was) == 1
    return another_model({file: source.replace(was, becomes)})[""].Model


def test_an_example_that_rules_judge_has_to_be_answered(examples):
    refusing = only("splitting.py", "    TOPICS: halves_of_the_topics,\n", "")
    asked = [one for one in examples if one.origin == "split-four-topics"]
    assert first_wrong(refusing, asked) == ("SPLIT-11", "split-four-topics")


def test_a_rule_that_no_case_reaches_any_more_is_reported():
    drawn = list(evaluations.drawn_for("SPLIT-22"))[:20]
    never = only("story/timers.py", "for bundle in growth.split:", "for bundle in ():")
    assert first_wrong(never, drawn, drawn) == ("SPLIT-22", hunting.UNREACHED)
    assert first_wrong(never, drawn) == ("", "")


def test_what_a_child_does_to_its_process_is_reported_and_ends_there():
    import os

    found = dict(
        run_tasks([0, 7], lambda status: os._exit(status), lambda _, status: status, 2, 60)
    )
    assert found == {0: 0, 7: 7}


def taken(size):
    return len(bytearray(size))


def test_a_child_has_its_memory_beside_that_of_its_parent(monkeypatch):
    monkeypatch.setattr(children, "MEMORY", 64 << 20)
    with mmap.mmap(-1, 1 << 30):
        found = dict(run_tasks([1 << 20], taken, lost, 1, 60))
    assert found == {1 << 20: 1 << 20}


def test_a_child_that_takes_more_memory_than_it_may_is_reported(monkeypatch):
    monkeypatch.setattr(children, "MEMORY", 64 << 20)
    [(_, catch)] = run_tasks([1 << 30], taken, lost, 1, 60)
    assert catch == Catch(False, by="ended with 1")


def test_no_explanation_is_stale():
    assert list(stale(explained(), all_mutants())) == []


def test_a_stale_explanation_is_reported(tmp_path):
    (tmp_path / "mutants").mkdir()
    file = tmp_path / "mutants" / "explained.yaml"
    one = mutants("overload.py")[1]
    text = "- why: so it is\n  mutants:\n    - {{id: {}, line: {!r}, becomes: {!r}}}\n"
    file.write_text(text.format(one.id, one.line, one.becomes), "utf-8")
    assert list(stale(explained_in(tmp_path), [one])) == []
    [told] = stale(explained_in(tmp_path), [one], caught=[one.id])
    assert "is caught" in told
    file.write_text(text.format(one.id, "MARGIN = 1", one.becomes), "utf-8")
    [told] = stale(explained_in(tmp_path), [one])
    assert "another change" in told
    file.write_text(text.format("overload.py:NONE:number:1", "", ""), "utf-8")
    [told] = stale(explained_in(tmp_path), [one])
    assert "tests/mutants/explained.yaml:3: there is no" in told
    file.write_text("- why: so it is\n  mutants: []\n", "utf-8")
    with pytest.raises(SpecError):
        explained_in(tmp_path)
