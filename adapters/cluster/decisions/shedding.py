"""Answers to shed.select: in one cycle, the leader asks brokers to unload bundles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import jpype
from pulsar_conformance.adapters.cluster.decisions.leader import AskedLeader
from pulsar_conformance.adapters.pulsar.jvm import Java, field, java_class
from pulsar_conformance.adapters.pulsar.manager import shedding_strategy
from pulsar_conformance.adapters.pulsar.operations.shedding import (
    MINUTE,
    latest_clock,
    replay_history,
    strategy_settings,
)
from pulsar_conformance.adapters.pulsar.release import Answer, Case
from pulsar_conformance.adapters.pulsar.shells import java_optional
from pulsar_conformance.adapters.pulsar.strategies import PLACEMENT


def select(leader: AskedLeader, case: Case) -> Answer:
    """Return the bundles that brokers are asked to unload, in request order."""
    settings = {**case["settings"], **strategy_settings(leader.release, case)}
    leader.begin(settings, case["brokers"])
    release, load, requests = leader.release, leader.frozen_load_data(), leader.requests()
    configuration = leader.broker.service.getConfiguration()
    replay_history(release, shedding_strategy(leader.manager), configuration, case)
    release.loads.fill_load_data(load, case["brokers"], case["bundles"], assigned=True)
    now = latest_clock()
    for bundle, ago in case["recentlyUnloaded"].items():
        load.getRecentlyUnloadedBundles().put(bundle, jpype.JLong(int(now - ago * MINUTE)))
    owner = {
        bundle: name
        for name, report in case["brokers"].items()
        for bundle in report.get("bundles", ())
    }
    ids = {bundle: leader.names.identify(name) for bundle, name in owner.items()}
    brokers = list(map(leader.names.identify, case["brokers"]))
    field(leader.manager, "placementStrategy").set(leader.manager, _OtherBrokerPlacer(ids, brokers))
    leader.manager.doLoadShedding()
    unloaded = [one.bundle for one in requests.recorded if one.what == "unload"]
    return {"unload": [{"broker": owner[one], "bundle": one} for one in unloaded]}


@jpype.JImplements(PLACEMENT, deferred=True)
class _OtherBrokerPlacer:
    """A placement strategy that assigns each bundle to a broker that does not own it."""

    def __init__(self, owner: Mapping[str, str], brokers: Sequence[str]) -> None:
        self._owner = owner
        self._brokers = brokers

    @jpype.JOverride
    def selectBroker(self, _among: Java, data: Java, load: Java, _configuration: Java) -> Java:  # noqa: N802  Pulsar's
        """Return any broker but the owner, since the leader never unloads a bundle to its owner."""
        known, identity = load.getBundleData(), java_class("java.lang.System").identityHashCode
        bundles = {identity(one.getValue()): str(one.getKey()) for one in known.entrySet()}
        owner = self._owner.get(bundles.get(identity(data), ""))
        return java_optional(next((one for one in self._brokers if one != owner), None))

    @jpype.JOverride
    def onActiveBrokersChange(self, brokers: Java) -> None:  # noqa: N802  Pulsar's
        """Do nothing, since no state is kept."""
