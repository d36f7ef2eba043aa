"""USAGE: what a broker's usage is, and how fast its network is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from pulsar_conformance.conformance.common.expect import POINTS, Expect
from pulsar_conformance.conformance.common.plain import Plain
from pulsar_conformance.conformance.load_data import draw_usages as usages
from pulsar_conformance.conformance.load_data.operations import NIC, USAGE
from pulsar_conformance.conformance.load_data.view import Measured
from pulsar_conformance.reference.cluster import Broker
from pulsar_conformance.reference.numbers import Fraction, Percent, exact, plain
from pulsar_conformance.reference.usage import (
    NIC_SPEED,
    UNWEIGHTED,
    maximum,
    weighted_maximum,
    weights,
)


def _close(expect: Expect, answer: Measured, percent: Percent) -> None:
    close = abs(answer.percent - percent) <= POINTS
    expect.that(close, f"{plain(percent, 4)} %", f"{plain(answer.percent, 4)} %")


@USAGE.check("USAGE-01", draws=usages.brokers(weighted=False))
def is_the_maximum_over_the_resources(case: Plain, answer: Measured, expect: Expect) -> None:
    """Usage is that of the busiest of the five resources."""
    expect.given(not case["weighted"], "the plain usage is asked for")
    broker = Broker.read("broker", case["broker"])
    expect.reached()
    _close(expect, answer, maximum(broker).percent)


@USAGE.check("USAGE-02", draws=usages.brokers(weighted=True))
def is_the_weighted_maximum(case: Plain, answer: Measured, expect: Expect) -> None:
    """Weighted usage is the largest after each was multiplied by its weight."""
    expect.given(case["weighted"], "the weighted usage is asked for")
    broker = Broker.read("broker", case["broker"])
    expect.reached()
    _close(expect, answer, weighted_maximum(broker, weights(case.settings)).percent)


@USAGE.check("USAGE-03", draws=usages.any_broker())
def names_a_resource_that_has_the_maximum(case: Plain, answer: Measured, expect: Expect) -> None:
    """The resource named is one with the largest usage, where any is used."""
    broker = Broker.read("broker", case["broker"])
    weight = weights(case.settings) if case["weighted"] else UNWEIGHTED
    percents = {name: used * weight[name] for name, used in broker.percent.items()}
    most = max(percents.values())
    if expect.reached(most > 0):
        busiest = [name for name, percent in percents.items() if most - percent <= POINTS]
        expect.that(
            answer.resource in busiest, f"resource: {' or '.join(busiest)}", answer.resource
        )


@USAGE.check("USAGE-04", draws=usages.one_resource())
def each_weight_counts_for_its_own_resource(case: Plain, answer: Measured, expect: Expect) -> None:
    """A broker that uses one resource alone has that resource's usage times its weight."""
    expect.given(case["weighted"], "the weighted usage is asked for")
    percent = Broker.read("broker", case["broker"]).percent
    used = [name for name in percent if percent[name]]
    expect.given(len(used) == 1, "one resource is used")
    expect.reached()
    _close(expect, answer, percent[used[0]] * weights(case.settings)[used[0]])


def _speed(expect: Expect, answered: Fraction, speed: Fraction) -> None:
    close = abs(answered - speed) <= speed / 100_000
    expect.that(close, f"{plain(speed)} Gbit/s", f"{plain(answered)} Gbit/s")


def _override(case: Plain) -> Fraction | None:
    given = case.settings.given.get(NIC_SPEED)
    return exact(given) if isinstance(given, int | float) else None


@NIC.check("USAGE-05", draws=usages.overridden())
def the_override_replaces_the_reported_speed(case: Plain, answer: Fraction, expect: Expect) -> None:
    """Where a speed is set, it counts, whatever the system reports."""
    override = _override(case)
    if override is not None and expect.reached():
        _speed(expect, answer, override)


@NIC.check("USAGE-06", draws=usages.not_overridden())
def an_empty_override_leaves_the_reported_speed(
    case: Plain, answer: Fraction, expect: Expect
) -> None:
    """Where none is set, the reported speed counts."""
    reported = case["nics"][0].get("reportedGbps")
    if _override(case) is None and expect.reached(reported is not None):
        _speed(expect, answer, exact(reported))


@NIC.check("USAGE-07", draws=usages.fractional())
def the_override_may_be_a_fraction(case: Plain, answer: Fraction, expect: Expect) -> None:
    """A speed such as 0.8 Gbit/s counts as it is."""
    override = _override(case)
    if override is not None and expect.reached(override.denominator > 1):
        _speed(expect, answer, override)


def leaves_heap_out(
    asked: bool, weighed: bool, case: Plain, answer: Measured, expect: Expect
) -> None:
    """The usage is the largest of the resources but for heap memory."""
    expect.given(case["weighted"] is asked, f"the {'weighted' if asked else 'plain'} usage")
    weight = weights(case.settings) if weighed else UNWEIGHTED
    used = Broker.read("broker", case["broker"]).percent
    most = _largest(used, weight, (name for name in used if name != "memory"))
    expect.reached()
    close = abs(answer.percent - most) <= POINTS
    expect.that(close, f"{plain(most, 4)} %", f"{plain(answer.percent, 4)} %")


def _largest(
    used: Mapping[str, Fraction], weight: Mapping[str, Fraction], names: Iterable[str]
) -> Fraction:
    return max(used[name] * weight[name] for name in names)


for rule, asked, weighed in (
    ("USAGE-08", False, False),
    ("USAGE-09", True, True),
    ("USAGE-10", False, True),
):
    USAGE.check(rule, draws=usages.brokers(weighted=weighed and asked))(
        partial(leaves_heap_out, asked, weighed)
    )
