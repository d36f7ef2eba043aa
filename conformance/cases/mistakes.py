"""Values of settings that a release does not take for what they seem to say."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.specs.judged import ways_of_version

PACKAGE = "org.apache.pulsar.broker.loadbalance."
"""The package of Pulsar's own classes; a class of another package is a plug-in."""

CLASSES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "loadManagerClassName": (
        "bad-manager",
        (
            "impl.ModularLoadManagerImpl",
            "impl.ModularLoadManagerWrapper",
            "impl.SimpleLoadManagerImpl",
            "extensions.ExtensibleLoadManagerImpl",
            "extensions.ExtensibleLoadManagerWrapper",
            "NoopLoadManager",
        ),
    ),
    "loadBalancerLoadSheddingStrategy": (
        "bad-shedder",
        (
            "impl.OverloadShedder",
            "impl.ThresholdShedder",
            "impl.UniformLoadShedder",
            "impl.AvgShedder",
            "extensions.scheduler.TransferShedder",
        ),
    ),
    "loadBalancerLoadPlacementStrategy": (
        "bad-placer",
        (
            "impl.LeastLongTermMessageRate",
            "impl.LeastResourceUsageWithWeight",
            "impl.RoundRobinBrokerSelector",
            "impl.AvgShedder",
        ),
    ),
}
"""For each setting that names a class: the way of releases with a bad name; Pulsar's classes."""

NAMES = ("OverloadShedder",)

BANDWIDTH, LIMIT_WAY = "loadBalancerNamespaceBundleMaxBandwidthMbytes", "bandwidth-limit"
OVERFLOWING = 2048
"""The first limit in MiB/s that overflows, where it does."""

OVERFLOW = "from 2048 MiB/s on, the limit overflows an int, and up to 4095 every bundle exceeds it"


def mistake(name: str, value: Any, release: str | None) -> str:
    """Return what is wrong with a setting's value, with the consequence in the modular load manager
    of a release; empty if nothing is. Without a release, consequences are not known.
    """
    if name in CLASSES and str(value).startswith(PACKAGE):
        way, classes = CLASSES[name]
        if str(value).removeprefix(PACKAGE) not in classes:
            return _no_class(str(value), classes, _consequence(way, release))
    if name == BANDWIDTH and isinstance(value, int) and value >= OVERFLOWING:
        taken = _taken(LIMIT_WAY, release)
        return f"{value}: {OVERFLOW}" if taken == "int" else ""
    return ""


def _no_class(value: str, classes: tuple[str, ...], means: str) -> str:
    known = {one.rpartition(".")[2]: PACKAGE + one for one in classes}
    near = get_close_matches(value.rpartition(".")[2], known, n=1)
    said = f"; the most similar name is {known[near[0]]}" if near else ""
    return f"Pulsar has no class {value}{said}" + (f"; {means}" if means else "")


def _consequence(way: str, release: str | None) -> str:
    """Return what a release makes of a bad name, as in `specs/ways.yaml`; empty if not known."""
    taken = _taken(way, release)
    if taken == "unspoken":
        return ""
    if (way, taken) == ("bad-manager", "simple"):
        return "the simple load manager runs instead"
    if (way, taken) == ("bad-manager", "refused"):
        return "the broker does not start"
    means = specs.load().ways[way].alternatives[taken].means.rstrip(".")
    return means if means.startswith(NAMES) else means[0].lower() + means[1:]


def _taken(way: str, release: str | None) -> str:
    """Return the alternative of a way that a release takes; "unspoken" if it is not known."""
    if release is None:
        return "unspoken"
    return ways_of_version(release).get(way, "unspoken")
