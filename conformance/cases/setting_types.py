"""Types of settings: how the text of a value is parsed, and what it takes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.reference.splitting import POSITIONS, RANGE
from pulsar_conformance.specs.broker import broker_settings, renamed
from pulsar_conformance.specs.errors import UserError
from pulsar_conformance.specs.judged import algorithms_in
from pulsar_conformance.specs.setting_names import spellings, why_unknown

INTEGER = re.compile(r"[+-]?[0-9]+")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?")
"""The decimal numbers that Double.parseDouble takes, without infinity."""

WITH_COMMENT = re.compile(r"[+-]?\d+(\.\d+)?\s+#.*")
COMMENTED = (
    "the comment is a part of the value; if Pulsar expects a number there, the broker does not "
    "start"
)
"""Consequence of a comment after a number, for a setting whose type is not known."""

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


SUPPORTED = "supportedNamespaceBundleSplitAlgorithms"
ALGORITHM = "defaultNamespaceBundleSplitAlgorithm"

LEAST_MOVED, TOO_MUCH = "loadBalancerBundleUnloadMinThroughputThreshold", 1_000_000
"""A setting in MB/s, and a value that is taken for one in bytes per second."""

NO_START = "so bin/pulsar broker does not start"


class BadSetting(UserError):
    """Raised for a setting that cannot be used; the message is one sentence."""


class NotParsed(ValueError):
    """Raised for a text that is no value of a setting's type; says what the setting takes."""


def setting_value(name: str, text: str, *, any_range: bool = False) -> Any:
    """Parse a setting's value; None for empty text.

    Errors: `BadSetting`, and `specs.UnknownName` for an unknown setting.
    """
    if name in renamed():
        raise BadSetting(f"{name}: {why_unknown(name)}")
    if why_unknown(name) is not None:
        raise specs.UnknownName(name, "setting", spellings().values())
    if not text:
        return None
    try:
        value = parsed(name, text, type_of(name))
    except NotParsed as error:
        raise BadSetting(f"{name}={text}: it takes {error}") from None
    if not any_range and (outside := out_of_range(name, value)):
        raise BadSetting(f"{name}={text}: it must be {outside}")
    return value


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


def wrong_unit(name: str, value: Any) -> str:
    """Return the consequence of a value that is given in another unit than Pulsar's, or nothing."""
    if name != LEAST_MOVED or value < TOO_MUCH:
        return ""
    return "it is in MB/s, and no broker carries as much, so none sheds"


def bad_algorithm(name: str, values: Mapping[str, Any], version: str) -> str:
    """Return what is wrong with the split algorithms that a setting names; empty if nothing is.

    Without a version, a broker knows the algorithms of all versions.
    """
    if name not in (SUPPORTED, ALGORITHM):
        return ""
    default = str(values.get(ALGORITHM) or RANGE)
    supported = [one.strip() for one in str(values.get(SUPPORTED) or "").split(",") if one.strip()]
    for one in [default] if name == ALGORITHM else supported:
        if one not in algorithms_in(version):
            return f"{_no_algorithm(one, version)}, {NO_START}"
    if default not in (supported or algorithms_in(version)):
        if name == ALGORITHM:
            return f"{SUPPORTED} does not list {default}, {NO_START}"
        return "" if ALGORITHM in values else f"it does not list {RANGE}, the default, {NO_START}"
    if name == ALGORITHM and default == POSITIONS:
        return f"{POSITIONS} needs positions, which no automatic split has, so these fail"
    return ""


def _no_algorithm(name: str, version: str) -> str:
    known = algorithms_in(version)
    near = get_close_matches(name, known, n=1)
    said = f"the most similar name is {near[0]}" if near else f"choose from {', '.join(known)}"
    return f"Pulsar{version and ' '}{version} has no split algorithm {name} ({said})"


def type_of(name: str) -> str:
    """Return the type of a setting in Pulsar; that of the documents if no release has it."""
    if name in broker_settings():
        return broker_settings()[name].type
    known = specs.load().settings
    return known[name].type if name in known else "number"


def is_empty_by_default(name: str) -> bool:
    """True if the default of a list is empty in every release."""
    known = broker_settings().get(name)
    return known is not None and not any(known.defaults.values())


SWEEP = re.compile(r"(\w+)=(-?[\d.]+)\.\.(-?[\d.]+)(?:/([\d.]+))?")
MAX_VALUES = 100
"""Maximum number of values in a sweep."""


def swept_values(text: str) -> tuple[str, list[str]]:
    """Return the setting and the values of `NAME=FIRST..LAST/STEP`. Errors: `NotParsed`."""
    found = SWEEP.fullmatch(text)
    try:
        if found is None:
            raise InvalidOperation
        first, last, step = (Decimal(one) for one in (found[2], found[3], found[4] or "1"))
    except InvalidOperation:
        example = "loadBalancerBrokerThresholdShedderPercentage=10..50/5"
        raise NotParsed(f"write SETTING=FIRST..LAST/STEP, such as {example}") from None
    count = int((last - first) / step) + 1 if step else 0
    if not 1 <= count <= MAX_VALUES:
        raise NotParsed(f"it has {count} values; give 1 to {MAX_VALUES}")
    return found[1], [f"{(first + step * place).normalize():f}" for place in range(count)]
