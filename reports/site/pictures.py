"""Pictures of worked examples, as SVG within a page.

Each picture draws numbers of the model's derivation or of the case, and has a text for screen
readers. The style of the page gives the colors, so that they follow light and dark mode.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from pulsar_conformance.reference import Step
from pulsar_conformance.reports.pages.making import ShownExample
from pulsar_conformance.reports.site.candidates import candidate_chart
from pulsar_conformance.reports.site.drawing import (
    ROW,
    WIDTH,
    beside_lines,
    rectangle,
    svg,
    text,
    vertical_line,
)
from pulsar_conformance.reports.site.groups import group_chart

LEFT = 76
RIGHT = 52
PERCENT = re.compile(r"(-?\d+(?:\.\d+)?) %")
RANGE = re.compile(r"(0x[0-9a-f]{8})_(0x[0-9a-f]{8})")
MAX_ROWS = 12
MAX_EVENT_LENGTH = 38
"""Maximum length of an event's text; the table below has the full text."""
PLACING = ("place.select", "place.broker")
LIMITS = ("threshold", "limit")


@dataclass
class MeasuredBroker:
    """A broker with the percentages in its derivation; None for a missing one."""

    name: str
    usage: float | None = None
    limit: float | None = None
    gives: list[str] = field(default_factory=list)


def pictures(shown: ShownExample) -> Iterator[str]:
    """Yield the pictures of an example: usually one, or none if a table shows everything."""
    yield from dict.fromkeys(_pictures(shown))


def _pictures(shown: ShownExample) -> Iterator[str]:
    """Yield the picture of each question; equal questions have equal pictures."""
    for (operation, case), derived in zip(
        shown.example.questions, shown.worked.derivations, strict=True
    ):
        if operation == "cluster.replay" and shown.event_table:
            yield _time_line([(row[0], row[1]) for row in shown.event_table.rows])
        elif operation == "place.anti_affinity":
            yield group_chart(case, derived.answer)
        elif operation in PLACING:
            if drawn := candidate_chart(derived.steps, case["brokers"]):
                yield drawn
        elif (drawn := _usage_bars(derived.steps)) or (drawn := _ranges(case, derived.answer)):
            yield drawn


def _usage_bars(steps: Sequence[Step]) -> str:
    """Return a picture with a bar for each broker's usage, and lines for average and limit."""
    brokers, average, limit = _measured_brokers(steps)
    measured = [one for one in brokers if one.usage is not None][:MAX_ROWS]
    if not measured:
        return ""
    body, said = [], []
    scale = (WIDTH - LEFT - RIGHT) / max(100.0, *(one.usage or 0 for one in measured))
    height = len(measured) * ROW + 34
    for row, one in enumerate(measured):
        usage, top = one.usage or 0.0, row * ROW + 4
        own = one.limit if one.limit is not None else limit
        kind = "over" if own is not None and usage > own else "bar"
        body.append(text(LEFT - 8, top + 13, one.name[:12], "end"))
        body.append(rectangle(LEFT, top, usage * scale, ROW - 8, kind))
        lines = [value for value in (average, limit, one.limit) if value is not None]
        figure = f"{usage:g} %"
        left = beside_lines(LEFT + usage * scale + 6, figure, [LEFT + x * scale for x in lines])
        body.append(text(left, top + 13, figure))
        if one.limit is not None:
            body.append(vertical_line(LEFT + one.limit * scale, top - 2, ROW - 4, "limit"))
        gone = f" and sheds {len(one.gives)}" if one.gives else ""
        said.append(f"{one.name} is at {usage:g} %{gone}")
    for value, word in ((average, "average"), (limit, "limit")):
        if value is not None:
            body.append(vertical_line(LEFT + value * scale, 0, height - 30, word))
            body.append(
                text(
                    LEFT + value * scale,
                    height - 18 + 15 * (word == "limit"),
                    f"{word} {value:g} %",
                    "middle",
                )
            )
            said.append(f"{word} {value:g} %")
    limits = {one.limit for one in measured if one.limit is not None}
    if limits:
        words = ", ".join(f"{one:g} %" for one in sorted(limits))
        body.append(text(LEFT, height - 8, f"dashed: threshold {words}"))
        said.append(f"threshold {words}")
    return svg(height + 4, f"Usage by broker: {'; '.join(said)}", body)


def _measured_brokers(
    steps: Sequence[Step],
) -> tuple[list[MeasuredBroker], float | None, float | None]:
    """Return the brokers of a derivation, with the average and limit to which they are compared."""
    found: list[MeasuredBroker] = []
    average = limit = None
    for step in steps:
        inner, label = step.label.startswith(" "), step.label.strip()
        percents = [float(one) for one in PERCENT.findall(step.text)]
        if not inner and not step.text:
            found.append(MeasuredBroker(label))
        elif not inner and label == "average" and percents:
            average = percents[-1]
        elif not inner and label == "limit" and percents:
            limit = percents[-1]
        elif inner and found and percents and label == "usage":
            found[-1].usage = percents[0]
        elif inner and found and percents and label in LIMITS:
            found[-1].limit = percents[-1]
        elif inner and found and label == "goes":
            found[-1].gives.append(step.text)
    return found, average, limit


def _ranges(case: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    """Return a picture of the hash ranges in a question and its answer."""
    rows = [
        (word, parts)
        for word, value in (
            ("before", case.get("bundle")),
            ("boundaries", case.get("boundaries")),
            ("answer", answer.get("bundles") or answer.get("boundaries")),
        )
        if (parts := _hash_ranges(value))
    ]
    if len({tuple(parts) for _, parts in rows}) < 1 or all(len(parts) > 64 for _, parts in rows):
        return ""
    lowest = min(low for _, parts in rows for low, _ in parts)
    highest = max(high for _, parts in rows for _, high in parts)
    scale = (WIDTH - LEFT - 10) / max(1, highest - lowest)
    body, said = [], []
    for row, (word, parts) in enumerate(rows):
        top = row * ROW + 4
        body.append(text(LEFT - 8, top + 13, word, "end"))
        for number, (low, high) in enumerate(parts):
            kind = "bar" if number % 2 else "other"
            body.append(
                rectangle(LEFT + (low - lowest) * scale, top, (high - low) * scale, ROW - 8, kind)
            )
        said.append(
            f"{word}: "
            + (
                ", ".join(f"0x{low:08x} to 0x{high:08x}" for low, high in parts)
                if len(parts) <= 4
                else f"{len(parts)} ranges"
            )
        )
    bottom = len(rows) * ROW + 14
    body.append(text(LEFT, bottom, f"0x{lowest:08x}"))
    body.append(text(WIDTH - 10, bottom, f"0x{highest:08x}", "end"))
    return svg(bottom + 8, f"Ranges of hashes. {'; '.join(said)}", body)


def _hash_ranges(value: Any) -> list[tuple[int, int]]:
    """Return the hash ranges in a value: boundaries, bundle names or one bundle name."""
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        return []
    ranges = [RANGE.search(one) for one in names]
    if ranges and all(ranges):
        found = [(int(one[1], 16), int(one[2], 16)) for one in ranges if one]
        return list(dict.fromkeys(found))
    if len(names) > 1 and all(re.fullmatch("0x[0-9a-f]{8}", one) for one in names):
        return list(pairwise(int(one, 16) for one in names))
    return []


def _time_line(events: Sequence[tuple[str, str]]) -> str:
    """Return a picture of events on a time line, each at its minute."""
    known = [(float(minute), said) for minute, said in events if _is_number(minute)][:MAX_ROWS]
    if not known:
        return ""
    last = max(minute for minute, _ in known) or 1.0
    scale = 36 / last
    height = len(known) * ROW + 8
    body = []
    for row, (minute, said) in enumerate(known):
        middle = row * ROW + 14
        body.append(vertical_line(64 + minute * scale, 0, height - 4, "tick"))
        body.append(f'<circle class="pc-dot" cx="{64 + minute * scale:.1f}" cy="{middle}" r="5"/>')
        body.append(text(54, middle + 4, f"{minute:g} min", "end"))
        body.append(
            text(
                114,
                middle + 4,
                said if len(said) <= MAX_EVENT_LENGTH else f"{said[: MAX_EVENT_LENGTH - 1]}…",
            )
        )
    left_out = len(events) - len(known)
    more = f"; {left_out} more follow in the table" if left_out > 0 else ""
    return svg(height, f"Time line of {len(known)} events up to minute {last:g}{more}", body)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
