"""Resource usage of brokers. [USAGE]"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pulsar_conformance.reference import usage
from pulsar_conformance.reference.cluster import Broker
from pulsar_conformance.reference.context import Answer, Case, Context, Refused
from pulsar_conformance.reference.derivation import Derivation, Step
from pulsar_conformance.reference.numbers import ZERO, exact, jsonable, plain
from pulsar_conformance.reference.released import answers

PLACES = 4
"""Decimal places of printed percentages, enough to distinguish the values that a check does."""


def maximum(context: Context, case: Case) -> Derivation:
    """Answer `usage.max`. [USAGE-01 … 04]"""
    if context.release is not None:
        return answers.maximum(context, case, context.release)
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
    reported = case["nics"][0]["reportedGbps"]
    known = answers.speed_of(None if reported is None else exact(reported), context.release)
    speed = usage.nic_speed(context.settings(case), known)
    if speed is None and context.release is not None:
        speed = ZERO
    if speed is None:
        raise Refused("no speed is reported and none is set")

    def explain() -> Iterator[Step]:
        yield Step("reported", "nothing" if known is None else f"{plain(known)} Gbit/s")
        yield Step("speed", f"{plain(speed)} Gbit/s")

    return Derivation({"gbps": jsonable(speed)}, explain)


ANSWERS: Mapping[str, Answer] = {
    "usage.max": maximum,
    "usage.nic": nic,
}
