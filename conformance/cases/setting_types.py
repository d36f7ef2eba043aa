"""Parses the values of settings, finds mistakes in them, and replaces the settings of cases."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.conformance.catalogue import OPERATIONS
from pulsar_conformance.conformance.common.trial import Json, Question, Trial
from pulsar_conformance.reference.splitting import RANGE
from pulsar_conformance.specs.balancers import no_class_text
from pulsar_conformance.specs.broker import broker_data, broker_settings, current_names
from pulsar_conformance.specs.errors import UserError
from pulsar_conformance.specs.judged import algorithms_in
from pulsar_conformance.specs.odd_values import effects_of_value
from pulsar_conformance.specs.setting_names import spellings, why_unknown

INTEGER = re.compile(r"[+-]?[0-9]+")
NUMBER = re.compile(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?|NaN|Infinity)")
"""The decimal numbers that Double.valueOf accepts."""

HEXADECIMAL = re.compile(
    r"([+-]?0[xX]([0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[dDfF]?"
)
"""The hexadecimal numbers that Double.valueOf accepts; group 1 is the number without suffix."""

WITH_COMMENT = re.compile(r"[+-]?\d+(\.\d+)?\s+#.*")
COMMENTED = (
    "the comment is a part of the value; if Pulsar expects a number there, the broker does not "
    "start"
)
"""Remark on a number followed by a comment, as the value of a setting of unknown type."""

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


SUPPORTED_ALGORITHMS = "supportedNamespaceBundleSplitAlgorithms"
DEFAULT_ALGORITHM = "defaultNamespaceBundleSplitAlgorithm"

STARTS_NOT = "does not start"
"""Text at the end of each reason why a broker does not start."""

NO_START = f"so bin/pulsar broker {STARTS_NOT}"

UNKNOWN_EFFECT = "Pulsar reads it as a number, but the effect of this number is not known"

TOO_SHORT = "an interval has to be above 0 (ScheduledThreadPoolExecutor)"

TOMBSTONE_DELAY = "loadBalancerServiceUnitStateTombstoneDelayTimeInSeconds"
IN_FLIGHT_WAIT = "loadBalancerInFlightServiceUnitStateWaitingTimeInMillis"
CHANNEL_DEFAULTS: Json = {TOMBSTONE_DELAY: 3600, IN_FLIGHT_WAIT: 30_000}
"""Defaults of two periods of the extensible manager's channel; in 3.0, the second period is a
constant.
"""

MAX_BANDWIDTH = "loadBalancerNamespaceBundleMaxBandwidthMbytes"
FLOW_LIMITS = ("loadBalancerNamespaceBundleMaxMsgRate", MAX_BANDWIDTH)
"""Limits that flow_or_qps_equally_divide uses even if an administrator splits the bundle."""

COMMAND_LINE = "--setting"
"""`place` of a setting from the command line, where a class can be named without its package."""


@dataclass(frozen=True)
class Entry:
    """A setting and where it is set, such as `broker.conf:12`."""

    place: str
    name: str
    text: str
    bare: bool = False
    """True for an environment variable of Pulsar's image without the prefix `PULSAR_PREFIX_`."""


@dataclass(frozen=True)
class Unused:
    """A setting that has no effect, with the reason."""

    place: str
    name: str
    why: str

    def __str__(self) -> str:
        joint = " " if self.place == COMMAND_LINE else ": "
        return f"{self.place}{joint}{self.name}: {self.why}"


class BadSetting(UserError):
    """Raised for a setting that cannot be used; the message is one sentence."""


class NotParsed(ValueError):
    """Raised if text is not a value of a setting's type; the message describes valid text."""


def setting_value(name: str, text: str, *, any_range: bool = False) -> Any:
    """Parse a setting's value; None for empty text.

    Errors: `BadSetting`, and `specs.UnknownName` for an unknown setting.
    """
    if name in current_names():
        raise BadSetting(f"{name}: {why_unknown(name)}")
    if why_unknown(name) is not None:
        raise specs.UnknownName(name, "setting", spellings().values())
    if not text:
        return None
    try:
        value = parse_as_pulsar(name, text, type_of(name))
    except NotParsed as error:
        raise BadSetting(f"{name}={text}: it takes {error}") from None
    if not any_range and not is_finite(value):
        raise BadSetting(f"{name}={text}: it takes {TYPES['number']}")
    if not any_range and (allowed := out_of_range(name, value)):
        raise BadSetting(f"{name}={text}: it must be {allowed}")
    return value


def parse_as_pulsar(name: str, text: str, kind: str) -> Any:
    """Parse a setting's value as Pulsar does. Errors: `NotParsed`."""
    try:
        value = PARSERS[kind](text)
    except ValueError:
        raise NotParsed(TYPES[kind]) from None
    largest = LONG if name in LONGS else INT
    if kind == "integer" and not -largest - 1 <= value <= largest:
        raise NotParsed(f"{TYPES[kind]} from {-largest - 1} to {largest}")
    return value


def _parse_number(text: str) -> int | float:
    """Parse a number as Double.valueOf does.

    Underscores are an error, and numbers that are too large become infinite.
    """
    if found := HEXADECIMAL.fullmatch(text):
        try:
            value = float.fromhex(found[1])
        except OverflowError:
            value = math.copysign(math.inf, -1 if text.startswith("-") else 1)
    elif NUMBER.fullmatch(text):
        value = float(text.rstrip("dDfF"))
    else:
        raise ValueError(text)
    return int(value) if value.is_integer() else value


def is_finite(value: Any) -> bool:
    """True unless a value is NaN or infinite."""
    return not isinstance(value, float) or math.isfinite(value)


def _parse_integer(text: str) -> int:
    """Parse a number like Integer.parseInt: underscores and exponents are errors."""
    if not INTEGER.fullmatch(text):
        raise ValueError(text)
    return int(text)


def _parse_boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


PARSERS: Mapping[str, Callable[[str], Any]] = {
    "integer": _parse_integer,
    "number": _parse_number,
    "boolean": _parse_boolean,
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
    """Return a setting's range, such as "between 1 and 5", if a value is outside; else empty."""
    known = specs.load().settings
    limits = known[name].range if name in known else None
    if not limits or value is None or limits[0] <= value <= limits[1]:
        return ""
    return f"between {limits[0]} and {limits[1]}"


TABLE_VIEW = "loadManagerServiceUnitStateTableViewClassName"
TABLE_VIEWS = {
    name: f"org.apache.pulsar.broker.loadbalance.extensions.channel.{name}"
    for name in ("ServiceUnitStateTableViewImpl", "ServiceUnitStateMetadataStoreTableViewImpl")
}
"""Pulsar's own table views, by their short names."""


def why_bad_table_view(name: str, value: str, manager: str) -> str:
    """Return the mistake in the class name of a table view; empty if no mistake is known."""
    if name != TABLE_VIEW or manager != "extensible" or value in TABLE_VIEWS.values():
        return ""
    if value.startswith("org.apache.pulsar."):
        return f"{no_class_text(value, TABLE_VIEWS)}, {NO_START}"
    return ""


def why_bad_algorithm(name: str, values: Mapping[str, Any], version: str) -> str:
    """Return the mistake in the split algorithms that a setting names; empty if there is none.

    If `version` is empty, the algorithms of all versions are accepted.
    """
    if name not in (SUPPORTED_ALGORITHMS, DEFAULT_ALGORITHM):
        return ""
    default = str(values.get(DEFAULT_ALGORITHM) or RANGE)
    listed = values.get(SUPPORTED_ALGORITHMS)
    supported = algorithms_in(version) if listed is None else _parse_list(str(listed))
    for one in [default] if name == DEFAULT_ALGORITHM else supported:
        if not one:
            return f"it has an empty entry, and no split algorithm has an empty name, {NO_START}"
        if one not in algorithms_in(version):
            return f"{_no_algorithm_text(one, version)}, {NO_START}"
    if default not in supported:
        if not supported and name == SUPPORTED_ALGORITHMS:
            return f"it is an empty list, which lacks {default}, {NO_START}"
        if name == DEFAULT_ALGORITHM:
            return f"{SUPPORTED_ALGORITHMS} does not list {default}, {NO_START}"
        return (
            ""
            if DEFAULT_ALGORITHM in values
            else f"it does not list {RANGE}, the default, {NO_START}"
        )
    return ""


def _parse_list(text: str) -> list[str]:
    """Return the entries of a list as FieldParser reads them, without empty entries at the end."""
    items = [one.strip() for one in text.strip().rstrip(",").split(",")]
    return [] if items == [""] else items


def why_bad_interval(name: str, value: Any, manager: str) -> str:
    """Return why a broker does not start with this interval; empty if it starts."""
    wrong = _cannot_be_scheduled(name, value, manager, "starts")
    return f"{value}: {TOO_SHORT}, so the broker {STARTS_NOT}" if wrong else ""


def why_bad_tombstone(name: str, values: Mapping[str, Any], manager: str) -> str:
    """Return why a broker does not start if a tombstone delay is below the waiting time.

    Empty if the broker starts. The mistake is reported for only one of the two settings: the
    tombstone delay if it is set, otherwise the waiting time.
    """
    faulty = next((one for one in (TOMBSTONE_DELAY, IN_FLIGHT_WAIT) if one in values), "")
    if manager != "extensible" or name != faulty:
        return ""
    delay, waiting = (
        {**CHANNEL_DEFAULTS, **values}[one] for one in (TOMBSTONE_DELAY, IN_FLIGHT_WAIT)
    )
    if delay * 1000 >= waiting:
        return ""
    less = f"{TOMBSTONE_DELAY}, {delay} s, is less than {IN_FLIGHT_WAIT}, {waiting} ms"
    return f"{less} (ServiceUnitStateChannelImpl), so the broker {STARTS_NOT}"


def prevents_election(name: str, value: Any, manager: str) -> bool:
    """True if, because of this interval, no broker with this load manager can become the leader."""
    return _cannot_be_scheduled(name, value, manager, "leads")


def _cannot_be_scheduled(name: str, value: Any, manager: str, task: str) -> bool:
    """True if a load manager cannot schedule `task`, because its interval is not above 0."""
    users = broker_data()["periods"].get(name, {})
    return isinstance(value, int) and value <= 0 and manager in users.get(task, ())


def why_odd_value(name: str, value: Any, version: str, parts: Collection[str]) -> str:
    """Return why a value that Pulsar accepts is probably a mistake; empty if it seems right.

    Examples are a value outside the documented range, and a value that disables something. `parts`
    names the parts of the broker that run.
    """
    outside = out_of_range(name, value)
    said = [f"Pulsar accepts it, but it should be {outside}"] if outside else []
    said += [] if is_finite(value) else [UNKNOWN_EFFECT]
    said += effects_of_value(name, value, version, parts)
    return "; ".join(said)


def _no_algorithm_text(name: str, version: str) -> str:
    known = algorithms_in(version)
    near = get_close_matches(name, known, n=1)
    said = f"the most similar name is {near[0]}" if near else f"choose from {', '.join(known)}"
    return f"Pulsar{version and ' '}{version} has no split algorithm {name} ({said})"


def type_of(name: str) -> str:
    """Return the type of a setting in Pulsar or, if no release has it, in the documents."""
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
"""Maximum number of values in a sweep, a series of values of one setting."""


def parse_sweep(text: str) -> tuple[str, list[str]]:
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


def with_settings(trial: Trial, new_values: Mapping[str, Any]) -> Trial:
    """Return a trial with the settings `new_values` added to each case; None removes a setting.

    A given setting also replaces a field that stands for it, such as the strategy of the case.

    Errors: `BadSetting` if no question takes settings, or if a field of a case overrides a given
    setting.
    """
    if new_values and not any(takes_settings(operation) for operation, _ in trial.questions):
        operations = ", ".join(sorted(trial.operations))
        raise BadSetting(f"--setting {next(iter(new_values))}: {operations} takes no settings")
    questions = tuple(_question_with_settings(question, new_values) for question in trial.questions)
    return Trial(questions, trial.before)


def takes_settings(operation: str) -> bool:
    """True if cases of an operation have settings."""
    if operation not in OPERATIONS:
        return False
    return "settings" in specs.schema(f"operations/{operation}")["$defs"]["case"]["properties"]


def _question_with_settings(question: Question, new_values: Mapping[str, Any]) -> Question:
    operation, case = question
    if not new_values or not takes_settings(operation) or not isinstance(case, dict):
        return question
    for name in new_values:
        field = OPERATIONS[operation].overridden_by.get(name)
        if field and case.get(field) is not None:
            said = f"{field} of the case, {case[field]}, overrides it"
            raise BadSetting(f"--setting {name}: {said}; set {field} to null to use the setting")
    fields = OPERATIONS[operation].stands_for
    case = {**case, **{fields[name]: None for name in new_values if fields.get(name) in case}}
    return Question(
        operation, {**case, "settings": merge_settings(case.get("settings"), new_values)}
    )


def merge_settings(settings: Json | None, new_values: Mapping[str, Any]) -> Json:
    """Return settings in which `new_values` replaces some values; None removes a setting."""
    both = {**(settings or {}), **new_values}
    return {
        name: value for name, value in both.items() if name not in new_values or value is not None
    }
