"""Types of settings: how the text of a value is parsed, and what it takes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from pulsar_conformance import specs

INTEGER = re.compile(r"[+-]?[0-9]+")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?")
"""The decimal numbers that Double.parseDouble takes, without infinity."""

INT, LONG = 2**31 - 1, 2**63 - 1
"""The largest values of Java's int and long."""

LONGS = frozenset(
    {
        "loadBalanceSheddingDelayInSeconds",
        "loadBalancerBrokerLoadDataTTLInSeconds",
        "loadBalancerInFlightServiceUnitStateWaitingTimeInMillis",
        "loadBalancerServiceUnitStateMonitorIntervalInSeconds",
        "loadBalancerServiceUnitStateTombstoneDelayTimeInSeconds",
        "loadBalancerSheddingGracePeriodMinutes",
        "namespaceBundleUnloadingTimeoutMs",
    }
)
"""Settings of type long in Pulsar's ServiceConfiguration; other whole numbers are of type int."""


class NotParsed(ValueError):
    """Raised for a text that is no value of a setting's type; says what the setting takes."""


def parsed(name: str, text: str, kind: str) -> Any:
    """Parse a setting's value as Pulsar does. Errors: `NotParsed`."""
    try:
        value = PARSERS[kind](text)
    except ValueError:
        raise NotParsed(TYPES[kind]) from None
    largest = LONG if name in LONGS else INT
    if kind == "integer" and not -largest - 1 <= value <= largest:
        raise NotParsed(f"{TYPES[kind]} from {-largest - 1} to {largest}")
    return value


def _number(text: str) -> int | float:
    """Parse as Double.parseDouble does, which takes no underscores."""
    if not NUMBER.fullmatch(text):
        raise ValueError(text)
    value = float(text.rstrip("dDfF"))
    if not math.isfinite(value):
        raise ValueError(text)
    return int(value) if value.is_integer() else value


def _integer(text: str) -> int:
    """Parse as Integer.parseInt does, which takes neither underscores nor an exponent."""
    if not INTEGER.fullmatch(text):
        raise ValueError(text)
    return int(text)


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


PARSERS: Mapping[str, Callable[[str], Any]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "string": str,
    "class": str,
    "list": str,
}

TYPES: Mapping[str, str] = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}


def out_of_range(name: str, value: Any) -> str:
    """Return the documented range of a setting if a value is outside it; otherwise empty."""
    known = specs.load().settings
    limits = known[name].range if name in known else None
    if not limits or value is None or limits[0] <= value <= limits[1]:
        return ""
    return f"between {limits[0]} and {limits[1]}"
