"""Troubles of running clusters that change records without violating a rule."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from pulsar_conformance.audit.fleet.size import ENDS, START, STRATEGY, THRESHOLD
from pulsar_conformance.conformance.common.trial import Json

CLOCK_LEAD = 2000
"""Milliseconds by which the clock of every third broker is ahead."""

RECORD_SPACING = 3
"""Milliseconds between two records of the same event."""

OVERLAP = 300
"""Milliseconds between the cycles of two leaders that overlap after an election."""

BY_HAND_DELAY = 4000
"""Milliseconds by which unloads by hand are recorded late, so that they look like slow shedding."""

ADMIN = "admin"
"""Recorded cause of unloads by hand."""

ALTERNATED_STRATEGIES = "ThresholdShedder", "OverloadShedder"
"""Two strategies: half-way through the history, the fleet changes from one to the other."""

DAMAGED_SHARE = 0.02
DAMAGED = "damaged"
"""Kind given to damaged records."""

Record = tuple[str, Any]
"""A record: its kind and content, or `DAMAGED` and a line that is not a record."""


@dataclass(frozen=True)
class Period:
    """The period whose records a trouble changes."""

    now: int
    """Start of the period, in milliseconds since 1970."""

    elected: bool
    """True if a new leader was elected in the previous period."""

    chance: Random


def _move_clock_ahead(_period: Period, kind: str, said: Json) -> Iterator[Record]:
    name = str(said.get("broker", ""))
    if kind in ("load_report", "unloaded", "assigned") and sum(name.encode()) % 3 == 0:
        said = {**said, "at": said["at"] + CLOCK_LEAD}
        if kind == "load_report":
            report = said["report"]
            said["report"] = {**report, "lastUpdate": report["lastUpdate"] + CLOCK_LEAD}
    yield kind, said


def _record_twice(_period: Period, kind: str, said: Json) -> Iterator[Record]:
    yield kind, said
    if kind in ("cycle", "unloaded"):
        yield kind, {**said, "at": said["at"] + RECORD_SPACING}


def _damage_reports(period: Period, kind: str, said: Json) -> Iterator[Record]:
    if kind == "load_report" and period.chance.random() < DAMAGED_SHARE:
        text = json.dumps({**said, "at": "TIME"})
        yield DAMAGED, text.replace('"usage": ', '"usage": -', 1)
    else:
        yield kind, said


def _repeat_cycle(period: Period, kind: str, said: Json) -> Iterator[Record]:
    yield kind, said
    if kind == "cycle" and period.elected:
        yield kind, {**said, "at": said["at"] + OVERLAP}


def _omit_cause_by_hand(_period: Period, kind: str, said: Json) -> Iterator[Record]:
    if kind == "unloaded" and said["cause"] == ADMIN:
        said = {name: value for name, value in said.items() if name != "cause"}
        said["at"] += BY_HAND_DELAY
    yield kind, said


def _write_broker_as_url(_period: Period, kind: str, said: Json) -> Iterator[Record]:
    if kind == "unloaded":
        said = {**said, "broker": f"http://{said['broker']}"}
    yield kind, said


def _set_other_strategy(_period: Period, kind: str, said: Json) -> Iterator[Record]:
    if kind == "settings" and said["at"] > 1000 * START:
        other = ALTERNATED_STRATEGIES[said["settings"][STRATEGY] == ALTERNATED_STRATEGIES[0]]
        said = {**said, "settings": {**said["settings"], STRATEGY: other}}
    yield kind, said


def _change_nothing(_period: Period, kind: str, said: Json) -> Iterator[Record]:
    yield kind, said


@dataclass(frozen=True)
class Trouble:
    """A trouble of running clusters, and how it changes a record."""

    sentence: str
    change: Callable[[Period, str, Json], Iterator[Record]] = _change_nothing


TROUBLES: Mapping[str, Trouble] = {
    "clocks": Trouble("the clock of every third broker is two seconds ahead", _move_clock_ahead),
    "doubled": Trouble("cycles and unloads are recorded twice, 3 ms apart", _record_twice),
    "damaged": Trouble(
        "one load report in fifty is damaged, without an intact copy", _damage_reports
    ),
    "overlap": Trouble("after an election, two leaders run a cycle 0.3 s apart", _repeat_cycle),
    "by-hand": Trouble("manual unloads are recorded without their cause", _omit_cause_by_hand),
    "urls": Trouble("records of unloads give a URL as the broker's name", _write_broker_as_url),
    "strategy": Trouble(
        "half-way, another strategy is set, but the leader is not restarted", _set_other_strategy
    ),
    ENDS: Trouble(
        "the last broker that stops never returns, and no record says where its bundles go"
    ),
    THRESHOLD: Trouble(
        "brokers report when their load changes by a tenth, otherwise every third period"
    ),
}
"""Troubles by the names that `--trouble` takes."""


def apply_troubles(names: tuple[str, ...], period: Period, records: list[Record]) -> list[Record]:
    """Return a period's records, changed by the troubles with these names."""
    for name in names:
        change = TROUBLES[name].change
        records = [
            one
            for kind, said in records
            for one in ([(kind, said)] if isinstance(said, str) else change(period, kind, said))
        ]
    return records
