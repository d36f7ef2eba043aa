"""If cases take seconds, fewer are drawn, and every rule that a case reaches judges the case."""

import json
from collections import Counter
from dataclasses import replace

import pytest
from pulsar_conformance import specs
from pulsar_conformance.adapters.reference import ReferenceConnection
from pulsar_conformance.conformance.cases.deviations import Deviation
from pulsar_conformance.conformance.cases.saved import load_saved
from pulsar_conformance.conformance.catalogue import OPERATIONS, checks
from pulsar_conformance.conformance.common.events import ignore_event
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.engine import implementation as implementations
from pulsar_conformance.conformance.engine.ask import Dispatcher, run_immediately
from pulsar_conformance.conformance.engine.draw import (
    COSTLY_DIVISOR,
    SourcedTrial,
    aimed_trials,
    draw_trials,
)
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.run import Run
from standins import machines

PROFILE = "documented-3.0"
EXAMPLES = 4
STORIES = ("OWN-*", "MANAGER-*")
PLACING = ("PLACE-02",)


class Slow(ReferenceConnection):
    """The model, which declares that questions of the operations `costly` take seconds."""

    def __init__(self, costly):
        super().__init__("slow", PROFILE, {})
        self.hello = replace(self.hello, name="slow", costly=costly)
        self.asked = Counter()

    def exchange(self, operation, batch):
        self.asked[operation] += len(batch)
        return super().exchange(operation, batch)


@pytest.fixture
def judged(monkeypatch, tmp_path):
    """Return a function that judges a connection and returns its verdicts by rule."""

    def by(connection, listed=(), rules=STORIES):
        monkeypatch.setattr(implementations, "connect", lambda *_: connection)
        plan = Plan.make(["reference"], [PROFILE], (), rules, examples=EXAMPLES, root=tmp_path)
        plan = replace(plan, deviations=listed)
        run = Run(plan, "reference", PROFILE)
        return {
            rule.id: run.verdict(rule)
            for rule in run.rules
            if {"cluster.replay", "place.select"} & set(rule.operations)
        }

    return by


def test_fewer_stories_are_asked_and_more_are_judged(judged):
    usual, slow = Slow(()), Slow(("cluster.replay",))
    alone, shared = judged(usual), judged(slow)
    assert slow.asked["cluster.replay"] < usual.asked["cluster.replay"]
    assert slow.asked["manager.choose"] == usual.asked["manager.choose"]
    judged_here = {rule: one for rule, one in shared.items() if one.verdict != "not_applicable"}
    assert len(judged_here) > 10
    for rule, verdict in judged_here.items():
        assert verdict.verdict in ("pass", "unexercised"), rule
        assert verdict.drawn > alone[rule].drawn, rule
        assert verdict.reached >= alone[rule].reached / 2, rule


@pytest.mark.parametrize(("costly", "asked"), [((), 4), (("manager.choose",), 2)])
def test_trials_that_ask_the_same_share_the_answer(monkeypatch, costly, asked):
    connection = Slow(costly)
    monkeypatch.setattr(implementations, "connect", lambda *_: connection)
    asker = Dispatcher(
        implementations.Implementation("reference", PROFILE, {}), run_immediately, ignore_event
    )
    case = OPERATIONS["manager.choose"].examples[0]
    tried = [
        SourcedTrial("drawn", Trial.of("manager.choose", *[case] * times)) for times in (1, 2, 1)
    ]
    asker.ask(tried)
    assert connection.asked["manager.choose"] == asked
    assert [len(asker.answers(one)) for one in tried] == [1, 2, 1]
    [answer] = asker.answers(tried[0])
    assert "failed" not in answer
    assert all(other == answer for one in tried for other in asker.answers(one))


def test_a_fault_is_found_all_the_same(judged, monkeypatch):
    machines.released_and_left(monkeypatch)
    assert judged(Slow(("cluster.replay",)))["OWN-09"].verdict == "fail"


class Once(Slow):
    """Leaves bundles without an owner the first time that a case is asked, but not later."""

    def __init__(self):
        super().__init__(("cluster.replay",))
        self.known = set()

    def exchange(self, operation, batch):
        answers = super().exchange(operation, batch)
        for case, answer in zip(batch, answers, strict=True):
            text = json.dumps(case, sort_keys=True)
            if operation == "cluster.replay" and text not in self.known:
                self.known.add(text)
                for step in answer.get("steps", ()):
                    step.pop("assigned", None)
                    step["owners"] = dict.fromkeys(step.get("owners", ()))
        return answers


def test_what_a_repeat_does_not_confirm_is_no_violation(judged, tmp_path):
    found = judged(Once())
    assert not [one for one in found.values() if one.verdict == "fail"]
    wavering = [one for one in found.values() if one.verdict == "undecided"]
    assert wavering
    assert "the wrong answer was nobody" in found["OWN-01"].why
    for one in wavering:
        assert one.exit_status(enough=True) == 0
        case = one.why.partition("reproducible: ")[2].partition(" broke")[0]
        assert load_saved(tmp_path / case).trial.operations == {"cluster.replay"}


class Draws(Slow):
    """Places a bundle on the busiest broker at the first of every `every` questions of a case."""

    def __init__(self, every):
        super().__init__(("place.select",))
        self.every = every
        self.asks = Counter()

    def exchange(self, operation, batch):
        answers = super().exchange(operation, batch)
        if operation != "place.select":
            return answers
        texts = [json.dumps(case, sort_keys=True) for case in batch]
        self.asks.update(texts)
        return [
            {"broker": busiest(case)} if self.asks[text] % self.every == 1 % self.every else answer
            for text, case, answer in zip(texts, batch, answers, strict=True)
        ]


def busiest(case):
    brokers = case["brokers"]

    def used(name):
        return brokers[name].get("cpu", {}).get("usage", 0)

    return max(case["candidates"], key=used, default=None)


@pytest.mark.parametrize(
    ("every", "verdict", "again"),
    [(1, "fail", ""), (2, "fail", "; asked again, 2 of 4 times"), (9, "undecided", None)],
)
def test_a_decision_that_is_drawn_is_confirmed_where_it_comes_again(judged, every, verdict, again):
    found = judged(Draws(every), rules=PLACING)["PLACE-02"]
    assert found.verdict == verdict
    assert again is None or found.failure.answered.endswith(again)
    assert again != "" or "asked again" not in found.failure.answered


class AlwaysOnce(Once):
    """Like `Once`, but leaves the bundles of one story without an owner in every answer."""

    def __init__(self, case):
        super().__init__()
        self.always = json.dumps(case, sort_keys=True)

    def exchange(self, operation, batch):
        self.known.discard(self.always)
        return super().exchange(operation, batch)


def test_what_wavers_is_a_known_deviation_where_its_own_case_shows_it(judged, tmp_path):
    unsure = [rule for rule, found in judged(Once()).items() if found.verdict == "undecided"]
    one = next(rule for rule in unsure if not specs.load().rules[rule].presupposes)
    case = tmp_path / judged(Once())[one].why.partition("reproducible: ")[2].partition(" broke")[0]
    [question] = load_saved(case).trial.questions
    more = {"namespace": {"name": "conformance/one-more", "bundles": 1}}
    own = {**question.case, "events": [*question.case["events"], more]}
    (tmp_path / "own.json").write_text(json.dumps({"ask": "cluster.replay", "case": own}), "utf-8")
    entry = Deviation(one, "It draws.", "https://example.org/1")
    for cases, word in (((), "unexpected_pass"), ((tmp_path / "own.json",), "known_deviation")):
        found = judged(AlwaysOnce(own), (replace(entry, cases=cases),))
        assert found[one].verdict == word


def test_half_of_those_that_tell_readings_apart_are_asked():
    def asked(*costly):
        subject = implementations.Implementation("reference", PROFILE, {})
        subject.hello = replace(subject.hello, costly=costly)
        plan = Plan.make(["reference"], [PROFILE], (), STORIES)
        aimed = aimed_trials(["threshold-order"], set(OPERATIONS), subject, plan)
        return len(aimed["threshold-order"])

    assert asked("shed.select") == asked() // 2
    assert asked("bundles.split") == asked() >= 8


class Fails(Slow):
    """Fails in the stories that are drawn for one rule, but in no other stories."""

    def __init__(self, rule):
        super().__init__(("cluster.replay",))
        others = [one.id for one in specs.load().rules_of(PROFILE) if one.id != rule]
        elsewhere = {case for one in others if one in checks() for case in self._drawn(one)}
        self.stories = self._drawn(rule) - elsewhere
        assert self.stories

    @staticmethod
    def _drawn(rule):
        trials = draw_trials(rule, PROFILE, 0, EXAMPLES // COSTLY_DIVISOR)
        return {json.dumps(one.case, sort_keys=True) for trial in trials for one in trial.questions}

    def exchange(self, operation, batch):
        answers = super().exchange(operation, batch)
        texts = (json.dumps(case, sort_keys=True) for case in batch)
        failed = {"failed": "the request was not answered"}
        pairs = zip(texts, answers, strict=True)
        return [failed if text in self.stories else answer for text, answer in pairs]


def test_an_answer_that_failed_is_reported_by_the_rule_that_asked(judged):
    found = judged(Fails("OWN-09"))
    assert [rule for rule, one in found.items() if one.verdict in ("fail", "undecided")] == [
        "OWN-09"
    ]


def test_a_known_deviation_is_not_reduced_again(judged, monkeypatch, tmp_path):
    machines.released_and_left(monkeypatch)
    first, again = Slow(("cluster.replay",)), Slow(("cluster.replay",))
    failure = judged(first)["OWN-09"].failure
    case = tmp_path / failure.case_file
    listed = Deviation("OWN-09", "it is new", "issue 1", cases=(case,))
    assert judged(again, (listed,))["OWN-09"].verdict == "known_deviation"
    assert again.asked["cluster.replay"] < first.asked["cluster.replay"]
