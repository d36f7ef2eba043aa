"""Settings of a release, and its ways that no case can show: python -m release_cases.configured VERSION.

Prints one object: `defaults` of the settings of load balancing, and the alternatives of the ways
`bad-shedder`, `bad-placer`, `destination`, `unsupported-algorithm`, `kept-averages` and
`unreachable-metadata`, by the classes that decide.
"""

import json
import os
import sys

import jpype
from pulsar_conformance.adapters.pulsar.jvm import call, field
from pulsar_conformance.adapters.pulsar.loads import broker_id
from pulsar_conformance.adapters.pulsar.manager import Manager
from pulsar_conformance.adapters.pulsar.operations import managers, shedding, splitting
from pulsar_conformance.adapters.pulsar.operations.settings import _value
from pulsar_conformance.adapters.pulsar.release import RejectedRequest
from pulsar_conformance.adapters.pulsar.service import Service
from pulsar_conformance.adapters.pulsar.shells import StubBuilder, java_optional
from pulsar_conformance.conformance.compare.changes_text import profile_of

from release_cases.agreement import release
from release_cases.common import IMPL

CONTEXT = "org.apache.pulsar.common.configuration.FieldContext"
STRATEGIES = {
    "bad-shedder": "loadBalancerLoadSheddingStrategy",
    "bad-placer": "loadBalancerLoadPlacementStrategy",
}


def annotated(configurations, names):
    """Return the defaults of the settings in the category of load balancing, and of the named settings."""
    kind, found = configurations.of({}).getClass(), {}
    for one in kind.getDeclaredFields():
        context = one.getAnnotation(jpype.JClass(CONTEXT).class_)
        name = str(one.getName())
        if context is not None and (name in names or "Load Balancer" in str(context.category())):
            found[name] = _value(configurations.default(name))
    return found


def made_with(released, setting):
    """Return which manager or shedder starts if `setting` names a class that does not exist."""
    given = {managers.SETTING: f"{IMPL}ModularLoadManagerImpl", setting: "org.example.Nothing"}
    service = Service(released.configuration(given), replies={"pulsar": lambda: service.pulsar})
    try:
        made = jpype.JClass(managers.LOAD_MANAGER).create(service.pulsar)
    except jpype.JException:
        return "refused"
    if str(made.getClass().getSimpleName()) == "SimpleLoadManagerImpl":
        return "simple-manager"
    modular = field(made, "loadManager").get(made)
    shedding = field(modular, "loadSheddingPipeline") or field(modular, "loadSheddingStrategy")
    return "overload" if "OverloadShedder" in str(shedding.get(modular)) else "ignored"


class Returning(shedding._ConsecutiveCycles):
    """Runs cycles in which placement would return each bundle to its owner."""

    def _other_broker(self, _bundle):
        return java_optional(broker_id("busy"))


def destination_alternative(released):
    """Return `unasked` if a bundle is unloaded that placement would return to its owner, else
    `asked`.
    """
    unloaded = Returning(released, OVERLOADED, OVERLOADED["brokers"]).unload(OVERLOADED, 0)
    return "unasked" if unloaded else "asked"


NAMES = [f"t/ns/0x{low:08x}_0x{low + 2**30:08x}" for low in (0, 2**30)]
OVERLOADED = {
    "strategy": "OverloadShedder",
    "settings": {},
    "brokers": {
        "busy": {"cpu": {"usage": 99, "limit": 100}, "msgThroughputIn": 2e8, "bundles": NAMES},
        "idle": {"cpu": {"usage": 1, "limit": 100}, "bundles": []},
    },
    "bundles": {
        name: {"shortTermData": {"msgThroughputIn": 1e8, "numSamples": 10}} for name in NAMES
    },
    "recentlyUnloaded": {},
}
"""A cycle with a broker that sheds, whatever the other settings are."""


def refused_algorithm(released):
    """Return what happens to a request for an algorithm that the broker does not support."""
    if not released.configurations.knows(SUPPORTED):
        return "unspoken"
    parts = []
    splitting.range_of = lambda bundle: parts.append(bundle) or str(bundle.getBundleRange())
    case = {"bundle": "0x00000000_0xffffffff", "topics": TOPICS, "positions": [], "by": "admin"}
    given = {"algorithm": "topic_count_equally_divide", "settings": {SUPPORTED: splitting.RANGE}}
    try:
        splitting.split(released, {**case, **given})
    except RejectedRequest:
        return "refused-and-followed" if parts else "refused"
    return "followed"


SUPPORTED = "supportedNamespaceBundleSplitAlgorithms"
TOPICS = [f"persistent://t/ns/clicks-{number}" for number in range(4)]


def kept_averages(released):
    """Return which brokers' bundles keep their averages when the leader updates the averages."""
    brokers = {
        name: {"bundles": [bundle], "lastStats": {bundle: {"msgRateIn": 5}}}
        for name, bundle in zip(("b1", "b2"), NAMES, strict=True)
    }
    with Manager(Service(released.configuration({}), brokers)) as manager:
        released.loads.fill_load_data(manager.load_data, brokers, OVERLOADED["bundles"])
        call(manager.java, "updateBundleData")
        known = manager.load_data.getBundleData()
        samples = [int(known.get(one).getShortTermData().getNumSamples()) for one in NAMES]
    return "all" if min(samples) > 1 else "first-broker"


def without_metadata(released):
    """Return what a shedding task does, and whether it runs again, without a metadata service."""
    calls = []
    stubs = StubBuilder(
        {
            "isMetadataServiceAvailable": False,
            "doLoadShedding": lambda: calls.append("sheds"),
            "schedule": lambda *_arguments: calls.append("waits"),
        }
    )
    manager = jpype.JClass("java.util.concurrent.atomic.AtomicReference")()
    manager.set(stubs.stub_of(managers.LOAD_MANAGER))
    every = (
        manager,
        stubs.stub_of("java.util.concurrent.ScheduledExecutorService"),
        released.configuration({}),
        stubs.stub_of("org.apache.bookkeeper.mledger.impl.ManagedLedgerFactoryImpl"),
    )
    task = jpype.JClass(f"{managers.LOAD_MANAGER.rpartition('.')[0]}.LoadSheddingTask")
    [made] = task.class_.getConstructors()
    task(*every[: made.getParameterCount()]).run()
    return calls[0] if calls else "ends"


def main(version, *names):
    released = release(version, profile_of(version))._release
    ways = {way: made_with(released, setting) for way, setting in STRATEGIES.items()}
    ways["destination"] = destination_alternative(released)
    ways["unsupported-algorithm"] = refused_algorithm(released)
    ways["kept-averages"] = kept_averages(released)
    ways["unreachable-metadata"] = without_metadata(released)
    print(json.dumps({"defaults": annotated(released.configurations, names), **ways}))
    sys.stdout.flush()
    os._exit(0)  # Otherwise, Pulsar's threads would keep the process running.


if __name__ == "__main__":
    main(*sys.argv[1:])
