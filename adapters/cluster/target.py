"""The part of an adapter's name after `cluster:`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pulsar_conformance.adapters.names import CLUSTER_FORM
from pulsar_conformance.adapters.options import parse_options
from pulsar_conformance.adapters.pulsar.target import BadTarget

MANAGERS: Mapping[str, str] = {
    "simple": "org.apache.pulsar.broker.loadbalance.impl.SimpleLoadManagerImpl",
    "modular": "org.apache.pulsar.broker.loadbalance.impl.ModularLoadManagerImpl",
    "extensible": "org.apache.pulsar.broker.loadbalance.extensions.ExtensibleLoadManagerImpl",
}
"""The load managers that a cluster can run, each with its value of `loadManagerClassName`."""

CRASH_KINDS = ("close", "kill")
"""Kinds of crash.

`close` immediately closes the broker's sockets and its metadata session. `kill` kills the broker's
process; the broker then runs in a separate process, which takes some seconds longer to start.
"""

KEYS = ("manager", "brokers", "crash", "set")
MAX_BROKERS = 12
"""Default maximum number of brokers; each takes 50 MB and 60 threads."""


class BadCluster(BadTarget):
    """Raised for an unusable text after `cluster:`; the message says what is wrong."""


@dataclass(frozen=True)
class ClusterTarget:
    """A version of Pulsar, its load manager and its settings.

    Attributes:
        release: a version, or the jar folder of a distribution or build.
        manager: a name in `MANAGERS`.
        brokers: maximum number of brokers.
        crash: a name in `CRASH_KINDS`.
        settings: the user's broker.conf settings, which override those of a case.
    """

    release: str
    manager: str = "modular"
    brokers: int = MAX_BROKERS
    crash: str = CRASH_KINDS[0]
    settings: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> ClusterTarget:
        """Parse the text after `cluster:`. Errors: `BadCluster`."""
        release, *rest = text.split(",")
        if not release:
            raise BadCluster(f"names neither a version nor a folder; write {CLUSTER_FORM}")
        manager, brokers, crash, settings = "modular", MAX_BROKERS, CRASH_KINDS[0], {}
        for key, value in parse_options(rest, KEYS, CLUSTER_FORM, BadCluster):
            if key == "manager":
                manager = _parse_manager(value)
            elif key == "brokers":
                brokers = _parse_count(value)
            elif key == "crash":
                crash = _parse_crash(value)
            else:
                name, given, held = value.partition("=")
                if not name or not given:
                    raise BadCluster(f"{f'set={value}'!r} sets nothing; write set=NAME=VALUE")
                settings[name] = held
        return cls(release, manager, brokers, crash, settings)


def _parse_manager(value: str) -> str:
    if value not in MANAGERS:
        raise BadCluster(f"{value!r} is not a load manager; choose from {', '.join(MANAGERS)}")
    return value


def _parse_crash(value: str) -> str:
    if value not in CRASH_KINDS:
        raise BadCluster(f"{value!r} is not a kind of crash; choose from {', '.join(CRASH_KINDS)}")
    return value


def _parse_count(value: str) -> int:
    if not value.isascii() or not value.isdigit() or not 1 <= int(value) <= 99:
        raise BadCluster(f"brokers={value}: write a number from 1 to 99")
    return int(value)
