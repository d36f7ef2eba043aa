"""Known deviations of releases and clusters: the lists are complete, and each case can be asked."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from pulsar_conformance import specs
from pulsar_conformance.adapters.pulsar.versions import releases
from pulsar_conformance.conformance.cases.deviations import (
    Deviation,
    deviations_of_other_versions,
    load_deviations,
    notes_on_unjudged,
)
from pulsar_conformance.conformance.cases.saved import load_saved as load_case
from pulsar_conformance.conformance.engine.plan import Plan

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "fixtures" / "deviations"
FILES = {re.sub(r"-(?=\d)", " ", file.stem, count=1): file for file in sorted(FOLDER.iterdir())}
"""The files of known deviations, each by the implementation that it is about."""
IMPL = "org.apache.pulsar.broker.loadbalance.impl."
SMALL = 4
"""Maximum number of brokers, and of bundles, of a case."""

NO_FIXED_ANSWER = ("draws", "varies")
"""Words in the reasons of deviations whose wrong answer is different each time."""

LOWER_BOUNDARY = "THRESHOLD-09"
"""A rule with a large case: the documents' example has eleven brokers."""


def documents(name):
    """Return the profile by which an implementation is judged."""
    return releases()[name.rpartition(" ")[2]].documents


def test_every_release_that_is_judged_has_a_file():
    assert FILES.keys() >= {f"pulsar {version}" for version in releases()}
    kinds = ("pulsar", "cluster", "cluster-simple", "cluster-extensible")
    assert FILES.keys() <= {f"{kind} {one}" for kind in kinds for one in releases()}


@pytest.mark.parametrize("name", FILES)
def test_each_entry_says_everything(name):
    profiles = (documents(name), "unwritten-3.0")
    judged = {rule.id for profile in profiles for rule in specs.load().rules_of(profile)}
    for one in load_deviations(FILES[name]):
        assert one.implementation == name
        assert one.rule in judged
        assert one.source
        assert one.cases
        assert one.answers or any(word in one.reason for word in NO_FIXED_ANSWER)
        for place in one.source:
            assert place.path.endswith(".java")


@pytest.mark.parametrize("name", FILES)
def test_each_case_is_small_and_legal(name):
    defaults = specs.load().defaults(documents(name))
    for one in load_deviations(FILES[name]):
        for case in one.cases:
            trial = load_case(case, defaults).trial
            assert trial.operations & set(specs.load().rules[one.rule].operations)
            assert one.rule == LOWER_BOUNDARY or _small(trial)


@pytest.mark.parametrize("name", FILES)
def test_no_reason_denies_documents_that_state_the_rule(name):
    stated = {rule.id for rule in specs.load().rules_of(documents(name))}
    for one in load_deviations(FILES[name]):
        assert one.rule not in stated or "unwritten" not in one.reason, one.rule


def _small(trial):
    def few(case):
        brokers = case.get("brokers", {})
        owned = {name for one in brokers.values() for name in one.get("bundles", ())}
        return len(brokers) <= SMALL and len(owned) <= SMALL

    return all(few(question.case) for question in trial.questions)


def test_entries_of_whom_nobody_judged_are_reported():
    listed = load_deviations(FILES["pulsar 3.0.7"])
    [said] = notes_on_unjudged(listed, {("reference 0.1", "reference", "reference"): {}})
    assert said == f"{len(listed)} known deviations concern pulsar 3.0.7, which was not judged"
    assert list(notes_on_unjudged(listed, {("pulsar 3.0.7", "pulsar:3.0.7", "pulsar"): {}})) == []


def test_entries_of_other_versions_are_counted_by_what_the_judged_one_shows():
    listed = load_deviations(FILES["pulsar 3.0.7"])
    names = "pulsar 3.0.8-SNAPSHOT", "pulsar:lib", "pulsar"
    rules = {"USAGE-01": True, "SPLIT-01": False, "SHED-04": False}
    [said] = notes_on_unjudged(listed, {names: rules})
    assert said == (
        "pulsar 3.0.8-SNAPSHOT shows 1 known deviation listed for other versions, but not SPLIT-01"
    )


@pytest.mark.parametrize("named", ["ThresholdShedder", f"{IMPL}ThresholdShedder"])
def test_entries_of_a_release_also_concern_its_own_class(named):
    listed = load_deviations(FILES["pulsar 4.2.4"])
    adapter = f"pulsar:4.2.4,strategy={named},as=ThresholdShedder"
    names = "pulsar+ThresholdShedder 4.2.4", adapter, "pulsar+ThresholdShedder"
    assert deviations_of_other_versions(listed, *names) == list(listed)
    [said] = notes_on_unjudged(listed, {names: {"THRESHOLD-16": True, "SHED-16": False}})
    shown = "1 known deviation listed for pulsar 4.2.4, but not SHED-16"
    assert said == f"pulsar+ThresholdShedder 4.2.4 shows {shown}"


def test_entries_of_a_release_do_not_concern_a_plug_in():
    listed = load_deviations(FILES["pulsar 4.2.4"])
    adapter = "pulsar:4.2.4,strategy=com.acme.ThresholdShedder,as=ThresholdShedder,classpath=a.jar"
    names = "pulsar+ThresholdShedder 4.2.4", adapter, "pulsar+ThresholdShedder"
    assert deviations_of_other_versions(listed, *names) == []


def test_an_implementation_that_was_not_judged_shows_nothing():
    listed = load_deviations(FILES["pulsar 3.0.7"])
    names = "pulsar 3.0.8-SNAPSHOT", "pulsar:lib", "pulsar"
    assert list(notes_on_unjudged(listed, {names: {}})) == []


@pytest.mark.parametrize("text", ["", "# none is left\n", "[]\n"])
def test_an_empty_file_lists_nothing(tmp_path, text):
    file = tmp_path / "known.yaml"
    file.write_text(text)
    assert load_deviations(file) == ()


def test_many_implementations_that_nobody_judged_are_counted_together():
    listed = load_deviations(FOLDER)
    [said] = notes_on_unjudged(listed, {("pulsar 3.0.7", "pulsar:3.0.7", "pulsar"): {}})
    own = load_deviations(FILES["pulsar 3.0.7"])
    others = len(listed) - len(own)
    assert said == (
        f"{others} known deviations concern {len(FILES) - 1} implementations that were not judged"
    )


@pytest.mark.parametrize(
    ("version", "nearest"),
    [("3.2.3", "3.0.7"), ("4.1.0-SNAPSHOT", "4.0.7"), ("2.2.0", "2.4.2"), ("5.0.0", "5.0.0-M1")],
)
def test_entries_of_the_version_before_come_first(version, nearest):
    listed = load_deviations(FOLDER)
    names = f"pulsar {version}", f"pulsar:{version}", "pulsar"
    found = deviations_of_other_versions(listed, *names)
    assert {one.product for one in found} == {"pulsar"}
    assert found[0].implementation == f"pulsar {nearest}"
    assert deviations_of_other_versions(listed, "pulsar 3.0.7", "pulsar:3.0.7", "pulsar") == []


def test_answers_are_compared_but_for_lines_of_java():
    case = Path("one.json")
    one = Deviation("BUNDLE-04", "r", "l", cases=(case,), answers="failed: X at Y.f(Y.java:130)")
    assert one.expects_answer(case, "failed: X at Y.f(Y.java:77)")
    assert not one.expects_answer(case, "failed: Z at Y.f(Y.java:130)")
    assert one.expects_answer(Path("two.json"), "anything")


def test_an_entry_for_an_implementation_goes_before_one_for_all():
    of_all = Deviation("SHED-01", "everybody's", "link")
    own = Deviation("SHED-01", "its own", "link", "mine 1.0")
    plan = SimpleNamespace(deviations=(of_all, own))
    assert Plan.deviation(plan, "SHED-01", "mine", "mine 1.0") == own
    assert Plan.deviation(plan, "SHED-01", "other", "other 1.0") == of_all
    assert Plan.deviation(plan, "SHED-02", "mine", "mine 1.0") is None


CASE = {"ask": "usage.max", "case": {"settings": {}, "weighted": False, "broker": {}}}
ENTRY = {"rule": "USAGE-01", "reason": "it is new", "link": "issue 1"}


def listed_in(folder, case):
    file = folder / "known.json"
    file.write_text(json.dumps([{**ENTRY, "cases": [case]}]), "utf-8")
    return file


def test_a_case_is_found_from_its_file_wherever_the_command_runs(tmp_path, monkeypatch):
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "one.json").write_text(json.dumps(CASE), "utf-8")
    (tmp_path / "known").mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    [one] = load_deviations(listed_in(tmp_path / "known", "cases/one.json"))
    assert one.cases == (tmp_path / "cases" / "one.json",)


def test_a_case_that_is_not_there_is_one_error(tmp_path):
    with pytest.raises(specs.SpecError, match=r"known.json:1: there is no case cases/one.json"):
        load_deviations(listed_in(tmp_path, "cases/one.json"))


def test_a_case_that_is_none_is_one_error(tmp_path):
    (tmp_path / "one.json").write_text("{}", "utf-8")
    with pytest.raises(specs.SpecError, match=r"known.json:1: .*one.json: it is not of the form"):
        load_deviations(listed_in(tmp_path, "one.json"))


def shared(folder, rule="USAGE-01"):
    """Write an entry that takes its missing fields from another file's entry; return its file."""
    (folder / "one.json").write_text(json.dumps(CASE), "utf-8")
    other = {**ENTRY, "implementation": "one 1.0", "cases": ["one.json"], "answers": "this"}
    (folder / "other.yaml").write_text(json.dumps([other]), "utf-8")
    file = folder / "known.json"
    entry = {"rule": rule, "implementation": "two 1.0", "same_as": "other.yaml"}
    file.write_text(json.dumps([entry]), "utf-8")
    return file


def test_an_entry_leaves_to_another_file_what_it_does_not_say(tmp_path):
    [one] = load_deviations(shared(tmp_path))
    assert (one.rule, one.implementation) == ("USAGE-01", "two 1.0")
    assert (one.reason, one.link, one.answers) == ("it is new", "issue 1", "this")
    assert one.cases == (tmp_path / "one.json",)


def test_a_file_that_says_nothing_of_the_rule_is_one_error(tmp_path):
    with pytest.raises(
        specs.SpecError, match=r"known.json:1: other.yaml has no entry for USAGE-02"
    ):
        load_deviations(shared(tmp_path, "USAGE-02"))
    (tmp_path / "other.yaml").unlink()
    with pytest.raises(specs.SpecError, match=r"other.yaml"):
        load_deviations(tmp_path / "known.json")


def test_no_case_is_left_over():
    """Every case is in a list, except those that test_pulsar_deviations.py names."""
    asked_elsewhere = (
        ROOT / "tests" / "adapters" / "pulsar" / "test_pulsar_deviations.py"
    ).read_text("utf-8")
    named = {case for file in FILES.values() for one in load_deviations(file) for case in one.cases}
    found = set((ROOT / "fixtures" / "cases").glob("*/*.json"))
    assert named <= found
    assert all(file.stem in asked_elsewhere for file in found - named)


def given(tmp_path, readings, **others):
    file = tmp_path / "known.yaml"
    entry = {"rule": "UNIFORM-02", "reason": "r", "link": "l"}
    entries = [
        {**entry, "implementation": name, "readings": read}
        for name, read in ({"mine": readings} | others).items()
    ]
    file.write_text(json.dumps(entries), "utf-8")
    return str(file)


def test_readings_that_an_entry_takes_for_given_hold_for_its_implementation(tmp_path):
    file = given(tmp_path, {"uniform-trigger": "either"})
    plan = Plan.make(["reference"], ["documented-3.0"], deviations=file)
    assert plan.listed_readings("documented-3.0", "mine") == {"uniform-trigger": "either"}
    assert plan.listed_readings("documented-3.0", "another") == {}
    pinned = Plan.make(["reference"], ["documented-3.0"], ["uniform-trigger=both"], deviations=file)
    assert pinned.listed_readings("documented-3.0", "mine") == {"uniform-trigger": "both"}


def test_a_version_without_a_list_takes_the_readings_of_the_closest_one(tmp_path):
    read = {"theirs 1.0.1": "both", "theirs 1.2.0": "either", "theirs 2.0.0": "both"}
    listed = {name: {"uniform-trigger": how} for name, how in read.items()}
    file = given(tmp_path, {"grace-of": "topic"}, **listed)
    plan = Plan.make(["reference"], ["documented-3.0"], deviations=file)
    for version, how in (("1.3.0", "either"), ("2.0.0", "both"), ("0.9.0", "both")):
        found = plan.listed_readings("documented-3.0", f"theirs {version}", "theirs")
        assert found == {"uniform-trigger": how}, version


@pytest.mark.parametrize(
    ("readings", "said"),
    [
        ({"uniform-triger": "both"}, "uniform-triger"),
        ({"uniform-trigger": "neither"}, "neither"),
    ],
)
def test_a_reading_that_there_is_not_is_reported_with_its_line(tmp_path, readings, said):
    with pytest.raises(specs.SpecError, match=said) as told:
        load_deviations(Path(given(tmp_path, readings)))
    assert "known.yaml:1" in str(told.value)
