"""The arithmetic of a cycle in which several brokers report the same bundle."""

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.audit.verdicts.arithmetic import (
    arithmetic_lines,
    contested_bundles,
    difference_from_recorded,
)
from pulsar_conformance.conformance.explain.focus import Focus

ONE, TWO, THREE = (
    f"shop/ns/0x{start:08x}_0x{start + 0x10000000:08x}" for start in (0, 0x10000000, 0x20000000)
)
MEGABYTE = 1_000_000
RATES = ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")


def report(usage, *bundles):
    return {"cpu": {"usage": usage, "limit": 100}, "msgThroughputIn": 1e8, "bundles": [*bundles]}


def cycle_of(brokers):
    data = dict.fromkeys(RATES, 0.0) | {"msgThroughputIn": 40.0 * MEGABYTE, "numSamples": 5}
    names = {bundle for one in brokers.values() for bundle in one["bundles"]}
    return {
        "brokers": brokers,
        "bundles": {name: {"shortTermData": data, "longTermData": data} for name in sorted(names)},
        "recentlyUnloaded": {},
    }


def saved(brokers):
    settings = {"loadBalancerBrokerOverloadedThresholdPercentage": 85}
    case = {"strategy": "OverloadShedder", "settings": settings, **cycle_of(brokers)}
    return {"ask": "shed.select", "case": case, "profile": "documented-3.0", "readings": {}}


CONTESTED = saved(
    {
        "b1:8080": report(90, ONE, TWO, THREE),
        "b2:8080": report(10, TWO),
        "b3:8080": report(20),
    }
)


def told(case, focus):
    lines = arithmetic_lines(case, focus)
    assert [line for line in lines if len(line) > 80] == []
    return " ".join(" ".join(lines).split())


@pytest.mark.parametrize(
    ("focus", "titles"),
    [
        (Focus(bundle=TWO), ["if b1:8080 owned it", "if b2:8080 owned it"]),
        (
            Focus(broker="b1:8080"),
            ["if b1:8080 owned the bundles that it reports", "if the other broker owned it"],
        ),
        (Focus(broker="b3:8080"), ["if the first of these brokers owned it"]),
        (Focus(), ["if the first of these brokers owned it"]),
    ],
)
def test_the_open_point_is_named_and_each_possible_owner_is_worked_out(focus, titles):
    text = told(CONTESTED, focus)
    assert text.startswith("bundles in the last reports of several brokers, so their owners")
    assert f"{TWO} (b1:8080, b2:8080); rules that depend on them are undecided" in text
    assert [part.count("shed.select:") for part in text.split(" if ")] == [0] + [1] * len(titles)
    assert all(title in text for title in titles)
    assert "also owned by" not in text


def test_a_bundle_of_one_owner_is_worked_out_alone():
    brokers = {"b1:8080": report(90, ONE, TWO), "b2:8080": report(10, THREE)}
    assert contested_bundles(saved(brokers)["case"]) == {}
    text = told(saved(brokers), Focus())
    assert "several brokers" not in text
    assert "b1:8080" in text


def test_many_such_bundles_are_counted():
    names = [f"shop/n{number}/0x00000000_0xffffffff" for number in range(5)]
    case = saved({"b1:8080": report(90, *names), "b2:8080": report(10, *names)})
    assert "; 2 other bundles; rules that depend on them" in told(case, Focus(bundle=names[4]))
    assert told(case, Focus(bundle=names[4])).index(names[4]) < 150


def test_the_bundles_of_several_cycles_count_in_each():
    alone = {"b1:8080": report(90, ONE), "b2:8080": report(10)}
    both = {"b1:8080": report(90, ONE), "b2:8080": report(10, ONE)}
    case = {"strategy": "AvgShedder", "cycles": [cycle_of(both), cycle_of(alone)]}
    assert contested_bundles(case) == {ONE: ["b1:8080", "b2:8080"]}


def test_reports_that_overlap_are_no_raw_message():
    whole = "shop/ns/0x00000000_0x20000000"
    text = told(saved({"b1:8080": report(90, whole), "b2:8080": report(10, ONE)}), Focus())
    assert text.startswith("the arithmetic of this case cannot be shown: brokers: ")


TOO_LITTLE_TO_SHED = {
    "b1:8080": {**report(90, ONE, TWO), "msgThroughputIn": 2e7},
    "b2:8080": report(10, THREE),
    "b3:8080": report(10),
}
"""Reports in which b1 is over the limit, but would shed less than the release's minimum."""


def least_amount(settings=()):
    strategy = {"loadBalancerBrokerThresholdShedderPercentage": 10, **dict(settings)}
    case = {"strategy": "ThresholdShedder", "settings": strategy, **cycle_of(TOO_LITTLE_TO_SHED)}
    return {"ask": "shed.select", "case": case, "profile": "released-3.0", "readings": {}}


RECORDED_UNLOADS = {("b1:8080", ONE): "shedding"}
LEAST = "loadBalancerBundleUnloadMinThroughputThreshold"


def test_an_unload_that_the_release_would_not_have_made_is_named():
    assert "it keeps all" in told(least_amount(), Focus())
    unlike = f"released-3.0, by this arithmetic, keeps {ONE} of b1:8080, which was shed"
    assert str(difference_from_recorded(least_amount(), RECORDED_UNLOADS, Focus())) == unlike
    by_hand = dict.fromkeys(RECORDED_UNLOADS, "admin")
    assert difference_from_recorded(least_amount(), by_hand, Focus()) is None
    other = {("b1:8080", TWO): "shedding"}
    sheds = difference_from_recorded(least_amount({LEAST: 0.1}), other, Focus(broker="b1:8080"))
    assert str(sheds).endswith(f"unloads {ONE} of b1:8080, of which no unload is recorded")
    assert difference_from_recorded(least_amount({LEAST: 0.1}), RECORDED_UNLOADS, Focus()) is None


def test_nothing_is_unlike_a_cycle_whose_owners_are_open():
    claims = saved({"b1:8080": report(90, ONE, TWO), "b2:8080": report(10, TWO)})
    case = {**claims, "profile": "released-3.0"}
    assert difference_from_recorded(case, RECORDED_UNLOADS, Focus()) is None


def test_another_profile_decides_on_its_own_case():
    own = least_amount()
    other = {**least_amount(), "profile": "documented-3.0"}
    brokers = other["case"]["brokers"]
    other["case"] = {**other["case"], "brokers": {**brokers, "b1:8080": report(15, ONE, TWO)}}
    alone, both = (
        " ".join(" ".join(arithmetic_lines(own, Focus(), more)).split()) for more in ((), [other])
    )
    assert "other decisions about this case documented-3.0 unload" in alone
    assert "other decisions" not in both
