"""Answers to usage.max and usage.nic by the release's own computations."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from pulsar_conformance.adapters.errors import CannotLoad
from pulsar_conformance.adapters.pulsar.configuration import resource_weight
from pulsar_conformance.adapters.pulsar.jvm import (
    JARS_ADVICE,
    Java,
    call,
    field,
    java_class,
    java_list,
    methods,
)
from pulsar_conformance.adapters.pulsar.loads import RESOURCES
from pulsar_conformance.adapters.pulsar.release import Answer, Case, Release, Unsupported
from pulsar_conformance.adapters.pulsar.service import Service

Measure = Callable[[Java], float]

WEIGHTED = "getMaxResourceUsageWithWeight"
WEIGHTS = ("CPU", "Memory", "DirectMemory", "BandwidthIn", "BandwidthOut")
"""Names of the weights, in the order of the parameters of the method for weighted usage.

From 3.0 on, strategies call a variant of the method without the weight of memory. The older variant
still exists, so the variant with fewer parameters is called.
"""


def maximum(release: Release, case: Case) -> Answer:
    """Return the busiest resource's usage in percent, as the release's strategies compute it.

    A release does not name the resource. The answer therefore names a resource for which the
    release computes the same usage from a report without other resources.
    """
    measure = _measure(release, case)
    most = measure(release.loads.parse_local(case["broker"]))
    if most < 0:
        raise Unsupported(f"the release measures a usage below 0, {most * 100:g} %")
    busiest = None
    if most > 0:
        for name in RESOURCES:
            alone = {name: case["broker"][name]} if name in case["broker"] else {}
            if measure(release.loads.parse_local(alone)) == most:
                busiest = name
                break
    return {"percent": most * 100, "resource": busiest}


def _measure(release: Release, case: Case) -> Measure:
    local = java_class("org.apache.pulsar.policies.data.loadbalancer.LocalBrokerData")
    configuration = release.configuration(case["settings"])
    if not case["weighted"] and not _always_weighted():
        return lambda report: float(report.getMaxResourceUsage())
    if not methods(local, WEIGHTED):
        raise Unsupported("this release has no weights")
    weights = [resource_weight(configuration, resource) for resource in WEIGHTS]
    if not counts_heap_memory():
        del weights[1]
    return lambda report: float(getattr(report, WEIGHTED)(*weights))


@cache
def counts_heap_memory() -> bool:
    """True if weighted usage includes heap memory, according to the parameters of its method."""
    local = java_class("org.apache.pulsar.policies.data.loadbalancer.LocalBrokerData")
    found = methods(local, WEIGHTED)
    return bool(found) and int(found[0].getParameterCount()) == len(WEIGHTS)


@cache
def _always_weighted() -> bool:
    """True if OverloadShedder also uses the weighted maximum, according to its bytecode."""
    loader = java_class("java.lang.ClassLoader").getSystemClassLoader()
    stream = loader.getResourceAsStream(OVERLOAD)
    if stream is None:
        raise CannotLoad(f"{OVERLOAD} cannot be read; {JARS_ADVICE}")
    return WEIGHTED.encode() in bytes(stream.readAllBytes())


OVERLOAD = "org/apache/pulsar/broker/loadbalance/impl/OverloadShedder.class"

LINUX = "org.apache.pulsar.broker.loadbalance.impl.LinuxBrokerHostUsageImpl"
NETWORK = Path("/sys/class/net")
"""Folder in which Linux lists network interfaces, with their speed in Mbit/s."""


def nic(release: Release, case: Case) -> Answer:
    """Return the speed that the release computes for a host with these network interfaces."""
    configuration = release.configuration(case["settings"])
    speeds = [one["reportedGbps"] for one in case["nics"]]
    with tempfile.TemporaryDirectory() as folder:
        cards = java_list([])
        for place, speed in enumerate(speeds):
            card = Path(folder, f"eth{place}")
            card.mkdir()
            if speed is not None:
                card.joinpath("speed").write_text(f"{speed * 1000:.17g}\n")
            cards.add(str(Path("../" * (len(NETWORK.parts) - 1), card.relative_to("/"))))
        limit = _nic_limit(configuration, cards)
    return {"gbps": limit / _kbits_per_gigabit(release)}


def _nic_limit(configuration: Java, cards: Java) -> float:
    """Return the limit of network interfaces in kbit/s as the release computes it."""
    host = Service(configuration).shells.unconstructed_object(LINUX)
    override = configuration.getLoadBalancerOverrideBrokerNicSpeedGbps()
    field(host, "overrideBrokerNicSpeedGbps").set(host, override)
    name = "getTotalNicLimitWithConfiguration"
    if not methods(host, name):
        name = "getTotalNicLimitKbps"
    return float(call(host, name, cards))


def _kbits_per_gigabit(release: Release) -> float:
    """Return the release's kilobits per gigabit: its limit for one interface of 1 Gbit/s."""
    configuration = release.configuration({"loadBalancerOverrideBrokerNicSpeedGbps": 1})
    return _nic_limit(configuration, java_list(["eth0"]))
