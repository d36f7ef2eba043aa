"""Worlds that replay a recorded history: loads, brokers that come and go, and times of cycles."""

from __future__ import annotations

import io
import json
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

from pulsar_conformance.audit.collect.sources import UNREADABLE, open_source, time_of
from pulsar_conformance.audit.simulation.snapshots import (
    SCALING,
    percent_used,
    rates_in,
    reported_throughput,
    snapshot_world,
)
from pulsar_conformance.audit.simulation.worlds import (
    BadWorld,
    BrokerEvent,
    Json,
    Rates,
    RecordedUnload,
    SimulatedWorld,
    usual_settings,
)
from pulsar_conformance.conformance.cases.load_reports import BadSnapshot, saved_report
from pulsar_conformance.specs.errors import why_unreadable
from pulsar_conformance.specs.text import counted, in_number

REPORTS_UNTIL_GONE = 3
"""Number of missing reports after which a bundle or broker is assumed to be gone.

A bundle, even one that was split, is gone if no broker reports it in this many consecutive cycles.
A broker is gone if another broker has written this many reports since its last one.
"""

RATIO = (
    "the ratio is that of the broker's recorded report with the most traffic, if possible of one "
    "without a resource at 100 %, because there the use that is not due to traffic matters least"
)
TOLERANCE = 0.5
"""Maximum difference, in percentage points, between simulated and recorded usage in the first
cycle. A note reports larger differences.
"""

NO_RATES: Rates = (0.0, 0.0, 0.0, 0.0)
MAX_NAMED = 3
"""Maximum number of brokers that a note names."""

SHEDDING, UNCLEAR_CAUSES = "shedding", ("admin", "unknown")
MAX_DELAY_OF_SHED = timedelta(seconds=10)
"""Time after a cycle within which an unload of unclear cause counts as shed. The cause can be
unclear because the leader counted the unload later.
"""


@dataclass
class _History:
    """The records of one cluster by kind, each kind in the order of the history."""

    cluster: str | None = None
    reports: dict[str, list[tuple[datetime | None, Json]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    settings: list[tuple[datetime | None, Json]] = field(default_factory=list)
    cycles: list[datetime] = field(default_factory=list)
    acts: list[tuple[datetime, Json]] = field(default_factory=list)
    damaged: int = 0
    versions: set[str] = field(default_factory=set)

    def add(self, record: Json) -> None:
        """Add a record, unless its cluster differs from the first record's."""
        self.cluster = self.cluster or record.get("cluster")
        if record.get("cluster") != self.cluster:
            return
        at, kind = time_of(str(record.get("at"))), record.get("kind")
        if kind == "load_report":
            try:
                said = saved_report("", record.get("report")).broker
            except BadSnapshot:
                self.damaged += 1
            else:
                self.reports[str(record.get("broker"))].append((at, said))
                self.versions.add(str(record["report"].get("brokerVersionString") or ""))
        elif kind == "settings":
            given = record.get("settings")
            known = given if isinstance(given, dict) else {}
            self.settings.append((at, {name: one for name, one in known.items() if one != ""}))
        elif kind == "cycle" and at is not None:
            self.cycles.append(at)
        elif kind in ("unloaded", "assigned") and at is not None:
            self.acts.append((at, record))


def recorded_world(path: Path) -> SimulatedWorld:
    """Return a world with the first owners and the loads of a recorded history.

    If the history has cycles, the simulation runs its cycles at the same times, and brokers come
    and go as recorded. Otherwise, each cycle uses the next report of every broker. Only the first
    cluster of the history is simulated. Errors: `BadWorld`.
    """
    history = _History()
    for record in _read_records(path):
        history.add(record)
    if not history.reports:
        raise BadWorld(f"--history {path}: it contains no load reports; give another history")
    world = _world_by_cycles(history) if history.cycles else _world_by_reports(history)
    world = replace(
        world, version=next(iter(history.versions)) if len(history.versions) == 1 else ""
    )
    missing = f"left out: {counted(history.damaged, 'report')} that cannot be read"
    return replace(world, notes=(*world.notes, missing)) if history.damaged else world


def _world_by_reports(history: _History) -> SimulatedWorld:
    """Return a world in which each cycle has the loads in the next report of every broker."""
    reports = {broker: [said for _, said in each] for broker, each in history.reports.items()}
    length = max(map(len, reports.values()))
    count = f"up to {counted(length, 'report')} per broker, one per cycle"
    note = f"the loads of {history.cluster} are replayed: {count}"
    return _replay_world(history, reports, None, note)


def _world_by_cycles(history: _History) -> SimulatedWorld:
    """Return a world with the cycles of the history."""
    cycles = sorted(history.cycles)
    reports = _reports_at(cycles, history)
    ran, many = f"{counted(len(cycles), 'cycle')} of {history.cluster}", len(cycles) > 1
    note = f"{ran} {'are' if many else 'is'} replayed at {'their' if many else 'its'} recorded "
    note += in_number("time", len(cycles))
    world = _replay_world(history, reports, cycles[0], note)
    events = [
        BrokerEvent(number, broker, now is not None)
        for broker, each in reports.items()
        for number, (before, now) in enumerate(pairwise(each), 1)
        if (before is None) != (now is None)
    ]
    return replace(
        world,
        brokers=tuple(replace(one, up=reports[one.name][0] is not None) for one in world.brokers),
        bundles=tuple(sorted(world.bundles, key=lambda one: one.name)),
        events=tuple(sorted(events, key=lambda one: one.cycle)),
        began=cycles[0],
        clock=tuple((at - cycles[0]).total_seconds() / 60 for at in cycles),
        unloads=tuple(_unloads(cycles, history.acts)),
        assigned={
            (bisect_left(cycles, at), act["bundle"]): act["broker"]
            for at, act in history.acts
            if act["kind"] == "assigned"
        },
    )


def _reports_at(cycles: Sequence[datetime], history: _History) -> dict[str, list[Json | None]]:
    """Return each broker's last report before each cycle; None if the broker was down."""
    dated = {
        broker: [(at, said) for at, said in history.reports[broker] if at is not None]
        for broker in sorted(history.reports)
    }
    times = {broker: [at for at, _ in each] for broker, each in dated.items()}
    found: dict[str, list[Json | None]] = {broker: [] for broker in dated}
    for cycle in cycles:
        until = {broker: bisect_right(each, cycle) for broker, each in times.items()}
        for broker, place in until.items():
            since = times[broker][place - 1] if place else cycle
            missed = max(until[one] - bisect_right(each, since) for one, each in times.items())
            known = place and missed < REPORTS_UNTIL_GONE
            found[broker].append(dated[broker][place - 1][1] if known else None)
    return found


def _unloads(
    cycles: Sequence[datetime], acts: Sequence[tuple[datetime, Json]]
) -> Iterator[RecordedUnload]:
    """Yield the leader's unloads that shed load, each with the number of its cycle."""
    for place, (at, act) in enumerate(acts):
        cycle = bisect_right(cycles, at) - 1
        if act["kind"] == "unloaded" and cycle >= 0 and _is_shed(act, at - cycles[cycle]):
            later = (one for _, one in acts[place:] if one["bundle"] == act["bundle"])
            target = next((one["broker"] for one in later if one["kind"] == "assigned"), None)
            yield RecordedUnload(cycle, act["bundle"], act["broker"], target)


def _is_shed(act: Json, since: timedelta) -> bool:
    cause = str(act.get("cause"))
    return cause == SHEDDING or (cause in UNCLEAR_CAUSES and since < MAX_DELAY_OF_SHED)


def _replay_world(
    history: _History,
    reports: Mapping[str, Sequence[Json | None]],
    begin: datetime | None,
    note: str,
) -> SimulatedWorld:
    """Return a world with these reports: one for each broker and cycle."""
    first = {
        broker: max((said for _, said in each), key=_report_rank)
        for broker, each in history.reports.items()
    }
    recorded, owner = _recorded_loads(reports)
    for broker, said in first.items():
        bundles = [bundle for bundle, named in owner.items() if named == broker]
        first[broker] = {**said, "bundles": bundles}
    by_then = [known for at, known in history.settings if begin and at and at <= begin]
    given = by_then[-1:] or [known for _, known in history.settings[:1]]
    settings = {**usual_settings(), **dict(*given)}
    world = snapshot_world(str(history.cluster), first, {}, settings, [note], recorded)
    start = {broker: each[0] for broker, each in reports.items() if each and each[0]}
    return replace(world, notes=(*world.notes, RATIO, *_start_note(world, start)))


def _start_note(world: SimulatedWorld, start: Mapping[str, Json]) -> Iterator[str]:
    """Yield a note if brokers' usage in the first cycle differs from the recorded usage.

    `start` has the reports of the first cycle. The usage of the busiest resource in each broker's
    report is compared.
    """
    unlike = []
    for broker in world.brokers:
        if broker.name not in start:
            continue
        said = start[broker.name]
        resource = max(SCALING, key=lambda one: percent_used(said, one))
        recorded = percent_used(said, resource)
        simulated = broker.percents(reported_throughput(said))[resource]
        if abs(simulated - recorded) > TOLERANCE:
            named = f"{broker.name} at {simulated:.1f} % of {resource}"
            unlike.append(f"{named}, recorded as {recorded:.1f} %")
    if unlike:
        shown, more = unlike[:MAX_NAMED], len(unlike) - MAX_NAMED
        shown += [counted(more, "other broker")] if more > 0 else []
        yield f"so the first cycle does not start as recorded: {'; '.join(shown)}"


def _report_rank(said: Json) -> tuple[bool, float]:
    """Return a sort key: reports without a resource at 100 % come after all others, and otherwise
    reports with more traffic come after reports with less.
    """
    return all(percent_used(said, one) < 100 for one in SCALING), reported_throughput(said)


def _recorded_loads(
    reports: Mapping[str, Sequence[Json | None]],
) -> tuple[dict[str, list[Rates]], dict[str, str]]:
    """Return each bundle's rates by cycle, and the broker that reported each bundle first."""
    seen: dict[str, dict[int, Rates]] = defaultdict(dict)
    owner: dict[str, str] = {}
    length = max(map(len, reports.values()))
    for place in range(length):
        for broker, each in reports.items():
            said = each[place] if place < len(each) else None
            for bundle, now in (said or {}).get("lastStats", {}).items():
                owner.setdefault(bundle, broker)
                seen[bundle][place] = rates_in(now)
    return {bundle: _fill_gaps(rates, length) for bundle, rates in seen.items()}, owner


def _fill_gaps(seen: Mapping[int, Rates], length: int) -> list[Rates]:
    """Return rates for every cycle.

    In short gaps, the rates are the last known ones. Before the first known rates, and long after
    the last, the rates are 0.
    """
    found: list[Rates] = []
    latest, place_of_latest = NO_RATES, -REPORTS_UNTIL_GONE
    for place in range(length):
        if place in seen:
            latest, place_of_latest = seen[place], place
        found.append(latest if place - place_of_latest < REPORTS_UNTIL_GONE else NO_RATES)
    return found


def _read_records(path: Path) -> Iterator[Json]:
    """Yield the records in a file, or in the files of a folder. Errors: `BadWorld`."""
    files = sorted(one for one in path.glob("**/*") if one.is_file()) if path.is_dir() else [path]
    for file in files:
        if file.name.startswith(("_", ".")):
            continue
        try:
            with open_source(file) as raw, io.TextIOWrapper(raw, "utf-8") as lines:
                yield from filter(None, map(_parse_record, lines))
        except UNREADABLE as wrong:
            raise BadWorld(
                f"--history {file}: it cannot be read: {why_unreadable(wrong, file)}"
            ) from None


def _parse_record(line: str) -> Json | None:
    """Return the record in a line; None for a damaged line, which an audit omits, too."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
