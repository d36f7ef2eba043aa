"""Brokers' usage in percent. [USAGE]"""

from __future__ import annotations

from collections.abc import Mapping

from pulsar_conformance.adapters.spark.shapes import RESOURCES, constant_double, or_zero
from pyspark.sql import Column
from pyspark.sql import functions as F

WEIGHTS: Mapping[str, str] = {
    "cpu": "loadBalancerCPUResourceWeight",
    "memory": "loadBalancerMemoryResourceWeight",
    "directMemory": "loadBalancerDirectMemoryResourceWeight",
    "bandwidthIn": "loadBalancerBandwithInResourceWeight",
    "bandwidthOut": "loadBalancerBandwithOutResourceWeight",
}
"""The setting that gives the weight of each resource. [USAGE-04]"""

NIC_SPEED = "loadBalancerOverrideBrokerNicSpeedGbps"


def percents_of_limits(report: Column) -> Column:
    """Return a struct of a report's five resources, each in percent of its limit.

    Usage is multiplied by 100 before it is divided, so that 25, 50, 75 and 100 of 100 stay exact.
    """
    return F.struct(
        *(
            or_zero(F.try_divide(report[name]["usage"] * 100, report[name]["limit"])).alias(name)
            for name in RESOURCES
        )
    )


def maximum(percent: Column) -> Column:
    """Return the usage of the busiest resource. [USAGE-01]"""
    return F.greatest(*(percent[name] for name in RESOURCES))


def weighted_percents_of(percent: Column, settings: Column) -> Column:
    """Return the percentages multiplied by the weights in the settings. [USAGE-02, USAGE-04]"""
    return F.struct(*((percent[name] * settings[WEIGHTS[name]]).alias(name) for name in RESOURCES))


def busiest_resource(percent: Column) -> Column:
    """Return the resource with the largest percentage; null if all are 0. [USAGE-03]"""
    most = maximum(percent)
    return F.coalesce(
        *(F.when((most > 0) & (percent[name] == most), F.lit(name)) for name in RESOURCES)
    )


def smoothed_usage(history: Column, present: Column, kept: Column) -> Column:
    """Return the usage smoothed over earlier usages, which are given oldest first. [THRESHOLD-07]

    `kept` is the weight of the past, from 0 to 1.
    """
    later = F.concat(
        F.slice(history, 2, F.greatest(F.size(history) - 1, F.lit(0))), F.array(present)
    )
    after = F.aggregate(later, history[0], lambda was, seen: mix_into_smoothed(was, seen, kept))
    return F.when(F.size(history) > 0, after).otherwise(present)


def mix_into_smoothed(was: Column, seen: Column, kept: Column) -> Column:
    """Mix the observation `seen` into the smoothed usage `was`; a first observation is taken as it
    is.

    [THRESHOLD-07]
    """
    return F.coalesce(was * kept + seen * (constant_double(1) - kept), seen)


def mix_or_null(was: Column, seen: Column, kept: Column) -> Column:
    """Mix an observation into a smoothed usage; null if any of the three values is unknown."""
    return was * kept + seen * (constant_double(1) - kept)


def nic_speed(override: Column, reported: Column) -> Column:
    """Return a network interface's speed in Gbit/s: `override` if set, otherwise `reported`.

    [USAGE-05 … 07]
    """
    return F.coalesce(override, reported)
