"""Branches of released code that no draws for documented rules reach, worked out by hand."""

import pytest
from pulsar_conformance.reference import Model

IMPL = "org.apache.pulsar.broker.loadbalance.impl."
EXTENSIBLE = "org.apache.pulsar.broker.loadbalance.extensions.ExtensibleLoadManagerImpl"
LATER = ("released-3.0", "released-4.0", "released-4.2", "released-5.0")
RELEASED = ("released-2.4", "released-2.10", *LATER)
MB = 1_000_000


def manager(profile, conf=None, dynamic=None):
    return Model(profile).answer("manager.choose", {"conf": conf, "dynamic": dynamic})


@pytest.mark.parametrize("profile", LATER)
def test_the_class_of_the_extensible_manager_is_found_where_it_lies(profile):
    assert manager(profile, EXTENSIBLE) == {"manager": "extensible"}
    assert manager(profile, None, EXTENSIBLE) == {"manager": "extensible"}


@pytest.mark.parametrize("profile", RELEASED)
def test_a_dynamic_class_is_stored_if_it_exists_whatever_it_is(profile):
    answer = manager(profile, None, IMPL + "OverloadShedder")
    starts = profile not in ("released-4.2", "released-5.0")
    assert answer == {"manager": "simple"} if starts else "refused" in answer
    assert "refused" in manager(profile, None, "org.example.Nothing")


def usages(profile, settings=(), **broker):
    case = {"settings": dict(settings), "weighted": True, "broker": broker}
    return Model(profile).answer("usage.max", case)


def test_weights_that_a_case_leaves_out_are_those_of_the_release():
    full = {"usage": 100, "limit": 100}
    assert usages("released-2.10", cpu=full) == {"percent": 100, "resource": "cpu"}
    assert usages("released-4.0", directMemory=full) == {"percent": 0, "resource": None}


def test_a_weight_of_bandwidth_counts_by_its_newer_name_first():
    given = {
        "loadBalancerBandwithInResourceWeight": 2,
        "loadBalancerBandwidthInResourceWeight": 0.5,
    }
    half = {"usage": 50, "limit": 100}
    assert usages("released-3.0", given, bandwidthIn=half)["percent"] == 100
    assert usages("released-4.2", given, bandwidthIn=half)["percent"] == 25


def split(profile, algorithm, bundle="0x00000000_0x00000004", topics=(), positions=(), **more):
    case = {"bundle": bundle, "algorithm": algorithm, "by": "admin", "topics": list(topics)}
    case |= {"settings": {}, "positions": list(positions), **more}
    return Model(profile).answer("bundles.split", case)


TOPICS = "topic_count_equally_divide"
POSITIONS = "specified_positions_divide"


def test_a_bundle_with_one_topic_is_halved_by_range_in_2_10_alone():
    halves = ["0x00000000_0x00000002", "0x00000002_0x00000004"]
    assert split("released-2.10", TOPICS, topics=["persistent://t/ns/a"]) == {"bundles": halves}
    whole = {"bundles": ["0x00000000_0x00000004"]}
    assert split("released-3.0", TOPICS, topics=["persistent://t/ns/a"]) == whole


@pytest.mark.parametrize("profile", LATER)
def test_positions_have_to_be_given(profile):
    assert "no positions" in split(profile, POSITIONS)["refused"]


@pytest.mark.parametrize("profile", LATER)
def test_a_cut_at_an_edge_is_refused_and_nothing_to_cut_is_not(profile):
    name = "persistent://t/ns/a"
    assert "edge" in split(profile, TOPICS, "0x00000000_0x00000004", [name, name])["refused"]
    narrow = "0x00000001_0x00000002"
    assert split(profile, TOPICS, narrow) == {"bundles": [narrow]}
    assert "one hash" in split(profile, "range_equally_divide", narrow)["refused"]


@pytest.mark.parametrize("profile", RELEASED)
def test_a_namespace_has_one_bundle_at_least(profile):
    for count in (0, -1):
        settings = {"defaultNumberOfNamespaceBundles": count}
        case = {"bundles": None, "settings": settings}
        assert "refused" in Model(profile).answer("bundles.create", case)


def shed(profile, strategy, **settings):
    """Return the unloads of a broker at 90 % of CPU with three bundles; the other is at 10 %."""
    names = [f"t/ns/0x{n}0000000_0x{n + 1}0000000" for n in range(3)]
    average = {"msgThroughputIn": 10 * MB, "numSamples": 1, "maxSamples": 10}
    brokers = {
        "b1": {"cpu": {"usage": 90, "limit": 100}, "msgThroughputIn": 300 * MB, "bundles": names},
        "b2": {"cpu": {"usage": 10, "limit": 100}, "bundles": []},
    }
    bundles = {name: {"shortTermData": average} for name in names}
    case = {"strategy": strategy, "settings": settings, "brokers": brokers, "bundles": bundles}
    answer = Model(profile).answer("shed.select", {**case, "recentlyUnloaded": {}})
    return [one["bundle"] for one in answer["unload"]] if "unload" in answer else answer


@pytest.mark.parametrize("profile", RELEASED)
def test_without_a_balancer_nothing_is_shed(profile):
    assert shed(profile, "OverloadShedder")
    assert shed(profile, "OverloadShedder", loadBalancerEnabled=False) == []


@pytest.mark.parametrize("profile", LATER)
def test_the_average_shedder_waits_for_its_count_and_moves_a_share(profile):
    assert shed(profile, "AvgShedder") == []
    assert len(shed(profile, "AvgShedder", loadBalancerAvgShedderHitCountHighThreshold=1)) == 3


def test_excluded_namespaces_are_never_shed_since_4_2():
    excluded = {"loadBalancerSheddingExcludedNamespaces": "t/other, t/ns"}
    assert shed("released-4.0", "OverloadShedder", **excluded)
    assert shed("released-4.2", "OverloadShedder", **excluded) == []


def test_a_setting_that_is_no_number_keeps_the_release_from_starting():
    threshold = {"loadBalancerBrokerOverloadedThresholdPercentage": "high"}
    assert "cannot be 'high'" in shed("released-3.0", "OverloadShedder", **threshold)["failed"]
    as_text = {"loadBalancerBrokerOverloadedThresholdPercentage": " 95 "}
    assert shed("released-3.0", "OverloadShedder", **as_text) == []


def topics_of_a_simple_report(profile, number):
    report = {"underLoaded": False, "numTopics": number}
    return "refused" not in Model(profile).answer("report.read", {"report": report})


@pytest.mark.parametrize("profile", RELEASED)
def test_a_simple_report_counts_more_than_two_to_the_31_topics_since_4_0(profile):
    assert topics_of_a_simple_report(profile, 2**31 - 1)
    since = profile in ("released-4.0", "released-4.2", "released-5.0")
    assert topics_of_a_simple_report(profile, 2**31) == since


def cycles_in_which_b_leaves(profile):
    """Return the brokers that shed in the last of three cycles; b is away in the second.

    The history counts half, so a is at 10 % and c at 25 %. b is at 50 %, over 28.3 + 10 %. If the
    first cycle counts as well, b is at 30 %, below 21.7 + 10 %.
    """
    both = {
        "msgThroughputIn": 5 * MB,
        "msgThroughputOut": 5 * MB,
        "numSamples": 1,
        "maxSamples": 10,
    }
    traffic = {"msgThroughputIn": 100 * MB, "msgThroughputOut": 100 * MB}
    ranges = ["0x00000000_0x40000000", "0x40000000_0x80000000"]

    def broker(name, percent):
        names = [f"t/{name}/{one}" for one in ranges]
        return {"cpu": {"usage": percent, "limit": 100}, **traffic, "bundles": names}

    def cycle(**usages):
        brokers = {name: broker(name, percent) for name, percent in usages.items()}
        owned = [bundle for one in brokers.values() for bundle in one["bundles"]]
        return {
            "minutes": 1,
            "brokers": brokers,
            "bundles": {bundle: {"shortTermData": both} for bundle in owned},
            "recentlyUnloaded": {},
        }

    case = {
        "strategy": "ThresholdShedder",
        "settings": {"loadBalancerHistoryResourcePercentage": 0.5},
        "cycles": [cycle(a=10, b=10, c=10), cycle(a=10, c=10), cycle(a=10, b=50, c=40)],
    }
    *_, last = Model(profile).answer("shed.cycles", case)["cycles"]
    return [one["broker"] for one in last["unload"]]


@pytest.mark.parametrize("profile", RELEASED[1:])
def test_threshold_shedder_forgets_a_broker_that_leaves_since_3_0(profile):
    sheds = set(cycles_in_which_b_leaves(profile))
    assert sheds == ({"b"} if profile in LATER else set())


WEIGHTS = {
    f"loadBalancer{name}ResourceWeight": 0
    for name in ("CPU", "Memory", "DirectMemory", "BandwithIn", "BandwithOut")
}


def derive_with_history(profile, **weights):
    """Return the derivation of a cycle in which b1, at 50 %, was idle, and b2, idle, was full."""
    settings = WEIGHTS | {"loadBalancerBundleUnloadMinThroughputThreshold": 0}
    settings |= {f"loadBalancer{name}ResourceWeight": one for name, one in weights.items()}
    half = {"usage": 50, "limit": 100}
    busy = {"directMemory": half, "memory": half, "usageHistory": [0]}
    busy["bundles"] = ["t/ns/0x00000000_0x80000000", "t/ns/0x80000000_0xffffffff"]
    case = {"strategy": "ThresholdShedder", "settings": settings, "bundles": {}}
    case |= {"brokers": {"b1": busy, "b2": {"usageHistory": [100]}}, "recentlyUnloaded": {}}
    derived = Model(profile).derive("shed.select", case)
    return [(step.label.strip(), step.text) for step in derived.steps]


@pytest.mark.parametrize("profile", RELEASED[1:])
def test_a_history_counts_if_direct_memory_alone_has_a_weight(profile):
    steps = derive_with_history(profile, DirectMemory=0.5)
    assert ("history", "100 x 0.9 + 0 x 0.1 = 90 %") in steps
    assert ("average", "46.25 % of all brokers") in steps  # The mean of 2.5 and 90 %.


def test_a_history_counts_if_heap_memory_alone_has_a_weight_and_counts():
    assert ("history", "100 x 0.9 + 0 x 0.1 = 90 %") in derive_with_history(
        "released-2.10", Memory=1
    )
    left_out = ("history", "left out, as no resource that counts has a weight above 0")
    assert left_out not in derive_with_history("released-2.10", Memory=1)
    assert derive_with_history("released-3.0", Memory=1).count(left_out) == 2
