"""Cycles of TransferShedder, run by the extensible load manager's own UnloadScheduler."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import jpype
from pulsar_conformance.adapters.pulsar.configuration import resource_weight
from pulsar_conformance.adapters.pulsar.jvm import (
    Java,
    capitalized,
    class_exists,
    field,
    java_class,
    java_list,
)
from pulsar_conformance.adapters.pulsar.loads import RESOURCES, broker_id, broker_name
from pulsar_conformance.adapters.pulsar.namespaces import divide
from pulsar_conformance.adapters.pulsar.operations import whole_placement
from pulsar_conformance.adapters.pulsar.release import (
    WITHOUT_EXTENSIBLE,
    Case,
    Release,
    Unsupported,
)
from pulsar_conformance.adapters.pulsar.service import Service
from pulsar_conformance.adapters.pulsar.shells import completed_future, java_optional
from pulsar_conformance.reference.shedding import STRATEGY, selects_extensible_manager

EXTENSIONS = "org.apache.pulsar.broker.loadbalance.extensions."
SHEDDER = f"{EXTENSIONS}scheduler.TransferShedder"
SCHEDULER = f"{EXTENSIONS}scheduler.UnloadScheduler"
POLICIES = "org.apache.pulsar.broker.loadbalance.impl.SimpleResourceAllocationPolicies"
USAGE = "org.apache.pulsar.policies.data.loadbalancer.SystemResourceUsage"
MAX_REPORTED_BUNDLES_GETTER = "getLoadBalancerMaxNumberOfBundlesInBundleLoadReport"

SECOND, MINUTE = 1000, 60_000


def asks_for_transfer(case: Case) -> bool:
    """True if a case names TransferShedder, or the extensible load manager and no strategy.

    Errors: `Unsupported` if the release does not have that manager.
    """
    settings = case["settings"]
    named = case["strategy"] or settings.get(STRATEGY)
    if named is None:
        extensible = selects_extensible_manager(settings)
        if extensible and not class_exists(SHEDDER):
            raise Unsupported(WITHOUT_EXTENSIBLE)
        return extensible
    return str(named).rpartition(".")[2] == "TransferShedder" and class_exists(SHEDDER)


def unloads(release: Release, case: Case, cycles: Sequence[Case], now: int) -> list[list[Case]]:
    """Return the unloads of consecutive cycles, all at the time `now` in milliseconds.

    Errors: `Unsupported`.
    """
    passed = list(accumulate((one["minutes"] for one in cycles[1:]), initial=0))
    row = _TransferCycles(release, case, cycles)
    return [row.unload(seen, at, now) for seen, at in zip(cycles, passed, strict=True)]


class _TransferCycles:
    """A scheduler and its strategy, on which consecutive cycles run."""

    def __init__(self, release: Release, case: Case, cycles: Sequence[Case]) -> None:
        self._release = release
        name = {STRATEGY: SHEDDER}
        self._configuration = release.configuration({**case["settings"], **name})
        self._configuration.setClusterName(whole_placement.CLUSTER)
        self._service = Service(self._configuration, replies=self._replies(cycles))
        self._decided: list[Java] = []
        self._loads: dict[str, Java] = {}
        self._top: dict[str, Java] = {}
        self._unloaded_at_minute: dict[str, dict[str, float]] = {"Bundles": {}, "Brokers": {}}
        """For bundles and brokers, the minute of the last unload, counted from the first cycle."""
        self._available: Sequence[str] = ()
        self._scheduler = self._create_scheduler(self._shedder(cycles))

    def unload(self, seen: Case, minutes: float, now: int) -> list[Case]:
        """Run a cycle `minutes` minutes after the first cycle, and return its unloads."""
        self._available = sorted(map(broker_id, (*seen["brokers"], *seen.get("withoutData", ()))))
        self._set_loads(seen, now)
        for bundle, ago in seen["recentlyUnloaded"].items():
            known = self._unloaded_at_minute["Bundles"]
            known[bundle] = max(minutes - ago, known.get(bundle, minutes - ago))
        maps = {what: self._map(what) for what in self._unloaded_at_minute}
        for what, known in self._unloaded_at_minute.items():
            maps[what].clear()
            for key, moment in known.items():
                maps[what].put(key, jpype.JLong(int(now - (minutes - moment) * MINUTE)))
        self._decided.clear()
        self._scheduler.execute()
        for what, known in self._unloaded_at_minute.items():
            kept = set(map(str, maps[what].keySet()))
            self._unloaded_at_minute[what] = {
                key: moment for key, moment in known.items() if key in kept
            }
        for one in self._decided:
            self._unloaded_at_minute["Bundles"][str(one.serviceUnit())] = minutes
            self._unloaded_at_minute["Brokers"][str(one.sourceBroker())] = minutes
        return sorted(map(_unload_as_json, self._decided), key=lambda one: _sort_key(seen, one))

    def _map(self, what: str) -> Java:
        return field(self._scheduler, f"recentlyUnloaded{what}").get(self._scheduler)

    def _set_loads(self, seen: Case, now: int) -> None:
        """Set the brokers' load data and top bundles."""
        self._loads = {
            broker_id(name): self._updated_load_data(name, report, now)
            for name, report in seen["brokers"].items()
        }
        self._top = {
            broker_id(name): self._top_bundles(report, seen["bundles"])
            for name, report in seen["brokers"].items()
        }

    def _updated_load_data(self, name: str, report: Case, now: int) -> Java:
        """Return a broker's load data as the release computes them from its previous load data."""
        data = self._loads.get(broker_id(name)) or java_class(f"{EXTENSIONS}data.BrokerLoadData")()
        cpu = resource_weight(self._configuration, "CPU")
        past = [
            {"cpu": {"usage": one, "limit": 100 * cpu}} for one in report.get("usageHistory", ())
        ]
        if past and not cpu:
            raise Unsupported("earlier usage can be given only for the CPU, whose weight is 0 here")
        for one in (*past, report):
            local, used = self._release.loads.parse_local({**report, **one}), java_class(USAGE)()
            for resource in RESOURCES:
                shown = resource in one
                unused = java_class("org.apache.pulsar.policies.data.loadbalancer.ResourceUsage")()
                value = getattr(local, f"get{capitalized(resource)}")() if shown else unused
                getattr(used, f"set{capitalized(resource)}")(value)
            rates = (f"getMsg{kind}" for kind in RATES)
            amounts = [float(getattr(local, name)()) for name in rates]
            count = len(report.get("bundles", ()))
            data.update(used, *amounts, count, 0, self._configuration)
        stamped = now - int(report.get("age", 0) * SECOND)
        field(data, "updatedAt").set(data, jpype.JLong(stamped))
        return data

    def _top_bundles(self, report: Case, bundles: Case) -> Java:
        known = {
            name: bundles[name]["shortTermData"]
            for name in report.get("bundles", ())
            if bundles.get(name, {}).get("shortTermData", {}).get("numSamples")
        }
        stats = java_class("java.util.LinkedHashMap")()
        for name, one in zip(
            known, self._release.loads.parse_stats(list(known.values())), strict=True
        ):
            stats.put(name, one)
        top = java_class(f"{EXTENSIONS}models.TopKBundles")(self._service.pulsar)
        top.update(stats, getattr(self._configuration, MAX_REPORTED_BUNDLES_GETTER)())
        return field(top, "loadData").get(top)

    def _create_scheduler(self, shedder: Java) -> Java:
        kind = java_class(SCHEDULER).class_
        [made] = [one for one in kind.getDeclaredConstructors() if one.getParameterCount() == 8]
        made.setAccessible(True)
        counter = java_class(f"{EXTENSIONS}models.UnloadCounter")()
        field(shedder, "counter").set(shedder, counter)
        channel = jpype.JProxy(
            f"{EXTENSIONS}channel.ServiceUnitStateChannel",
            dict={
                "isChannelOwnerAsync": lambda: completed_future(
                    java_class("java.lang.Boolean").TRUE
                ),
                "publishUnloadEventAsync": self._record_unload,
            },
        )
        manager = self._service.shells.stub_of(f"{EXTENSIONS}manager.UnloadManager")
        metrics = java_class("java.util.concurrent.atomic.AtomicReference")()
        parts = (self._service.pulsar, None, manager, self._context(), channel, shedder)
        return made.newInstance(*parts, counter, metrics)

    def _record_unload(self, unload: Java) -> Java:
        self._decided.append(unload)
        return completed_future(None)

    def _context(self) -> Java:
        """Return the manager's context: configuration, registered brokers, and their load data."""
        registry = jpype.JProxy(
            f"{EXTENSIONS}BrokerRegistry",
            dict={
                "getAvailableBrokersAsync": lambda: completed_future(java_list(self._available)),
                "getAvailableBrokerLookupDataAsync": lambda: completed_future(
                    self._registrations()
                ),
            },
        )
        loads, top = _store(lambda: self._loads), _store(lambda: self._top)
        return jpype.JProxy(
            f"{EXTENSIONS}LoadManagerContext",
            dict={
                "brokerConfiguration": lambda: self._configuration,
                "brokerRegistry": lambda: registry,
                "brokerLoadDataStore": lambda: loads,
                "topBundleLoadDataStore": lambda: top,
            },
        )

    def _registrations(self) -> Java:
        found = java_class("java.util.HashMap")()
        for name in self._available:
            found.put(name, _registration(name))
        return found

    def _shedder(self, cycles: Sequence[Case]) -> Java:
        """Return the strategy, with filters for isolation and groups if the case has any."""
        shedder = java_class(SHEDDER)(java_class(f"{EXTENSIONS}models.UnloadCounter")())
        first = cycles[0]
        if not (first.get("isolation") or first.get("groups")):
            return shedder
        with_policies = self._configuration.isLoadBalancerSheddingBundlesWithPoliciesEnabled()
        if first.get("groups") and with_policies:
            raise Unsupported(
                "only the modular load manager can report which brokers remain candidates under an "
                "anti-affinity group"
            )
        pulsar, policies = self._service.pulsar, java_class(POLICIES)(self._service.pulsar)
        helper = java_class(f"{EXTENSIONS}policies.IsolationPoliciesHelper")(policies)
        groups = java_class(f"{EXTENSIONS}policies.AntiAffinityGroupPolicyHelper")(pulsar, None)
        isolated = java_class(f"{EXTENSIONS}filter.BrokerIsolationPoliciesFilter")(helper)
        parts = {
            "pulsar": pulsar,
            "isolationPoliciesHelper": helper,
            "antiAffinityGroupPolicyHelper": groups,
            "brokerFilterPipeline": java_list([isolated]),
        }
        for name, part in parts.items():
            field(shedder, name).set(shedder, part)
        for namespace, ranges in _ranges(first).items():
            divide(self._service.factory, namespace, ranges)
        return shedder

    def _replies(self, cycles: Sequence[Case]) -> Mapping[str, Any]:
        none: Case = {"isolation": [], "groups": {}, "domains": {}}
        stored = whole_placement.metadata({**none, **cycles[0]})
        groups = stored["getLocalPoliciesAsync"]
        return {
            **stored,
            "LocalPoliciesResources.getLocalPolicies": lambda namespace: groups(namespace).get(),
            "getIsolationDataPoliciesAsync": completed_future(stored["getIsolationDataPolicies"]),
            "UnloadManager.waitAsync": lambda future, *_others: future,
        }


RATES = ("ThroughputIn", "ThroughputOut", "RateIn", "RateOut")


def _store(data: Callable[[], Mapping[str, Java]]) -> Java:
    """Return a load data store with the content that `data` returns whenever the store is read."""

    def entries() -> Java:
        found = java_class("java.util.concurrent.ConcurrentHashMap")()
        for name, one in data().items():
            found.put(name, one)
        return found.entrySet()

    return jpype.JProxy(
        f"{EXTENSIONS}store.LoadDataStore",
        dict={"get": lambda name: java_optional(data().get(str(name))), "entrySet": entries},
    )


def _ranges(seen: Case) -> dict[str, list[str]]:
    """Return the bundle ranges of each namespace."""
    found: dict[str, list[str]] = {}
    for report in seen["brokers"].values():
        for bundle in report.get("bundles", ()):
            namespace, _, part = bundle.rpartition("/")
            found.setdefault(namespace, []).append(part)
    return found


def _registration(name: str) -> Java:
    """Return the registration of a broker that offers persistent and non-persistent topics."""
    [made] = java_class(f"{EXTENSIONS}data.BrokerLookupData").class_.getDeclaredConstructors()
    values = {
        "java.lang.String": name,
        "boolean": jpype.JBoolean(True),
        "long": jpype.JLong(0),
        "java.util.Map": java_class("java.util.HashMap")(),
    }
    kinds = (str(one.getName()) for one in made.getParameterTypes())
    return made.newInstance(*[values[kind] for kind in kinds])


def _unload_as_json(unload: Java) -> Case:
    to = unload.destBroker().orElse(None)
    named = {} if to is None else {"to": broker_name(to)}
    return {
        "broker": broker_name(unload.sourceBroker()),
        "bundle": str(unload.serviceUnit()),
        **named,
    }


def _sort_key(seen: Case, unload: Case) -> tuple[int, float, str]:
    """Return the key that sorts unloads in the strategy's order: by broker, then by traffic."""
    rates = seen["bundles"].get(unload["bundle"], {}).get("shortTermData", {})
    carried = rates.get("msgThroughputIn", 0) + rates.get("msgThroughputOut", 0)
    return list(seen["brokers"]).index(unload["broker"]), carried, unload["bundle"]
