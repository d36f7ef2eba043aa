"""The broker.conf of a broker in a cluster that the suite starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pulsar_conformance.adapters.admin_api.requests import CLUSTER
from pulsar_conformance.adapters.cluster.loopback import LOOPBACK, Ports
from pulsar_conformance.adapters.cluster.metadata import SESSION
from pulsar_conformance.adapters.cluster.standins import NEUTRAL
from pulsar_conformance.adapters.cluster.target import MANAGERS
from pulsar_conformance.adapters.pulsar.configuration import Configurations
from pulsar_conformance.adapters.pulsar.jvm import Java

SMALL_FOOTPRINT: Mapping[str, Any] = {
    "clusterName": CLUSTER,
    "advertisedAddress": LOOPBACK,
    "bindAddress": LOOPBACK,
    "managedLedgerDefaultEnsembleSize": 1,
    "managedLedgerDefaultWriteQuorum": 1,
    "managedLedgerDefaultAckQuorum": 1,
    "managedLedgerCacheSizeMB": 16,
    "managedLedgerNumSchedulerThreads": 1,
    "bookkeeperClientNumWorkerThreads": 1,
    "bookkeeperClientNumIoThreads": 1,
    "metadataStoreSessionTimeoutMillis": SESSION,
    "zooKeeperSessionTimeoutMillis": SESSION,
    "functionsWorkerEnabled": False,
    "brokerShutdownTimeoutMs": 0,
    "numIOThreads": 2,
    "numHttpServerThreads": 8,
    "numExecutorThreadPoolSize": 2,
    "numCacheExecutorThreadPoolSize": 1,
    "numOrderedExecutorThreads": 1,
    "topicOrderedExecutorThreadNum": 1,
    "topicLevelPoliciesEnabled": False,
    "systemTopicEnabled": False,
}
"""Settings for a small footprint: few threads, little memory and one bookie; timeouts are long."""

SENSOR_SETTINGS: Mapping[str, Any] = {
    # The suite fills the traffic table; a broker's own first update after a minute would empty it.
    "statsUpdateInitialDelayInSecs": 36000,
    "statsUpdateFrequencyInSecs": 36000,
    "loadBalancerOverrideBrokerNicSpeedGbps": 1,
    # Brokers check every minute whether a report is due; the documented interval is kept.
    "loadBalancerReportUpdateMinIntervalMillis": 60000,
}
"""Settings that the stubbed sensors need."""


def broker_conf(
    defaults: Mapping[str, Any],
    file: Mapping[str, Any],
    overrides: Mapping[str, Any],
    *,
    manager: str,
    metadata: int,
    ports: Ports,
) -> Java:
    """Return the broker.conf of a broker in a story with these settings.

    `defaults` apply to settings that `file`, the broker.conf of the story, omits; `overrides`
    override both. Errors: `Inexpressible`.
    """
    store = f"zk:{LOOPBACK}:{metadata}"
    place = {
        "webServicePort": ports.web,
        "brokerServicePort": ports.binary,
        "metadataStoreUrl": store,
        "configurationMetadataStoreUrl": store,
    }
    neutral = {name: value for name, (value, _) in NEUTRAL.items()}
    given = {
        **SMALL_FOOTPRINT,
        **file,
        **SENSOR_SETTINGS,
        **neutral,
        "loadManagerClassName": MANAGERS[manager],
    }
    return Configurations(defaults).of({**given, **overrides, **place})
