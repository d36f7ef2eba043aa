"""Pulsar's own classes: load managers, shedding strategies and placement strategies."""

from collections.abc import Mapping
from difflib import get_close_matches

PACKAGE = "org.apache.pulsar.broker.loadbalance."
"""Package of Pulsar's own classes; a class in another package is a plug-in."""

UNLESS_ADDED = "unless a jar on the class path contains it"
"""Beginning of a message that Pulsar lacks a class: a plug-in may add one to Pulsar's package."""

CLASSES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "loadManagerClassName": (
        "bad-manager",
        (
            "impl.ModularLoadManagerImpl",
            "impl.SimpleLoadManagerImpl",
            "extensions.ExtensibleLoadManagerImpl",
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
"""For each setting that names a class: the entry of ways.yaml about wrong names, and Pulsar's
classes.
"""

NO_ROLE: Mapping[str, str] = {
    "impl.ModularLoadManagerWrapper": "wraps a load manager and cannot be loaded by name",
    "extensions.ExtensibleLoadManagerWrapper": "wraps a load manager and cannot be loaded by name",
    "impl.DeviationShedder": "is abstract",
}
"""Pulsar's classes that a setting cannot name, each with the reason."""

OWN_CLASSES = {
    name: {one.rpartition(".")[2]: PACKAGE + one for one in classes}
    for name, (_, classes) in CLASSES.items()
}
"""Pulsar's classes that a setting can name, by their short names."""


def similar_class(name: str, value: str) -> str:
    """Return the name of Pulsar's class that is most similar to `value`, a setting's value.

    The result is empty if nothing needs correcting: Pulsar has the class, or it is in another
    package. It is also empty if no class is similar, or if the setting does not name a class.
    """
    known = OWN_CLASSES.get(name, {})
    exists = any(value in classes.values() for classes in OWN_CLASSES.values())
    if exists or not value.startswith(PACKAGE) or value.removeprefix(PACKAGE) in NO_ROLE:
        return ""
    near = get_close_matches(value.rpartition(".")[2], known, n=1)
    return known[near[0]] if near else ""


def misspelt_class_text(name: str, value: str) -> str:
    """Return text saying that Pulsar has no class `value`, with the most similar name."""
    return no_class_text(value, OWN_CLASSES[name])


def no_class_text(value: str, known: Mapping[str, str]) -> str:
    """Return text saying that Pulsar has no class `value`; `known` maps short names to classes."""
    near = get_close_matches(value.rpartition(".")[2], known, n=1)
    said = f" (the most similar name is {known[near[0]]})" if near else ""
    return f"{UNLESS_ADDED}, Pulsar has no class {value}{said}"
