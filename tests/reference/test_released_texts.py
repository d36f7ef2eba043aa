"""Derivations by releases say what rounding, constants, limits and boundaries decide."""

import pytest
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.reference import Model, Step, fold_steps

OWN = ["t/ns/0x00000000_0x40000000", "t/ns/0x40000000_0x80000000"]
OTHER = ["t/other/0x00000000_0x40000000", "t/other/0x40000000_0x80000000"]


def steps(profile, strategy, brokers, **settings):
    case = {"strategy": strategy, "settings": settings, "brokers": brokers, "bundles": {}}
    derived = Model(profile).derive("shed.select", case | {"recentlyUnloaded": {}})
    return [(step.label.strip(), step.text) for step in derived.steps]


def of(found, label):
    return [text for name, text in found if name == label]


def used(percent, **more):
    return {"cpu": {"usage": percent, "limit": 100}, **more}


def test_a_usage_that_is_rounded_is_also_given_exactly():
    """In single precision, 7168000 / 10240000 is less than 0.7, by which 4.0 no longer decides."""
    full = {"cpu": {"usage": 7168000, "limit": 10240000}, "bundles": OWN}
    limit = {"loadBalancerBrokerOverloadedThresholdPercentage": 70}
    found = steps("released-3.0", "OverloadShedder", {"b1": full, "b2": {}}, **limit)
    assert of(found, "usage") == ["69.999999 % of cpu", "0 % of cpu"]
    assert of(found, "rounded") == [
        "exactly 70 %; the release calculates in floating point "
        "(LocalBrokerData.getMaxResourceUsage)"
    ]
    found = steps("released-4.0", "OverloadShedder", {"b1": full, "b2": {}}, **limit)
    assert of(found, "usage") == ["70 % of cpu", "0 % of cpu"]
    assert of(found, "rounded") == []


def test_a_weighted_usage_that_is_rounded_is_also_given_exactly():
    """In single precision, 60 / 100 x 100 is a little more than 60."""
    brokers = {"b1": used(60, bundles=OWN), "b2": {}}
    limit = {"loadBalancerBrokerOverloadedThresholdPercentage": 60}
    found = steps("released-4.2", "OverloadShedder", brokers, **limit)
    assert of(found, "usage")[0] == "60.000004 % of cpu"
    assert of(found, "rounded")[0].startswith("exactly 60 %; ")
    assert "getMaxResourceUsageWithWeight" in of(found, "rounded")[0]
    found = steps("released-4.2", "ThresholdShedder", brokers)
    assert of(found, "usage")[0] == "60 % of cpu, with its weight"
    assert of(found, "rounded") == []


BUSY = {"msgRateIn": 10, "msgThroughputIn": 12e9, "bundles": OWN}


@pytest.mark.parametrize("profile", ["released-2.10", "released-3.0"])
def test_an_amount_that_no_int_holds_is_said_to_be_cut(profile):
    limit = {"loadBalancerMsgRateDifferenceShedderThreshold": 0}
    found = steps(profile, "UniformLoadShedder", {"b1": BUSY, "b2": {"bundles": OTHER}}, **limit)
    [to_move] = of(found, "to move")
    assert "12 GB/s and 1 B/s, cut at the greatest int, 2147483647: 2.15 GB/s" in to_move
    smaller = BUSY | {"msgThroughputIn": 10e9}
    found = steps(profile, "UniformLoadShedder", {"b1": smaller, "b2": {"bundles": OTHER}}, **limit)
    [to_move] = of(found, "to move")
    assert "10 GB/s and 1 B/s, in whole numbers: 2 GB/s" in to_move


@pytest.mark.parametrize(
    ("profile", "share", "least"),
    [
        ("released-2.10", "MAX_UNLOAD_PERCENTAGE", "UniformLoadShedder.MIN_UNLOAD_MESSAGE"),
        ("released-3.0", "maxUnloadPercentage", "minUnloadMessage"),
    ],
)
def test_a_release_without_the_settings_names_its_constants(profile, share, least):
    brokers = {"b1": {"msgRateIn": 100, "bundles": OWN}, "b2": {"bundles": OTHER}}
    found = steps(profile, "UniformLoadShedder", brokers)
    assert share in of(found, "share")[0]
    [why] = [one for one in of(found, "decision") if one.startswith("less than")]
    assert why.startswith(f"less than the 1000 msg/s of {least} (")


def test_the_broker_that_sheds_for_another_and_those_under_the_boundary_are_named():
    """b1, at 48 %, has no bundles; b3 is under 44.33 - 1 = 43.33 %."""
    brokers = {"b1": used(48), "b2": used(45, bundles=OWN, msgThroughputIn=3e9), "b3": used(40)}
    settings = {"loadBalancerBrokerThresholdShedderPercentage": 1}
    settings |= {"loadBalancerHistoryResourcePercentage": 0, "lowerBoundarySheddingEnabled": True}
    found = steps("released-3.0", "ThresholdShedder", brokers, **settings)
    assert ("lower boundary", "44.33 - 1 = 43.33 %: b3 is under it") in found
    assert ("relieves", "as the busiest broker with two bundles or more") in found
    assert any("half of 1 % of 3 GB/s = 15 MB/s" in one for one in of(found, "to shed"))


@pytest.mark.parametrize(
    ("namespace", "kind"),
    [("pulsar/use/b1:8080", "heartbeat"), ("sla-monitor/use/b1:8080", "SLA monitor")],
)
def test_a_namespace_that_is_never_shed_is_named_as_what_it_is(namespace, kind):
    own = f"{namespace}/0x00000000_0xffffffff"
    brokers = {"b1": used(95, bundles=[*OWN, own]), "b2": {}}
    found = steps("released-2.10", "OverloadShedder", brokers)
    [why] = [one for one in of(found, "stays") if one.startswith(own)]
    assert f"of the {kind} namespace of a broker" in why


@pytest.mark.parametrize(
    ("names", "label"),
    [
        (["b4", "b6", "b8"], "b6, b8"),
        (["b2", "b3", "b4"], "b3, b4"),
        (["b2", "b3", "b4", "b5"], "b3 to b5"),
        (["b1", "b3", "b4", "c5"], "b3, b4, c5"),
        ([f"b{2 * place}" for place in range(9)], "b2, b4, b6, …, b16 (8)"),
    ],
)
def test_only_brokers_numbered_without_a_gap_are_given_as_a_range(names, label):
    each = [step for name in names for step in (Step(name, ""), Step("  usage", "0 %"))]
    assert [step.label for step in fold_steps(each)] == [names[0], "  usage", label]


def test_consecutive_equal_steps_are_shown_once_with_their_number():
    mixed = Step("  history", "15 x 0.9 + 15 x 0.1 = 15 %")
    other = Step("  history", "15 x 0.9 + 40 x 0.1 = 17.5 %")
    shown = list(fold_steps([Step("b1", ""), mixed, mixed, mixed, other, mixed]))
    assert [step.text for step in shown] == [
        "",
        "15 x 0.9 + 15 x 0.1 = 15 %, 3 times in a row",
        other.text,
        mixed.text,
    ]


def test_a_threshold_of_one_is_one_point():
    settings = {"loadBalancerBrokerThresholdShedderPercentage": 1}
    brokers = {"b1": used(48), "b2": used(40)}
    found = steps("released-3.0", "ThresholdShedder", brokers, **settings)
    [text] = dict.fromkeys(of(found, "threshold"))
    assert text.startswith("1 point (")


def test_bundles_of_which_only_the_leader_has_data_are_counted():
    case = {"brokers": {"b1": {"bundles": OWN}, "b2": {}}, "bundles": {OWN[0]: {}, OTHER[0]: {}}}
    assert Trial.of("shed.select", case).size == "2 brokers, 3 bundles"
