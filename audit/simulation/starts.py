"""Starts of simulations: a named world, a file, load reports, or a recorded history."""

from __future__ import annotations

import argparse
import io
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import yaml
from pulsar_conformance.audit.collect.sources import UNREADABLE, open_source
from pulsar_conformance.audit.simulation.snapshots import carried_by, rates_in, snapshot_world
from pulsar_conformance.audit.simulation.worlds import (
    BadWorld,
    Json,
    Rates,
    SimulatedWorld,
    named_world,
    usual_settings,
    world_of,
    world_titles,
)
from pulsar_conformance.conformance.cases.making import made
from pulsar_conformance.conformance.cases.snapshot import BadSnapshot, saved_report
from pulsar_conformance.conformance.commands import case
from pulsar_conformance.reference.shedding import STRATEGY
from pulsar_conformance.specs.text import counted

ALL = "all"
USUAL_STRATEGY = "ThresholdShedder"


class Start(NamedTuple):
    """Worlds to simulate, the strategy in their settings, and the profile that reports suggest, if
    any.
    """

    worlds: list[SimulatedWorld]
    strategy: str
    profile: str | None


SOURCES = "--world NAME, --reports DIR, --metrics FILE, --from URL and --history PATH"


def read_start(args: argparse.Namespace) -> Start:
    """Return the start that the arguments give. Errors: `BadWorld`, and those of reading a
    cluster.
    """
    snapshot = args.reports or args.metrics or args.url
    given = (args.world, args.reports, args.metrics, args.url, args.history)
    if sum(map(bool, given)) != 1:
        raise BadWorld(f"give one of {SOURCES}; the worlds are {', '.join(world_titles())}")
    if (args.conf or args.bundle_data) and not snapshot:
        raise BadWorld("--conf and --bundle-data need --reports, --metrics or --from")
    profile = None
    if snapshot:
        world, profile = reported_world(args)
        worlds = [world]
    elif args.history:
        worlds = [recorded_world(args.history)]
    else:
        names = [name for one in args.world for name in (world_titles() if one == ALL else [one])]
        worlds = [_world(name, args.seed) for name in dict.fromkeys(names)]
    strategy = str(worlds[0].settings.get(STRATEGY) or USUAL_STRATEGY).rpartition(".")[2]
    return Start(worlds, strategy, profile)


def _world(name: str, seed: int) -> SimulatedWorld:
    """Return a named world, or the one in a file. Errors: `BadWorld`."""
    file = Path(name)
    if name in world_titles() or not file.exists():
        return named_world(name, seed)
    try:
        data = yaml.safe_load(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as wrong:
        raise BadWorld(f"--world {name}: it cannot be read as YAML: {wrong}") from None
    return world_of(file.stem, data, seed)


OF_CASE = ("url", "cluster", "metrics", "bundle_data", "conf", "setting", "profile")
"""Arguments with the same meaning as for `case`, which has more."""


def reported_world(args: argparse.Namespace) -> tuple[SimulatedWorld, str | None]:
    """Return the world of a real cluster under constant load, and its release's profile.

    CPU and network usage grow in proportion to the traffic in a broker's report. For a broker
    without traffic, the average proportion of the others is used. Errors: those of `making.made`.
    """
    parser = argparse.ArgumentParser()
    case.add_arguments(parser)
    asked = parser.parse_args([], argparse.Namespace(**{one: vars(args)[one] for one in OF_CASE}))
    found = made(asked, args.reports)
    [(_, seen)] = found.trial.questions
    settings = {**usual_settings(), **seen["settings"]}
    notes = [
        *found.notes,
        "CPU and network use grow with traffic; memory use is constant",
    ]
    name = str(args.reports or args.metrics or args.url)
    return snapshot_world(name, seen["brokers"], seen["bundles"], settings, notes), found.profile


def recorded_world(path: Path) -> SimulatedWorld:
    """Return the world of a recorded history: its first owners, and its load cycle by cycle.

    Only the first cluster in the history is simulated. Errors: `BadWorld`.
    """
    reports: dict[str, list[Json]] = defaultdict(list)
    settings: Json = {}
    cluster = None
    damaged = 0
    for record in _records(path):
        cluster = cluster or record.get("cluster")
        if record.get("cluster") != cluster:
            continue
        if record.get("kind") == "load_report":
            try:
                said = saved_report("", record.get("report")).broker
            except BadSnapshot:
                damaged += 1
            else:
                reports[str(record.get("broker"))].append(said)
        elif record.get("kind") == "settings" and not settings:
            given = record.get("settings")
            known = given if isinstance(given, dict) else {}
            settings = {name: value for name, value in known.items() if value != ""}
    if not reports:
        raise BadWorld(f"--history {path}: it contains no load reports; give another history")
    first = {broker: max(each, key=carried_by) for broker, each in reports.items()}
    recorded, owner = _recorded_loads(reports)
    for broker, said in first.items():
        bundles = [bundle for bundle, named in owner.items() if named == broker]
        first[broker] = {**said, "bundles": bundles}
    length = max(map(len, reports.values()))
    notes = [f"the loads of {cluster} are replayed: {length} reports of a broker, one a cycle"]
    if damaged:
        notes.append(f"{counted(damaged, 'report')} cannot be read and are left out")
    whole = {**usual_settings(), **settings}
    return snapshot_world(str(cluster), first, {}, whole, notes, recorded)


def _recorded_loads(
    reports: Mapping[str, list[Json]],
) -> tuple[dict[str, list[Rates]], dict[str, str]]:
    """Return each bundle's rates by cycle, and the first broker that reported it."""
    seen: dict[str, dict[int, Rates]] = defaultdict(dict)
    owner: dict[str, str] = {}
    length = max(map(len, reports.values()))
    for place in range(length):
        for broker, each in reports.items():
            stats = each[place].get("lastStats", {}) if place < len(each) else {}
            for bundle, now in stats.items():
                owner.setdefault(bundle, broker)
                seen[bundle][place] = rates_in(now)
    return {bundle: _fill_gaps(rates, length) for bundle, rates in seen.items()}, owner


ABSENT = 3
"""Number of consecutive reports without a bundle after which it counts as gone, as after a
split.
"""

NOTHING: Rates = (0.0, 0.0, 0.0, 0.0)


def _fill_gaps(seen: Mapping[int, Rates], length: int) -> list[Rates]:
    """Fill gaps with the last known rates; there are none before the first and after the last."""
    found: list[Rates] = []
    latest, place_of_latest = NOTHING, -ABSENT
    for place in range(length):
        if place in seen:
            latest, place_of_latest = seen[place], place
        found.append(latest if place - place_of_latest < ABSENT else NOTHING)
    return found


def _records(path: Path) -> Iterator[Json]:
    """Yield the records of a file, or of the files in a folder. Errors: `BadWorld`."""
    files = sorted(one for one in path.glob("**/*") if one.is_file()) if path.is_dir() else [path]
    for file in files:
        if file.name.startswith(("_", ".")):
            continue
        try:
            with open_source(file) as raw, io.TextIOWrapper(raw, "utf-8") as lines:
                yield from filter(None, map(_record, lines))
        except UNREADABLE as wrong:
            raise BadWorld(f"--history {file}: it cannot be read: {wrong}") from None


def _record(line: str) -> Json | None:
    """Return the record in a line; None for a damaged line, which an audit would also leave out."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
