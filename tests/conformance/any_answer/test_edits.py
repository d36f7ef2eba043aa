"""Edits of drawn cases: the cases that they produce, and cases that they leave unchanged."""

from random import Random

import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.any_answer.edits import (
    EDITED_OPERATIONS,
    LARGEST_SETTING,
    MAX_EDITED_BYTES,
    edited,
)
from pulsar_conformance.conformance.cases.legality import trial_flaw
from pulsar_conformance.conformance.catalogue import OPERATIONS
from pulsar_conformance.conformance.common.trial import Question, Trial
from pulsar_conformance.conformance.engine.draw import with_edits

DUE = {
    "settings": {"loadBalancerReportUpdateThresholdPercentage": 10},
    "manager": "modular",
    "written": {"cpu": {"usage": 50, "limit": 100}, "numBundles": 4},
    "now": {"cpu": {"usage": 50, "limit": 100}, "numBundles": 4},
    "seconds": 60,
}
POLICY = {"namespaces": ["t/a"], "primary": ["b1", "b2"], "secondary": [], "minLimit": 1}
CHANGED = {"scope": None, "old": POLICY, "new": POLICY, "namespaces": ["t/a"]}
STORY = {"settings": {}, "events": [{"broker_up": {"broker": "b", "capacity": 1e6}}]}
STATS = {"settings": {}, "manager": "modular", "stats": {"t/n/0x00000000_0xffffffff": {}}}


def cases(operation, case, count=600):
    trial, random = Trial.of(operation, case), Random(0)
    return [edited(trial, random).questions[0].case for _ in range(count)]


@pytest.mark.parametrize(
    ("operation", "case", "wanted"),
    [
        ("report.due", DUE, lambda one: _limit(one, "written") != _limit(one, "now")),
        ("report.due", DUE, lambda one: one.get("seconds") == 60_000),
        ("report.due", DUE, lambda one: one.get("settings", DUE["settings"]) != DUE["settings"]),
        ("policy.changed", CHANGED, lambda one: (one.get("new") or {}).get("primary") == ["b1|b2"]),
        ("policy.changed", CHANGED, lambda one: (one.get("new") or {}).get("primary") == ["b1,b2"]),
        ("cluster.replay", STORY, lambda one: {"leader_lost": {}} in one.get("events", [])),
        ("report.bundles", STATS, lambda one: len(one.get("stats", ())) > 64),
    ],
)
def test_an_edit_can_lead_to(operation, case, wanted):
    assert any(map(wanted, cases(operation, case)))


def _limit(case, name):
    return ((case.get(name) or {}).get("cpu") or {}).get("limit")


def test_no_setting_is_left_out():
    assert all({*one.get("settings", DUE["settings"])} for one in cases("report.due", DUE))


def test_settings_stay_small_enough_to_count_bundles():
    case = {"bundles": None, "settings": {"defaultNumberOfNamespaceBundles": 60}}
    found = [one.get("settings") or {} for one in cases("bundles.create", case)]
    numbers = [one.get("defaultNumberOfNamespaceBundles", 0) for one in found]
    assert 60_000 <= max(numbers) <= LARGEST_SETTING


def test_the_original_is_not_changed():
    before = repr(CHANGED)
    cases("policy.changed", CHANGED)
    assert repr(CHANGED) == before


def test_several_questions_and_large_cases_are_left_alone():
    pair = Trial((Question("report.due", DUE), Question("report.due", DUE)))
    large = Trial.of("report.due", {**DUE, "padding": "x" * MAX_EDITED_BYTES})
    earlier = Trial.of("report.due", DUE).after([Question("report.due", DUE)])
    for trial in (pair, large, earlier):
        assert all(edited(trial, Random(seed)) == trial for seed in range(20))


@pytest.mark.parametrize("operation", sorted(EDITED_OPERATIONS))
def test_an_example_of_each_operation_can_be_edited(operation):
    for case in OPERATIONS[operation].examples:
        cases(operation, case, 100)


def test_edited_trials_are_valid_and_the_same_each_time():
    defaults = specs.load().defaults("documented-4.2")
    drawn = with_edits("REPORT-13", "documented-4.2", 7, 60)
    with_edits.cache_clear()
    assert drawn == with_edits("REPORT-13", "documented-4.2", 7, 60)
    assert [origin for origin, _ in drawn[:60]].count("edited") >= 10
    assert {origin for origin, _ in drawn[60:]} == {"edited"}
    assert all(trial_flaw(one, defaults) is None for _, one in drawn)


def test_cases_for_released_classes_are_not_edited():
    assert {origin for origin, _ in with_edits("REPORT-13", "released-4.2", 7, 60)} == {"drawn"}
