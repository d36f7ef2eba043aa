"""Answers to place.select by the release's own placement strategy, called as by its manager."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from pulsar_conformance.adapters.pulsar.jvm import Java, field, java_class, java_list
from pulsar_conformance.adapters.pulsar.loads import broker_id, broker_name
from pulsar_conformance.adapters.pulsar.manager import default_stats
from pulsar_conformance.adapters.pulsar.release import Answer, Case, Release, Unsupported
from pulsar_conformance.adapters.pulsar.strategies import (
    PLACEMENT,
    STRATEGY_SETTINGS,
    NoStrategy,
    chosen_broker,
    created_placement_strategy,
    find_strategy,
    settings_for_strategy,
)

LOAD_DATA = "org.apache.pulsar.broker.loadbalance.LoadData"
SETTING = STRATEGY_SETTINGS[PLACEMENT]
"""The setting that names the placement strategy; releases before 3.0 have only one strategy."""


def make_user_strategy(release: Release) -> Java:
    """Return the strategy that the release creates from the user's class."""
    return java_class(PLACEMENT).create(release.configuration({SETTING: release.placer}))


def select(release: Release, case: Case) -> Answer:
    """Return the broker that the strategy chooses; each question gets a new strategy object."""
    settings = strategy_settings(release, case)
    configuration = release.configuration(settings)
    load = leader_load_data(release, case, default_stats())
    bundle = load.getBundleData().get(case["bundle"])
    candidates = java_list(map(broker_id, case["candidates"]))

    def draw() -> str | None:
        strategy = created_placement_strategy(configuration)
        give_plan(strategy, case["bundle"], bundle, case.get("plan"))
        among = java_class("java.util.HashSet")(candidates)
        asked = (bundle, load, configuration)
        broker = chosen_broker(strategy, among, case["bundle"], *asked).orElse(None)
        return None if broker is None else broker_name(broker)

    return {"broker": release.turns.next_answer(case, len(case["candidates"]), draw)}


def give_plan(strategy: Java, name: str, bundle: Java, plan: Case | None) -> None:
    """Give the case's plan to a strategy that plans destinations; do nothing to others."""
    by_averages, by_name = field(strategy, "bundleBrokerMap"), field(strategy, PENDING_FIELD)
    if plan is None:
        return
    if by_averages is not None:
        by_averages.get(strategy).put(bundle, broker_id(plan["to"]))
    if by_name is not None:
        [pending] = java_class(PLAN_CLASS).class_.getDeclaredConstructors()
        pending.setAccessible(True)
        brokers = java_list(broker_id(plan[one]) for one in ("from", "to"))
        by_name.get(strategy).put(name, pending.newInstance(brokers.toArray()))
        if plan["attempt"] != "running":
            strategy.onUnloadAttemptCompleted()


PENDING_FIELD = "pendingBundleToUnload"
PLAN_CLASS = "org.apache.pulsar.broker.loadbalance.impl.AvgShedder$PendingUnload"
"""Class in which AvgShedder keeps a planned unload, since 5.0.1."""


def strategy_settings(release: Release, case: Case) -> Mapping[str, Any]:
    """Return a case's settings, in which the strategy is named by its full class name.

    Errors: `Unsupported`.
    """
    return {**case["settings"], **_strategy(release, case)}


def _strategy(release: Release, case: Case) -> Mapping[str, str]:
    """Return the setting that names the strategy by its full class name. Errors: `Unsupported`.

    A name that is unknown to the release is an error here, because the release would use its
    default strategy instead and only log the failure.
    """
    asked = release.placer or case["settings"].get(SETTING) or release.neutral.get(SETTING)
    if not asked or not release.configurations.knows(SETTING):
        return {}
    try:
        return settings_for_strategy(
            find_strategy(str(asked), (PLACEMENT,), release.version), PLACEMENT
        )
    except NoStrategy as none:
        raise Unsupported(str(none)) from None


def leader_load_data(release: Release, case: Case, unmeasured: Java) -> Java:
    """Return the leader's load data: reports, averages, their sums, and preallocated bundles.

    A bundle without samples has the statistics `unmeasured`.
    """
    assigned = {one for names in case["preallocated"].values() for one in names}
    load = java_class(LOAD_DATA)()
    unknown: dict[str, Case] = {name: {} for name in (case["bundle"], *sorted(assigned))}
    bundles = {**unknown, **case["bundles"]}
    release.loads.fill_load_data(load, case["brokers"], bundles, complete=True)
    measured = release.loads.averages_of_measured(case["bundles"])
    for name, report in case["brokers"].items():
        broker = load.getBrokerData().get(release.identify(name))
        owned = report.get("bundles", ())
        broker.setTimeAverageData(release.loads.broker_sums(owned, measured, unmeasured))
        _preallocate(broker, load, case["preallocated"].get(name, ()), owned)
    return load


def _preallocate(
    broker: Java, load: Java, assigned: Collection[str], owned: Collection[str]
) -> None:
    """Preallocate to a broker the assigned bundles that are not in its report."""
    for bundle in assigned:
        if bundle not in owned:
            data = load.getBundleData().get(bundle)
            broker.getPreallocatedBundleData().put(bundle, data)
