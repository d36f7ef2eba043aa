"""Answers to manager.choose: the admin API sets the class dynamically, then a broker starts.

A starting broker reads its configuration, applies dynamic settings, and creates its manager.
"""

from __future__ import annotations

from typing import Any

import jpype
from pulsar_conformance.adapters.pulsar.admin import raising_rejections, wait_for
from pulsar_conformance.adapters.pulsar.jvm import Java, call, field, java_class, methods
from pulsar_conformance.adapters.pulsar.manager import end_threads
from pulsar_conformance.adapters.pulsar.release import (
    Answer,
    Case,
    RejectedRequest,
    Release,
    Unsupported,
)
from pulsar_conformance.adapters.pulsar.service import Service
from pulsar_conformance.adapters.pulsar.shells import completed_future, java_optional

SETTING = "loadManagerClassName"
BROKERS = "org.apache.pulsar.broker.admin.v2.Brokers"
BROKER_SERVICE = "org.apache.pulsar.broker.service.BrokerService"
LOAD_MANAGER = "org.apache.pulsar.broker.loadbalance.LoadManager"
SET_DYNAMIC_METHODS = (
    "persistDynamicConfigurationAsync",
    "persistDynamicConfiguration",
    "updateDynamicConfigurationOnZk",
)
"""Names of the method that validates a dynamic setting; they differ between releases."""

MANAGERS = {
    "SimpleLoadManagerImpl": "simple",
    "ModularLoadManagerWrapper": "modular",
    "ExtensibleLoadManagerWrapper": "extensible",
}
"""The protocol's name of the load manager, by the class that a release creates."""


def choose(release: Release, case: Case) -> Answer:
    """Return the load manager that a broker with these settings starts.

    Errors: `RejectedRequest` if the admin API rejects the setting, or the broker does not start.
    """
    written = {} if case["conf"] is None else {SETTING: case["conf"]}
    stored = java_class("java.util.HashMap")()
    brokers: Java
    service: Service
    replies: dict[str, Any] = {
        "pulsar": lambda: service.pulsar,
        "getBrokerService": lambda: brokers,
        "DynamicConfigurationResources.getDynamicConfiguration": lambda: _stored_settings(stored),
        "getDynamicConfigurationAsync": lambda: completed_future(java_optional(stored)),
        "BaseResources.get": lambda _path: java_optional(stored),
        "ZooKeeperDataCache.get": lambda _path: java_optional(stored),
        "ZooKeeper.exists": lambda path, *_: _dynamic_node(service) if str(path) == NODE else None,
        "execute": lambda _task: None,
        "clientAppId": "",
    }
    service = Service(release.configuration(written), replies=replies)
    if case["dynamic"] is not None:
        brokers = _broker_service(service)
        call(brokers, READ_DYNAMIC_METHOD)
        _update_dynamic_config(service, case["dynamic"])
        stored.put(SETTING, case["dynamic"])
        call(brokers, READ_DYNAMIC_METHOD)
    return {"manager": _created_manager(service)}


RESOURCES = "org.apache.pulsar.broker.resources.DynamicConfigurationResources"


def _stored_settings(stored: Java) -> Java:
    """Return dynamic settings as `getDynamicConfiguration` does: in an Optional, except in 2.9."""
    [method] = methods(java_class(RESOURCES), "getDynamicConfiguration")
    return stored if str(method.getReturnType().getSimpleName()) == "Map" else java_optional(stored)


NODE = "/admin/configuration"
"""Path of the node with the dynamic configuration."""


def _dynamic_node(service: Service) -> Java:
    return service.shells.stub_of("org.apache.zookeeper.data.Stat")


READ_DYNAMIC_METHOD = "updateConfigurationAndRegisterListeners"
"""Method that reads a broker's dynamic configuration and registers allowed values."""


def _broker_service(service: Service) -> Java:
    """Return the release's own BrokerService to store settings, with everything else stubbed."""
    java = service.shells.unconstructed_object(BROKER_SERVICE)
    field(java, "pulsar").set(java, service.pulsar)
    listeners = field(java, "configRegisteredListeners")
    kind = str(listeners.getType().getName())
    listeners.set(java, java_class(CONCURRENT_MAP if kind == "java.util.Map" else kind)())
    known = field(java, "dynamicConfigurationMap")
    if known.get(java) is None:
        known.set(java, call(java, "prepareDynamicConfigurationMap"))
    for name in ("dynamicConfigurationCache", "managedLedgerStorage"):
        kept = field(java, name)
        if kept is not None:
            kept.set(java, service.shells.stub_of(str(kept.getType().getName())))
    return java


CONCURRENT_MAP = "java.util.concurrent.ConcurrentHashMap"


def _update_dynamic_config(service: Service, value: str) -> None:
    """Run `update-dynamic-config` as an authorized user. Errors: `RejectedRequest`."""
    java = service.shells.unconstructed_object(BROKERS)
    name = next(one for one in SET_DYNAMIC_METHODS if methods(java, one))
    with raising_rejections():
        wait_for(call(java, name, SETTING, value))


def _created_manager(service: Service) -> str:
    """Return the protocol's name of the load manager that the release creates.

    Errors: `RejectedRequest` if the release rejects the class name, `Unsupported` for an unknown
    manager.
    """
    try:
        made = java_class(LOAD_MANAGER).create(service.pulsar)
    except jpype.JException as error:
        if is_name_mistake(error):
            raise RejectedRequest(f"the broker does not start: {error.toString()}") from None
        raise
    end_threads(made)
    name = str(made.getClass().getSimpleName())
    if name not in MANAGERS:
        raise Unsupported(f"the broker runs {name}, for which this operation has no answer")
    return MANAGERS[name]


def is_name_mistake(error: Java) -> bool:
    """True if an error concerns the name of a class, not the class itself."""
    while error is not None:
        if str(error.getClass().getSimpleName()) in NAME_MISTAKES:
            return True
        error = error.getCause()
    return False


NAME_MISTAKES = ("ClassNotFoundException", "NoClassDefFoundError", "IllegalArgumentException")
"""Exceptions that mean that a class name is wrong.

Either it names no load manager, or only its capitalization differs from that of a class file.
"""
