"""A user's own strategy: of which kind its class is, and whether the release takes one."""

from __future__ import annotations

import jpype
from pulsar_conformance.adapters.errors import CannotLoad
from pulsar_conformance.adapters.pulsar.configuration import Configurations
from pulsar_conformance.adapters.pulsar.jvm import exists, named

PACKAGE = "org.apache.pulsar.broker.loadbalance."
KINDS = {
    "shedder": (f"{PACKAGE}LoadSheddingStrategy", "loadBalancerLoadSheddingStrategy"),
    "placer": (f"{PACKAGE}ModularLoadManagerStrategy", "loadBalancerLoadPlacementStrategy"),
}
"""Each kind's interface, and the setting that names a class of it."""


def kinds_of(strategy: str, configurations: Configurations, version: str) -> dict[str, str]:
    """The places that a class takes, shedder or placer or both. Errors: `CannotLoad`."""
    if not exists(strategy):
        raise CannotLoad(f"there is no class {strategy}; name its jar or folder by classpath=")
    try:
        found = named(strategy).class_
    except jpype.JException as error:
        taken = [setting for _, setting in KINDS.values() if configurations.knows(setting)]
        names = " and ".join(taken) or "no setting for a strategy"
        problem = f"cannot load {strategy}: {error.toString()}; it has {names}"
        raise CannotLoad(f"Pulsar {version} {problem}") from None
    kinds = {
        kind: setting
        for kind, (interface, setting) in KINDS.items()
        if named(interface).class_.isAssignableFrom(found)
    }
    if not kinds:
        interfaces = " nor ".join(interface for interface, _ in KINDS.values())
        raise CannotLoad(f"{strategy} implements neither {interfaces}")
    taken = [kind for kind, setting in kinds.items() if configurations.knows(setting)]
    if not taken:
        settings = " or ".join(kinds.values())
        raise CannotLoad(f"Pulsar {version} has no {settings}, and takes no {strategy}")
    return dict.fromkeys(taken, strategy)
