"""A release's TransferShedder that unloads nothing gives the reason in its derivation."""

from copy import deepcopy

import pytest
from pulsar_conformance import Model

FIRST, SECOND, THIRD = (f"shop/eu/0x0{n}000000_0x0{n + 1}000000" for n in range(3))
LIMIT = "loadBalancerMaxNumberOfBundlesInBundleLoadReport"
EXCLUDED = "loadBalancerSheddingExcludedNamespaces"
HITS = "loadBalancerSheddingConditionHitCountThreshold"


def loads(**rates):
    """Return statistics for bundles, given each bundle's traffic in kB/s."""
    data = {
        name: {"msgRateIn": rate, "msgThroughputIn": rate * 1000, "numSamples": 10}
        for name, rate in rates.items()
    }
    return {name: {"shortTermData": one, "longTermData": one} for name, one in data.items()}


def broker(usage, *bundles, rate):
    resource = {"usage": usage, "limit": 100}
    return {
        "cpu": resource,
        "msgRateIn": rate,
        "msgThroughputIn": rate * 1000,
        "bundles": list(bundles),
    }


CASE = {
    "strategy": "TransferShedder",
    "settings": {HITS: 0},
    "brokers": {"a": broker(90, FIRST, SECOND, rate=900), "b": broker(10, rate=100)},
    "bundles": loads(**{FIRST: 440, SECOND: 460, THIRD: 100}),
    "recentlyUnloaded": {},
}


def steps(**changes):
    """Return the last steps of the derivation as text, from the decision on."""
    case = deepcopy(CASE) | changes
    case["settings"] = CASE["settings"] | changes.get("settings", {})
    derived = Model("released-4.2").derive("shed.select", case)
    assert derived.answer["unload"] == []
    texts = [f"{step.label}: {step.text}" for step in derived.steps]
    first = next(n for n, text in enumerate(texts) if text.startswith("decision"))
    return "\n".join(texts[first:])


def test_bundles_that_are_too_large_stay():
    text = steps()
    assert "(90 - 10) / 2 / 90 of 900 KB/s = 400 KB/s from a to b" in text
    assert f"{FIRST}, on a: 440 KB/s is more than may move" in text
    assert "no exchange with bundles of b helps" in text


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"settings": {EXCLUDED: "shop/eu"}}, f"its namespace is excluded ({EXCLUDED})"),
        ({"settings": {EXCLUDED: "a/b, shop/eu "}}, f"its namespace is excluded ({EXCLUDED})"),
        ({"bundles": loads(**{SECOND: 450, THIRD: 100})}, f"{FIRST}, on a: it has no samples"),
        ({"bundles": loads(**{FIRST: 0, SECOND: 450})}, f"{FIRST}, on a: it has no traffic"),
        ({"bundles": loads(**{FIRST: 0, SECOND: 450})}, f"{SECOND}, on a: it is the only one"),
        ({"recentlyUnloaded": {FIRST: 10}}, "it was unloaded less than the grace period ago"),
        ({"settings": {HITS: 3}}, "there are too few hits"),
        ({"withoutData": ["new"]}, "the cycle is skipped"),
    ],
)
def test_the_reason_is_the_condition_that_decides(changes, reason):
    assert reason in steps(**changes)


def test_even_loads_are_the_reason():
    case = {"a": broker(50, FIRST, SECOND, rate=900), "b": broker(48, THIRD, rate=880)}
    assert "no broker is underloaded or overloaded" in steps(brokers=case)


def test_several_reasons_are_given_bundle_by_bundle():
    text = steps(settings={LIMIT: 1})
    assert "it is the only one that may move" in text
    assert LIMIT in text
