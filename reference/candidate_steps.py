"""Derivation of the leader's choice of bundles to split. [SPLIT-01 … 09]"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pulsar_conformance.reference.candidates import (
    AUTO_SPLIT,
    AUTO_UNLOAD,
    MAX_BUNDLES,
    MAX_MEGABYTES,
    MAX_MESSAGES,
    MAX_SESSIONS,
    MAX_TOPICS,
    Growth,
)
from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.numbers import Fraction, messages, plain, throughput
from pulsar_conformance.reference.ranges import namespace_of

NAMED: Mapping[str, str] = {
    MAX_TOPICS: "topics",
    MAX_SESSIONS: "sessions",
    MAX_MESSAGES: "messages",
    MAX_MEGABYTES: "bandwidth",
}

WRITTEN: Mapping[str, Callable[[Fraction], str]] = {
    MAX_TOPICS: plain,
    MAX_SESSIONS: plain,
    MAX_MESSAGES: messages,
    MAX_MEGABYTES: throughput,
}


def steps(growth: Growth) -> Iterator[Step]:
    """Steps for each bundle in the order of the reports: load, limits, decision."""
    off = _off(growth)
    if off:
        yield Step("splitting", f"{off}: nothing is split")
    for broker in growth.brokers:
        for bundle in broker.bundles:
            yield Step(bundle, off or _decided(growth, bundle), detail=bool(off))
            yield from _measured(growth, bundle)
    if growth.split:
        off = f"{AUTO_UNLOAD} is not true: the parts stay where they are"
        yield Step("unloading", "the parts are unloaded at once" if growth.unload else off)


def _off(growth: Growth) -> str:
    """Reason why splitting is off; empty if it is on."""
    if not growth.case["leader"]:
        return "only the leader splits"
    return "" if growth.enabled else f"{AUTO_SPLIT} is not true"


def _decided(growth: Growth, bundle: str) -> str:
    if bundle not in growth.stats:
        return "stays whole: its broker has no numbers of it"
    over = ", ".join(
        f"{_written(growth, bundle, name)} > {WRITTEN[name](growth.limits[name])} ({name})"
        for name in growth.exceeded(bundle)
    )
    if not over:
        return "stays whole: nothing is exceeded"
    if bundle in growth.split:
        return f"split: {over}"
    return f"stays whole, as {_full(growth, bundle)}; {over}"


def _full(growth: Growth, bundle: str) -> str:
    """Reason why the namespace has no room for another bundle. [SPLIT-06]"""
    namespace = namespace_of(bundle)
    bundles = growth.case["namespaceBundles"].get(namespace, 0)
    chosen = sum(namespace_of(other) == namespace for other in growth.split)
    more = f" and {chosen} more from this round" if chosen else ""
    most = plain(growth.settings.number(MAX_BUNDLES))
    return f"{namespace} has {bundles} bundles{more}, at most {most}"


def _measured(growth: Growth, bundle: str) -> Iterator[Step]:
    """Quantities of the bundle with their limits."""
    for name, limit in growth.limits.items() if bundle in growth.stats else ():
        most = f"at most {WRITTEN[name](limit)}"
        yield Step(f"  {NAMED[name]}", f"{_written(growth, bundle, name)}, {most}", detail=True)


def _written(growth: Growth, bundle: str, name: str) -> str:
    return WRITTEN[name](growth.measured(bundle, name))
