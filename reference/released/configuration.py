"""A release's broker.conf: types and defaults of settings, parsed as `FieldParser` parses them."""

from __future__ import annotations

import math
import re
from collections import ChainMap
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

from pulsar_conformance.reference.context import Settings, Value, WithoutAnswer
from pulsar_conformance.reference.released.java import INT

PACKAGE = "org.apache.pulsar.broker.loadbalance.impl."

Version = tuple[int, ...]
"""The numbers of a version from left to right; trailing numbers may be missing."""


def version_of(text: str) -> Version:
    """Parse a version such as 4.2.4 or 5.0.0-M1."""
    return tuple(map(int, text.partition("-")[0].split(".")))


class BadConfiguration(WithoutAnswer):
    """Raised for a broker.conf that the release cannot load; no broker starts."""

    how = "failed"


class InexpressibleValue(WithoutAnswer):
    """Raised for a value that a release's broker.conf cannot express."""

    how = "unsupported"


class BrokerField(NamedTuple):
    """A field of Pulsar's class `ServiceConfiguration`: its type, and its default by version."""

    type: str
    defaults: Mapping[Version, Any]
    """The defaults of the field, by the version that introduced each; the first of these versions
    added the field.
    """


def _field_since(version: Version, field_type: str, default: Any, **later: Any) -> BrokerField:
    """Return a field that was added in `version`; `vMAJOR=` gives its default from that major
    version on.
    """
    changes: dict[Version, Any] = {(int(name[1:]),): value for name, value in later.items()}
    return BrokerField(field_type, {version: default} | changes)


ALWAYS: Version = (2,)
V2_10: Version = (2, 10)
V3: Version = (3,)
V4: Version = (4,)
V4_2: Version = (4, 2)

_RANGE, _TOPICS = "range_equally_divide", "topic_count_equally_divide"
_LATER_ALGORITHMS = "specified_positions_divide,flow_or_qps_equally_divide"

FIELDS: Mapping[str, BrokerField] = {
    "defaultNumberOfNamespaceBundles": _field_since(ALWAYS, "int", 4),
    "defaultNamespaceBundleSplitAlgorithm": _field_since(V2_10, "string", _RANGE),
    "supportedNamespaceBundleSplitAlgorithms": _field_since(
        V2_10, "list", f"{_RANGE},{_TOPICS}", v3=f"{_RANGE},{_TOPICS},{_LATER_ALGORITHMS}"
    ),
    "loadManagerClassName": _field_since(ALWAYS, "string", PACKAGE + "ModularLoadManagerImpl"),
    "loadBalancerEnabled": _field_since(ALWAYS, "boolean", True),
    "loadBalancerAutoBundleSplitEnabled": _field_since(ALWAYS, "boolean", True),
    "loadBalancerAutoUnloadSplitBundlesEnabled": _field_since(ALWAYS, "boolean", True),
    "loadBalancerNamespaceBundleMaxTopics": _field_since(ALWAYS, "int", 1000),
    "loadBalancerNamespaceBundleMaxSessions": _field_since(ALWAYS, "int", 1000),
    "loadBalancerNamespaceBundleMaxMsgRate": _field_since(ALWAYS, "int", 30000),
    "loadBalancerNamespaceBundleMaxBandwidthMbytes": _field_since(ALWAYS, "int", 100),
    "flowOrQpsDifferenceThresholdPercentage": _field_since(V3, "int", 10),
    "loadBalancerNamespaceMaximumBundles": _field_since(ALWAYS, "int", 128),
    "loadBalancerSheddingEnabled": _field_since(ALWAYS, "boolean", True),
    "loadBalancerSheddingIntervalMinutes": _field_since(ALWAYS, "int", 1),
    "loadBalancerSheddingGracePeriodMinutes": _field_since(ALWAYS, "long", 30),
    "loadBalancerSheddingExcludedNamespaces": _field_since(V4_2, "list", ""),
    "loadBalancerLoadSheddingStrategy": _field_since(V2_10, "string", PACKAGE + "ThresholdShedder"),
    "loadBalancerLoadPlacementStrategy": _field_since(
        V3, "string", PACKAGE + "LeastLongTermMessageRate"
    ),
    "loadBalancerBrokerOverloadedThresholdPercentage": _field_since(ALWAYS, "int", 85),
    "loadBalancerBrokerThresholdShedderPercentage": _field_since(V2_10, "int", 10),
    "loadBalancerAverageResourceUsageDifferenceThresholdPercentage": _field_since(V3, "int", 10),
    "loadBalancerAvgShedderLowThreshold": _field_since(V3, "int", 15),
    "loadBalancerAvgShedderHighThreshold": _field_since(V3, "int", 40),
    "loadBalancerAvgShedderHitCountLowThreshold": _field_since(V3, "int", 8),
    "loadBalancerAvgShedderHitCountHighThreshold": _field_since(V3, "int", 2),
    "loadBalancerHistoryResourcePercentage": _field_since(V2_10, "double", 0.9),
    "loadBalancerBrokerLoadTargetStd": _field_since(V3, "double", 0.25),
    "loadBalancerSheddingConditionHitCountThreshold": _field_since(V3, "int", 3),
    "loadBalancerTransferEnabled": _field_since(V3, "boolean", True),
    "loadBalancerMaxNumberOfBrokerSheddingPerCycle": _field_since(V3, "int", 3),
    "loadBalanceSheddingDelayInSeconds": _field_since(V3, "long", 180),
    "loadBalancerBrokerLoadDataTTLInSeconds": _field_since(V3, "long", 1800),
    "loadBalancerMaxNumberOfBundlesInBundleLoadReport": _field_since(V3, "int", 10),
    "loadBalancerSheddingBundlesWithPoliciesEnabled": _field_since(V3, "boolean", False),
    "loadBalancerReportUpdateThresholdPercentage": _field_since(ALWAYS, "int", 10),
    "loadBalancerReportUpdateMaxIntervalMinutes": _field_since(ALWAYS, "int", 15),
    "loadBalancerReportUpdateMinIntervalMillis": _field_since(V2_10, "int", 5000),
    "loadBalancerDebugModeEnabled": _field_since(V3, "boolean", False),
    "lowerBoundarySheddingEnabled": _field_since(V3, "boolean", False),
    "loadBalancerBundleUnloadMinThroughputThreshold": _field_since(V2_10, "double", 10.0),
    "loadBalancerMsgRateDifferenceShedderThreshold": _field_since(V2_10, "double", 50.0),
    "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold": _field_since(
        V2_10, "double", 4.0
    ),
    "minUnloadMessage": _field_since(V3, "int", 1000),
    "minUnloadMessageThroughput": _field_since(V3, "int", 1048576),
    "maxUnloadPercentage": _field_since(V3, "double", 0.2),
    "maxUnloadBundleNumPerShedding": _field_since(V3, "int", -1),
    "loadBalancerCPUResourceWeight": _field_since(V2_10, "double", 1.0),
    "loadBalancerMemoryResourceWeight": _field_since(V2_10, "double", 1.0, v4=0.0),
    "loadBalancerDirectMemoryResourceWeight": _field_since(V2_10, "double", 1.0, v4=0.0),
    "loadBalancerBandwithInResourceWeight": _field_since(V2_10, "double", 1.0),
    "loadBalancerBandwithOutResourceWeight": _field_since(V2_10, "double", 1.0),
    "loadBalancerBandwidthInResourceWeight": _field_since(V4, "double", 1.0),
    "loadBalancerBandwidthOutResourceWeight": _field_since(V4, "double", 1.0),
    "loadBalancerOverrideBrokerNicSpeedGbps": _field_since(ALWAYS, "optional", None),
    "loadBalancerBrokerMaxTopics": _field_since(ALWAYS, "int", 50000),
    "loadBalancerDistributeBundlesEvenlyEnabled": _field_since(V3, "boolean", True),
    "preferLaterVersions": _field_since(ALWAYS, "boolean", False),
    "failureDomainsEnabled": _field_since(ALWAYS, "boolean", False),
}
"""Fields of ServiceConfiguration that influence load balancing."""

LARGEST = {"int": INT - 1, "long": 2**63 - 1}
WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+")
DOUBLE = re.compile(r"[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)[dDfF]?")


def settings_of(
    given: Mapping[str, Value],
    version: Version,
    defaults: Mapping[str, Value],
    later: Version = (),
) -> Settings:
    """Return the effective settings: `given` values, else `defaults`, else the release's defaults.

    If `later` is given, settings added up to that version are accepted as well. Errors:
    `BadConfiguration`, `InexpressibleValue`.
    """
    own = {name: default_of(name, version) for name in FIELDS if is_known(name, version)}
    parsed: dict[str, Value] = {}
    for name, value in given.items():
        if is_known(name, max(version, later)):
            found = _parse_value(name, FIELDS[name].type, value, trimmed=version >= V2_10)
            if found is not UNCHANGED:
                parsed[name] = found
    return Settings(parsed, ChainMap(cast(dict[str, Value], defaults), own))


def is_known(name: str, version: Version) -> bool:
    """True if the release has a setting."""
    return name in FIELDS and version >= next(iter(FIELDS[name].defaults))


def default_of(name: str, version: Version) -> Any:
    """Return the default of a setting that the release has."""
    return [value for since, value in FIELDS[name].defaults.items() if version >= since][-1]


UNCHANGED: Any = object()
"""Returned for an empty value, which keeps the default."""


def _parse_value(name: str, field_type: str, value: Value, trimmed: bool) -> Any:
    text = _value_text(name, field_type, value)
    if not text.strip():
        return EMPTY.get(field_type, UNCHANGED)
    if trimmed or field_type not in ("string", "boolean"):
        text = text.strip()
    try:
        return PARSE[field_type](text)
    except ValueError:
        raise BadConfiguration(f"{name} cannot be {value!r} (FieldParser.update)") from None


def _value_text(name: str, field_type: str, value: Value) -> str:
    """Format a value as it is written in broker.conf. Errors: `InexpressibleValue`."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        most = LARGEST.get(field_type, math.inf)
        if abs(value) > most or (field_type in LARGEST and value != int(value)):
            raise InexpressibleValue(f"{name} takes whole numbers up to {most}, not {value}")
        return str(int(value)) if value == int(value) else str(value)
    return value.lstrip()


def _parse_whole_number(text: str, most: int) -> int:
    if not WHOLE_NUMBER.fullmatch(text) or not -most - 1 <= int(text) <= most:
        raise ValueError(text)
    return int(text)


def _parse_double(text: str) -> float:
    if not DOUBLE.fullmatch(text):
        raise ValueError(text)
    return float(text.rstrip("dDfF") if "Infinity" not in text else text)


PARSE: Mapping[str, Callable[[str], Any]] = {
    "int": lambda text: _parse_whole_number(text, LARGEST["int"]),
    "long": lambda text: _parse_whole_number(text, LARGEST["long"]),
    "double": _parse_double,
    "optional": _parse_double,
    "boolean": lambda text: text.lower() == "true",
    "string": str,
    "list": lambda text: ",".join(one.strip() for one in text.rstrip(",").split(",")),
}
EMPTY: Mapping[str, Any] = {"list": "", "optional": None}
