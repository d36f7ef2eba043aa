"""Settings of a release, and what it makes of strategies that do not exist: python -m release_cases.configured VERSION.

Prints one object: `defaults` of the settings of load balancing, and the alternatives of the ways
`bad-shedder` and `bad-placer`.
"""

import json
import os
import sys

import jpype
from pulsar_conformance.adapters.pulsar.jvm import field
from pulsar_conformance.adapters.pulsar.operations import managers
from pulsar_conformance.adapters.pulsar.operations.settings import _value
from pulsar_conformance.adapters.pulsar.service import Service
from pulsar_conformance.conformance.compare.changes_text import profile_of

from release_cases.agreement import release
from release_cases.common import IMPL

CONTEXT = "org.apache.pulsar.common.configuration.FieldContext"
STRATEGIES = {
    "bad-shedder": "loadBalancerLoadSheddingStrategy",
    "bad-placer": "loadBalancerLoadPlacementStrategy",
}


def annotated(configurations, names):
    """Defaults of the settings in the category of load balancing, and of the named ones."""
    kind, found = configurations.of({}).getClass(), {}
    for one in kind.getDeclaredFields():
        context = one.getAnnotation(jpype.JClass(CONTEXT).class_)
        name = str(one.getName())
        if context is not None and (name in names or "Load Balancer" in str(context.category())):
            found[name] = _value(configurations.default(name))
    return found


def made_with(released, setting):
    """Return the manager, or the shedder, that a broker starts if a strategy does not exist."""
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


def main(version, *names):
    released = release(version, profile_of(version))._release
    ways = {way: made_with(released, setting) for way, setting in STRATEGIES.items()}
    print(json.dumps({"defaults": annotated(released.configurations, names), **ways}))
    sys.stdout.flush()
    os._exit(0)  # the threads of Pulsar's own would keep the process


if __name__ == "__main__":
    main(*sys.argv[1:])
