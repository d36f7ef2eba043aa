"""Derivations and answers, formatted as text in 80 columns."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import groupby
from typing import Any

from pulsar_conformance.reference import Derivation, Step
from pulsar_conformance.reference.derivation import blocks
from pulsar_conformance.specs.text import WIDTH, paragraph

MAX_LABEL_LENGTH = 16
"""Maximum length of a label on the same line as its text; a longer label gets its own line."""
MAX_ELEMENT_LENGTH = 24
"""Maximum length of each element of a list that is written on one line."""

MAX_UNLOADS_LISTED = 3
"""Maximum number of unloads on one line."""

MAX_ALIKE = 24
"""Longest run of similar steps, or longest list in an answer, that is shown in full."""

SHOWN_OF_MANY = 8
"""Number of steps or elements that are shown if a run or list is not shown in full."""

REST = "--all lists each"

IN_TURN = "in turn since the leader's start"
"""Part of the text of a decision by a strategy that places bundles on each broker in turn."""

FIRST_IN_TURN = ", if it is the first bundle placed in turn"


def format_decision(answer: Mapping[str, Any]) -> str:
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


def condition_clause(derived: Derivation) -> str:
    """Return a clause with the condition for a decision; usually empty."""
    return FIRST_IN_TURN if any(IN_TURN in one.text for one in derived.steps) else ""


def format_derivation(steps: Sequence[Step]) -> Iterator[str]:
    """Yield each step with its details; labels at the same depth are aligned."""
    widths: dict[int, int] = defaultdict(int)
    for step in steps:
        depth, label = _depth(step), step.label.strip()
        if step.text and len(label) <= MAX_LABEL_LENGTH:
            widths[depth] = max(widths[depth], len(label))
    for step in steps:
        depth = _depth(step)
        yield from format_entry(step.label.strip(), step.text, depth, widths[depth])


def with_long_runs_shortened(
    steps: Sequence[Step], case: Any, answer: Mapping[str, Any]
) -> Iterator[Step]:
    """Yield the steps; long runs of steps that differ only in their subject are shortened.

    Of a long run, the steps about subjects that the answer names and a few others remain, followed
    by a step with the number of steps left out.
    """
    yield from _shortened_runs(steps, frozenset(_texts(case)), frozenset(_texts(answer)))


def _shortened_runs(
    steps: Sequence[Step], subjects: AbstractSet[str], named: AbstractSet[str]
) -> Iterator[Step]:
    runs = groupby(blocks(steps), key=lambda block: _subject_or_label(block[0], subjects))
    for _, run in runs:
        found = list(run)
        shown = found
        if len(found) > MAX_ALIKE:
            answered = [one for one in found if one[0].label.strip() in named]
            kept = answered if len(answered) <= MAX_ALIKE else answered[:SHOWN_OF_MANY]
            first = [one for one in found if one not in answered][
                : max(0, SHOWN_OF_MANY - len(kept))
            ]
            shown = [one for one in found if one in kept or one in first]
        for heading, *below in shown:
            yield heading
            yield from _shortened_runs(below, subjects, named)
        if len(shown) < len(found):
            indent = " " * _depth(found[0][0])
            yield Step(f"{indent}{len(found) - len(shown)} more", REST)


def _subject_or_label(step: Step, subjects: AbstractSet[str]) -> str:
    """Return the label of a step; empty if the label is a subject, such as a broker's name."""
    label = step.label.strip()
    return "" if label.partition(" to ")[0] in subjects else label


def _texts(value: Any) -> Iterator[str]:
    """Yield all strings in a JSON value, including field names."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for one in value:
            yield from _texts(one)
        for one in value.values() if isinstance(value, Mapping) else ():
            yield from _texts(one)


def format_answer(value: Mapping[str, Any], indent: int = 2, every: bool = True) -> Iterator[str]:
    """Yield an answer's fields, one per line; if `every` is false, long lists are shortened."""
    width = max((len(name) for name in value if len(name) <= MAX_LABEL_LENGTH), default=0)
    for name, item in value.items():
        more = 0 if every or not isinstance(item, Mapping | list) else len(item) - MAX_ALIKE
        first, *rest = _value_lines(_shortened_list(item) if more > 0 else item)
        if more > 0:
            rest.append(f"and {len(item) - SHOWN_OF_MANY} more ({REST})")
        yield from format_entry(name, first, indent, width)
        for line in rest:
            yield from format_entry("", line, indent, width)


def _shortened_list(value: Mapping[str, Any] | list[Any]) -> Mapping[str, Any] | list[Any]:
    if isinstance(value, list):
        return value[:SHOWN_OF_MANY]
    return dict([*value.items()][:SHOWN_OF_MANY])


def format_entry(label: str, text: str, indent: int, width: int) -> Iterator[str]:
    """Format a label and its text; the text starts on a new line if the label or a word is too
    long.

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
            return [
                f"{number}: {_changed_fields_text(*two)}"
                for number, two in enumerate(_pairs(value), 1)
            ]
        lines = [line for item in value for line in _value_lines(item)]
        short = all(len(line) <= MAX_ELEMENT_LENGTH for line in lines)
        return [", ".join(lines)] if lines and short else lines or ["nothing"]
    return [_plain_text(value)]


def _has_parts(value: Any) -> bool:
    return isinstance(value, Mapping) and any(
        isinstance(item, Mapping | list) for item in value.values()
    )


def _pairs(values: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    return zip([{}, *values], values, strict=False)


def _changed_fields_text(before: Mapping[str, Any], value: Mapping[str, Any]) -> str:
    """Format the fields in which an object differs from the previous object."""
    changed = {name: item for name, item in value.items() if before.get(name) != item}
    fields = (f"{name} {', '.join(_value_lines(item))}" for name, item in changed.items())
    return "; ".join(fields) or "as before"


def _fields(value: Mapping[str, Any]) -> str:
    if {"broker", "bundle"} <= set(value) <= {"broker", "bundle", "to"}:
        to = f", to {value['to']}" if "to" in value else ""
        return f"{value['bundle']} of {value['broker']}{to}"
    return ", ".join(f"{name} {_plain_text(item)}" for name, item in value.items()) or "nothing"


def _plain_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value == "":
        return '""'
    return "none" if value is None else str(value)


AMOUNT = re.compile(r"(= ([\d.]+) ([KMG])B/s)\b")
BYTES = {"K": 10**3, "M": 10**6, "G": 10**9}


def with_logged_unit(step: Step) -> Step:
    """Return a step in which the amount to shed also appears in the unit of Pulsar's log."""
    if step.label.strip() != "to shed":
        return step

    def both(match: re.Match[str]) -> str:
        return f"{match[1]} ({float(match[2]) * BYTES[match[3]] / 2**20:.3g} MiB/s)"

    return replace(step, text=AMOUNT.sub(both, step.text))
