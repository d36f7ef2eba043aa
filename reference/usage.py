"""Usage of a broker's resources. [USAGE]"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pulsar_conformance.reference.cluster import RESOURCES, Broker
from pulsar_conformance.reference.context import NUMBER, Settings
from pulsar_conformance.reference.numbers import Fraction, Percent, parse_decimal

WEIGHT_SETTINGS: Mapping[str, str] = {
    "cpu": "loadBalancerCPUResourceWeight",
    "memory": "loadBalancerMemoryResourceWeight",
    "directMemory": "loadBalancerDirectMemoryResourceWeight",
    "bandwidthIn": "loadBalancerBandwithInResourceWeight",
    "bandwidthOut": "loadBalancerBandwithOutResourceWeight",
}
"""The setting with the weight of each resource, from 0 to 1. [USAGE-04]"""

UNWEIGHTED: Mapping[str, Fraction] = dict.fromkeys(RESOURCES, Fraction(1))

NIC_SPEED = "loadBalancerOverrideBrokerNicSpeedGbps"


@dataclass(frozen=True)
class Usage:
    """A broker's usage in percent, and its busiest resource (None if idle)."""

    percent: Percent
    resource: str | None


def busiest_text(usage: Usage) -> str:
    """Return the text after a usage percentage, such as `of cpu, the busiest resource`."""
    return f"of {usage.resource}, the busiest resource" if usage.resource else "of everything"


def weights(settings: Settings) -> dict[str, Fraction]:
    """Return each resource's weight as a fraction."""
    return {name: settings.number(WEIGHT_SETTINGS[name]) for name in RESOURCES}


def maximum(broker: Broker) -> Usage:
    """Return the usage of the busiest resource. [USAGE-01]"""
    return _largest(broker.percent)


def weighted_maximum(broker: Broker, weight: Mapping[str, Fraction]) -> Usage:
    """Return the largest weighted usage and its resource. [USAGE-02, USAGE-03]"""
    return _largest({name: used and used * weight[name] for name, used in broker.percent.items()})


def _largest(percents: Mapping[str, Percent]) -> Usage:
    """Return the largest usage, and the first resource with this usage."""
    resource = max(percents, key=percents.__getitem__)
    return Usage(percents[resource], resource if percents[resource] else None)


def nic_speed(settings: Settings, reported: Fraction | None) -> Fraction | None:
    """Return the speed of the network interface in Gbit/s: the setting that overrides it, else the
    reported speed.

    [USAGE-05 … 07]
    """
    override = settings.given.get(NIC_SPEED, settings.defaults.get(NIC_SPEED))
    if override is None or not NUMBER.fullmatch(str(override)):
        return reported
    return parse_decimal(str(override))
