"""Transformations of a case that may not change its answer, by operation.

Each is a function of the case alone, so that a transformed case is recognised by applying it once
more, and so that a case and its transformed copies can be reduced together.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from random import Random
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.conformance.bundles.operations import CREATE, SPLIT, SPLIT_CANDIDATES
from pulsar_conformance.conformance.common.trial import Json, Question, Trial, canonical
from pulsar_conformance.conformance.load_data.operations import AVERAGE, NIC, READ, SUM, USAGE
from pulsar_conformance.conformance.placement.operations import ASSIGN, PLACE, SPREAD
from pulsar_conformance.conformance.shedding.operations import CYCLES, SHED
from pulsar_conformance.reference.cluster import RATE_FIELDS, RESOURCES
from pulsar_conformance.reference.ranges import HASHES, HashRange
from pulsar_conformance.reference.usage import NIC_SPEED

Renaming = Callable[[int], str]
"""Returns the new name of the n-th name of a case, in order."""

LONG = "a" * 100
MANY = 1_100
"""Entries that are added, before those of the case: more than any usual size of a table or page."""

BROKERS_ADDED = 130
"""Brokers that are added: more than a real cluster has."""

BROKERS: Mapping[str, Renaming] = {
    "brokers named by host and port": "pulsar-broker-{}.prod.svc.cluster.local:8080".format,
    "brokers named by address": "10.0.0.{}:6650".format,
    "brokers named by numbers": "{}".format,
    "brokers whose names differ in capitals alone": (
        lambda number: ("broker-{}", "Broker-{}", "BROKER-{}")[number % 3].format(number // 3)
    ),
    "brokers whose names begin with each other": lambda number: "broker" + number * "-1",
    "brokers whose long names differ in the middle": (LONG + "-{}-" + LONG).format,
    "brokers with names beyond ASCII": "brøker-{}-東京".format,
}
NAMESPACES: Mapping[str, Renaming] = {
    "namespaces with dots, colons and equals signs": "acme.com/eu:orders=v{}.1".format,
    "namespaces of one name in several tenants": "tenant-{}/default".format,
    "namespaces named by numbers": "{0}/{0}".format,
    "namespaces whose names differ in capitals alone": (
        lambda number: ("acme/app-{}", "acme/App-{}", "ACME/app-{}")[number % 3].format(number // 3)
    ),
    "namespaces whose names begin with each other": lambda number: "acme/app" + number * "-1",
    "namespaces whose long names differ in the middle": ("acme/" + LONG + "-{}-" + LONG).format,
}
DOMAINS: Mapping[str, Renaming] = {
    "domains and groups named by numbers": "{}".format,
    "domains and groups whose names differ in capitals alone": (
        lambda number: ("rack-{}", "Rack-{}", "RACK-{}")[number % 3].format(number // 3)
    ),
    "domains and groups with names beyond ASCII": "Räck {} / 東京".format,
}

AMOUNTS = frozenset({*RATE_FIELDS, "usage", "limit", "minutes", "reportedGbps"})
"""Fields that hold an amount, which need not be a whole number."""

AMOUNTS_WITHIN = frozenset({"settings", "recentlyUnloaded", "usageHistory"})
"""Fields whose entries are amounts."""

BROKER_FIELDS = ("brokers", "owned", "preallocated", "versions")
"""Fields of a case that map the names of brokers."""

WITHOUT_EFFECT: Json = {"clusterName": "standalone", "numHttpServerThreads": 8}
"""Settings of broker.conf that concern no decision on load."""

DEFAULTS = specs.load().defaults("unwritten-3.0")

UNOWNED = [
    f"elsewhere/apps/{HashRange(HASHES // MANY * n, HASHES // MANY * (n + 1)).name}"
    for n in range(MANY)
]
"""Bundles that no case has."""

ELSEWHERE = [f"elsewhere/app-{n}" for n in range(MANY)]
"""Namespaces that no case has."""


@dataclass(frozen=True)
class Transformation:
    """A change of a case that may not change its answer, except names."""

    name: str
    """A noun phrase that follows "with"."""
    apply: Callable[[Json], Json]
    """Returns the transformed case, which is equal if there is nothing to transform."""
    names: Callable[[Json], Mapping[str, str]] = lambda _case: {}
    """The new names of a case."""

    def copy(self, question: Question) -> Question:
        """Return a question with the transformed case, which shares nothing with the original."""
        # Ten times as fast as `copy.deepcopy`.
        return Question(question.operation, marshal.loads(marshal.dumps(self.apply(question.case))))

    def answer(self, case: Json, answer: Json) -> Json:
        """Return the answer to the transformed case that the answer to a case demands."""
        names = dict(self.names(case))
        unknown = (text for text in _texts(answer) if text not in names and _is_bundle(text))
        for bundle in unknown:
            namespace, _, part = bundle.rpartition("/")
            names[bundle] = f"{names.get(namespace, namespace)}/{part}"
        renamed: Json = _renamed(answer, names)
        return renamed


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {names.get(key, key): _renamed(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item, names) for item in value]
    return names.get(value, value) if isinstance(value, str) else value


def _with_new_names(names_of: Callable[[Json], Mapping[str, str]], case: Json) -> Json:
    names = names_of(case)
    kept = {field: case[field] for field in ("settings", "strategy") if field in case}
    return {**_renamed(case, names), **kept}


def _numbered(names: Iterable[str], renaming: Renaming) -> dict[str, str]:
    return {name: renaming(number) for number, name in enumerate(sorted(set(names)))}


def _broker_names(renaming: Renaming, case: Json) -> Mapping[str, str]:
    """Return the new names of brokers, wherever the case names them."""
    names: list[str] = list(case.get("candidates", ()))
    for part in (case, *case.get("cycles", ())):
        for field in BROKER_FIELDS:
            names += part[field] if isinstance(part.get(field), dict) else ()
    for domain in case.get("domains", {}).values():
        names += domain
    for policy in case.get("isolation", ()):
        names += [*policy["primary"], *policy["secondary"]]
    return _numbered(names, renaming)


def _namespace_names(renaming: Renaming, case: Json) -> Mapping[str, str]:
    """Return the new names of namespaces and of their bundles, wherever the case names them."""
    texts = set(_texts({name: part for name, part in case.items() if name != "settings"}))
    bundles = [text for text in texts if _is_bundle(text)]
    spaces = [text for text in texts if "/" in text and not _is_bundle(text)]
    names = _numbered([*spaces, *(name.rpartition("/")[0] for name in bundles)], renaming)
    renamed = {}
    for bundle in bundles:
        namespace, _, part = bundle.rpartition("/")
        renamed[bundle] = f"{names[namespace]}/{part}"
    return {**names, **renamed}


def _domain_names(renaming: Renaming, case: Json) -> Mapping[str, str]:
    """Return the new names of failure domains and of anti-affinity groups."""
    return _numbered([*case["domains"], *case["groups"].values()], renaming)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from chain(value, *map(_texts, value.values()))
    elif isinstance(value, list):
        yield from chain.from_iterable(map(_texts, value))


def _is_bundle(text: str) -> bool:
    _, slash, part = text.rpartition("/")
    return bool(slash) and part.startswith("0x") and "_0x" in part


def _decimal(value: Any, field: str = "", within: bool = False) -> Any:
    """Return a value with each whole amount written as a decimal fraction: 85 as 85.0."""
    if isinstance(value, dict):
        return {
            name: _decimal(item, name, within or name in AMOUNTS_WITHIN)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [_decimal(item, field, within) for item in value]
    whole = isinstance(value, int) and not isinstance(value, bool)
    if whole and (within or field in AMOUNTS) and float(value) == value:
        return float(value)
    return value


def _set_without_effect(case: Json) -> Json:
    return {**case, "settings": {**case["settings"], **WITHOUT_EFFECT}}


def _set_to_defaults(case: Json) -> Json:
    return {**case, "settings": {**DEFAULTS, **case["settings"]}}


def _null_instead_of_absent(case: Json) -> Json:
    unset = case["settings"].get(NIC_SPEED, "") == ""
    return {**case, "settings": {**case["settings"], NIC_SPEED: None}} if unset else case


def _resources_null(case: Json) -> Json:
    report = case["report"]
    if not any(name in report for name in RESOURCES):
        return case
    return {"report": {**dict.fromkeys(RESOURCES), **report}}


def _known_elsewhere(case: Json) -> Json:
    load = {**dict.fromkeys(RATE_FIELDS, 1000.0), "numSamples": 10, "maxSamples": 1000}
    data = {"shortTermData": load, "longTermData": load}
    return {**case, "bundles": {**dict.fromkeys(UNOWNED, data), **case["bundles"]}}


def _unloaded_elsewhere(case: Json) -> Json:
    unloaded = {**dict.fromkeys(UNOWNED, 1.0), **case["recentlyUnloaded"]}
    return {**case, "recentlyUnloaded": unloaded}


def _counted_elsewhere(case: Json) -> Json:
    return {**case, "namespaceBundles": {**dict.fromkeys(ELSEWHERE, 4), **case["namespaceBundles"]}}


def _grouped_elsewhere(case: Json) -> Json:
    return {**case, "groups": {**dict.fromkeys(ELSEWHERE, "elsewhere"), **case["groups"]}}


def _brokers_elsewhere(case: Json) -> Json:
    idle = {"cpu": {"usage": 1, "limit": 100}, **dict.fromkeys(RATE_FIELDS, 1.0)}
    reports = {f"elsewhere-{n}": {**idle, "bundles": [UNOWNED[n]]} for n in range(BROKERS_ADDED)}
    return {**case, "brokers": {**reports, **case["brokers"]}}


def _served_elsewhere(case: Json) -> Json:
    served = {f"elsewhere-{n}": [ELSEWHERE[n]] for n in range(BROKERS_ADDED)}
    return {**case, "owned": {**served, **case["owned"]}}


def _in_each_cycle(apply: Callable[[Json], Json], case: Json) -> Json:
    return {**case, "cycles": [apply(cycle) for cycle in case["cycles"]]}


def _named(
    names_of: Callable[[Renaming, Json], Mapping[str, str]], renamings: Mapping[str, Renaming]
) -> tuple[Transformation, ...]:
    chosen = {name: partial(names_of, renaming) for name, renaming in renamings.items()}
    return tuple(
        Transformation(name, partial(_with_new_names, names), names)
        for name, names in chosen.items()
    )


RENAMED_BROKERS = _named(_broker_names, BROKERS)
RENAMED_NAMESPACES = _named(_namespace_names, NAMESPACES)
RENAMED_DOMAINS = _named(_domain_names, DOMAINS)
SPELLED_AS_DECIMALS = Transformation("85 written as 85.0", _decimal)
SETTINGS = (
    Transformation("settings that concern no load", _set_without_effect),
    Transformation("settings written out at their defaults", _set_to_defaults),
)
KNOWN_ELSEWHERE = Transformation(f"data of {MANY} bundles that no broker has", _known_elsewhere)
UNLOADED_ELSEWHERE = Transformation(
    f"{MANY} recent unloads of bundles that no broker has", _unloaded_elsewhere
)
COUNTED_ELSEWHERE = Transformation(f"{MANY} namespaces without a broker", _counted_elsewhere)
GROUPED_ELSEWHERE = Transformation(
    f"{MANY} namespaces of a group without a broker", _grouped_elsewhere
)
BROKERS_ELSEWHERE = Transformation(
    f"{BROKERS_ADDED} brokers that are no candidates", _brokers_elsewhere
)
SERVED_ELSEWHERE = Transformation(
    f"{BROKERS_ADDED} brokers that are no candidates", _served_elsewhere
)
NULL_OVERRIDE = Transformation("null instead of a setting that is absent", _null_instead_of_absent)
NULL_RESOURCES = Transformation("null instead of resources that are absent", _resources_null)

TRANSFORMATIONS: Mapping[str, tuple[Transformation, ...]] = {
    CREATE.id: SETTINGS,
    SPLIT.id: SETTINGS,
    SPLIT_CANDIDATES.id: (
        *RENAMED_BROKERS,
        *RENAMED_NAMESPACES,
        *SETTINGS,
        SPELLED_AS_DECIMALS,
        KNOWN_ELSEWHERE,
        COUNTED_ELSEWHERE,
    ),
    USAGE.id: (*SETTINGS, SPELLED_AS_DECIMALS),
    NIC.id: (*SETTINGS, SPELLED_AS_DECIMALS, NULL_OVERRIDE),
    AVERAGE.id: (SPELLED_AS_DECIMALS,),
    SUM.id: (*RENAMED_NAMESPACES, SPELLED_AS_DECIMALS, KNOWN_ELSEWHERE),
    SHED.id: (
        *RENAMED_BROKERS,
        *RENAMED_NAMESPACES,
        *SETTINGS,
        SPELLED_AS_DECIMALS,
        KNOWN_ELSEWHERE,
        UNLOADED_ELSEWHERE,
    ),
    CYCLES.id: (
        *RENAMED_BROKERS,
        *RENAMED_NAMESPACES,
        *SETTINGS,
        SPELLED_AS_DECIMALS,
        replace(KNOWN_ELSEWHERE, apply=partial(_in_each_cycle, _known_elsewhere)),
        replace(UNLOADED_ELSEWHERE, apply=partial(_in_each_cycle, _unloaded_elsewhere)),
    ),
    PLACE.id: (
        *RENAMED_BROKERS,
        *RENAMED_NAMESPACES,
        *SETTINGS,
        SPELLED_AS_DECIMALS,
        KNOWN_ELSEWHERE,
        BROKERS_ELSEWHERE,
    ),
    SPREAD.id: (
        *RENAMED_BROKERS,
        *RENAMED_NAMESPACES,
        *RENAMED_DOMAINS,
        *SETTINGS,
        GROUPED_ELSEWHERE,
        SERVED_ELSEWHERE,
    ),
    ASSIGN.id: (
        *RENAMED_BROKERS,
        *RENAMED_NAMESPACES,
        *RENAMED_DOMAINS,
        *SETTINGS,
        SPELLED_AS_DECIMALS,
        KNOWN_ELSEWHERE,
        GROUPED_ELSEWHERE,
    ),
    READ.id: (SPELLED_AS_DECIMALS, NULL_RESOURCES),
}
"""The transformations of each operation that has any; topics keep their names, which are hashed."""


def copies_of(question: Question, count: int, random: Random) -> list[Question]:
    """Return up to `count` transformed copies of a question, all different from it."""
    known = TRANSFORMATIONS[question.operation]
    chosen = random.sample(known, min(count, len(known)))
    copies = (transformation.copy(question) for transformation in chosen)
    return [copy for copy in copies if not _equal(copy.case, question.case)]


def transformation_between(question: Question, other: Question) -> Transformation | None:
    """Return the transformation that makes the second question of the first, or None."""
    if question.operation != other.operation or _equal(question.case, other.case):
        return None
    known = TRANSFORMATIONS.get(question.operation, ())
    return next((one for one in known if _equal(one.apply(question.case), other.case)), None)


def _equal(case: Json, other: Json) -> bool:
    """True if two cases are equal, including the notation of numbers."""
    return case == other and canonical(case) == canonical(other)


def transformations_of(trial: Trial) -> list[Transformation]:
    """Return the transformations that turn the first question into the others; none if one is not.

    The result is kept for the latest trial, which a reduction edits hundreds of times.
    """
    global _LATEST
    latest = _LATEST
    if latest is None or latest[0] is not trial:
        first, *others = trial.questions
        made = [transformation_between(first, other) for other in others]
        _LATEST = latest = trial, [] if None in made else [one for one in made if one]
    return latest[1]


_LATEST: tuple[Trial, list[Transformation]] | None = None
