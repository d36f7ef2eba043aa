"""A picture of an anti-affinity group: the brokers of its namespaces, and of the next one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pulsar_conformance.reports.site.drawing import ROW, WIDTH, rectangle, svg, text, vertical_line

NONE = "no domain"
BROKER, CELLS = 84, 158
"""Horizontal positions, in pixels, of the brokers' names and of the cells beside them."""


def group_chart(case: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    """Return a picture with a row per broker: its domain, and its namespaces of the group.

    An open cell marks each broker to which the next namespace may go.
    """
    group = case["groups"].get(case["namespace"])
    may = answer.get("candidates") or [answer.get("broker")]
    goes = _short(case["namespace"])
    body, said, top = [], [], 0.0
    for domain, brokers in _by_domain(case):
        body.append(text(0, top + 17, domain[:12]))
        for broker in brokers:
            has = [
                _short(name)
                for name in case["owned"].get(broker, ())
                if group is not None and case["groups"].get(name) == group
            ]
            body += _row(top, broker, has, goes if broker in may else "")
            said.append(f"{domain}, {broker}: {', '.join(has) or 'none'}")
            top += ROW
        body.append(f'<line class="pc-tick" x1="0" x2="{WIDTH}" y1="{top:g}" y2="{top:g}"/>')
    where = f"{goes} may go to {', '.join(map(str, may))}" if any(may) else f"{goes} goes nowhere"
    return svg(top + 4, f"The group by domain and broker. {'; '.join(said)}. {where}", body)


def _row(top: float, broker: str, has: Sequence[str], open_for: str) -> Iterator[str]:
    yield text(BROKER, top + 17, broker[:11])
    width = (WIDTH - CELLS) / max(2, len(has) + bool(open_for))
    cells = [(name, "other") for name in has] + ([(open_for, "open")] if open_for else [])
    for number, (name, kind) in enumerate(cells):
        left = CELLS + number * width
        yield rectangle(left, top + 3, width - 6, ROW - 6, kind)
        yield text(left + width / 2 - 3, top + 17, name[: int(width / 7)], "middle")
    if not cells:
        yield vertical_line(CELLS, top + 6, ROW - 12, "tick")


def _by_domain(case: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[str]]]:
    placed = {broker for brokers in case["domains"].values() for broker in brokers}
    yield from case["domains"].items()
    every = dict.fromkeys([*case["candidates"], *case["owned"]])
    if alone := [broker for broker in every if broker not in placed]:
        yield NONE, alone


def _short(namespace: str) -> str:
    return namespace.rpartition("/")[2]
