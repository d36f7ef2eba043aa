"""A strategy of a release can be named by its class, short or full; for any other name, a message
gives the reason.
"""

import importlib.util
import shutil

import pytest
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.adapters.names import connect

NEEDED = ("java", "mvn")
HERE = all(map(shutil.which, NEEDED)) and importlib.util.find_spec("jpype") is not None
pytestmark = [
    pytest.mark.pulsar,
    pytest.mark.skipif(not HERE, reason="needs Java, Maven and the extra pulsar"),
]

PROFILE = "documented-3.0"
IMPL = "org.apache.pulsar.broker.loadbalance.impl."
LEFT, RIGHT = "t/ns/0x00000000_0x80000000", "t/ns/0x80000000_0xffffffff"
AT_ONCE = {"loadBalancerAvgShedderHitCountHighThreshold": 1}
PLACING = "loadBalancerLoadPlacementStrategy"
DOCUMENTED = ("OverloadShedder", "ThresholdShedder", "UniformLoadShedder")


@pytest.fixture(scope="module", params=["3.0.7", "4.2.4"])
def release(request):
    with connect(f"pulsar:{request.param}", PROFILE, {}) as connection:
        yield connection


@pytest.fixture(scope="module", params=["2.10.5"])
def older(request):
    with connect(f"pulsar:{request.param}", PROFILE, {}) as connection:
        yield connection


def carrying(messages):
    average = {"msgRateIn": messages, "msgThroughputIn": 1000 * messages, "numSamples": 10}
    return {"shortTermData": average, "longTermData": average}


def cycle(strategy, settings=AT_ONCE):
    """Return a cycle with a broker at 95 % and 3100 messages per second, and an idle broker."""
    busy = {"cpu": {"usage": 95, "limit": 100}, "msgRateIn": 3100, "bundles": [LEFT, RIGHT]}
    return {
        "strategy": strategy,
        "settings": settings,
        "brokers": {"b1": busy, "b2": {}},
        "bundles": {LEFT: carrying(2500), RIGHT: carrying(600)},
        "recentlyUnloaded": {},
    }


def placement(strategy):
    return {
        "settings": {PLACING: strategy},
        "bundle": LEFT,
        "candidates": ["b1", "b2"],
        "brokers": {"b1": {"cpu": {"usage": 60, "limit": 100}, "bundles": [RIGHT]}, "b2": {}},
        "bundles": {LEFT: carrying(2500), RIGHT: carrying(600)},
        "preallocated": {},
    }


def unsupported(connection, operation, case):
    [answer] = connection.ask(operation, [case])
    return answer["unsupported"]


@pytest.mark.parametrize("name", ["AvgShedder", f"{IMPL}AvgShedder"])
def test_the_average_shedder_takes_a_fifth_of_the_difference(release, name):
    """0.2 (3100 - 0) = 620 messages per second: a bundle of 2500 is too large, one of 600 fits."""
    assert "AvgShedder" in release.hello.strategies
    [answer] = release.ask("shed.select", [cycle(name)])
    assert answer["unload"] == [{"broker": "b1", "bundle": RIGHT}]


def test_the_average_shedder_waits_for_its_second_hit(release):
    [answer] = release.ask("shed.select", [cycle("AvgShedder", {})])
    assert answer["unload"] == []


def test_a_release_lists_its_own_strategies(older):
    assert older.hello.strategies == DOCUMENTED
    with connect("pulsar:2.4.2", "documented-2.4", {}) as oldest:
        assert oldest.hello.strategies == ("OverloadShedder",)


def test_a_release_without_the_class_says_which_it_has(older):
    said = unsupported(older, "shed.select", cycle("AvgShedder"))
    assert said.startswith("there is no class AvgShedder; Pulsar 2.10.5 has OverloadShedder, ")


def test_a_misspelt_name_finds_the_nearest(release):
    said = unsupported(release, "shed.select", cycle("AvgSheder"))
    assert "there is no class AvgSheder (did you mean AvgShedder?)" in said
    said = unsupported(release, "place.select", placement("LeastLongTermMsgRate"))
    assert "(did you mean LeastLongTermMessageRate?)" in said


def test_a_class_that_decides_nothing_is_not_replaced_by_another(older):
    """The adapter refuses a class in place of which the release would run OverloadShedder."""
    said = unsupported(older, "shed.select", cycle("DeviationShedder"))
    assert said == "DeviationShedder of Pulsar 2.10.5 is abstract, so it decides nothing"


@pytest.mark.parametrize("name", ["TransferShedder", "extensions.scheduler.TransferShedder"])
def test_the_strategy_of_the_extensible_manager_is_asked_by_its_name(release, name):
    """By default, a single cycle is not enough to unload anything."""
    full = name.replace("extensions", f"{IMPL[:-5]}extensions")
    [answer] = release.ask("shed.select", [cycle(full)])
    assert answer == {"unload": []}


@pytest.mark.parametrize(
    ("name", "broker"),
    [("LeastLongTermMessageRate", "b2"), ("LeastResourceUsageWithWeight", "b2")],
)
def test_a_placement_strategy_is_named_by_the_setting(release, name, broker):
    for given in (name, f"{IMPL}{name}"):
        asked = placement(given)
        assert release.ask("place.select", [asked] * 2) == [{"broker": broker}] * 2


def test_a_strategy_that_plans_destinations_follows_the_plan_of_a_case(release):
    """Without a plan, the strategy draws any broker, possibly the overloaded one."""
    case = placement("AvgShedder")
    planned = {**case, "plan": {"from": "b1", "to": "b2", "attempt": "running"}}
    assert release.ask("place.select", [planned] * 4) == [{"broker": "b2"}] * 4
    drawn = release.ask("place.select", [case] * 4)
    assert {one["broker"] for one in drawn} == {"b1", "b2"}


def test_the_average_shedder_names_the_destination_that_it_plans(release):
    case = cycle("AvgShedder", {**AT_ONCE, PLACING: f"{IMPL}AvgShedder"})
    [answer] = release.ask("shed.select", [case])
    assert answer["unload"] == [{"broker": "b1", "bundle": RIGHT, "to": "b2"}]


def test_a_strategy_that_plans_destinations_is_shedder_and_placement_at_once(release):
    """A load manager does not start if only one of the two settings names the strategy."""
    case = {
        **placement("AvgShedder"),
        "domains": {},
        "groups": {},
        "isolation": [],
        "versions": {},
    }
    del case["candidates"]
    [answer] = release.ask("place.broker", [case])
    assert answer["broker"] in answer["candidates"]


def test_a_shedder_is_no_placement(release):
    said = unsupported(release, "place.select", placement("OverloadShedder"))
    assert "implements no org.apache.pulsar.broker.loadbalance.ModularLoadManagerStrategy" in said


def test_the_adapters_name_takes_a_short_name_of_the_releases_own():
    with connect("pulsar:3.0.7,strategy=AvgShedder", PROFILE, {}) as connection:
        assert connection.hello.name == "pulsar+AvgShedder"
        assert connection.hello.operations == (
            "shed.select",
            "shed.cycles",
            "place.select",
            "place.broker",
        )
        [answer] = connection.ask("shed.select", [cycle(None)])
        assert answer["unload"] == [{"broker": "b1", "bundle": RIGHT}]


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("3.0.7,strategy=AvgSheder", "no class AvgSheder (did you mean AvgShedder?)"),
        ("2.10.5,strategy=AvgShedder", "there is no class AvgShedder; Pulsar 2.10.5 has"),
        (
            "3.0.7,strategy=TransferShedder",
            "TransferShedder is a strategy of the extensible manager",
        ),
        ("3.0.7,strategy=DeviationShedder", "is abstract, so it decides nothing"),
    ],
)
def test_a_name_that_cannot_be_asked_is_reported_when_it_starts(target, said):
    with pytest.raises(AdapterError) as told, connect(f"pulsar:{target}", PROFILE, {}):
        pass
    assert said in str(told.value)
    assert "Traceback" not in str(told.value)


def test_of_equal_bundles_the_oldest_release_takes_the_first_of_the_leaders_map():
    """The bundles are added one by one to a map of 16 places, where they have the places 3 and 9.

    In a map that is created for two entries, with 4 places, they would have the places 3 and 1, the
    reverse order.
    """
    first, last = "t/ns/0x00000000_0x10000000", "t/ns/0x50000000_0x60000000"
    busy = {"cpu": {"usage": 95, "limit": 100}, "bundles": [last, first]}
    case = cycle("OverloadShedder", {"loadBalancerBrokerOverloadedThresholdPercentage": 85})
    case |= {"brokers": {"b1": busy, "b2": {}}, "bundles": {}}
    with connect("pulsar:2.4.2", "documented-2.4", {}) as oldest:
        [answer] = oldest.ask("shed.select", [case])
    assert answer["unload"] == [{"broker": "b1", "bundle": first}]


def test_earlier_usage_counts_where_direct_memory_alone_has_a_weight(release):
    """b1 was at 80 % and b2 idle; with a history share of 1, only this earlier usage counts."""
    names = ("CPU", "BandwithIn", "BandwithOut", "BandwidthIn", "BandwidthOut")
    weights = {f"loadBalancer{name}ResourceWeight": 0 for name in names}
    settings = {**weights, "loadBalancerHistoryResourcePercentage": 1}
    case = cycle("ThresholdShedder", settings)
    case["brokers"]["b1"] |= {"usageHistory": [80], "msgThroughputIn": 1e6}
    case["brokers"]["b2"] = {"usageHistory": [0]}
    [answer] = release.ask("shed.select", [case])
    assert {one["broker"] for one in answer["unload"]} == {"b1"}


def test_earlier_usage_counts_where_heap_memory_alone_has_a_weight(older):
    """The case of direct memory, in a release that counts heap memory."""
    names = ("CPU", "DirectMemory", "BandwithIn", "BandwithOut")
    weights = {f"loadBalancer{name}ResourceWeight": 0 for name in names}
    settings = {**weights, "loadBalancerHistoryResourcePercentage": 1}
    case = cycle("ThresholdShedder", settings)
    case["brokers"]["b1"] |= {"usageHistory": [80], "msgThroughputIn": 1e6}
    case["brokers"]["b2"] = {"usageHistory": [0]}
    [answer] = older.ask("shed.select", [case])
    assert {one["broker"] for one in answer["unload"]} == {"b1"}
