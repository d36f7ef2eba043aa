"""OverloadShedder: brokers above a fixed threshold shed their excess plus a margin. [OVERLOAD]"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from pulsar_conformance.reference.cluster import Broker
from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.numbers import Fraction, Percent, Rate, places_apart, plain
from pulsar_conformance.reference.shedding import MEASURE, Cycle, Unloads, select_movable
from pulsar_conformance.reference.usage import busiest_text, maximum

OVERLOAD_THRESHOLD = "loadBalancerBrokerOverloadedThresholdPercentage"

MARGIN = Fraction(5)
"""Percentage points that an overloaded broker sheds in addition to its excess. [OVERLOAD-02]"""

FEWEST_BUNDLES = 2
"""Minimum number of bundles of a broker that sheds. [OVERLOAD-07]"""

OVERLOADED: Mapping[str, Callable[[Percent, Percent], bool]] = {
    "exceeds": lambda usage, threshold: usage > threshold,
    "reaches": lambda usage, threshold: usage >= threshold,
}
"""The comparison of usage and threshold, for each alternative of the reading `overload-trigger`.

[OVERLOAD-01, OVERLOAD-04]
"""


def threshold_of(cycle: Cycle) -> Percent:
    """Return the usage above which a broker is overloaded."""
    return cycle.settings.number(OVERLOAD_THRESHOLD)


def is_overloaded(cycle: Cycle, broker: Broker) -> bool:
    """True if the broker's busiest resource exceeds the threshold. [OVERLOAD-01]"""
    triggered = OVERLOADED[cycle.readings["overload-trigger"]]
    return triggered(maximum(broker).percent, threshold_of(cycle))


def share_to_shed(usage: Percent, threshold: Percent) -> Percent:
    """Return the share of its traffic that an overloaded broker sheds. [OVERLOAD-02]

    A broker at 95 % with a threshold of 85 % sheds (95 - 85) + 5 = 15 %.
    """
    return usage - threshold + MARGIN


def need_of(cycle: Cycle, broker: Broker) -> Rate:
    """Return the traffic that an overloaded broker must shed. [OVERLOAD-02]"""
    share = share_to_shed(maximum(broker).percent, threshold_of(cycle))
    return share * cycle.traffic_of(broker) / 100


def excess_and_margin(cycle: Cycle, broker: Broker) -> list[str]:
    """Return bundles that together carry the excess plus the margin. [OVERLOAD-02, OVERLOAD-03]"""
    return select_movable(cycle, broker, need_of(cycle, broker))


def most_expensive_bundle(cycle: Cycle, broker: Broker) -> list[str]:
    """Return a list with the most expensive bundle that may be unloaded; empty if none may be.

    [OVERLOAD-05, OVERLOAD-06]
    """
    return sorted(cycle.movable(broker), key=lambda one: (-expense(cycle, one), one))[:1]


def expense(cycle: Cycle, bundle: str) -> Rate:
    """Return a bundle's traffic in the measure of the reading `expensive-measure`. [OVERLOAD-06]"""
    return MEASURE[cycle.readings["expensive-measure"]](cycle.rates(bundle))


AMOUNT: Mapping[str, Callable[[Cycle, Broker], list[str]]] = {
    "margin": excess_and_margin,
    "one": most_expensive_bundle,
    "every": Cycle.movable,
}
"""The choice of bundles to shed, for each alternative of the reading `overload-amount`.

[OVERLOAD-13]
"""


def unloads(cycle: Cycle) -> Iterator[Unloads]:
    """Yield the unloads of each broker, independently of the other brokers. [OVERLOAD-08]"""
    for broker in cycle.brokers.values():
        sheds = is_overloaded(cycle, broker) and len(broker.bundles) >= FEWEST_BUNDLES
        taken = AMOUNT[cycle.readings["overload-amount"]](cycle, broker) if sheds else []
        yield Unloads(broker.name, tuple(taken), partial(_steps, cycle, broker, taken))


def _steps(cycle: Cycle, broker: Broker, taken: list[str]) -> Iterator[Step]:
    from pulsar_conformance.reference.shedding_steps import (
        bundle_steps,
        enough_has_gone,
        keep_all_steps,
    )

    usage, threshold = maximum(broker), threshold_of(cycle)
    places = places_apart(usage.percent, threshold)
    yield Step("usage", f"{plain(usage.percent, places)} % {busiest_text(usage)}")
    yield Step("threshold", f"{plain(threshold, places)} %")
    if not is_overloaded(cycle, broker):
        yield from keep_all_steps(cycle, broker, "is not overloaded")
    elif len(broker.bundles) < FEWEST_BUNDLES:
        yield from keep_all_steps(cycle, broker, f"has fewer than {FEWEST_BUNDLES} bundles")
    elif cycle.readings["overload-amount"] == "one":
        priced = cycle.measured_by(cycle.readings["expensive-measure"])
        dearest = ", ".join(f"{one} = {priced.written(priced.traffic(one))}" for one in taken)
        yield Step(
            "to shed", f"exactly one bundle, the most expensive: {dearest or 'none may move'}"
        )
        yield from bundle_steps(priced, broker, taken, lambda _bundle, _carried: "one is enough")
    elif cycle.readings["overload-amount"] == "every":
        yield Step("to shed", "every bundle that may move")
        yield from bundle_steps(cycle, broker, taken, enough_has_gone)
    else:
        yield _amount_step(cycle, broker)
        yield from bundle_steps(cycle, broker, taken, enough_has_gone, sums=True)


def _amount_step(cycle: Cycle, broker: Broker) -> Step:
    usage, threshold = maximum(broker).percent, threshold_of(cycle)
    places = places_apart(usage, threshold)
    share = plain(share_to_shed(usage, threshold), places)
    traffic, need = cycle.written(cycle.traffic_of(broker)), cycle.written(need_of(cycle, broker))
    excess = f"({plain(usage, places)} - {plain(threshold, places)}) + {plain(MARGIN)}"
    return Step("to shed", f"{excess} = {share} % of {traffic} = {need}")
