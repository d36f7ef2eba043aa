"""Stories in which TransferShedder of the extensible load manager moves bundles."""

from dataclasses import replace

import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.cases.legality import case_flaw, trial_flaw
from pulsar_conformance.conformance.engine.attribute import own_faults
from pulsar_conformance.conformance.engine.draw import (
    draw_trials,
    trials_of_rule,
    with_transfer_shedder,
)
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.judge import AppliedRule, JudgedImplementation
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.stories.draw_stories import CALM_SETTINGS
from pulsar_conformance.reference import Model
from pulsar_conformance.reference.shedding import (
    DELAY,
    ENABLED,
    EXCLUDED,
    GRACE,
    HITS,
    IN_EXTENSIONS,
    LIFETIME,
    STRATEGY,
    TRANSFER_ENABLED,
)
from pulsar_conformance.reference.threshold import HISTORY_SHARE
from standins import machines

PROFILE = "documented-4.2"
RULES = specs.load().rules
EXAMPLES = 60
SETTINGS = {**CALM_SETTINGS, ENABLED: True, STRATEGY: IN_EXTENSIONS, HISTORY_SHARE: 0}
OFF = {"setting": {"name": ENABLED, "value": False, "how": "dynamic"}}
ON = {"setting": {"name": ENABLED, "value": True, "how": "dynamic"}}
MINUTE = {"tick": {"minutes": 1}}


def up(number):
    return {"broker_up": {"broker": f"broker-{number}", "capacity": 1e8}}


def used(name, megabytes):
    rates = {"msgRateIn": 100 * megabytes, "msgThroughputIn": 1_000_000 * megabytes}
    return {"topic": {"topic": f"persistent://shop/{name}/orders", **rates}}


LOADED = (
    up(1),
    *({"namespace": {"name": f"shop/{name}", "bundles": 1}} for name in "ab"),
    used("a", 60),
    used("b", 30),
    up(2),
)
"""Two bundles on one broker; only the smaller one fits into half of the brokers' difference."""


def played(*events, loaded=LOADED, **settings):
    case = {"settings": {**SETTINGS, **settings}, "events": [*loaded, *events]}
    assert case_flaw("cluster.replay", case, Model(PROFILE).defaults) is None
    return Model(PROFILE).answer("cluster.replay", case)["steps"][len(loaded) :]


def shed(steps):
    """Return, for each shed bundle, the number of the step, the namespace and the new broker."""
    found = []
    for number, step in enumerate(steps, start=1):
        to = {one["bundle"]: one["to"] for one in step.get("assigned", ())}
        for one in step.get("unloaded", ()):
            assert one["reason"] == "shed"
            found.append((number, one["bundle"].split("/")[1], to[one["bundle"]]))
    return found


def test_the_cycle_that_exceeds_the_count_moves_a_bundle():
    assert shed(played(*[MINUTE] * 9)) == [(4, "b", "broker-2")]


@pytest.mark.parametrize("hits", [0, 1])
def test_fewer_hits_are_needed_where_the_setting_says_so(hits):
    assert shed(played(*[MINUTE] * 5, **{HITS: hits})) == [(hits + 1, "b", "broker-2")]


def test_an_even_cycle_begins_the_count_again():
    even = [{"namespace": {"name": "shop/c", "bundles": 1}}, used("c", 80), MINUTE]
    steps = played(*[MINUTE] * 3, *even, used("c", 0), *[MINUTE] * 5)
    assert shed(steps) == [(11, "b", "broker-2")]


@pytest.mark.parametrize(("seconds", "minute"), [(60, 2), (120, 3), (180, 4), (181, 5)])
def test_nothing_moves_within_the_delay(seconds, minute):
    small = ({"namespace": {"name": "shop/c", "bundles": 1}}, used("c", 10))
    changed = (used("a", 10), used("b", 60), used("c", 20))
    loaded = (*LOADED[:-1], *small, up(2))
    settings = {HITS: 0, GRACE: 0, DELAY: seconds}
    steps = played(MINUTE, *changed, *[MINUTE] * 4, loaded=loaded, **settings)
    passed = [step for step in steps if "reports" in step]
    back = (minute, "c", "broker-1")
    assert shed(passed) == [(1, "b", "broker-2"), (1, "c", "broker-2"), back]


def test_what_moved_stays_for_the_grace_period():
    back = {"unload": {"bundleOf": "persistent://shop/b/orders", "to": "broker-1"}}
    first, _, *later = played(MINUTE, back, *[MINUTE] * 12, **{HITS: 0, GRACE: 8})
    assert shed([first, *later]) == [(1, "b", "broker-2"), (10, "b", "broker-2")]


def test_a_group_stays_where_it_is():
    group = {"group": {"namespace": "shop/b", "group": "apart"}}
    assert shed(played(group, *[MINUTE] * 3, **{HITS: 0})) == []
    assert shed(played(*[MINUTE] * 3, **{HITS: 0, EXCLUDED: "shop/b"})) == []


def test_the_switch_is_read_in_each_cycle():
    steps = played(OFF, *[MINUTE] * 3, ON, *[MINUTE] * 2, **{HITS: 0})
    assert shed(steps) == [(6, "b", "broker-2")]


def test_without_a_destination_a_less_loaded_broker_takes_the_bundle():
    steps = played(up(3), *[MINUTE] * 3, **{HITS: 0, TRANSFER_ENABLED: False})
    [(number, bundle, to)] = shed(steps)[:1]
    assert (number, bundle) == (2, "b")
    assert to in ("broker-2", "broker-3")


def test_outdated_load_data_do_not_count():
    late = {LIFETIME: 30, "loadBalancerReportUpdateMaxIntervalMinutes": 5, HITS: 0}
    assert shed(played(*[MINUTE] * 5, **late)) == [(5, "b", "broker-2")]


@pytest.mark.parametrize(
    ("profile", "strategy"),
    [("documented-3.0", "TransferShedder"), ("documented-4.2", "AvgShedder")],
)
def test_a_strategy_that_stories_do_not_play_is_declined(profile, strategy):
    named = IN_EXTENSIONS if strategy == "TransferShedder" else strategy
    case = {"settings": {**SETTINGS, STRATEGY: named}, "events": []}
    answer = Model(profile).answer("cluster.replay", case)
    assert answer == {"unsupported": f"{strategy} is not documented"}


def use_transfer_shedder(rule_id, manager, profile):
    """Return whether the stories drawn for this load manager use TransferShedder, as a set."""
    implementation = Implementation("reference", profile, {})
    implementation.hello = replace(implementation.hello, manager=manager)
    plan = Plan(("reference",), (profile,), examples=10)
    found = trials_of_rule(RULES[rule_id], plan, implementation, ())
    cases = [one.trial.questions[0].case for one in found if one.origin == "drawn"]
    return {one["settings"][STRATEGY] == IN_EXTENSIONS for one in cases}


def test_only_the_extensible_manager_is_asked_about_transfers_and_only_where_something_is_shed():
    assert use_transfer_shedder("OWN-12", "extensible", PROFILE) == {True}
    assert use_transfer_shedder("OWN-12", "modular", PROFILE) == {False}
    assert use_transfer_shedder("OWN-12", "extensible", "documented-3.0") == {False}
    assert use_transfer_shedder("OWN-01", "extensible", PROFILE) == {False}
    assert False in use_transfer_shedder("SHED-10", "extensible", PROFILE)


def drawn(rule_id):
    trials = map(with_transfer_shedder, draw_trials(rule_id, PROFILE, 0, EXAMPLES))
    known = [one for one in trials if one.questions[0].case["settings"][STRATEGY] == IN_EXTENSIONS]
    return [one for one in known if trial_flaw(one, specs.load().defaults(PROFILE)) is None]


@pytest.mark.parametrize("rule_id", ["OWN-12", "SHED-09", "SHED-11", "SHED-12", "SHED-13"])
def test_drawn_transfers_exercise_a_rule_and_the_model_keeps_it(rule_id):
    model = Model(PROFILE)
    evaluator = RuleEvaluator(model.defaults, model.readings)
    words = []
    for trial in drawn(rule_id):
        answers = [model.answer(*one) for one in trial.questions]
        words.append(evaluator.judge(rule_id, trial, answers).word)
    assert set(words) <= {"allowed", "not_reached"}
    assert "allowed" in words


@pytest.mark.parametrize(
    ("machine", "rule_id"),
    [
        (machines.sheds_without_a_word, "OWN-12"),
        (machines.looks_every_minute, "SHED-09"),
        (machines.transfers_to_the_busiest, "SHED-11"),
        (machines.forgets_what_it_shed, "SHED-12"),
        (machines.cannot_be_switched_off, "SHED-13"),
    ],
    ids=lambda one: getattr(one, "__name__", one),
)
def test_a_planted_failure_is_found_in_drawn_transfers(machine, rule_id, monkeypatch):
    machine(monkeypatch)
    subject = JudgedImplementation.before_asking(Implementation("reference", PROFILE, {}))
    trials = drawn(rule_id)
    assert any(own_faults(AppliedRule(RULES[rule_id], subject), trials))
