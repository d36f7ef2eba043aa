"""A picture of a placement: candidates with usage and score, the possible choices marked."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pulsar_conformance.reference import Step
from pulsar_conformance.reports.site.drawing import (
    ROW,
    WIDTH,
    beside_lines,
    rectangle,
    svg,
    text,
    vertical_line,
)

LEFT, RIGHT = 76, 138
MAX_ROWS = 12
USAGE = re.compile(r"(\d+(?:\.\d+)?) %(?: of \w+)?")
RATE = re.compile(r"(\d+(?:\.\d+)?) msg/s long-term: (.*)")
SCORE = re.compile(r".* = (\d+(?:\.\d+)?)")


@dataclass(frozen=True)
class DrawnCandidate:
    """A broker that placement compares, with its figures in the derivation."""

    name: str
    usage: float
    note: str
    """The broker's score or rate, or why it is left out; empty if only usage is compared."""
    left_out: bool
    chosen: bool

    @property
    def kind(self) -> str:
        """The CSS class that gives the color of the broker's bar."""
        if self.chosen:
            return "bar"
        return "over" if self.left_out else "other"


def candidate_chart(steps: Sequence[Step], brokers: Collection[str]) -> str:
    """Return a picture of the candidates; empty if the derivation compares no usage."""
    decision = next((one.text for one in steps if one.label == "decision"), "")
    chosen = {*re.split(r" or |, |: ", decision)}.intersection(brokers)
    found = [
        _candidate(step, chosen)
        for step in steps
        if step.label in brokers and USAGE.match(step.text)
    ]
    if not found:
        return ""
    limits = [float(one.text.split()[0]) for one in steps if one.label == "threshold"]
    shown = sorted(found, key=lambda one: not one.chosen)[:MAX_ROWS]
    shown = [one for one in found if one in shown]
    scale = (WIDTH - LEFT - RIGHT) / max(100.0, *(one.usage for one in shown), *limits)
    body, said = [], []
    for row, one in enumerate(shown):
        top = row * ROW + 4
        figures = ", ".join(filter(None, (f"{one.usage:g} %", one.note)))
        body.append(text(LEFT - 8, top + 13, f"{'✓ ' if one.chosen else ''}{one.name[:10]}", "end"))
        body.append(rectangle(LEFT, top, one.usage * scale, ROW - 8, one.kind))
        left = beside_lines(
            LEFT + one.usage * scale + 6, figures, [LEFT + x * scale for x in limits]
        )
        body.append(text(left, top + 13, figures))
        said.append(f"{one.name}: {figures}{', chosen' if one.chosen else ''}")
    bottom = len(shown) * ROW
    for limit in limits:
        body.append(vertical_line(LEFT + limit * scale, 0, bottom + 2, "limit"))
        body.append(text(LEFT + limit * scale, bottom + 16, f"threshold {limit:g} %", "middle"))
        said.append(f"threshold {limit:g} %")
    if len(found) > len(shown):
        said.append(f"{len(found) - len(shown)} more")
    title = (
        "Candidates" if len(chosen) < 2 else "Candidates; each of those chosen is a right answer"
    )
    return svg(bottom + 24, f"{title}. {'; '.join(said)}", body)


def _candidate(step: Step, chosen: Collection[str]) -> DrawnCandidate:
    usage = USAGE.match(step.text)
    assert usage is not None, "only steps with a usage are candidates"
    rate = RATE.search(step.text)
    note, left_out = "", False
    if rate is not None:
        score, left_out = SCORE.match(rate[2]), "left out" in rate[2]
        note = "left out" if left_out else "no score"
        if score is not None:
            weighted = " x " in rate[2]
            note = f"score {float(score[1]):g}" if weighted else f"{float(rate[1]):g} msg/s"
    return DrawnCandidate(step.label, float(usage[1]), note, left_out, step.label in chosen)
