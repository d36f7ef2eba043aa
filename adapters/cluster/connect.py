"""`cluster:VERSION` and `cluster:PATH`, in a child process with a JVM; and `cluster:URL`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

from pulsar_conformance.adapters.cluster.target import ClusterTarget
from pulsar_conformance.adapters.connection import Connection, Limits
from pulsar_conformance.adapters.operated.address import is_url
from pulsar_conformance.adapters.operated.connection import connect_operated
from pulsar_conformance.adapters.process import ProcessConnection
from pulsar_conformance.adapters.pulsar.connect import released_jars, starting
from pulsar_conformance.adapters.pulsar.target import Target

HOST = "pulsar_conformance.adapters.cluster.host"

PATIENT = Limits(start=240.0, base=300.0, per_case=0.0, end=10.0)
"""Metadata and a JVM start in ten seconds, and a story takes some; a busy machine takes many times
that, and a long story minutes."""


def connect_cluster(
    rest: str, name: str, profile: str, readings: Mapping[str, str], limits: Limits
) -> Connection:
    """Finds or fetches the jars, and starts the child; a cluster at a URL is there already."""
    if is_url(rest):
        return connect_operated(rest, name, profile, limits)
    with starting(name):
        target = ClusterTarget.parse(rest)
        version, jars = released_jars(Target(target.release))
    told = {
        "version": version,
        "folders": [str(jars)],
        "manager": target.manager,
        "brokers": target.brokers,
        "settings": dict(target.settings),
    }
    words = [sys.executable, "-m", HOST, json.dumps(told)]
    return ProcessConnection(
        words, name, profile, readings, PATIENT if limits == Limits() else limits
    )
