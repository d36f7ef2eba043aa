"""Answers to shed.select and shed.cycles: runs of `doLoadShedding`, and the unloads that they
request.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any, Self

import jpype
from pulsar_conformance.adapters.pulsar.configuration import resource_weight
from pulsar_conformance.adapters.pulsar.jvm import Java, class_exists, java_class, java_list
from pulsar_conformance.adapters.pulsar.loads import RESOURCES, broker_id, broker_name
from pulsar_conformance.adapters.pulsar.manager import Manager, end_threads
from pulsar_conformance.adapters.pulsar.operations import transfer
from pulsar_conformance.adapters.pulsar.operations.usage import counts_heap_memory
from pulsar_conformance.adapters.pulsar.release import Answer, Case, Release, Unsupported
from pulsar_conformance.adapters.pulsar.service import Service
from pulsar_conformance.adapters.pulsar.shells import java_optional
from pulsar_conformance.adapters.pulsar.strategies import (
    PLACEMENT,
    SHEDDING,
    STRATEGY_SETTINGS,
    NoStrategy,
    chosen_broker,
    find_strategy,
    released_strategies,
    settings_for_strategy,
)

STRATEGY = STRATEGY_SETTINGS[SHEDDING]
ONLY_STRATEGY = "OverloadShedder"
"""The strategy in releases that have no setting for the strategy."""

UNLOAD_ENDED_METHOD = "onUnloadAttemptCompleted"
"""Method that tells strategies, since 5.0.1, that an unload attempt has ended."""

MINUTE = 60_000
CLOCK_SLACK = 2_000
"""Tolerance in milliseconds between the case's time and the time that the cycle reads.

The clock advances during a cycle; without the tolerance, a grace period could end within it.
"""


def strategies(release: Release) -> list[str]:
    """Return the shedding strategies that the release offers."""
    if release.shedder or release.placer:
        return [release.played or release.shedder] if release.shedder else []
    if not release.configurations.knows(STRATEGY):
        return [ONLY_STRATEGY]
    later = [transfer.SHEDDER] if class_exists(transfer.SHEDDER) else []
    return [name.rpartition(".")[2] for name in (*released_strategies(SHEDDING), *later)]


def make_user_strategy(release: Release) -> Java:
    """Return the strategy that the manager creates from a user's class."""
    settings = settings_for_strategy(release.shedder or "", SHEDDING)
    with Manager(Service(release.configuration(settings))) as manager:
        return manager.strategy


def _asks_for_transfer(release: Release, case: Case) -> bool:
    """True if the extensible load manager decides a case, using TransferShedder.

    Errors: `Unsupported` if a user's class should decide, since that manager would not load it.
    """
    asks = transfer.asks_for_transfer(case)
    if asks and (release.shedder or release.placer):
        raise Unsupported(f"{transfer.SHEDDER} decides the case, and not the class of strategy=")
    return asks


def select(release: Release, case: Case) -> Answer:
    """Return the bundles that the admin client is asked to unload, in order."""
    if _asks_for_transfer(release, case):
        [unload] = transfer.unloads(release, case, [{"minutes": 0, **case}], latest_clock())
        return {"unload": unload}
    with _ConsecutiveCycles(release, case, case["brokers"]) as row:
        row.remember(case)
        return {"unload": row.unload(case, 0)}


def cycles(release: Release, case: Case) -> Answer:
    """Return the unloads of consecutive cycles on one manager with one strategy."""
    seen = case["cycles"]
    if _asks_for_transfer(release, case):
        found = transfer.unloads(release, case, seen, latest_clock())
        return {"cycles": [{"unload": unload} for unload in found]}
    with _ConsecutiveCycles(release, case, seen[0]["brokers"]) as row:
        passed = accumulate((one["minutes"] for one in seen[1:]), initial=0)
        found = [row.unload(one, minutes) for one, minutes in zip(seen, passed, strict=True)]
    return {"cycles": [{"unload": unload} for unload in found]}


class _ConsecutiveCycles:
    """A load manager and its strategy, on which consecutive cycles run."""

    def __init__(self, release: Release, case: Case, brokers: Case) -> None:
        self._release = release
        settings = {**case["settings"], **strategy_settings(release, case)}
        self._configuration = release.configuration(settings)
        self._brokers = brokers
        self._service = Service(
            self._configuration, brokers, replies={"selectBroker": self._other_broker}
        )
        self._manager = Manager(self._service)
        self._chosen: list[tuple[str, str]] = []
        self._strategy = self._manager.strategy
        placing = named_placement_strategy(release, case["settings"]).rpartition(".")[2]
        self._plans = placing == str(self._strategy.getClass().getSimpleName())
        self._manager.wrap_strategy(lambda strategy: _RecordedShedder(strategy, self._chosen))
        self._unloaded_at_minute: dict[str, float] = {}
        """For each remembered bundle, the minute of its unload, counted from the first cycle."""

    def unload(self, seen: Case, minutes: float) -> list[Case]:
        """Run a cycle `minutes` minutes after the first cycle, and return its unloads."""
        load, now = self._manager.load_data, latest_clock()
        load.getBrokerData().clear()
        load.getBundleData().clear()
        self._brokers = seen["brokers"]
        self._service.set_active(self._brokers)
        self._release.loads.fill_load_data(
            load, self._brokers, seen["bundles"], assigned=True, complete=True
        )
        recent = load.getRecentlyUnloadedBundles()
        self._unloaded_at_minute = {
            str(bundle): self._unloaded_at_minute[str(bundle)] for bundle in recent.keySet()
        }
        for bundle, ago in seen["recentlyUnloaded"].items():
            self._unloaded_at_minute[bundle] = max(
                minutes - ago, self._unloaded_at_minute.get(bundle, -math.inf)
            )
        before = {
            bundle: int(now - (minutes - moment) * MINUTE)
            for bundle, moment in self._unloaded_at_minute.items()
        }
        for bundle, moment in before.items():
            recent.put(bundle, jpype.JLong(moment))
        self._chosen.clear()
        self._service.requests.clear()
        self._manager.remove_inactive_brokers()
        self._manager.java.doLoadShedding()
        for bundle in map(str, recent.keySet()):
            if int(recent.get(bundle)) != before.get(bundle):
                self._unloaded_at_minute[bundle] = minutes
        unloads = list(_unload_calls(self._service, self._chosen))
        if self._plans:
            unloads = [{**one, "to": self._planned_destination(one["bundle"])} for one in unloads]
        if hasattr(self._strategy, UNLOAD_ENDED_METHOD):
            self._strategy.onUnloadAttemptCompleted()
        return unloads

    def _planned_destination(self, bundle: str) -> str:
        """Return the destination planned for a bundle by a strategy that also places bundles."""
        load = self._manager.load_data
        brokers = java_class("java.util.HashSet")(java_list(map(broker_id, self._brokers)))
        data = load.getBundleData().get(bundle)
        found = chosen_broker(self._strategy, brokers, bundle, data, load, self._configuration)
        return broker_name(found.get())

    def remember(self, case: Case) -> None:
        """Run the cycles of `usageHistory`, oldest first, if the strategy keeps a history."""
        replay_history(self._release, self._strategy, self._configuration, case)

    def _other_broker(self, bundle: Java) -> Java:
        """Return a broker that does not own the bundle."""
        owning = (
            name for name, one in self._brokers.items() if str(bundle) in one.get("bundles", ())
        )
        owner = next(owning, None)
        other = next((name for name in self._brokers if name != owner), None)
        return java_optional(None if other is None else broker_id(other))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        end_threads(self._manager.java)


def named_placement_strategy(release: Release, settings: Case) -> str:
    """Return the placement strategy that the settings name, or else the release's default."""
    if not release.configurations.knows(STRATEGY_SETTINGS[PLACEMENT]):
        return ""
    return str(release.configuration(settings).getLoadBalancerLoadPlacementStrategy())


def latest_clock() -> int:
    """Return the latest time, in milliseconds, that the cycle may read from the clock."""
    return int(java_class("java.lang.System").currentTimeMillis()) + CLOCK_SLACK


def strategy_settings(release: Release, case: Case) -> Mapping[str, Any]:
    """Return the setting that names the strategy by its full class name. Errors: `Unsupported`."""
    asked = case["strategy"] or case["settings"].get(STRATEGY) or release.shedder
    if asked is None:
        return {}
    if release.shedder and str(asked).rpartition(".")[2] == release.played:
        asked = release.shedder
    try:
        name = find_strategy(asked, (SHEDDING,), release.version)
    except NoStrategy as none:
        raise Unsupported(str(none)) from None
    if not release.configurations.knows(STRATEGY) and name.rpartition(".")[2] != ONLY_STRATEGY:
        raise Unsupported(f"this release has no {STRATEGY}, and sheds only with {ONLY_STRATEGY}")
    return settings_for_strategy(name, SHEDDING)


def replay_history(release: Release, strategy: Java, configuration: Java, case: Case) -> None:
    """Run the cycles of `usageHistory`, oldest first, if the strategy keeps a history.

    In each of these cycles, brokers have their current traffic, and no bundle was unloaded
    recently.
    """
    histories = {
        name: one["usageHistory"]
        for name, one in case["brokers"].items()
        if one.get("usageHistory")
    }
    if (release.played or str(strategy.getClass().getSimpleName())) not in REMEMBERING:
        return
    for ago in range(max(map(len, histories.values()), default=0), 0, -1):
        seen = {
            name: _report_at_usage(case["brokers"][name], history[-ago], configuration)
            for name, history in histories.items()
            if len(history) >= ago
        }
        past = java_class("org.apache.pulsar.broker.loadbalance.LoadData")()
        release.loads.fill_load_data(past, seen, case["bundles"], assigned=True, complete=True)
        strategy.findBundlesForUnloading(past, configuration)


REMEMBERING = ("ThresholdShedder",)
"""The strategies that remember the usages of earlier cycles."""


def _report_at_usage(report: Case, percent: float, configuration: Java) -> Case:
    """Return the report, changed so that its weighted usage is `percent`."""
    traffic = {name: value for name, value in report.items() if name not in RESOURCES}
    return {**traffic, **_resources_at_usage(percent, configuration)}


def _resources_at_usage(percent: float, configuration: Java) -> Case:
    """Return resources whose weighted usage is `percent`.

    Errors: `Unsupported` if no resource has a weight, so that every usage is 0.
    """
    weights = {
        name: resource_weight(configuration, called)
        for name, called in WEIGHTED.items()
        if name != "memory" or counts_heap_memory()
    }
    name = next((one for one, share in weights.items() if share > 0), None)
    if name is None:
        raise Unsupported("no resource has a weight, so that every usage is 0")
    return {name: {"usage": percent, "limit": 100 * weights[name]}}


WEIGHTED = {
    "cpu": "CPU",
    "bandwidthIn": "BandwidthIn",
    "bandwidthOut": "BandwidthOut",
    "directMemory": "DirectMemory",
    "memory": "Memory",
}
"""The resources with a weight, and their names in settings."""


@jpype.JImplements(SHEDDING, deferred=True)
class _RecordedShedder:
    """Wrapper of a shedding strategy that records the chosen bundles and their brokers."""

    def __init__(self, strategy: Java, chosen: list[tuple[str, str]]) -> None:
        self._strategy = strategy
        self._chosen = chosen

    @jpype.JOverride
    def findBundlesForUnloading(self, load_data: Java, configuration: Java) -> Java:  # noqa: N802  Pulsar's
        """Return the strategy's choice, and record it."""
        found = self._strategy.findBundlesForUnloading(load_data, configuration)
        if found is not None:  # The release rejects None itself.
            for broker, bundles in found.asMap().items():
                self._chosen += [(broker_name(broker), str(bundle)) for bundle in bundles]
        return found

    @jpype.JOverride
    def onActiveBrokersChange(self, brokers: Java) -> None:  # noqa: N802  Pulsar's
        """Forward the change to the strategy."""
        self._strategy.onActiveBrokersChange(brokers)

    @jpype.JOverride
    def onUnloadAttemptCompleted(self) -> None:  # noqa: N802  Pulsar's
        """Ignore this call; the strategy gets it once its planned destinations have been read."""


def _unload_calls(service: Service, chosen: list[tuple[str, str]]) -> Iterator[Case]:
    """Yield each unload request, with the broker for which the strategy chose the bundle."""
    unloaded = iter([f"{call[0]}/{call[1]}" for what, call in service.requests if what == "unload"])
    bundle = next(unloaded, None)
    for broker, name in chosen:
        if name == bundle:
            yield {"broker": broker, "bundle": name}
            bundle = next(unloaded, None)
