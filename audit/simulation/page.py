"""A page about simulations: usage of the brokers over time, moves of bundles, and a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pulsar_conformance.audit.page.rendering import render_page
from pulsar_conformance.audit.simulation.course import SimulatedCourse
from pulsar_conformance.audit.simulation.measures import average_compared_usage, limit_of
from pulsar_conformance.audit.simulation.reporting import simulation_lines
from pulsar_conformance.audit.simulation.rules import loop_faults
from pulsar_conformance.audit.simulation.worlds import BadWorld
from pulsar_conformance.reference.threshold import HISTORY_SHARE
from pulsar_conformance.specs.text import paragraph

POINTS = 400
"""Maximum number of points of a line in a chart; they are evenly spaced."""

MAX_MARKS = 1000
MAX_BUNDLES = 50
NOWHERE = "no broker"
MAX_LISTED_BROKERS = 8
"""Maximum number of brokers that are listed for a bundle."""


def write_simulation_page(courses: Sequence[SimulatedCourse], file: Path) -> None:
    """Write a page about simulations. Errors: `BadWorld` if it cannot be written."""
    data = {
        "clusters": [_chart(course) for course in courses],
        "verdicts": [row for course in courses for row in _verdicts(course)],
    }
    notes = dict.fromkeys(note for course in courses for note in course.world.notes)
    lines = [line for note in notes for line in paragraph(note, 2, "")]
    lines += ["", *simulation_lines(courses)] if lines else simulation_lines(courses)
    try:
        file.write_text(render_page(data, lines, title="Simulation"), "utf-8")
    except OSError as wrong:
        raise BadWorld(f"--page {file}: it cannot be written: {wrong.strerror}") from None


def _chart(course: SimulatedCourse) -> dict[str, Any]:
    shown = course.cycles[:: len(course.cycles) // POINTS + 1]
    brokers = sorted({name for cycle in course.cycles for name in cycle.usage})
    first, last = course.cycles[0].usage, course.cycles[-1].usage
    return {
        "name": f"{course.world.name}: {course.variant}",
        "about": _usage_phrase(course),
        "times": [_seconds(course, cycle.number) for cycle in shown],
        "average": [average_compared_usage(cycle) for cycle in shown],
        "limit": [limit_of(course, cycle) for cycle in shown],
        "brokers": [
            {
                "name": name,
                "used": [_round_if_known(cycle.compared_usage.get(name)) for cycle in shown],
            }
            for name in brokers
        ],
        "left_out": 0,
        "marks": _moves_and_splits(course)[:MAX_MARKS],
        "bundles": _returning_bundles(course),
        "ends": [[name, _percent(first.get(name)), _percent(last.get(name))] for name in brokers],
    }


def _usage_phrase(course: SimulatedCourse) -> str:
    """Return a phrase about the usage that the lines of a chart show."""
    if course.cycles[-1].decided:
        share = float(str(course.settings.get(HISTORY_SHARE) or 0))
        smoothed = f", smoothed with earlier usage ({HISTORY_SHARE} = {share:g})" if share else ""
        return f"usage as ThresholdShedder compares it: the busiest resource by weight{smoothed}"
    return "usage of the busiest resource"


def _seconds(course: SimulatedCourse, cycle: int) -> float:
    return course.minutes_at(cycle) * 60


def _round_if_known(used: float | None) -> float | None:
    return None if used is None else round(used, 1)


def _percent(used: float | None) -> str:
    return "down" if used is None else f"{used:.1f} %"


def _moves_and_splits(course: SimulatedCourse) -> list[list[Any]]:
    """Return a row per move and split: seconds, kind, broker, description and False.

    False means that the cycle violates no rule.
    """
    rows: list[list[Any]] = []
    for cycle in course.cycles:
        at = _seconds(course, cycle.number)
        for move in cycle.moves:
            text = f"{move.bundle} to {move.target or NOWHERE} ({move.why})"
            rows.append([at, "unload", move.source, text, False])
        rows += [[at, "split", None, f"{bundle} was split", False] for bundle in cycle.splits]
    return rows


def _returning_bundles(course: SimulatedCourse) -> list[list[Any]]:
    """Return the bundles that came back to a broker: name, number of unloads, and their brokers in
    order.
    """
    brokers_of: dict[str, list[str]] = {}
    for move in course.sheds:
        brokers_of.setdefault(move.bundle, [str(move.source)]).append(move.target or NOWHERE)
    often = sorted(brokers_of.items(), key=lambda one: (-len(one[1]), one[0]))
    returned = [(bundle, brokers) for bundle, brokers in often if _returns_to_a_broker(brokers)]
    return [
        [
            bundle,
            len(brokers) - 1,
            " → ".join(brokers[:MAX_LISTED_BROKERS])
            + (" → …" if len(brokers) > MAX_LISTED_BROKERS else ""),
        ]
        for bundle, brokers in returned[:MAX_BUNDLES]
    ]


def _returns_to_a_broker(brokers: list[str]) -> bool:
    """True if the same broker occurs again later in a bundle's sequence of brokers."""
    named = [name for name in brokers if name != NOWHERE]
    return len(named) > len(set(named))


def _verdicts(course: SimulatedCourse) -> list[list[str]]:
    words = {"fail": "violated", "warn": "not advisable"}
    name = f"{course.world.name}: {course.variant}"
    return [
        [fault.rule.id, words[fault.verdict], name, str(fault.cycle), fault.text, ""]
        for fault in loop_faults(course)
    ]
