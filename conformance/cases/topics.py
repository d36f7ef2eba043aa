"""Builds questions about the bundles and brokers that serve a user's topics."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

from pulsar_conformance.conformance.bundles.operations import LOCATE
from pulsar_conformance.conformance.cases.load_reports import BadSnapshot
from pulsar_conformance.conformance.cases.snapshot import Snapshot
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.reference.ranges import namespace_of
from pulsar_conformance.specs.broker import broker_settings, known_releases
from pulsar_conformance.specs.errors import why_unreadable
from pulsar_conformance.specs.text import first_of

DOMAIN = "://"
USUAL_NAMESPACE = "public/default/"
"""The namespace that is added to a topic name without a slash."""

EXAMPLE = "persistent://tenant/namespace/a"
MAX_LISTED = 3
"""Maximum number of topics that a note lists."""

PARTITION = re.compile(r"(.+)-partition-\d+")
EDGES = ("0x00000000", "0xffffffff")

ASSIGNER = "topicBundleAssignmentStrategy"
"""The setting for the class that assigns topics to bundles; Pulsar has only the default class."""


def read_topics(file: Path) -> list[str]:
    """Read a file with one topic per line, such as `persistent://tenant/namespace/a` or `a`.

    Errors: `BadSnapshot`, also for a line that is not a topic.
    """
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadSnapshot(f"{file}: {why_unreadable(error, file)}") from None
    topics = []
    for number, line in enumerate(_topic_lines(text), 1):
        name = line.strip().strip('",[]')
        if name and not name.startswith("#"):
            topics.append(_full_name(name, f"{file}:{number}"))
    if not topics:
        raise BadSnapshot(f"{file}: no line contains a topic, such as {EXAMPLE}")
    return topics


def _topic_lines(text: str) -> list[str]:
    """Return the topics in a JSON array, as the admin API prints it, or the lines of other text."""
    with suppress(ValueError):
        listed = json.loads(text)
        if isinstance(listed, list) and all(isinstance(one, str) for one in listed):
            return listed
    return text.splitlines()


def _full_name(name: str, place: str) -> str:
    """Return a topic's name with domain, tenant and namespace added as clients add them."""
    domain, _, rest = name.rpartition(DOMAIN)
    parts = rest.split("/", 3)
    lengths = (3, 4) if domain else (1, 3)
    if len(parts) not in lengths or not all(parts) or re.search(r"\s", name):
        raise BadSnapshot(f"{place}: {name} is not a topic, such as {EXAMPLE}")
    if domain:
        return name
    return f"persistent://{'' if len(parts) == 3 else USUAL_NAMESPACE}{name}"


def topic_namespace(topic: str) -> str:
    """Return a topic's namespace; it contains a cluster if the name has four parts.

    Pulsar 4.2 no longer accepts such names (TopicName).
    """
    return "/".join(topic.partition(DOMAIN)[2].split("/", 3)[:-1])


def _without_duplicates(topics: list[str], file: Path) -> tuple[list[str], list[str]]:
    """Return the topics that brokers serve, without duplicates, and notes on topics left out."""
    notes = []
    repeated = [name for name, times in Counter(topics).items() if times > 1]
    if repeated:
        notes.append(
            f"{file}: listed more than once, but counted once: {first_of(repeated, MAX_LISTED)}"
        )
    bases = {found[1] for one in topics if (found := PARTITION.fullmatch(one))}
    named = [one for one in dict.fromkeys(topics) if one in bases]
    if named:
        notes.append(
            f"{file}: not counted, since brokers serve only the partitions, which are listed: "
            f"{first_of(named, MAX_LISTED)}"
        )
    return [one for one in dict.fromkeys(topics) if one not in bases], notes


def topics_question(
    file: Path, snapshot: Snapshot
) -> tuple[Trial, Mapping[str, Sequence[str]], Sequence[str]]:
    """Return a `bundles.locate` question about a file's topics, each broker's bundles, and notes.

    Errors: `BadSnapshot`, also if the topics are in several namespaces, if no broker owns a bundle,
    or if the class that assigns topics is not Pulsar's default.
    """
    usual = broker_settings()[ASSIGNER].default(known_releases()[-1])
    assigner = snapshot.settings.get(ASSIGNER) or usual
    if assigner != usual:
        raise BadSnapshot(f"{file}: {ASSIGNER} is {assigner}, whose decisions are not known")
    topics, notes = _without_duplicates(read_topics(file), file)
    spaces = list(dict.fromkeys(map(topic_namespace, topics)))
    if len(spaces) > 1:
        raise BadSnapshot(
            f"{file}: its topics belong to several namespaces, {', '.join(spaces)}; give topics "
            "of one namespace"
        )
    owned = {
        broker: [
            bundle.rpartition("/")[2]
            for bundle in one.get("bundles", ())
            if namespace_of(bundle) == spaces[0]
        ]
        for broker, one in snapshot.brokers.items()
    }
    case = {
        "boundaries": _boundaries_from_ranges(spaces[0], [*chain(*owned.values())]),
        "topics": topics,
    }
    return Trial.of(LOCATE.id, case), owned, notes


def _boundaries_from_ranges(namespace: str, ranges: Sequence[str]) -> list[str]:
    """Return a namespace's boundaries, given its owned ranges; each gap counts as one bundle."""
    if not ranges:
        raise BadSnapshot(f"no broker owns a bundle of {namespace}")
    edges = {edge for one in ranges for edge in one.split("_")}
    return sorted({*edges, *EDGES})
