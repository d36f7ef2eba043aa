"""Other spellings of a case: other names of brokers, namespaces, failure domains and groups, and
numbers written as decimals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.reference.cluster import RATE_FIELDS
from pulsar_conformance.reference.shedding import EXCLUDED

Renaming = Callable[[int], str]
"""Function that returns a replacement for each name of a case, given the name's number (from 0)."""


def _renaming_by_capitals(*patterns: str) -> Renaming:
    """Return a renaming that uses each pattern in turn; patterns differ only in capital letters."""
    return lambda number: patterns[number % len(patterns)].format(number // len(patterns))


def _with_leading_zeros(number: int) -> str:
    """Return half of a number, rounded down, as digits; an even number gives leading zeros.

    Consecutive numbers, such as 2 and 3, thus give the names 001 and 1.
    """
    return str(number // 2).zfill(1 if number % 2 else 3)


LONG_PART = "a" * 100
PORTS = 3
"""Number of brokers that have the same address and differ only in their ports."""

BROKERS: Mapping[str, Renaming] = {
    "brokers named by host and port": "pulsar-broker-{}.prod.svc.cluster.local:8080".format,
    "brokers named by address and port": lambda number: (
        f"10.0.0.{number // PORTS}:{6650 + number % PORTS}"
    ),
    "brokers named by numbers": _with_leading_zeros,
    "brokers whose names differ only in capitalization": _renaming_by_capitals(
        "broker-{}", "Broker-{}", "BROKER-{}"
    ),
    "brokers whose names are prefixes of others": lambda number: "broker" + number * "-1",
    "brokers whose long names differ in the middle": (LONG_PART + "-{}-" + LONG_PART).format,
    "brokers with names beyond ASCII": "brøker-{}-東京".format,
}
NAMESPACES: Mapping[str, Renaming] = {
    "namespaces with dots, colons and equals signs": "acme.com/eu:orders=v{}.1".format,
    "namespaces of one name in several tenants": "tenant-{}/default".format,
    "namespaces named by numbers": "{0}/{0}".format,
    "namespaces whose names differ only in capitalization": _renaming_by_capitals(
        "acme/app-{}", "acme/App-{}", "ACME/app-{}"
    ),
    "namespaces whose names are prefixes of others": lambda number: "acme/app" + number * "-1",
    "namespaces whose long names differ in the middle": (
        "acme/" + LONG_PART + "-{}-" + LONG_PART
    ).format,
    "namespaces whose names begin like hash ranges": "acme/0x{:08x}".format,
}
DOMAINS: Mapping[str, Renaming] = {
    "domains and groups named by numbers": "{}".format,
    "domains and groups with names beyond ASCII": "Räck {} / 東京".format,
    "domains and groups named by prefixes of others": lambda number: "rack" + number * "-1",
}
"""Renamings of domains and groups to names that differ in more than capital letters."""

DOMAINS_BY_CAPITALS: Mapping[str, Renaming] = {
    "domains whose names differ only in capitalization": _renaming_by_capitals(
        "rack-{}", "Rack-{}", "RACK-{}"
    ),
}

AMOUNTS = frozenset({*RATE_FIELDS, "usage", "limit", "minutes", "reportedGbps"})
"""Fields with an amount, which may be a fraction."""

AMOUNTS_WITHIN = frozenset({"settings", "recentlyUnloaded", "usageHistory"})
"""Fields that hold an object or a list of amounts."""

BROKER_FIELDS = ("brokers", "owned", "preallocated", "versions")
"""Fields of a case whose keys are names of brokers."""


def with_names(value: Any, names: Mapping[str, str]) -> Any:
    """Return a JSON value in which strings and keys that are names in `names` are replaced."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, dict):
        return {
            # Most values are numbers; to save time, no function is called for them.
            names.get(key, key): item if isinstance(item, float | int) else with_names(item, names)
            for key, item in value.items()
        }
    return [with_names(item, names) for item in value] if isinstance(value, list) else value


def with_new_names(names: Mapping[str, str], case: Json) -> Json:
    """Return a case with names replaced as by `with_names`, except in its strategy.

    Of its settings, only the list of excluded namespaces has names.
    """
    kept = {field: case[field] for field in ("settings", "strategy") if field in case}
    listed = kept.get("settings", {}).get(EXCLUDED)
    if isinstance(listed, str):
        excluded = ",".join(names.get(one.strip(), one) for one in listed.split(","))
        kept["settings"] = {**kept["settings"], EXCLUDED: excluded}
    return {**with_names(case, names), **kept}


def _new_names(names: Iterable[str], renaming: Renaming) -> dict[str, str]:
    return {name: renaming(number) for number, name in enumerate(sorted(set(names)))}


def new_broker_names(renaming: Renaming, *cases: Json) -> Mapping[str, str]:
    """Map each broker in the cases to a new name."""
    return _new_names(chain.from_iterable(map(_brokers_in, cases)), renaming)


def _brokers_in(case: Json) -> Iterator[str]:
    yield from case.get("candidates", ())
    for part in (case, *case.get("cycles", ())):
        for field in BROKER_FIELDS:
            yield from part[field] if isinstance(part.get(field), dict) else ()
        yield from part.get("withoutData", ())
        for policy in part.get("isolation", ()):
            yield from (*policy["primary"], *policy["secondary"])
    yield from chain.from_iterable(case.get("domains", {}).values())


def new_namespace_names(renaming: Renaming, *cases: Json) -> Mapping[str, str]:
    """Map each namespace in the cases, and its bundles, to new names."""
    names = _new_names(namespaces_in(*cases), renaming)
    of_bundles = {}
    for bundle in filter(is_bundle, _names_in(*cases)):
        namespace, _, part = bundle.rpartition("/")
        of_bundles[bundle] = f"{names[namespace]}/{part}"
    return {**names, **of_bundles}


def namespaces_in(*cases: Json) -> set[str]:
    """Return the namespaces in the cases, and those of the bundles in the cases."""
    found = (text for text in _names_in(*cases) if "/" in text)
    return {text.rpartition("/")[0] if is_bundle(text) else text for text in found}


def _names_in(*cases: Json) -> set[str]:
    parts = (part for case in cases for name, part in case.items() if name != "settings")
    return set(chain.from_iterable(map(texts, parts)))


def new_domain_names(renaming: Renaming, *cases: Json) -> Mapping[str, str]:
    """Map each failure domain and anti-affinity group in the cases to a new name."""
    return _new_names(chain(*map(_domains_in, cases), *map(_groups_in, cases)), renaming)


def new_names_without_groups(renaming: Renaming, *cases: Json) -> Mapping[str, str]:
    """Map each failure domain in the cases to a new name, unless a group has the same name."""
    groups = set(chain.from_iterable(map(_groups_in, cases)))
    return _new_names(set(chain.from_iterable(map(_domains_in, cases))) - groups, renaming)


def _domains_in(case: Json) -> Iterator[str]:
    yield from case.get("domains", ())


def _groups_in(case: Json) -> Iterator[str]:
    yield from case.get("groups", {}).values()


def as_decimals(value: Any, field: str = "", within: bool = False) -> Any:
    """Return a value in which whole-number amounts are written with a decimal point, as in 85.0."""
    if isinstance(value, dict):
        return {
            name: as_decimals(item, name, within or name in AMOUNTS_WITHIN)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [as_decimals(item, field, within) for item in value]
    whole = isinstance(value, int) and not isinstance(value, bool)
    if whole and (within or field in AMOUNTS) and float(value) == value:
        return float(value)
    return value


def texts(value: Any) -> Iterator[str]:
    """Yield every string in a value, including object keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        for item in value.values():
            if not isinstance(item, float | int):  # To save time, no call for numbers.
                yield from texts(item)
    elif isinstance(value, list):
        yield from chain.from_iterable(map(texts, value))


def is_bundle(text: str) -> bool:
    """True if a string ends with a hash range, as bundle names do."""
    _, slash, part = text.rpartition("/")
    return bool(slash) and part.startswith("0x") and "_0x" in part
