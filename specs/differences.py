"""Differences between a version of Pulsar and a known release, as sentences for users."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from pulsar_conformance.specs.judged import (
    JudgedVersion,
    concerns_version,
    default_clause,
    former_defaults,
    judged_version,
    knows_name,
    nearest_profile,
    release_of_profile,
    was_added_later,
    way_clause,
    ways_of_version,
)
from pulsar_conformance.specs.loading import load
from pulsar_conformance.specs.model import MODULAR

DOCUMENTED = ("OverloadShedder", "ThresholdShedder", "UniformLoadShedder")
"""The documented shedding strategies."""
SHEDDERS = "shedders"
"""ID of the entry in ways.yaml that says which shedding strategies a release has."""


def differences_from(
    version: str,
    release: str,
    settings: Mapping[str, Any],
    parts: Collection[str],
    *,
    lacks: bool,
) -> tuple[list[str], Mapping[str, str]]:
    """Return sentences on how a version differs from a known release: a list, and a mapping by way.

    The mapping has the ways on which the version and its profile agree but the release differs; the
    list has all other differences. Both cover only differences in `parts`, the parts of a broker
    that are in force. If `parts` lacks the modular load manager, no sentence is about a default. If
    `lacks` is false, no sentence says that another strategy replaces a missing one.
    """
    judged = _judged_without_shared_ways(version, release, parts, lacks=lacks)
    profile_name = nearest_profile(version)
    profile, theirs = load().ways_of(profile_name), ways_of_version(release)
    ways = {
        name: way_clause(name, taken)
        for name, taken in ways_of_version(version).items()
        if taken == profile[name] != theirs[name] and taken != "unspoken"
        if concerns_version(name, version) and load().ways[name].concerns(parts)
    }
    if MODULAR not in parts:
        return _clauses_of_parts(judged, parts), ways
    strategies = _documented_strategies(version)
    if SHEDDERS in ways and strategies != _documented_strategies(release_of_profile(profile_name)):
        ways[SHEDDERS] = f"{load().ways[SHEDDERS].question} {' and '.join(strategies)}."
    told = [
        default_clause(name, value)
        for name, value in former_defaults(version, release, lists=True).items()
        if settings.get(name) is None and name not in (judged.defaults if judged else ())
        if knows_name(version, name)
    ]
    return [*told, *(judged.differences(settings) if judged else ())], ways


def _judged_without_shared_ways(
    version: str, release: str, parts: Collection[str], *, lacks: bool
) -> JudgedVersion | None:
    """Return the judged version; leave out ways that `release` shares or that concern no part."""
    judged, theirs = judged_version(version), ways_of_version(release)
    if judged is None:
        return None
    own = {name: taken for name, taken in judged.ways.items() if taken != theirs[name]}
    ways = {name: taken for name, taken in own.items() if load().ways[name].concerns(parts)}
    return replace(judged, ways=ways, lacks=judged.lacks if lacks else ())


def _clauses_of_parts(judged: JudgedVersion | None, parts: Collection[str]) -> list[str]:
    """Return sentences on a version's ways, and on its revisions that concern one of the parts."""
    if judged is None:
        return []
    told = [
        way_clause(name, taken)
        for name, taken in judged.ways.items()
        if concerns_version(name, judged.asked)
    ]
    told += (one.clause(has) for one, has in judged.revised if one.strategy in ("", *parts))
    return [one for one in told if one]


def _documented_strategies(version: str) -> list[str]:
    """Return the documented shedding strategies that a version has."""
    return [one for one in DOCUMENTED if not was_added_later(one, version)]
