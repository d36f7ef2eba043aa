"""Derivations and answers, formatted as text in 80 columns."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pulsar_conformance.reference import Derivation, Step
from pulsar_conformance.specs.text import WIDTH, paragraph

LABEL = 16
"""Maximum length of a label on the same line as its text; a longer one gets its own line."""
SHORT = 24
"""Maximum length of the elements of a list that is written on one line."""

MAX_UNLOADS_LISTED = 3
"""Maximum number of unloads on one line."""

IN_TURN = "in turn since the leader's start"
"""Part of the decision of a strategy that counts the bundles that it placed."""

FIRST_IN_TURN = ", if it is the first bundle placed in turn"


def decision(answer: Mapping[str, Any]) -> str:
    """Format an answer about unloads or a placement on one line."""
    for word in ("refused", "unsupported", "failed"):
        if word in answer:
            return f"{word}: {answer[word]}"
    if "broker" in answer:
        return f"to {answer['broker']}" if answer["broker"] else "to no broker"
    pairs = answer["unload"]
    if not pairs:
        return "unload nothing"
    if len(pairs) <= MAX_UNLOADS_LISTED:
        return "unload " + ", ".join(f"{one['bundle']} of {one['broker']}" for one in pairs)
    counts = Counter(one["broker"] for one in pairs).items()
    return f"unload {len(pairs)} bundles: {', '.join(f'{n} of {name}' for name, n in counts)}"


def condition(derived: Derivation) -> str:
    """Return the condition under which a decision is made; empty without one."""
    return FIRST_IN_TURN if any(IN_TURN in one.text for one in derived.steps) else ""


def format_derivation(steps: Sequence[Step]) -> Iterator[str]:
    """Yield each step with its details; labels at the same depth are aligned."""
    widths: dict[int, int] = defaultdict(int)
    for step in steps:
        depth, label = _depth(step), step.label.strip()
        if step.text and len(label) <= LABEL:
            widths[depth] = max(widths[depth], len(label))
    for step in steps:
        depth = _depth(step)
        yield from format_entry(step.label.strip(), step.text, depth, widths[depth])


def format_answer(value: Mapping[str, Any], indent: int = 2) -> Iterator[str]:
    """Yield the fields of an answer, one per line."""
    width = max((len(name) for name in value if len(name) <= LABEL), default=0)
    for name, item in value.items():
        first, *rest = _value_lines(item)
        yield from format_entry(name, first, indent, width)
        for line in rest:
            yield from format_entry("", line, indent, width)


def format_entry(label: str, text: str, indent: int, width: int) -> Iterator[str]:
    """Format a label and its text; the text starts on a new line if either is too long.

    `width` is the width of the column of labels.
    """
    space = " " * indent
    longest = max(map(len, text.split()), default=0)
    if len(label) > width or indent + width + 2 + longest > WIDTH:
        yield f"{space}{label}"
        yield from paragraph(text, indent + 2) if text else ()
        return
    first, *rest = [*paragraph(text, indent + width + 2), ""] if text else [""]
    yield f"{space}{label:<{width}}  {first.strip()}".rstrip()
    yield from (line for line in rest if line)


def _depth(step: Step) -> int:
    return len(step.label) - len(step.label.lstrip())


def _value_lines(value: Any) -> list[str]:
    """Format a value of an answer, with a separate line for each long element."""
    if isinstance(value, Mapping):
        if not _has_parts(value):
            return [_fields(value)]
        return [f"{name}: {line}" for name, item in value.items() for line in _value_lines(item)]
    if isinstance(value, list):
        if any(_has_parts(item) for item in value):
            return [f"{number}: {_changes(*two)}" for number, two in enumerate(_pairs(value), 1)]
        lines = [line for item in value for line in _value_lines(item)]
        short = all(len(line) <= SHORT for line in lines)
        return [", ".join(lines)] if lines and short else lines or ["nothing"]
    return [_plain(value)]


def _has_parts(value: Any) -> bool:
    return isinstance(value, Mapping) and any(
        isinstance(item, Mapping | list) for item in value.values()
    )


def _pairs(values: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    return zip([{}, *values], values, strict=False)


def _changes(before: Mapping[str, Any], value: Mapping[str, Any]) -> str:
    """Format the fields in which an object differs from the previous one."""
    changed = {name: item for name, item in value.items() if before.get(name) != item}
    fields = (f"{name} {', '.join(_value_lines(item))}" for name, item in changed.items())
    return "; ".join(fields) or "as before"


def _fields(value: Mapping[str, Any]) -> str:
    if {"broker", "bundle"} <= set(value) <= {"broker", "bundle", "to"}:
        to = f", to {value['to']}" if "to" in value else ""
        return f"{value['bundle']} of {value['broker']}{to}"
    return ", ".join(f"{name} {_plain(item)}" for name, item in value.items()) or "nothing"


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "none" if value is None else str(value)


AMOUNT = re.compile(r"(= ([\d.]+) ([KMG])B/s)\b")
BYTES = {"K": 10**3, "M": 10**6, "G": 10**9}


def as_logged(step: Step) -> Step:
    """Return a step with the amount to shed also in the unit of Pulsar's log."""
    if step.label.strip() != "to shed":
        return step

    def both(found: re.Match[str]) -> str:
        return f"{found[1]} ({float(found[2]) * BYTES[found[3]] / 2**20:.3g} MiB/s)"

    return replace(step, text=AMOUNT.sub(both, step.text))
