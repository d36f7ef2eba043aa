"""Problems of running clusters that affect the records without violating a rule."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from pulsar_conformance.audit.fleet.size import ENDS, START, STRATEGY, THRESHOLD
from pulsar_conformance.conformance.common.trial import Json

AHEAD = 2000
"""Milliseconds by which the clock of every third broker is ahead."""

APART = 3
"""Milliseconds between the records of one event in two logs."""

OVERLAP = 300
"""Milliseconds for which two leaders overlap."""

BY_HAND_AFTER = 4000
"""Delay of unloads by hand, in milliseconds, so that they look like slow shedding."""

ADMIN = "admin"
"""Recorded cause of unloads by hand."""

OTHER = "ThresholdShedder", "OverloadShedder"
"""Strategies; the one that is not in force is set half-way."""

DAMAGED_SHARE = 0.02
DAMAGED = "damaged"
"""Kind of the records that are damaged."""

Record = tuple[str, Any]
"""A kind and a record, or a kind and a damaged line."""


@dataclass(frozen=True)
class Period:
    """The period whose records are changed."""

    now: int
    """Its start, in milliseconds since 1970."""

    elected: bool
    """True if a leader began in the period before."""

    chance: Random


def _ahead(_period: Period, kind: str, said: Json) -> Iterator[Record]:
    name = str(said.get("broker", ""))
    if kind in ("load_report", "unloaded", "assigned") and sum(name.encode()) % 3 == 0:
        said = {**said, "at": said["at"] + AHEAD}
        if kind == "load_report":
            report = said["report"]
            said["report"] = {**report, "lastUpdate": report["lastUpdate"] + AHEAD}
    yield kind, said


def _doubled(_period: Period, kind: str, said: Json) -> Iterator[Record]:
    yield kind, said
    if kind in ("cycle", "unloaded"):
        yield kind, {**said, "at": said["at"] + APART}


def _damaged(period: Period, kind: str, said: Json) -> Iterator[Record]:
    if kind == "load_report" and period.chance.random() < DAMAGED_SHARE:
        text = json.dumps({**said, "at": "TIME"})
        yield DAMAGED, text.replace('"usage": ', '"usage": -', 1)
    else:
        yield kind, said


def _overlapping(period: Period, kind: str, said: Json) -> Iterator[Record]:
    yield kind, said
    if kind == "cycle" and period.elected:
        yield kind, {**said, "at": said["at"] + OVERLAP}


def _by_hand(_period: Period, kind: str, said: Json) -> Iterator[Record]:
    if kind == "unloaded" and said["cause"] == ADMIN:
        said = {name: value for name, value in said.items() if name != "cause"}
        said["at"] += BY_HAND_AFTER
    yield kind, said


def _by_url(_period: Period, kind: str, said: Json) -> Iterator[Record]:
    if kind == "unloaded":
        said = {**said, "broker": f"http://{said['broker']}"}
    yield kind, said


def _not_restarted(_period: Period, kind: str, said: Json) -> Iterator[Record]:
    if kind == "settings" and said["at"] > 1000 * START:
        other = OTHER[said["settings"][STRATEGY] == OTHER[0]]
        said = {**said, "settings": {**said["settings"], STRATEGY: other}}
    yield kind, said


def _unchanged(_period: Period, kind: str, said: Json) -> Iterator[Record]:
    yield kind, said


@dataclass(frozen=True)
class Trouble:
    """A problem, and how it changes a period's records."""

    sentence: str
    change: Callable[[Period, str, Json], Iterator[Record]] = _unchanged


TROUBLES: Mapping[str, Trouble] = {
    "clocks": Trouble("the clock of every third broker is two seconds ahead", _ahead),
    "doubled": Trouble("cycles and unloads are recorded twice, 3 ms apart", _doubled),
    "damaged": Trouble("one load report in fifty is damaged, and there is no other", _damaged),
    "overlap": Trouble("after an election, two leaders run a cycle 0.3 s apart", _overlapping),
    "by-hand": Trouble("unloads by hand are recorded without their cause", _by_hand),
    "urls": Trouble("unloads name the broker by its URL", _by_url),
    "strategy": Trouble(
        "half-way, another strategy is set, and no leader is restarted for it", _not_restarted
    ),
    ENDS: Trouble(
        "the last broker that stops never returns, and no record says where its bundles go"
    ),
    THRESHOLD: Trouble("brokers report changes of a tenth, otherwise every third period"),
}
"""Troubles by the names that `--trouble` takes."""


def troubled(names: tuple[str, ...], period: Period, records: list[Record]) -> list[Record]:
    """Return a period's records as affected by these problems."""
    for name in names:
        change = TROUBLES[name].change
        records = [
            one
            for kind, said in records
            for one in ([(kind, said)] if isinstance(said, str) else change(period, kind, said))
        ]
    return records
