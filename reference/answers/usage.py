"""Resource usage of brokers. [USAGE]"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pulsar_conformance.reference import usage
from pulsar_conformance.reference.cluster import Broker
from pulsar_conformance.reference.context import Answer, Case, Context, Refused
from pulsar_conformance.reference.derivation import Derivation, Step
from pulsar_conformance.reference.numbers import Fraction, exact, jsonable, plain

PLACES = 4
"""Decimal places of printed percentages, enough to distinguish the values that a check does."""


def maximum(context: Context, case: Case) -> Derivation:
    """Answer `usage.max`. [USAGE-01 … 04]"""
    broker = Broker.read("broker", case["broker"])
    weight = usage.weights(context.settings(case)) if case["weighted"] else usage.UNWEIGHTED
    used = usage.weighted_maximum(broker, weight)

    def explain() -> Iterator[Step]:
        for name, percent in broker.percent.items():
            weighed = f" x {plain(weight[name])} = {plain(percent * weight[name], PLACES)} %"
            yield Step(name, f"{plain(percent, PLACES)} %{weighed if case['weighted'] else ''}")
        maximum = f"{plain(used.percent, PLACES)} % of {used.resource or 'everything'}"
        yield Step("maximum", maximum)

    answer = {"percent": jsonable(used.percent), "resource": used.resource}
    return Derivation(answer, explain)


def nic(context: Context, case: Case) -> Derivation:
    """Answer `usage.nic`. [USAGE-05 … 07]"""
    reported = reported_speed(case)
    speed = usage.nic_speed(context.settings(case), reported)
    if speed is None:
        raise Refused("no speed is reported and none is set")
    return speed_answer(reported, speed)


def reported_speed(case: Case) -> Fraction | None:
    """Return the reported speed of a network card in Gbit/s; None if none is reported."""
    reported = case["nics"][0]["reportedGbps"]
    return None if reported is None else exact(reported)


def speed_answer(reported: Fraction | None, speed: Fraction) -> Derivation:
    """Return the answer with the speed that counts."""

    def explain() -> Iterator[Step]:
        yield Step("reported", "nothing" if reported is None else f"{plain(reported)} Gbit/s")
        yield Step("speed", f"{plain(speed)} Gbit/s")

    return Derivation({"gbps": jsonable(speed)}, explain)


ANSWERS: Mapping[str, Answer] = {
    "usage.max": maximum,
    "usage.nic": nic,
}
