"""Transformations of a case that must not change its answer, by operation.

The result of a transformation depends only on the case. A copy can therefore be recognized by
transforming the original again, and a case can be reduced together with its copies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from random import Random

from pulsar_conformance import specs
from pulsar_conformance.adapters.protocol import json_text
from pulsar_conformance.conformance.any_answer.renaming import (
    BROKERS,
    DOMAINS,
    DOMAINS_BY_CAPITALS,
    NAMESPACES,
    Renaming,
    as_decimals,
    is_bundle,
    namespaces_in,
    new_broker_names,
    new_domain_names,
    new_names_without_groups,
    new_namespace_names,
    texts,
    with_names,
    with_new_names,
)
from pulsar_conformance.conformance.bundles.operations import CREATE, SPLIT, SPLIT_CANDIDATES
from pulsar_conformance.conformance.common.clusters import NAMESPACE
from pulsar_conformance.conformance.common.trial import Json, Question, SameObject, Trial, copied
from pulsar_conformance.conformance.load_data.operations import AVERAGE, NIC, READ, SUM, USAGE
from pulsar_conformance.conformance.placement.operations import ASSIGN, PLACE, SPREAD
from pulsar_conformance.conformance.shedding.operations import CYCLES, SHED
from pulsar_conformance.reference.cluster import RATE_FIELDS, RESOURCES
from pulsar_conformance.reference.ranges import HASHES, HashRange
from pulsar_conformance.reference.shedding import EXCLUDED
from pulsar_conformance.reference.usage import NIC_SPEED

ENTRIES_ADDED = 1_100
"""Number of entries added before the case's own entries: more than a usual table or page has."""

ADDITION_WEIGHT = 0.2
"""Weight, in a random choice, of a transformation that adds many entries (about 1 s per case)."""

BROKERS_ADDED = 130
"""Number of brokers added; more than a real cluster has."""

WITHOUT_EFFECT: Json = {"clusterName": "standalone", "numHttpServerThreads": 8}
"""Settings of broker.conf that have no effect on load balancing."""

DEFAULTS = specs.load().defaults("unwritten-3.0")

WIDTH = HASHES // ENTRIES_ADDED
UNOWNED = [
    f"elsewhere/apps/{HashRange(WIDTH * n, WIDTH * (n + 1)).name}" for n in range(ENTRIES_ADDED)
]
"""Bundles that no drawn case contains."""

ELSEWHERE = [f"elsewhere/app-{n}" for n in range(ENTRIES_ADDED)]
"""Namespaces that no drawn case contains."""


@dataclass(frozen=True)
class Transformation:
    """A change to a case that must leave the answer unchanged, except for names in the answer."""

    name: str
    """A noun phrase that can follow the word "with"."""
    apply: Callable[[Json], Json]
    """Returns the transformed case, or an equal case if nothing in it can be transformed."""
    names: Callable[..., Mapping[str, str]] = lambda *_cases: {}
    """Returns the replacements of the names in one or more cases, by old name."""
    adds: bool = False
    """True if the transformation adds many entries, so that cases take longer."""
    first_name: str = ""
    """The first replacement name; a name in each renamed case begins with it. Empty if none."""

    def copy(self, question: Question) -> Question:
        """Return a question with a transformed deep copy of the case."""
        return Question(question.operation, copied(self.apply(question.case)))

    def of_all(self, trial: Trial) -> Trial:
        """Return a trial with every question transformed; all get the same replacement names."""
        names = self.names(*(question.case for question in (*trial.before, *trial.questions)))
        edit = partial(with_new_names, names) if names else self.apply
        every = replace(self, apply=edit).copy
        return replace(
            trial,
            questions=tuple(map(every, trial.questions)),
            before=tuple(map(every, trial.before)),
        )

    def answer(self, case: Json, answer: Json) -> Json:
        """Return the answer required for the transformed case, given the original case's answer."""
        names = dict(self.names(case))
        unknown = (text for text in texts(answer) if text not in names and is_bundle(text))
        for bundle in unknown:
            namespace, _, part = bundle.rpartition("/")
            names[bundle] = f"{names.get(namespace, namespace)}/{part}"
        return dict(with_names(answer, names))


def _set_without_effect(case: Json) -> Json:
    return {**case, "settings": {**case["settings"], **WITHOUT_EFFECT}}


def _set_to_defaults(case: Json) -> Json:
    return {**case, "settings": {**DEFAULTS, **case["settings"]}}


def _null_instead_of_absent(case: Json) -> Json:
    settings = {**dict.fromkeys((*DEFAULTS, NIC_SPEED)), **case["settings"]}
    return {**case, "settings": {**settings, NIC_SPEED: settings[NIC_SPEED] or None}}


def _exclude_others(case: Json) -> Json:
    """Exclude namespaces from load shedding that the case lacks, but whose names are similar."""
    settings, spaces = case["settings"], namespaces_in(case)
    similar = {other for name in spaces for other in (name[:-1], f"{name}-2")} - spaces
    listed = [name for name in sorted(similar) if NAMESPACE.fullmatch(name)]
    listed += [settings[EXCLUDED]] if settings.get(EXCLUDED) else []
    return {**case, "settings": {**settings, EXCLUDED: ",".join(listed)}}


def _null_resources(case: Json) -> Json:
    report = case["report"]
    if not any(name in report for name in RESOURCES):
        return case
    return {"report": {**dict.fromkeys(RESOURCES), **report}}


def _empty_instead_of_absent(case: Json) -> Json:
    empty: Json = {"bundles": [], "lastStats": {}, "usageHistory": []}
    return {
        **case,
        "brokers": {name: {**empty, **report} for name, report in case["brokers"].items()},
    }


def _add_data(case: Json) -> Json:
    load = {**dict.fromkeys(RATE_FIELDS, 1000.0), "numSamples": 10, "maxSamples": 1000}
    data = {"shortTermData": load, "longTermData": load}
    return {**case, "bundles": {**dict.fromkeys(UNOWNED, data), **case["bundles"]}}


def _add_unloads(case: Json) -> Json:
    unloaded = {**dict.fromkeys(UNOWNED, 1.0), **case["recentlyUnloaded"]}
    return {**case, "recentlyUnloaded": unloaded}


def _add_namespaces(case: Json) -> Json:
    return {**case, "namespaceBundles": {**dict.fromkeys(ELSEWHERE, 4), **case["namespaceBundles"]}}


def _add_members(case: Json) -> Json:
    return {**case, "groups": {**dict.fromkeys(ELSEWHERE, "elsewhere"), **case["groups"]}}


def _add_brokers(case: Json) -> Json:
    idle = {"cpu": {"usage": 1, "limit": 100}, **dict.fromkeys(RATE_FIELDS, 1.0)}
    reports = {f"elsewhere-{n}": {**idle, "bundles": [UNOWNED[n]]} for n in range(BROKERS_ADDED)}
    return {**case, "brokers": {**reports, **case["brokers"]}}


def _add_candidates(case: Json) -> Json:
    full = {"cpu": {"usage": 150, "limit": 100}, **dict.fromkeys(RATE_FIELDS, 1.0)}
    reports = {f"elsewhere-{n}": full for n in range(BROKERS_ADDED)}
    return {
        **case,
        "candidates": [*reports, *case["candidates"]],
        "brokers": {**reports, **case["brokers"]},
    }


def _add_serving_brokers(case: Json) -> Json:
    served = {f"elsewhere-{n}": [ELSEWHERE[n]] for n in range(BROKERS_ADDED)}
    return {**case, "owned": {**served, **case["owned"]}}


def _in_the_last_cycle(apply: Callable[[Json], Json], case: Json) -> Json:
    *others, last = case["cycles"]
    return {**case, "cycles": [*others, apply(last)]}


def _renaming_transformations(
    names_of: Callable[..., Mapping[str, str]], renamings: Mapping[str, Renaming]
) -> tuple[Transformation, ...]:
    return tuple(
        replace(_renaming_transformation(name, partial(names_of, renaming)), first_name=renaming(0))
        for name, renaming in renamings.items()
    )


def _renaming_transformation(name: str, names: Callable[..., Mapping[str, str]]) -> Transformation:
    return Transformation(name, lambda case: with_new_names(names(case), case), names)


RENAMED_BROKERS = _renaming_transformations(new_broker_names, BROKERS)
RENAMED_NAMESPACES = _renaming_transformations(new_namespace_names, NAMESPACES)
RENAMED_DOMAINS = (
    *_renaming_transformations(new_domain_names, DOMAINS),
    *_renaming_transformations(new_names_without_groups, DOMAINS_BY_CAPITALS),
)
SPELLED_AS_DECIMALS = Transformation("85 written as 85.0", as_decimals)
WRITTEN_OUT = Transformation("settings written out at their defaults", _set_to_defaults)
KNOWN_ELSEWHERE = Transformation(
    f"data of {ENTRIES_ADDED} bundles that no broker has", _add_data, adds=True
)
UNLOADED_ELSEWHERE = Transformation(
    f"{ENTRIES_ADDED} recent unloads of bundles that no broker has",
    _add_unloads,
    adds=True,
)
COUNTED_ELSEWHERE = Transformation(
    f"{ENTRIES_ADDED} namespaces without a broker", _add_namespaces, adds=True
)
GROUPED_ELSEWHERE = Transformation(
    f"{ENTRIES_ADDED} namespaces of a group without a broker", _add_members, adds=True
)
BROKERS_ELSEWHERE = Transformation(
    f"{BROKERS_ADDED} brokers that are not candidates", _add_brokers, adds=True
)
SERVED_ELSEWHERE = Transformation(
    f"{BROKERS_ADDED} brokers that are not candidates", _add_serving_brokers, adds=True
)
EMPTY_LISTS = Transformation("empty lists instead of absent ones", _empty_instead_of_absent)
NULL_SETTINGS = Transformation("null instead of settings that are absent", _null_instead_of_absent)
SETTINGS = (
    Transformation("settings without effect on load", _set_without_effect),
    WRITTEN_OUT,
    NULL_SETTINGS,
)
OTHERS_EXCLUDED = Transformation(
    "other namespaces with similar names excluded from load shedding", _exclude_others
)
NULL_RESOURCES = Transformation("null instead of resources that are absent", _null_resources)

TRANSFORMATIONS: Mapping[str, tuple[Transformation, ...]] = {
    CREATE.id: SETTINGS,
    SPLIT.id: SETTINGS,
    SPLIT_CANDIDATES.id: (
        *RENAMED_BROKERS,
        *RENAMED_NAMESPACES,
        *SETTINGS,
        EMPTY_LISTS,
        SPELLED_AS_DECIMALS,
        KNOWN_ELSEWHERE,
        COUNTED_ELSEWHERE,
    ),
    USAGE.id: (*SETTINGS, SPELLED_AS_DECIMALS),
    NIC.id: (*SETTINGS, SPELLED_AS_DECIMALS),
    AVERAGE.id: (SPELLED_AS_DECIMALS,),
    SUM.id: (*RENAMED_NAMESPACES, SPELLED_AS_DECIMALS, KNOWN_ELSEWHERE),
    SHED.id: (
        *RENAMED_BROKERS,
        *RENAMED_NAMESPACES,
        *SETTINGS,
        OTHERS_EXCLUDED,
        EMPTY_LISTS,
        SPELLED_AS_DECIMALS,
        KNOWN_ELSEWHERE,
        UNLOADED_ELSEWHERE,
    ),
    CYCLES.id: (
        *RENAMED_BROKERS,
        *RENAMED_NAMESPACES,
        *SETTINGS,
        OTHERS_EXCLUDED,
        SPELLED_AS_DECIMALS,
        replace(KNOWN_ELSEWHERE, apply=partial(_in_the_last_cycle, _add_data)),
        replace(UNLOADED_ELSEWHERE, apply=partial(_in_the_last_cycle, _add_unloads)),
    ),
    PLACE.id: (
        *RENAMED_BROKERS,
        *RENAMED_NAMESPACES,
        *SETTINGS,
        EMPTY_LISTS,
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
"""The transformations of each operation; topics are not renamed, because their names are hashed."""

SIMPLE_NAMES = (
    (RENAMED_BROKERS, re.compile(r"broker-\d+"), partial(new_broker_names, "broker-{}".format)),
    (
        RENAMED_NAMESPACES,
        re.compile(r"[a-z]+/[a-z]+(-\d+)?(/0x\w+)?"),
        partial(new_namespace_names, "t/ns-{}".format),
    ),
    (RENAMED_DOMAINS, re.compile(r"[a-z]+(-\d+)?"), partial(new_domain_names, "domain-{}".format)),
)
"""For each kind of name: the transformations that rename it, the pattern of simple names, and a
function that maps the names of that kind in cases to simple names.
"""


def edits_to_plain_names(trial: Trial) -> Iterator[Callable[[Json], Json]]:
    """Yield, for each kind of name, a function that replaces a case's names with simple ones."""
    cases = [question.case for question in (*trial.before, *trial.questions)]
    known = TRANSFORMATIONS.get(trial.operation, ()) if len(trial.operations) == 1 else ()
    for transformations, plain, names_of in SIMPLE_NAMES:
        names = names_of(*cases) if transformations[0] in known else {}
        if not all(map(plain.fullmatch, names)):
            yield partial(with_new_names, names)


NOT_VARIED = frozenset({WRITTEN_OUT.name})
"""Transformations not used on drawn cases, since a rule may be about an omitted setting."""

VARIATIONS: Mapping[str, tuple[Transformation, ...]] = {
    PLACE.id: (Transformation(f"{BROKERS_ADDED} candidates that are overloaded", _add_candidates),)
}
"""Changes to drawn cases that may change the answer, unlike transformations."""


def variations(trial: Trial) -> tuple[list[Transformation], list[float]]:
    """Return changes of a trial after which its rule still applies, and the weight of each."""
    if len(trial.operations) > 1:
        return [], []
    known = [*TRANSFORMATIONS.get(trial.operation, ()), *VARIATIONS.get(trial.operation, ())]
    known = [one for one in known if one.name not in NOT_VARIED]
    return known, [ADDITION_WEIGHT if one.adds else 1 for one in known]


def copies_of(question: Question, count: int, random: Random) -> list[Question]:
    """Return up to `count` distinct transformed copies of a question; at most one is large."""
    all_known = TRANSFORMATIONS[question.operation]
    large = [one for one in all_known if one.adds]
    known = [one for one in all_known if not one.adds] + random.sample(large, min(1, len(large)))
    copies = [one.copy(question) for one in random.sample(known, min(count, len(known)))]
    return [copy for copy in copies if not _equally_written(copy.case, question.case)]


def transformation_between(question: Question, other: Question) -> Transformation | None:
    """Return the transformation that turns one question into the other; None if there is none.

    Recent results are cached: each implementation is asked the same cases, and a reduction edits a
    trial hundreds of times.
    """
    if question.operation != other.operation:
        return None
    return _between(question.operation, SameObject(question.case), SameObject(other.case))


@lru_cache(maxsize=4096)
def _between(operation: str, first: SameObject, second: SameObject) -> Transformation | None:
    case, other = first.value, second.value
    if _equally_written(case, other):
        return None
    known, text = TRANSFORMATIONS.get(operation, ()), json_text(other)
    likely = (one for one in known if json_text(one.first_name)[:-1] in text)
    return next((one for one in likely if _equally_written(one.apply(case), other)), None)


def _equally_written(case: Json, copy: Json) -> bool:
    """True if two cases are equal and their numbers are written alike: 85 and 85.0 differ."""
    return case == copy and json_text(case) == json_text(copy)


def transformations_of(trial: Trial) -> list[Transformation]:
    """Return the transformations that turn the trial's first question into each other question.

    The result is empty if one of the other questions is not a transformed copy.
    """
    first, *others = trial.questions
    made = [transformation_between(first, other) for other in others]
    return [] if None in made else [one for one in made if one]
