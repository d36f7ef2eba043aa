"""The numbers that determine a decision are printed, whatever the decision is."""

import json

import pytest
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.engine.report import settings_in_force
from pulsar_conformance.reference import Model

TOPIC = "persistent://shop/eu/"
BUNDLES = ["a/b/0x00000000_0x80000000", "a/b/0x80000000_0xffffffff"]
AVERAGE = {"msgRateIn": 100, "msgThroughputIn": 20e6, "numSamples": 10}
LEAST = "org.apache.pulsar.broker.loadbalance.impl.LeastResourceUsageWithWeight"


def usage(percent, of="cpu"):
    return {of: {"usage": percent, "limit": 100}}


@pytest.mark.parametrize(
    ("usages", "boundary"),
    [
        ((10, 0), "5 - 10 = -5 %: no broker is under it"),
        (
            (40, 40, 0),
            "26.67 - 15 = 11.67 %: b2 is under it; no broker with two bundles is over it",
        ),
    ],
)
def test_a_release_says_why_an_idle_broker_relieves_none(explain, usages, boundary):
    """The reason is that of ThresholdShedder.tryLowerBoundaryShedding of 3.0.7, from line 191."""
    brokers = {
        f"b{place}": {"cpu": {"usage": usage, "limit": 100}} for place, usage in enumerate(usages)
    }
    threshold = 10 if len(usages) == 2 else 15
    settings = {
        "loadBalancerBrokerThresholdShedderPercentage": threshold,
        "loadBalancerHistoryResourcePercentage": 0,
        "lowerBoundarySheddingEnabled": True,
    }
    case = {"strategy": "ThresholdShedder", "settings": settings, "brokers": brokers}
    case |= {"bundles": {}, "recentlyUnloaded": {}}
    _, out, _ = explain({"ask": "shed.select", "case": case}, "--judge-by", "released-3.0")
    assert f"lower boundary {boundary}" in " ".join(out.split())
    settings["lowerBoundarySheddingEnabled"] = False
    _, out, _ = explain({"ask": "shed.select", "case": case}, "--judge-by", "released-3.0")
    assert "lower boundary" not in out


def test_no_messages_are_less_than_the_single_one_as_which_they_count(explain):
    """UniformLoadShedder of 3.0.7, lines 103-110, computes (0.2 - 1) x 100 / 1 = -80 %."""
    brokers = {"b0": usage(40) | {"bundles": BUNDLES, "msgRateIn": 0.2}, "b1": usage(10)}
    case = {"strategy": "UniformLoadShedder", "brokers": brokers, "bundles": {}}
    case |= {"settings": {}, "recentlyUnloaded": {}}
    _, out, _ = explain({"ask": "shed.select", "case": case}, "--judge-by", "released-3.0")
    assert "80 % less: not over 50" in " ".join(out.split())


def test_a_broker_that_is_least_and_most_loaded_is_named_once(explain):
    """In UniformLoadShedder of 3.0.7, lines 85-98, one of two equal brokers gets both roles."""
    brokers = {"b0": usage(40) | {"bundles": BUNDLES}, "b1": usage(10)}
    case = {"strategy": "UniformLoadShedder", "brokers": brokers, "bundles": {}}
    case |= {"settings": {}, "recentlyUnloaded": {}}
    _, out, _ = explain({"ask": "shed.select", "case": case}, "--judge-by", "released-3.0")
    assert "(0 counts as 1), is both the least and the most loaded" in " ".join(out.split())


def with_traffic(throughput):
    """Return a question about a broker 25 points over the target of ThresholdShedder."""
    brokers = {"b0": usage(40), "b1": usage(10), "b2": usage(10)}
    brokers["b0"] |= {"bundles": BUNDLES, "msgThroughputIn": throughput, "msgRateIn": 400}
    averages = {one: {"shortTermData": AVERAGE, "longTermData": AVERAGE} for one in BUNDLES}
    case = {"strategy": "ThresholdShedder", "brokers": brokers, "bundles": averages}
    return {"ask": "shed.select", "case": {**case, "settings": {}, "recentlyUnloaded": {}}}


def test_the_smallest_amount_to_unload_is_reported_with_the_sum(explain):
    """25 % of 40 MB/s is not more than the minimum of 10 MB/s (load-balance-4.1)."""
    _, out, _ = explain(with_traffic(40e6), "--judge-by", "documented-4.0")
    told = " ".join(out.split())
    assert "40 - 15 = 25 points: 25 % of 40 MB/s = 10 MB/s" in told
    assert (
        "b0 would shed no more than 10 MB/s (loadBalancerBundleUnloadMinThroughputThreshold)"
    ) in told


def test_an_amount_over_the_minimum_is_compared_with_it(explain):
    """25 % of 44 MB/s are 11 MB/s, the documented minimum is 10 MB/s; 3.0 documents none."""
    minimum = "over 10 MB/s (loadBalancerBundleUnloadMinThroughputThreshold)"
    question = with_traffic(44e6)
    _, out, _ = explain(question, "--judge-by", "documented-4.0")
    assert f"25 % of 44 MB/s = 11 MB/s (10.5 MiB/s), {minimum}" in " ".join(out.split())
    by_messages = ("--reading", "shed-measure=message-rate")
    _, out, _ = explain(question, "--judge-by", "documented-4.0", *by_messages)
    assert f"25 % of 400 msg/s = 100 msg/s, with 11 MB/s, {minimum}" in " ".join(out.split())
    setting = ("--setting", "loadBalancerBrokerThresholdShedderPercentage=10")
    _, out, _ = explain(question, "--judge-by", "documented-3.0", *setting)
    assert "25 % of 44 MB/s = 11 MB/s" in " ".join(out.split())
    assert "over 10 MB/s" not in out


def test_for_an_idle_broker_too(explain):
    """With ten brokers at 80 % and one at 0 %, 12.27 % of 80 MB/s is less than 10 MB/s."""
    brokers = {f"b{place}": usage(80) for place in range(10)} | {"idle": usage(0)}
    brokers["b3"] |= {"bundles": BUNDLES, "msgThroughputIn": 80e6}
    averages = {one: {"shortTermData": AVERAGE, "longTermData": AVERAGE} for one in BUNDLES}
    case = {"strategy": "ThresholdShedder", "brokers": brokers, "bundles": averages}
    case |= {"settings": {"lowerBoundarySheddingEnabled": True}, "recentlyUnloaded": {}}
    _, out, _ = explain({"ask": "shed.select", "case": case}, "--judge-by", "documented-4.0")
    told = " ".join(out.split())
    assert "12.27 % of 80 MB/s = 9.82 MB/s" in told
    assert "b3 is below 82.73 %, and for idle would shed no more than 10 MB/s" in told


@pytest.mark.parametrize("profile", ["released-3.0", "released-4.0"])
@pytest.mark.parametrize(
    ("weight", "figures", "decision"),
    [
        (0.3, ("21 % of directMemory", "30.5 %", "30.5 - 10 = 20.5 %"), "b1 or b2, drawn"),
        (1.0, ("70 % of directMemory", "55 %", "55 - 10 = 45 %"), "b1"),
    ],
)
def test_placement_by_weighted_usage_shows_the_limit_and_all_who_are_drawn(
    explain, profile, weight, figures, decision
):
    """LeastResourceUsageWithWeight.getMaxResourceUsageWithWeight and selectBroker of 3.0.7."""
    settings = {
        "loadBalancerLoadPlacementStrategy": LEAST,
        "loadBalancerDirectMemoryResourceWeight": weight,
        "loadBalancerCPUResourceWeight": 1.0,
    }
    brokers = {"b1": usage(40), "b2": usage(70, "directMemory")}
    case = {"settings": settings, "bundle": BUNDLES[0], "brokers": brokers}
    case |= {"candidates": ["b1", "b2"], "bundles": {}, "preallocated": {}}
    _, out, _ = explain({"ask": "place.select", "case": case}, "--judge-by", profile)
    told = " ".join(out.split())
    assert all(one in told for one in figures)
    assert f"decision {decision}:" in told
    assert f"answer broker {decision}" in told


def test_a_broker_that_would_relieve_an_idle_one_is_kept_by_the_method_for_it(explain):
    """Half of 10 % of 40 MB/s is below the minimum (3.0.7, tryLowerBoundaryShedding, line 205)."""
    brokers = {f"b{place}": usage(50) for place in range(5)} | {"idle": usage(20)}
    brokers["b0"] |= {"bundles": BUNDLES, "msgThroughputIn": 40e6}
    averages = {one: {"shortTermData": AVERAGE, "longTermData": AVERAGE} for one in BUNDLES}
    settings = {"lowerBoundarySheddingEnabled": True}
    settings["loadBalancerHistoryResourcePercentage"] = 0
    case = {"strategy": "ThresholdShedder", "settings": settings, "brokers": brokers}
    case |= {"bundles": averages, "recentlyUnloaded": {}}
    _, out, _ = explain({"ask": "shed.select", "case": case}, "--judge-by", "released-3.0")
    floor = "MinThroughputThreshold (ThresholdShedder.tryLowerBoundaryShedding): it keeps all"
    assert floor in " ".join(out.split())


def test_a_bundle_without_traffic_stays_for_that_reason(explain):
    """AvgShedder.selectBundleForUnloading of 4.2.4: traffic > 0 && traffic <= what is left."""
    bundles = [f"a/b/0x{n}0000000_0x{n + 1}0000000" for n in range(3)]
    rates = {bundles[0]: 9000, bundles[1]: 1000, bundles[2]: 0}
    frames = ("shortTermData", "longTermData")
    averages = {
        one: {frame: {"msgRateIn": rate, "numSamples": 10} for frame in frames}
        for one, rate in rates.items()
    }
    busy = {**usage(90), "bundles": bundles, "msgRateIn": 10000}
    settings = {"loadBalancerAvgShedderHitCountHighThreshold": 1}
    case = {"strategy": "AvgShedder", "settings": settings, "brokers": {"b0": busy, "b1": usage(1)}}
    case |= {"bundles": averages, "recentlyUnloaded": {}}
    _, out, _ = explain({"ask": "shed.select", "case": case}, "--judge-by", "released-4.2")
    told = " ".join(out.split())
    assert f"{bundles[0]} = 9000 msg/s, more than is left" in told
    assert f"goes {bundles[1]} = 1000 msg/s" in told
    assert f"{bundles[2]} = 0 msg/s, it carries nothing" in told


def test_a_difference_at_a_threshold_is_reported_and_so_is_what_would_have_counted(explain):
    """A difference of 25 points does not exceed a low threshold of 25, even if no hit is needed."""
    case = {
        "strategy": "AvgShedder",
        "settings": {
            "loadBalancerAvgShedderLowThreshold": 25,
            "loadBalancerAvgShedderHitCountLowThreshold": 0,
        },
        "cycles": [
            {
                "minutes": 0,
                "brokers": {
                    name: {"cpu": {"usage": usage, "limit": 100}, "bundles": []}
                    for name, usage in (("b1", 75), ("b2", 50))
                },
                "bundles": {},
                "recentlyUnloaded": {},
            }
        ],
    }
    _, out, _ = explain(
        json.dumps({"ask": "shed.cycles", "case": case}), "--judge-by", "documented-4.2"
    )
    assert "hits      none: the difference is not over the low threshold of 25" in out
    assert "in no pair over a threshold" in out
    assert "in 0 cycles in a row" not in out
    in_force = list(settings_in_force("documented-4.2", {}, Trial.of("shed.cycles", case)))
    assert "loadBalancerAvgShedderHitCountLowThreshold=0 (case)" in in_force
    case["settings"]["loadBalancerAvgShedderLowThreshold"] = 24
    _, out, _ = explain(
        json.dumps({"ask": "shed.cycles", "case": case}), "--judge-by", "documented-4.2"
    )
    assert "over the low threshold of 24 in 1 cycle in a row, 0 needed" in out


@pytest.mark.parametrize("boundary", [True, False])
def test_a_second_smoothing_of_a_cycle_names_its_reason_and_method(explain, boundary):
    """ThresholdShedder of 3.0.7: tryLowerBoundaryShedding calls getBrokerAvgUsage once more."""
    brokers = {"b0": usage(40) | {"usageHistory": [20]}, "b1": usage(40) | {"usageHistory": [40]}}
    settings = {
        "loadBalancerHistoryResourcePercentage": 0.5,
        "lowerBoundarySheddingEnabled": boundary,
    }
    case = {"strategy": "ThresholdShedder", "settings": settings, "brokers": brokers}
    case |= {"bundles": {}, "recentlyUnloaded": {}}
    _, out, _ = explain(
        {"ask": "shed.select", "case": case}, "--judge-by", "released-3.0", "--broker", "b0"
    )
    why = ", again as no broker sheds an excess (ThresholdShedder.tryLowerBoundaryShedding)"
    told = " ".join(out.split())
    once = "20 x 0.5 + 40 x 0.5 = 30 %"
    lines = [f"20 x 0.5 + 20 x 0.5 = 20 %{why}", once, f"30 x 0.5 + 40 x 0.5 = 35 %{why}"]
    assert (" history ".join(lines) in told) is boundary
    assert once in told
    assert boundary is (why in told)


def test_a_split_tells_producers_from_consumers(capsys):
    assert main(["explain", "split-1001-producers-or-consumers"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    for kind in ("producers", "consumers"):
        assert f"split: 1001 {kind} > 1000 (loadBalancerNamespaceBundleMaxSessions)" in told
        assert f"sessions 1000 {kind}, at most 1000" in told
    assert main(["explain", "split-1001-sessions"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "split: 600 producers + 401 consumers = 1001 > 1000" in told


def test_a_bundle_that_is_not_split_comes_with_its_figures_and_limits(capsys):
    """A short derivation has them, too, but not those of a bundle whose excess is given."""
    quiet, busy = BUNDLES
    stats = {quiet: {"topics": 999, "producerCount": 2, "consumerCount": 3}}
    stats[busy] = {"topics": 1001}
    case = {
        "settings": {},
        "leader": True,
        "brokers": {"b1": {"bundles": [*stats], "lastStats": stats}, "b2": {"bundles": []}},
        "bundles": {},
        "namespaceBundles": {"a/b": 2},
    }
    for profile in ("documented-3.0", "released-3.0", "released-4.2"):
        derived = Model(profile).derive("bundles.split_candidates", case)
        stays, goes = (
            " ".join(" ".join(derived.lines()).partition(one)[2].partition("a/b/")[0].split())
            for one in (quiet, busy)
        )
        assert stays.startswith("stays whole: nothing is exceeded topics 999, at most 1000")
        assert "sessions 2 producers + 3 consumers = 5, at most 1000" in stays
        assert "at most 30000 msg/s bandwidth" in stays
        assert goes.startswith("split: 1001 > 1000 (loadBalancerNamespaceBundleMaxTopics)")
        assert "at most" not in goes


@pytest.mark.parametrize(
    ("loads", "decision"),
    [
        (
            {f"{TOPIC}a": 500, f"{TOPIC}b": 550},
            "0 B/s together, of which neither is 10 % over its limit",
        ),
        ({f"{TOPIC}a": 5000}, "a single topic cannot be divided"),
    ],
)
def test_a_bundle_that_is_not_cut_by_traffic_says_why(explain, loads, decision):
    case = {
        "bundle": "0x00000000_0xffffffff",
        "algorithm": "flow_or_qps_equally_divide",
        "by": "admin",
        "settings": {"loadBalancerNamespaceBundleMaxMsgRate": 1000},
        "topics": [*loads],
        "positions": [],
        "topicLoads": {topic: {"msgRateIn": rate} for topic, rate in loads.items()},
    }
    _, out, _ = explain({"ask": "bundles.split", "case": case}, "--judge-by", "documented-5.0")
    assert f"{decision}: the bundle stays whole" in " ".join(out.split())
