"""Stories as tables: a row per event, with its minute and its results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from pulsar_conformance.reference.numbers import Fraction, exact, plain, throughput
from pulsar_conformance.reports.pages.answers import LINE
from pulsar_conformance.reports.pages.cells import Json, format_field, format_object, join_shortened
from pulsar_conformance.reports.pages.tables import Table

HEADINGS = ("minute", "event", "result")

KINDS: Mapping[str, str] = {
    "broker_up": "broker up",
    "broker_down": "broker down",
    "broker_stop": "broker stops",
    "leader_lost": "the leader is lost",
}


WRITTEN = ("reports", "written")
"""Fields of a step about data that brokers and the leader write."""

LED = ("leader", "leaderNode")
"""Fields of a step about the leader."""


def event_table(case: Json, answer: Json, about: Sequence[str] = ()) -> Table:
    """Return a table of events and their results; equal consecutive rows are merged.

    The fields in `WRITTEN` and `LED` are shown only if they are in `about`.
    """
    found = []
    rows = _rows(case["events"], _steps(answer, about))
    for (event, comes), equal in groupby(rows, key=lambda row: row[1:]):
        minutes = [minute for minute, *_ in equal]
        times = f", {len(minutes)} times" if len(minutes) > 1 else ""
        found.append((minutes[0], f"{event}{times}", comes))
    return Table(HEADINGS, tuple(found))


def _steps(answer: Json, about: Sequence[str]) -> Sequence[Json]:
    steps: Sequence[Json] = answer.get("steps", ())
    hidden = {*WRITTEN, *LED}.difference(about)
    return [{name: one[name] for name in one if name not in hidden} for one in steps]


def event_differences(case: Json, answer: Json, other: Json, about: Sequence[str] = ()) -> str:
    """Return the minute, event and result of each step at which `other` differs, as text."""
    pairs = (_rows(case["events"], _steps(one, about)) for one in (answer, other))
    return LINE.join(
        f"minute {minute}, {event}: {comes}"
        for before, (minute, event, comes) in zip(*pairs, strict=True)
        if before != (minute, event, comes)
    )


def _rows(events: Sequence[Json], steps: Sequence[Json]) -> Iterator[tuple[str, str, str]]:
    clock = Fraction(0)
    owners: Mapping[str, Any] = {}
    led: Mapping[str, Any] = {}
    for event, step in zip(events, steps, strict=True):
        [(kind, about)] = event.items()
        before, owners = owners, step.get("owners", owners)
        found = [*_step_results(step, before), *_leader_texts(step, led)]
        led = {**led, **step}
        yield plain(clock), _event_text(kind, about), "; ".join(found) or "–"
        clock += exact(about["minutes"]) if kind == "tick" else 0


def _event_text(kind: str, about: Json) -> str:
    """Return an event as text."""
    if kind == "tick":
        minutes = plain(exact(about["minutes"]))
        return f"{minutes} minute{'' if minutes == '1' else 's'} pass"
    said = dict(about)
    if "capacity" in said:
        said["capacity"] = throughput(exact(said["capacity"]))
    if kind == "topic":
        name = said.pop("topic")
        return f"topic {name}: {format_object(said)}"
    if kind == "setting":
        value = said["value"]
        shown = "null" if value is None else format_field("value", value)
        return f"{said['name']} = {shown} ({said['how']})"
    if not said:
        return KINDS.get(kind, kind)
    first, *rest = said.items()
    more = "".join(
        f", {name} {format_field(name, value)}" for name, value in rest if value is not None
    )
    return f"{KINDS.get(kind, kind)} {format_field(*first)}{more}"


def _step_results(step: Json, before: Mapping[str, Any]) -> Iterator[str]:
    """Yield the results of a step as texts."""
    for word in ("refused", "ignored"):
        if word in step:
            yield word if step[word] == "*" else f"{word}: {step[word]}"
    to = {one["bundle"]: one["to"] for one in step.get("assigned", ())}
    for one in step.get("split", ()):
        yield f"{one['bundle']} is split into {join_shortened(one['into'])} ({one['reason']})"
    for one in step.get("unloaded", ()):
        where = f", goes to {to.pop(one['bundle'])}" if one["bundle"] in to else ""
        yield f"{one['bundle']} leaves {one['from']} ({one['reason']}){where}"
    by = step.get("decidedBy") if "leader" in step else None
    decided = f", as {by} decides" if by else ""
    yield from (f"{bundle} goes to {broker}{decided}" for bundle, broker in to.items())
    told = {(one["bundle"].rpartition("/")[0], one["to"]) for one in step.get("assigned", ())}
    changed = {
        topic: owner
        for topic, owner in step.get("owners", before).items()
        if before.get(topic) != owner and (_namespace_of(topic), owner) not in told
    }
    for owner, topics in groupby(sorted(changed, key=lambda one: str(changed[one])), changed.get):
        yield f"{owner or 'no broker'} owns {join_shortened(list(topics))}"
    yield from _written_results(step)


def _leader_texts(step: Json, before: Mapping[str, Any]) -> Iterator[str]:
    """Yield texts on changes of the leader, and of the broker that the leader's znode names."""
    said = {"leader": "leads", "leaderNode": "is named in the leader's znode"}
    for name, verb in said.items():
        if name in step and step[name] != before.get(name):
            yield f"{step[name] or 'no broker'} {verb}"


def _written_results(step: Json) -> Iterator[str]:
    """Yield texts on when each broker reported, and when and how many samples the leader wrote."""
    for broker, report in step.get("reports", {}).items():
        if report["minutes"]:
            yield f"{broker} reports at {_minutes(report['minutes'])}"
    written = step.get("written", {})
    if written.get("minutes"):
        counts = [f"{one} {each['numSamples']}" for one, each in written["bundles"].items()]
        samples = join_shortened(counts)
        yield f"the leader writes at {_minutes(written['minutes'])}, samples: {samples}"


def _minutes(minutes: Sequence[Any]) -> str:
    noun = "minute" if len(minutes) == 1 else "minutes"
    return f"{noun} {join_shortened([plain(exact(one)) for one in minutes])}"


def _namespace_of(topic: str) -> str:
    """Return the namespace of a topic."""
    return "/".join(topic.partition("://")[2].split("/")[:2])
