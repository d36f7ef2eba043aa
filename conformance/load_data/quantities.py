"""Certain facts about load data."""

from __future__ import annotations

from pulsar_conformance.conformance.common.expect import POINTS
from pulsar_conformance.conformance.common.plain import Plain
from pulsar_conformance.reference import Readings
from pulsar_conformance.reference.cluster import Broker
from pulsar_conformance.reference.usage import (
    UNWEIGHTED,
    weights,
)


def usage_settled(case: Plain, _readings: Readings) -> bool:
    """A single resource is the busiest, or all are idle."""
    weight = weights(case.settings) if case["weighted"] else UNWEIGHTED
    percent = Broker.read("broker", case["broker"]).percent
    *_, second, most = sorted(used * weight[name] for name, used in percent.items())
    return most == 0 or most - second > POINTS
