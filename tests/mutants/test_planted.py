"""Faults planted in samples are found, and permitted variations pass."""

import json
import shutil

import pytest

from mutants import planted as planting
from mutants.planted import PROGRAMS, planted, remembered_judgments, rules_broken_by_change

FAULTS, PERMITTED = planted("planted.yaml"), planted("permitted.yaml")


def each(entries):
    return [pytest.param(one, id=one.name.replace(" ", "_")) for one in entries]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("samples")


@pytest.fixture(autouse=True, scope="module")
def equal_answers_judged_once():
    with remembered_judgments():
        yield


def test_each_change_is_to_a_text_that_its_sample_has_once():
    wrong = [one.name for one in (*FAULTS, *PERMITTED) if set(one.counts()) != {1}]
    assert not wrong


def test_there_are_enough_of_each():
    assert len(FAULTS) >= 60
    assert len(PERMITTED) >= 20
    assert len({one.name for one in (*FAULTS, *PERMITTED)}) == len(FAULTS) + len(PERMITTED)


def test_entries_that_were_judged_before_are_not_judged_again(monkeypatch, tmp_path):
    def judged(one, _root):
        asked.append(one.name)
        return list(one.areas)

    asked, last = [], (*FAULTS, *PERMITTED)[-1]
    monkeypatch.setattr(planting, "rules_broken_by_change", judged)
    monkeypatch.setattr(planting, "PAGE", tmp_path / "planted.md")
    file = tmp_path / "found.jsonl"
    assert planting.main(["--found", str(file)]) == 0
    assert len(asked) == len(FAULTS) + len(PERMITTED)
    lines = file.read_text("utf-8").splitlines()
    file.write_text("\n".join(lines[:-1]) + "\n", "utf-8")
    page = (tmp_path / "planted.md").read_text("utf-8")
    assert planting.main(["--found", str(file)]) == 0
    assert asked[len(lines) :] == [last.name]
    assert json.loads(file.read_text("utf-8").splitlines()[-1])["name"] == last.name
    assert (tmp_path / "planted.md").read_text("utf-8") == page


def broken(one, folder):
    if shutil.which(PROGRAMS[one.sample]) is None:
        pytest.skip(f"{PROGRAMS[one.sample]} is not installed")
    return rules_broken_by_change(one, folder)


@pytest.mark.thorough
@pytest.mark.parametrize("one", each(FAULTS))
def test_a_planted_fault_is_found_by_a_rule_that_speaks_of_it(one, root):
    areas = {rule.partition("-")[0] for rule in broken(one, root)}
    assert areas & set(one.areas)


@pytest.mark.thorough
@pytest.mark.parametrize("one", each(PERMITTED))
def test_what_is_permitted_is_not_accused(one, root):
    assert broken(one, root) == []
