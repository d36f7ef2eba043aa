"""Answers as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from pulsar_conformance.reference.channel import with_numbered_changes
from pulsar_conformance.reports.pages.cells import (
    CYCLE_LIST_FIELD,
    TITLES,
    Json,
    format_field,
    format_load_values,
    format_object,
    join_shortened,
)

DECLINED: Mapping[str, str] = {
    "refused": "refused",
    "unsupported": "not offered",
    "failed": "failed",
}

NOTHING = "nothing is unloaded"
LINE = "<br>"
"""Line break within a list item or a table cell."""


MAX_LISTED_ANSWERS = 12
"""Maximum number of answers that are listed; if there are more, only their number is shown."""


def format_answers(answers: Sequence[Json]) -> str:
    """Return the answers to the questions as text; consecutive equal answers are given once."""
    if len(answers) == 1:
        return _format_answer(answers[0])
    groups = [(answer, len(list(equal))) for answer, equal in groupby(answers)]
    if len(groups) == 1:
        return f"each time {_format_answer(answers[0])}"
    if len(groups) > MAX_LISTED_ANSWERS:
        return LINE.join(
            f"{text}, {count} times"
            for text, count in Counter(map(_format_answer, answers)).items()
        )
    return LINE.join(
        f"({number}) {_format_answer(answer)}{f', {count} times' if count > 1 else ''}"
        for number, (answer, count) in enumerate(groups, 1)
    )


def _format_answer(answer: Json) -> str:
    return "; ".join(_fields(answer))


def _fields(answer: Json) -> Iterator[str]:
    for value, names in _with_equal_fields_joined(with_numbered_changes(answer)):
        name = " and ".join(TITLES.get(one, one) for one in names)
        if name in DECLINED:
            yield DECLINED[name] if value == "*" else f"{DECLINED[name]}: {value}"
        elif name == CYCLE_LIST_FIELD:
            yield LINE.join(f"cycle {n}: {_format_answer(one)}" for n, one in enumerate(value, 1))
        elif name == "unload" and all(isinstance(one, Mapping) for one in value):
            yield _unloads(value)
        else:
            yield f"{name}: {_value(name, value)}"


def _with_equal_fields_joined(answer: Json) -> Iterator[tuple[Any, list[str]]]:
    """Yield each value with the names of its fields; fields with equal objects are one entry."""
    for value, names in groupby(answer, key=answer.__getitem__):
        together = list(names)
        if isinstance(value, Mapping):
            yield value, together
        else:
            yield from ((value, [name]) for name in together)


def _unloads(unload: Sequence[Mapping[str, str]]) -> str:
    ways = groupby(unload, key=lambda one: (one["broker"], one.get("to")))
    given = (
        f"{broker} sheds {_names([one['bundle'] for one in moved])}{f', for {to}' if to else ''}"
        for (broker, to), moved in ways
    )
    return "; ".join(given) or NOTHING


def _names(names: Sequence[str]) -> str:
    return join_shortened([f"`{name}`" for name in names])


def _value(name: str, value: Any) -> str:
    if isinstance(value, Mapping):
        return format_load_values(value) if "numSamples" in value else format_object(value)
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return _names(value) if value else "none"
    if isinstance(value, list) and all(isinstance(one, Mapping) for one in value):
        return "".join(
            f"{LINE}{number}. {_changes(*two)}" for number, two in enumerate(_pairs(value), 1)
        )
    return format_field(name, value)


def _pairs(values: Sequence[Json]) -> Iterator[tuple[Json, Json]]:
    return zip([{}, *values], values, strict=False)


def _changes(before: Json, value: Json) -> str:
    """Return the fields in which an object differs from the one before it, as text."""
    changed = {name: one for name, one in value.items() if before.get(name) != one}
    return format_object(changed) if changed else "as before"
