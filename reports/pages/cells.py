"""Values in cases and answers as text with units, for table cells."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pulsar_conformance.reference.numbers import Fraction, exact, messages, plain, throughput
from pulsar_conformance.specs import load as load_specs

Json = Mapping[str, Any]

MAX_SHOWN_VALUES = 6
"""Maximum length of a list that is shown in full.

A longer one is reduced to its first values, its last one and its length.
"""

FIRST_VALUES = 3

PLACES = 6
"""Number of decimal places shown, enough to distinguish answers under different readings."""

MIN_SHOWN_PERCENT = Fraction(1, 100)
"""Percentage below which a cell says only "under 0.01 %"."""

STRATEGIES = "org.apache.pulsar.broker.loadbalance.impl."

MANAGER_FIELDS = ("conf", "dynamic")
"""Fields with the class of a load manager, shown with its package."""

MESSAGES = ("msgRateIn", "msgRateOut")
UNITLESS_SETTINGS = ("share", "ratio")
"""Units that are not shown, because their settings are plain numbers."""

BYTES = ("msgThroughputIn", "msgThroughputOut")
RATES = (*MESSAGES, *BYTES)
SESSIONS = {"producerCount": "producer", "consumerCount": "consumer"}
"""Noun for each field that counts sessions."""

CYCLE_LIST_FIELD = "cycles"
"""Field of cases and answers that holds a list of cycles."""

UNITS: Mapping[str, Callable[[Any], str]] = {
    "msgRateIn": lambda value: messages(exact(value), PLACES),
    "msgRateOut": lambda value: messages(exact(value), PLACES),
    "msgThroughputIn": lambda value: throughput(exact(value), PLACES),
    "msgThroughputOut": lambda value: throughput(exact(value), PLACES),
    "percent": lambda value: f"{plain(exact(value))} %",
    "reportedGbps": lambda value: f"{plain(exact(value))} Gbit/s",
    "gbps": lambda value: f"{plain(exact(value))} Gbit/s",
}
"""Functions that format the value of a field with its unit, by the name of the field."""


def format_field(name: str, value: Any) -> str:
    """Return the value of a field as text.

    Text that could be taken for a value of another type, such as a number, is in quotes.
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return UNITS[name](value) if name in UNITS else format_number(value)
    if isinstance(value, Mapping):
        return format_object(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return join_shortened([format_field(name, one) for one in value])
    package = "" if name in MANAGER_FIELDS else STRATEGIES
    return _quoted_if_ambiguous(str(value).removeprefix(package))


def _quoted_if_ambiguous(text: str) -> str:
    """Return text, in quotes if it is empty or reads like a number, true, false or null."""
    if not text:
        return '""'
    try:
        json.loads(text)
    except ValueError:
        return text
    return json.dumps(text, ensure_ascii=False)


def format_number(value: float) -> str:
    """Return a number as text."""
    return plain(exact(value), PLACES)


def format_object(value: Json) -> str:
    """Return an object as the text of a single cell."""
    if set(value) == {"usage", "limit"} and not any(isinstance(one, str) for one in value.values()):
        return format_usage(value)
    if {*RATES, *SESSIONS, "numSamples"} & set(value):
        return format_load(value)
    return (
        ", ".join(f"{name}: {format_field(name, one)}" for name, one in value.items()) or "nothing"
    )


def format_usage(value: Json) -> str:
    """Return the usage of a resource as text; add the percentage if the limit is not 100."""
    used, limit = exact(value["usage"]), exact(value["limit"])
    if limit == 100:
        return f"{plain(used)} %"
    return f"{plain(used)} of {plain(limit)}{_percent(100 * used / limit) if limit > 0 else ''}"


def _percent(share: Fraction) -> str:
    return (
        f" = {plain(share)} %"
        if not 0 < share < MIN_SHOWN_PERCENT
        else f", under {plain(MIN_SHOWN_PERCENT)} %"
    )


def format_load(value: Json) -> str:
    """Return a load as text, bytes first."""
    if value.get("numSamples") != 0:
        return format_load_values(value)
    given = {name: value[name] for name in RATES if value.get(name)}
    return f"never measured ({format_load_values(given)} given)" if given else "never measured"


def format_load_values(value: Json) -> str:
    """Return the values of a load as text: bytes, messages, other fields, then sessions."""
    carried = [format_in_and_out(value, BYTES), format_in_and_out(value, MESSAGES)]
    others = [
        format_field(name, one)
        if isinstance(one, str)
        else f"{format_field(name, one)} {_noun(name, one)}"
        for name, one in value.items()
        if name not in (*RATES, *SESSIONS)
    ]
    sessions = [_format_sessions(value)] if set(SESSIONS) & set(value) else []
    return ", ".join([one for one in carried if one] + others + sessions)


def _format_sessions(value: Json) -> str:
    """Return the numbers of producers and consumers as text."""
    counts = [
        (format_field(name, value[name]), value[name], noun)
        for name, noun in SESSIONS.items()
        if value.get(name)
    ]
    parts = [f"{text} {noun}{'' if count == 1 else 's'}" for text, count, noun in counts]
    return " + ".join(parts) or "0 sessions"


def _noun(name: str, value: Any) -> str:
    """Return a field's heading as used after its value: in the singular if the value is 1."""
    title = TITLES.get(name, name)
    return title.removesuffix("s") if value == 1 else title


def format_in_and_out(value: Json, names: Sequence[str]) -> str:
    """Return incoming and outgoing values as text: their sum or, if one is 0, the other.

    `names` are the fields with the two values. Empty if the object has neither field.
    """
    parts = [format_field(name, value[name]) for name in names if value.get(name)]
    if len(parts) == 2 and parts[0].partition(" ")[2] == parts[1].partition(" ")[2]:
        return f"{parts[0].partition(' ')[0]} + {parts[1]}"
    if parts:
        return " + ".join(parts)
    return format_field(names[0], 0) if set(names) & set(value) else ""


def format_setting(name: str, value: Any) -> str:
    """Return the value of a setting as text, with its documented unit."""
    known = load_specs().settings.get(name)
    unit = known.unit if known else None
    if value is None or isinstance(value, str) or not unit or unit in UNITLESS_SETTINGS:
        return format_field(name, value)
    if unit == "percent":
        unit = "%"
    elif value == 1:
        counted, per, time = unit.partition(" per ")
        unit = f"{counted.removesuffix('s')}{per}{time}"
    return f"{format_field(name, value)} {unit}"


def join_shortened(texts: Sequence[str]) -> str:
    """Return texts joined with commas; of many texts, only the first, the last and the count."""
    if len(texts) <= MAX_SHOWN_VALUES:
        return ", ".join(texts) or "none"
    return f"{', '.join(texts[:FIRST_VALUES])}, …, {texts[-1]} ({len(texts)})"


TITLES: Mapping[str, str] = {
    "numSamples": "samples",
    "maxSamples": "at most",
    "units": "bundle",
    "cpu": "CPU",
    "directMemory": "direct memory",
    "bandwidthIn": "bandwidth in",
    "bandwidthOut": "bandwidth out",
    "usageHistory": "usage before, in %",
    "shortTermData": "short term",
    "longTermData": "long term",
    "reportedGbps": "reported",
    "age": "age, in seconds",
    "namespaceBundles": "bundles of namespaces",
    "recentlyUnloaded": "unloaded, minutes ago",
    "msgRateIn": "messages in",
    "msgRateOut": "messages out",
    "msgThroughputIn": "bytes in",
    "msgThroughputOut": "bytes out",
}
"""Headings of fields whose names alone are not clear."""
