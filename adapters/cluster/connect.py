"""Connections to `cluster:VERSION` and `cluster:PATH`, which start a JVM, and to `cluster:URL`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence

from pulsar_conformance.adapters.cluster.pair import ClusterPair
from pulsar_conformance.adapters.cluster.target import ClusterTarget
from pulsar_conformance.adapters.connection import Connection, Limits
from pulsar_conformance.adapters.errors import AdapterError
from pulsar_conformance.adapters.operated.address import is_url
from pulsar_conformance.adapters.process import HostedConnection
from pulsar_conformance.adapters.protocol import JSON
from pulsar_conformance.adapters.pulsar.connect import (
    check_release,
    raising_start_errors,
    released_jars,
)
from pulsar_conformance.adapters.pulsar.target import Target

HOST = "pulsar_conformance.adapters.cluster.host"

PATIENT_LIMITS = Limits(start=240.0, base=600.0, per_case=0.0, end=10.0)
"""Default time limits in seconds, sufficient for a busy machine or a long story.

Usually, metadata and a JVM start in ten seconds, and a story takes a few seconds.
"""


ABORTED = "was killed by SIGABRT"
"""Text in the error message if a JVM crashed in native code."""

CRASH_PLACE_HEADING = "# Problematic frame:"
"""The line of a JVM's crash report that precedes the place of the crash."""


class ClusterConnection(HostedConnection):
    """A child process whose JVM runs a whole cluster.

    If that JVM crashes, the cluster is lost, and the story is retried once on a new cluster.
    """

    def __init__(
        self,
        argv: Sequence[str],
        name: str,
        profile: str,
        readings: Mapping[str, str],
        limits: Limits,
    ) -> None:
        self._argv, self._asked_by = argv, (profile, readings)
        self._breaks: list[str] = []
        super().__init__(argv, name, profile, readings, limits)

    def exchange(self, operation: str, batch: Sequence[JSON]) -> list[JSON]:
        """Return one answer per case of a batch, not yet validated. Errors: `AdapterError`."""
        try:
            return super().exchange(operation, batch)
        except AdapterError as error:
            if ABORTED not in error.problem:
                raise
            _, _, where = error.stderr_tail.partition(CRASH_PLACE_HEADING)
            self._breaks.append(where.strip("\n# ").partition("\n")[0] or "at an unknown place")
        self._child = self._start(self._argv)
        self._closed = ""
        self.hello = self._greet(*self._asked_by)
        return super().exchange(operation, batch)

    def remarks(self) -> list[str]:
        """Return a remark for each crash of the JVM, with the place where it crashed."""
        return [f"{self.adapter}: its JVM crashed and was restarted, {one}" for one in self._breaks]


def check(rest: str) -> None:
    """Check the part of an adapter's name after `cluster:`, but not whether jars are installed.

    Errors: `BadTarget`.
    """
    if not is_url(rest):
        check_release(ClusterTarget.parse(rest).release)


def connect_cluster(
    rest: str, name: str, profile: str, readings: Mapping[str, str], limits: Limits
) -> Connection:
    """Start a child process with the release's jars, or connect to the cluster at a URL.

    Jars are downloaded if needed.
    """
    if is_url(rest):
        from pulsar_conformance.adapters.operated.connection import connect_operated

        return connect_operated(rest, name, profile, limits)
    with raising_start_errors(name):
        target = ClusterTarget.parse(rest)
        version, jars = released_jars(Target(target.release))
    options = {
        "version": version,
        "folders": [str(jars)],
        "manager": target.manager,
        "brokers": target.brokers,
        "crash": target.crash,
        "settings": dict(target.settings),
    }
    words = [sys.executable, "-m", HOST, json.dumps(options)]
    patient = PATIENT_LIMITS if limits == Limits() else limits
    return ClusterPair(lambda: ClusterConnection(words, name, profile, readings, patient))
