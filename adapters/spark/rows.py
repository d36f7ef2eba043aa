"""Answers to `shed.cycles`: job n computes cycle n of all cases, from the results of earlier jobs.
[SHED]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pulsar_conformance.adapters.protocol import JSON

NAME = "shed.cycles"
CYCLE_OPERATION = "shed.select"
USAGE_OPERATION = "usage.max"
SMOOTHING_STRATEGY = "ThresholdShedder"
REMEMBERING = (SMOOTHING_STRATEGY, "AvgShedder", "TransferShedder")
"""Strategies that depend on usage in earlier cycles. [THRESHOLD-15, AVERAGE-03]"""

MINUTE = 60

Ask = Callable[[str, Sequence[JSON]], list[JSON]]
"""Function that answers cases of one operation."""


def answers(rows: Sequence[JSON], ask: Ask) -> list[JSON]:
    """Return one answer per case; job n computes cycle n of all cases that have as many cycles."""
    found: list[list[JSON]] = [[] for _ in rows]
    declined: dict[int, JSON] = {}
    seen = _usages_by_cycle(rows, ask)
    for place in range(max((len(row["cycles"]) for row in rows), default=0)):
        asked = [
            number
            for number, row in enumerate(rows)
            if place < len(row["cycles"]) and number not in declined
        ]
        cases = [
            _cycle_as_case(rows[number], place, found[number], seen[number]) for number in asked
        ]
        for number, answer in zip(asked, ask(CYCLE_OPERATION, cases) if cases else (), strict=True):
            if "unload" in answer:
                found[number].append(answer)
            else:
                declined[number] = answer
    return [
        declined.get(number, {"cycles": [{"unload": one["unload"]} for one in cycles]})
        for number, cycles in enumerate(found)
    ]


def _usages_by_cycle(rows: Sequence[JSON], ask: Ask) -> list[list[dict[str, float]]]:
    """Return, for each case and each of its cycles, the weighted usage of each broker.

    A cycle has no usages if the strategy does not need them or a weight is unknown.
    """
    places = [
        (number, place, broker, {"settings": row["settings"], "weighted": True, "broker": report})
        for number, row in enumerate(rows)
        if (row["strategy"] or SMOOTHING_STRATEGY).endswith(REMEMBERING)
        for place, cycle in enumerate(row["cycles"][:-1])
        for broker, report in cycle["brokers"].items()
    ]
    seen: list[list[dict[str, float]]] = [[{} for _ in row["cycles"]] for row in rows]
    used = ask(USAGE_OPERATION, [case for *_, case in places]) if places else []
    for (number, place, broker, _), answer in zip(places, used, strict=True):
        if "percent" in answer:
            seen[number][place][broker] = answer["percent"]
    return seen


def _cycle_as_case(
    row: JSON, place: int, before: Sequence[JSON], seen: Sequence[dict[str, float]]
) -> dict[str, Any]:
    """Return a cycle as a separate case, with what the earlier cycles left: usages and unloads."""
    cycle = row["cycles"][place]
    histories = {
        name: [usage[name] for usage in seen[:place] if name in usage] for name in cycle["brokers"]
    }
    recent: dict[str, float] = {}
    for bundle, ago in _unloaded_bundles(row["cycles"][: place + 1], before):
        recent[bundle] = min(ago, recent.get(bundle, ago))
    return {
        "strategy": row["strategy"],
        "settings": row["settings"],
        "brokers": {
            name: {**report, "usageHistory": histories[name]} if histories[name] else report
            for name, report in cycle["brokers"].items()
        },
        "bundles": cycle["bundles"],
        "recentlyUnloaded": recent,
        "earlier": [
            {"usages": usages, "unloaded": bool(answer["unload"])}
            for usages, answer in zip(seen, before, strict=False)
        ],
        "past": {
            "hits": _consecutive_hits(before),
            "since": _seconds_since_unloads(row["cycles"][: place + 1], before),
        },
        **{name: cycle[name] for name in RESTRICTIONS if name in cycle},
    }


RESTRICTIONS = ("withoutData", "isolation", "groups")
"""Parts of a cycle that only TransferShedder considers."""


def _consecutive_hits(before: Sequence[JSON]) -> int:
    """Return the number of consecutive cycles in which TransferShedder found an imbalance.

    An unload resets the number; a skipped cycle does not change it. [TRANSFER-06]
    """
    hits = 0
    for one in before:
        state = one.get("state") or {}
        if not state.get("skipped"):
            hits = hits + 1 if state.get("uneven") else 0
        if one["unload"]:
            hits = 0
    return hits


def _seconds_since_unloads(cycles: Sequence[JSON], before: Sequence[JSON]) -> dict[str, float]:
    """Return the seconds since each broker last unloaded bundles. [TRANSFER-11, TRANSFER-19]"""
    found: dict[str, float] = {}
    for place, one in enumerate(before):
        passed = sum(cycle["minutes"] for cycle in cycles[place + 1 :]) * MINUTE
        found |= {unload["broker"]: passed for unload in one["unload"]}
    return found


def _unloaded_bundles(
    cycles: Sequence[JSON], answered: Sequence[JSON]
) -> Iterator[tuple[str, float]]:
    """Yield each bundle unloaded in or before these cycles, and how many minutes before the last
    cycle.
    """
    for place, cycle in enumerate(cycles):
        passed = sum(one["minutes"] for one in cycles[place + 1 :])
        for bundle, ago in cycle["recentlyUnloaded"].items():
            yield bundle, passed + ago
        for one in answered[place]["unload"] if place < len(answered) else ():
            yield one["bundle"], passed
