"""The question which bundles and brokers topics are on, from the bundles that brokers own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pulsar_conformance.conformance.bundles.operations import LOCATE
from pulsar_conformance.conformance.cases.snapshot import BadSnapshot, Snapshot
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.reference.ranges import namespace_of

DOMAIN = "://"
EDGES = ("0x00000000", "0xffffffff")


def read_topics(file: Path) -> list[str]:
    """Return the topics of a file, one a line. Errors: `BadSnapshot`."""
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as wrong:
        raise BadSnapshot(f"{file}: {getattr(wrong, 'strerror', None) or wrong}") from None
    found = [line.strip().strip('",[]') for line in lines]
    topics = [one for one in found if DOMAIN in one]
    if not topics:
        raise BadSnapshot(f"{file}: no line names a topic, such as persistent://tenant/namespace/a")
    return topics


def located(file: Path, snapshot: Snapshot) -> tuple[Trial, Mapping[str, str]]:
    """Return the question where topics of one namespace are, and the broker of each bundle.

    Errors: `BadSnapshot`, also if the namespaces differ, or the bundles have gaps.
    """
    topics = read_topics(file)
    spaces = list(dict.fromkeys("/".join(one.split("/")[2:4]) for one in topics))
    if len(spaces) > 1:
        raise BadSnapshot(f"{file}: its topics are of {', '.join(spaces)}; give those of one")
    owners = {
        bundle.rpartition("/")[2]: broker
        for broker, one in snapshot.brokers.items()
        for bundle in one.get("bundles", ())
        if namespace_of(bundle) == spaces[0]
    }
    case = {"boundaries": _boundaries(spaces[0], list(owners)), "topics": topics}
    return Trial.of(LOCATE.id, case), owners


def _boundaries(namespace: str, ranges: Sequence[str]) -> list[str]:
    """Return the boundaries of a namespace; unowned bundles between owned ones count as one."""
    if not ranges:
        raise BadSnapshot(f"no broker owns a bundle of {namespace}")
    edges = {edge for one in ranges for edge in one.split("_")}
    return sorted({*edges, *EDGES})
