"""Rules about any answer find each planted mistake, which breaks no other rule."""

import copy
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from pulsar_conformance import specs
from pulsar_conformance.adapters.reference import ReferenceConnection
from pulsar_conformance.conformance.cases.saved import load_saved
from pulsar_conformance.conformance.common.trial import CASE_CHANGED, Trial
from pulsar_conformance.conformance.engine import implementation as implementations
from pulsar_conformance.conformance.engine.attribute import attribute_faults
from pulsar_conformance.conformance.engine.draw import draw_trials
from pulsar_conformance.conformance.engine.evaluate import Fault, Outcome
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.judge import AppliedRule, JudgedImplementation
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.run import Run
from sampling import one_in

PROFILE = "unwritten-3.0"
STRANGER = "shop/eu/0x00000001_0x00000002"
CYCLE = "shed.select"
FEW = 50
"""Number of cases for each rule."""


class Planted(ReferenceConnection):
    """The model, in this process, with one mistake that a subclass adds."""

    def _answer(self, operation, case):
        return getattr(self, operation.replace(".", "_"), self.right)(operation, case)

    def right(self, operation, case):
        return super()._answer(operation, case)


class NamesAnUnknownBundle(Planted):
    def shed_select(self, operation, case):
        unload = self.right(operation, case)["unload"]
        return {"unload": [{**one, "bundle": STRANGER} for one in unload]}


class NamesAnUnknownBroker(Planted):
    def shed_select(self, operation, case):
        unload = self.right(operation, case)["unload"]
        return {"unload": [{**one, "broker": "broker-0"} for one in unload]}


class SplitsTheWholeNamespace(Planted):
    def bundles_split_candidates(self, operation, case):
        answer = self.right(operation, case)
        spaces = {name.rpartition("/")[0] for name in answer["split"]}
        whole = [f"{space}/0x00000000_0xffffffff" for space in sorted(spaces)]
        return {"split": whole, "unload": whole}


class RemembersWhatItUnloaded(Planted):
    """Never unloads a bundle that it unloaded in an earlier case."""

    known = frozenset()

    def shed_select(self, operation, case):
        unload = self.right(operation, case)["unload"]
        kept = [one for one in unload if one["bundle"] not in self.known]
        self.known |= {one["bundle"] for one in unload}
        return {"unload": kept}


class CountsItsQuestions(Planted):
    """Adds the number of its questions so far to each answer."""

    asked = 0

    def usage_max(self, operation, case):
        self.asked += 1
        answer = self.right(operation, case)
        return {**answer, "percent": answer["percent"] + self.asked}


class TakesBundlesAsTheyCome(Planted):
    """Unloads the right number of bundles, but in the order of the report."""

    def shed_select(self, operation, case):
        unload, taken = self.right(operation, case)["unload"], []
        for name, report in case["brokers"].items():
            count = sum(one["broker"] == name for one in unload)
            taken += [{"broker": name, "bundle": b} for b in report.get("bundles", ())[:count]]
        return {"unload": taken}


class TakesTheFirstBroker(Planted):
    """Lets only the first broker unload bundles."""

    def shed_select(self, operation, case):
        unload = self.right(operation, case)["unload"]
        first = next((n for n in case["brokers"] for one in unload if one["broker"] == n), None)
        return {"unload": [one for one in unload if one["broker"] == first]}


class LocatesByPlace(Planted):
    """Assigns topics to the bundles in turn."""

    def bundles_locate(self, operation, case):
        ends = case["boundaries"]
        names = [f"{low}_{high}" for low, high in pairwise(ends)]
        return {"bundles": [names[n % len(names)] for n in range(len(case["topics"]))]}


class SortsInPlace(Planted):
    """Sorts the bundles of each broker within the case itself."""

    def shed_select(self, operation, case):
        for report in case["brokers"].values():
            report.get("bundles", []).sort()
        return self.right(operation, case)


class FillsInDefaults(Planted):
    """Writes the settings that it uses into the case."""

    def bundles_create(self, operation, case):
        case["settings"].setdefault("defaultNumberOfNamespaceBundles", 4)
        return self.right(operation, case)


class TakesOut(Planted):
    """Removes the topics from the case."""

    def bundles_split(self, operation, case):
        answer = self.right(operation, case)
        case["topics"].clear()
        return answer


class TakesEqualsAsTheyCome(Planted):
    """Makes no mistake: of bundles with equal traffic, it unloads the first in the report first."""

    def shed_select(self, operation, case):
        reports = case["brokers"].values()
        owned = [bundle for report in reports for bundle in report.get("bundles", ())]
        known = dict.fromkeys([*owned, *case["bundles"], *case["recentlyUnloaded"]])
        names = {name: f"t/ns/0x{n:08x}_0x{n + 1:08x}" for n, name in enumerate(known)}
        back = {new: old for old, new in names.items()}
        unload = self.right(operation, renamed(case, names))["unload"]
        return {"unload": [{**one, "bundle": back[one["bundle"]]} for one in unload]}


def renamed(value, names):
    """Return a value with some of its names replaced."""
    if isinstance(value, dict):
        return {names.get(key, key): renamed(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [renamed(item, names) for item in value]
    return names.get(value, value) if isinstance(value, str) else value


MISTAKES = {
    NamesAnUnknownBundle: "ANSWER-01",
    NamesAnUnknownBroker: "ANSWER-01",
    SplitsTheWholeNamespace: "ANSWER-01",
    SortsInPlace: "ANSWER-02",
    FillsInDefaults: "ANSWER-02",
    TakesOut: "ANSWER-02",
    TakesBundlesAsTheyCome: "ANSWER-04",
    TakesTheFirstBroker: "ANSWER-04",
    LocatesByPlace: "ANSWER-04",
}

WITH_MEMORY = (RemembersWhatItUnloaded, CountsItsQuestions)


@pytest.fixture
def planted(monkeypatch):
    """Return a function that replaces `reference` by another implementation in this process."""

    def plant(mistake):
        def made(name, profile, readings, *_limits):
            return mistake(name, profile, readings)

        monkeypatch.setattr(implementations, "connect", made)

    return plant


def verdicts(tmp_path, adapter="reference", seed=0, rules="ANSWER-*"):
    plan = Plan.make([adapter], [PROFILE], rules=[rules], examples=FEW, seed=seed, root=tmp_path)
    run = Run(plan, adapter, PROFILE)
    rules = plan.rules_of(PROFILE)
    try:
        run.prepare()
        return {rule.id: run.verdict(rule) for rule in rules}
    finally:
        run.close()


@pytest.mark.parametrize("mistake", one_in(3, MISTAKES), ids=lambda mistake: mistake.__name__)
def test_a_mistake_breaks_one_rule_and_its_case_is_reduced(mistake, planted, tmp_path):
    planted(mistake)
    found = verdicts(tmp_path)
    broken = [rule for rule, one in found.items() if one.verdict != "pass"]
    assert broken == [MISTAKES[mistake]]
    trial = load_saved(tmp_path / found[broken[0]].failure.case_file).trial
    assert len(trial.questions) <= 3
    assert all(len(case.get("brokers", ())) <= 3 for _, case in trial.questions)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(one, marks=pytest.mark.thorough) for one in (1, 2))]
)
def test_order_may_decide_between_equal_candidates(seed, planted, tmp_path):
    planted(TakesEqualsAsTheyCome)
    assert {one.verdict for one in verdicts(tmp_path, seed=seed).values()} == {"pass"}


@pytest.mark.parametrize(("memory", "beneath"), [(100, "PLACE-04"), (0, None)])
def test_choosing_an_overloaded_broker_is_reported_as_that_alone(memory, beneath):
    case = {
        "settings": {},
        "bundle": "t/ns/0x00000000_0xffffffff",
        "candidates": ["b1", "b2"],
        "brokers": {"b1": {}, "b2": {"msgRateIn": 9, "memory": {"usage": memory, "limit": 100}}},
        "bundles": {},
        "preallocated": {},
    }
    one = JudgedImplementation.before_asking(Implementation("reference", PROFILE, {}))
    trial = Trial.of("place.select", case, case)
    answers = [{"broker": "b1"}, {"broker": "b2"}]
    rule = specs.load().rules["ANSWER-03"]
    [blame] = attribute_faults(AppliedRule(rule, one), [Fault(trial, answers, Outcome("violated"))])
    assert blame.rule == beneath


@pytest.mark.parametrize("mistake", WITH_MEMORY, ids=lambda mistake: mistake.__name__)
def test_memory_between_questions_is_found(mistake, planted, tmp_path):
    planted(mistake)
    found = verdicts(tmp_path, rules="ANSWER-0[1-3]")
    assert found["ANSWER-01"].verdict == "pass"
    assert "fail" in {found["ANSWER-02"].verdict, found["ANSWER-03"].verdict}


def test_an_implementation_in_its_own_process_that_changes_its_answer_is_found(
    monkeypatch, tmp_path
):
    monkeypatch.chdir(Path(__file__).parents[2])
    found = verdicts(tmp_path, "python:standins.nulls:Fickle", rules="ANSWER-0[23]")
    assert found["ANSWER-02"].verdict == found["ANSWER-03"].verdict == "fail"
    found = verdicts(tmp_path, "python:standins.nulls:Stranger", rules="ANSWER-01")
    assert found["ANSWER-01"].verdict == "fail"


def test_a_changed_case_is_reported_and_restored(planted):
    planted(SortsInPlace)
    halves = ["t/ns/0x80000000_0xffffffff", "t/ns/0x00000000_0x80000000"]
    case = {
        "strategy": "OverloadShedder",
        "settings": {},
        "brokers": {"b1": {"bundles": halves}, "b2": {}},
        "bundles": {},
        "recentlyUnloaded": {},
    }
    before = copy.deepcopy(case)
    one = JudgedImplementation.before_asking(Implementation("reference", PROFILE, {}))
    [[first, second]] = one.implementation.answers([Trial.of(CYCLE, case, copy.deepcopy(case))])
    assert first[CASE_CHANGED] == second[CASE_CHANGED] == "case.brokers.b1.bundles[0]"
    assert case == before
    judged = one.evaluator.judge("ANSWER-02", Trial.of(CYCLE, case), [first])
    assert (judged.word, judged.answered) == ("violated", f"{first[CASE_CHANGED]} changed")
    judged = one.evaluator.judge("ANSWER-01", Trial.of(CYCLE, case), [first])
    assert judged.word == "allowed"


def test_an_implementation_of_one_operation_is_judged_on_that_one(planted, tmp_path):
    class OffersOne(ReferenceConnection):
        def __init__(self, *args):
            super().__init__(*args)
            self.hello = replace(self.hello, operations=("usage.max",))

    planted(OffersOne)
    found = verdicts(tmp_path)
    assert found.pop("ANSWER-01").verdict == "not_applicable"
    assert {one.verdict for one in found.values()} == {"pass"}
    assert all(0 < one.reached < one.drawn for one in found.values())


def test_several_placements_of_any_answer_have_an_idle_candidate():
    def idle(case):
        ahead = case["preallocated"]
        return any(
            not case["brokers"][name]["bundles"] and not ahead.get(name)
            for name in case["candidates"]
        )

    drawn = draw_trials("ANSWER-05", "documented-3.0", 1, 100)
    asked = [one for trial in drawn for one in trial.questions if one.operation == "place.select"]
    assert sum(idle(one.case) for one in asked) >= 3
