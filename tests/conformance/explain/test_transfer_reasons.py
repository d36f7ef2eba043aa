"""Why a broker unloads nothing under TransferShedder, and how much UniformLoadShedder may move."""

import pytest
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.reference import Model

HITS = "loadBalancerSheddingConditionHitCountThreshold"
MOST = "loadBalancerMaxNumberOfBrokerSheddingPerCycle"
POLICIES = "loadBalancerSheddingBundlesWithPoliciesEnabled"
TARGET = "loadBalancerBrokerLoadTargetStd"
NAMESPACE = "shop/eu"


def average(kilobytes):
    return {"shortTermData": {"msgThroughputIn": kilobytes * 1000, "numSamples": 10}}


def transfers(brokers, *, settings=None, **more):
    """Return a cycle, given each broker's usage in percent and its bundles' KB/s.

    A broker's reported KB/s is ten times its usage in percent.
    """
    reports, bundles = {}, {}
    for name, (usage, carried) in brokers.items():
        first = len(bundles)
        owned = {
            f"{NAMESPACE}/0x{place:02x}000000_0x{place + 1:02x}000000": average(one)
            for place, one in enumerate(carried, first)
        }
        bundles |= owned
        cpu = {"usage": usage, "limit": 100}
        reports[name] = {"cpu": cpu, "msgThroughputIn": usage * 10_000, "bundles": [*owned]}
    case = {"strategy": "TransferShedder", "settings": {HITS: 0, **(settings or {})}}
    return case | {"brokers": reports, "bundles": bundles, "recentlyUnloaded": {}, **more}


def steps_of(case, broker, profile="documented-5.0"):
    steps = Model(profile).derive("shed.select", case).steps
    start = next(
        place for place, step in enumerate(steps) if (step.label, step.text) == (broker, "")
    )
    own = []
    for step in steps[start + 1 :]:
        if not step.label.startswith(" "):
            break
        own.append(f"{step.label.strip()} {step.text}")
    return own


ISOLATED = {
    "isolation": [{"namespaces": [NAMESPACE], "primary": ["a"], "secondary": [], "least": 1}]
}
GROUP = {"groups": {NAMESPACE: "g", "shop/us": "g"}}


# From a to b: (90 - 10) / 2 / 90 of 900 KB/s are 400 KB/s.
@pytest.mark.parametrize(
    ("carried", "more", "decision"),
    [
        ((), {}, "a has no bundles"),
        ((500, 400.5), {}, "a has no bundle that fits, as the smallest that may leave it carries"),
        ((500, 100), ISOLATED, "a has no bundle that policies let b take"),
        ((300, 100), {"recentlyUnloaded": 5}, "a has no bundle that may leave it"),
    ],
)
def test_the_decision_says_why_no_bundle_goes(carried, more, decision):
    case = transfers({"a": (90, carried), "b": (10, ())}, settings={POLICIES: True})
    if "recentlyUnloaded" in more:
        more = {"recentlyUnloaded": dict.fromkeys(case["bundles"], 5)}
    told = steps_of(case | more, "a")
    assert told[0] == "to move (90 - 10) / 2 / 90 of 900 KB/s = 400 KB/s, to b, the least loaded"
    assert told[1].startswith(f"decision {decision}")
    assert len(told) == 2 + len(carried)


def test_each_bundle_has_its_own_reason():
    case = transfers({"a": (90, (500, 100)), "b": (10, ())}, settings={POLICIES: True}, **ISOLATED)
    policy = "not for b: isolation policies permit a for shop/eu"
    *_, large, small = steps_of(case, "a")
    assert large.endswith(f"= 500 KB/s, more than the 400 KB/s left; {policy}")
    assert small.endswith(f"= 100 KB/s, {policy}")


def test_a_group_that_forbids_the_destination_is_named():
    case = transfers({"a": (90, (300,)), "b": (10, ())}, settings={POLICIES: True}, **GROUP)
    case["brokers"]["b"]["bundles"] = ["shop/us/0x00000000_0xffffffff"]
    told = steps_of(case, "a")
    assert "decision a has no bundle that policies let b take: it keeps all" in told
    assert told[-1].endswith("not for b: the anti-affinity group g allows a for shop/eu")


FOUR = {"a": (90, (300, 50)), "b": (80, (300,)), "c": (10, ()), "d": (5, ())}


@pytest.mark.parametrize(
    ("brokers", "settings", "kept"),
    [
        (FOUR, {MOST: 1}, {"b": f"gets no turn, as {MOST} is 1, used up by a", "c": "is 1, used"}),
        (FOUR, {MOST: 0}, {"a": f"gets no turn, as {MOST} is 0: it", "d": "is 0: it keeps all"}),
        (FOUR, {}, {"c": "takes bundles from b", "d": "takes bundles from a"}),
        (
            {"a": (90, (400,)), "b": (30, (10,)), "c": (10, ())},
            {},
            {"b": "as the load is even enough after the moves (9.43 points <= 25)"},
        ),
        (
            {"a": (90, (400,)), "b": (10, ())} | {"c": (9, (1,))},
            {TARGET: 0.01},
            {"b": "gets no turn, as every other broker has had one or takes bundles"},
        ),
    ],
)
def test_the_decision_says_why_it_is_not_a_brokers_turn(brokers, settings, kept):
    case = transfers(brokers, settings=settings)
    for name, why in kept.items():
        assert steps_of(case, name)[0].startswith(f"decision {name} ")
        assert why in steps_of(case, name)[0]


def test_the_next_pair_is_told():
    told = steps_of(transfers(FOUR), "b")
    assert (
        told[0] == "to move (80 - 10) / 2 / 80 of 800 KB/s = 350 KB/s, to c, the next least loaded"
    )


def test_outdated_load_data_are_told_with_the_limit():
    case = transfers({"a": (90, (300,)), "b": (10, ()), "old": (10, (1,))})
    case["brokers"]["old"]["age"] = 2000
    age = "2000 seconds old, more than 1800 (loadBalancerBrokerLoadDataTTLInSeconds)"
    assert steps_of(case, "old")[0] == f"decision old has load data that are {age}: it keeps all"
    [ignored] = (
        step.text
        for step in Model("documented-5.0").derive("shed.select", case).steps
        if step.label == "ignored"
    )
    assert ignored == f"old: its data are {age}"


def test_the_conditions_show_their_arithmetic():
    steps = Model("documented-5.0").derive("shed.select", transfers(FOUR)).steps
    told = {step.label: step.text for step in steps}
    assert told["underloaded"].endswith(
        "d: no traffic, or under 46.25 x min(0.5, 0.25 / 2) = 5.78 %"
    )
    assert told["overloaded"] == "a: over 85 % and over 46.25 + 25 = 71.25 %"
    assert told["standard deviation"].endswith("> 25 (loadBalancerBrokerLoadTargetStd)")


def test_conditions_that_no_broker_meets_say_what_each_has():
    case = transfers({"a": (60, (300,)), "b": (50, (200,))})
    steps = Model("documented-5.0").derive("shed.select", case).steps
    told = {step.label: step.text for step in steps}
    low = "55 x min(0.5, 0.25 / 2) = 6.875 %"
    assert told["underloaded"] == f"none: every broker has traffic, and at least {low}"
    assert told["overloaded"] == "none: no broker is over 85 % and over 55 + 25 = 80 %"


ONE, TWO = f"{NAMESPACE}/0x00000000_0x80000000", f"{NAMESPACE}/0x80000000_0xffffffff"


def uniform_cycle(high, low, bundles, **settings):
    """Return a cycle of two brokers; traffic is given in messages and MB/s."""

    def rates(messages, megabytes):
        return {"msgRateIn": messages, "msgThroughputIn": megabytes * 1e6}

    average = {
        name: {"shortTermData": rates(*one) | {"numSamples": 10}}
        for name, one in zip((ONE, TWO), bundles, strict=False)
    }
    brokers = {"a": rates(*high) | {"cpu": {"usage": 50, "limit": 100}, "bundles": [*average]}}
    brokers["b"] = rates(*low)
    case = {"strategy": "UniformLoadShedder", "settings": settings, "brokers": brokers}
    return case | {"bundles": average, "recentlyUnloaded": {}}


def test_the_amount_is_told_in_both_measures():
    """The amount is 0.2 of 10 MB/s, or 0.2 of (6692 - 960) messages; either limit is enough."""
    case = uniform_cycle((6692, 10), (960, 0), [(600, 1), (547.25, 9)])
    told = steps_of(case, "a", "documented-4.2")
    assert told[0].endswith("10 MB/s x 0.2 = 2 MB/s")
    assert told[1] == (
        "in messages 5732 msg/s x 0.2 = 1146.4 msg/s, and what goes carries 600 msg/s; only one of "
        "the two limits has to be kept"
    )
    assert told[3].startswith("goes")


def test_without_a_documented_share_half_is_told_in_both_measures():
    case = uniform_cycle((100, 10), (0, 0), [(40, 4), (60, 6)])
    case["settings"] = {
        "loadBalancerMsgRateDifferenceShedderThreshold": 50,
        "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold": 4,
    }
    assert steps_of(case, "a", "documented-3.0")[1] == (
        "in messages 100 msg/s / 2 = 50 msg/s, and what goes carries 40 msg/s"
    )


@pytest.mark.parametrize(
    ("rule", "case", "allowed"),
    [
        (
            "UNIFORM-05",
            uniform_cycle((6692, 10), (960, 0), [(600, 1), (547.25, 9)]),
            "at most 0.2 of the difference between a and b, 1146.4 msg/s or 2 MB/s; these carry "
            "1147.25 msg/s and 10 MB/s",
        ),
        (
            "UNIFORM-04",
            uniform_cycle((200, 10), (90, 1), [(110, 9), (90, 1)]),
            "less than the difference between a and b, 110 msg/s or 9 MB/s; these carry 200 msg/s "
            "and 10 MB/s",
        ),
        (
            "UNIFORM-06",
            uniform_cycle((200, 10), (90, 1), [(110, 9), (90, 1)]),
            "none of these: 0.2 of the differences, 22 msg/s and 1.8 MB/s, is less than 1000 msg/s "
            "and 2 MB/s",
        ),
        (
            "UNIFORM-02",
            uniform_cycle((100, 10), (90, 9), [(50, 5), (50, 5)]),
            "none of these: the differences, 90 msg/s to 100 msg/s and 9 MB/s to 10 MB/s, are "
            "within the thresholds",
        ),
    ],
)
def test_a_failure_gives_the_limits_and_what_was_unloaded_in_both_measures(rule, case, allowed):
    if rule == "UNIFORM-06":
        case["settings"] = {"minUnloadMessage": 1000, "minUnloadMessageThroughput": 2_000_000}
    answer = {"unload": [{"broker": "a", "bundle": one} for one in (ONE, TWO)]}
    model = Model("documented-4.2")
    evaluator = RuleEvaluator(model.defaults, model.readings)
    outcome = evaluator.judge(rule, Trial.of("shed.select", case), [answer])
    assert (outcome.word, outcome.allowed) == ("violated", allowed)


def test_no_rates_are_assumed_for_a_bundle_that_was_never_measured():
    """TransferShedder keeps a bundle without samples, and the derivation says why."""
    case = transfers({"a": (90, (100, 200)), "b": (10, (1,))})
    first = case["brokers"]["a"]["bundles"][0]
    case["bundles"].pop(first)
    said = "it was never measured; only the modular load manager assumes rates then (DATA-04)"
    assert f"stays {first} = 0 B/s, {said}" in steps_of(case, "a")
