"""Differences of a version of Pulsar from a known release, as they are told."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from pulsar_conformance.specs.judged import (
    JudgedVersion,
    comes_later,
    concerns_version,
    default_clause,
    former_defaults,
    judged_version,
    knows_name,
    nearest_profile,
    release_of_profile,
    way_clause,
    ways_of_version,
)
from pulsar_conformance.specs.loading import load
from pulsar_conformance.specs.model import MODULAR

DOCUMENTED = ("OverloadShedder", "ThresholdShedder", "UniformLoadShedder")
"""The documented shedding strategies."""
SHEDDERS = "shedders"
"""The way about the strategies that a release has."""


def differences_from(
    version: str,
    release: str,
    settings: Mapping[str, Any],
    parts: Collection[str],
    *,
    lacks: bool,
) -> tuple[list[str], Mapping[str, str]]:
    """Return the differences of a version from a known release, as far as they concern the parts of
    a broker that are in force: clauses, and those clauses that are about the ways of another
    profile, by the way.

    None is about what the version lacks; without `lacks`, none says that another strategy runs
    instead of one that it lacks. Without the modular load manager, none is about a default.
    """
    judged = _judged_beside(version, release, parts, lacks=lacks)
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


def _judged_beside(
    version: str, release: str, parts: Collection[str], *, lacks: bool
) -> JudgedVersion | None:
    """Return what is known of a version, without the ways that a release has as well, or that
    concern none of these parts.
    """
    judged, theirs = judged_version(version), ways_of_version(release)
    if judged is None:
        return None
    own = {name: taken for name, taken in judged.ways.items() if taken != theirs[name]}
    ways = {name: taken for name, taken in own.items() if load().ways[name].concerns(parts)}
    return replace(judged, ways=ways, lacks=judged.lacks if lacks else ())


def _clauses_of_parts(judged: JudgedVersion | None, parts: Collection[str]) -> list[str]:
    """Return clauses on a version's ways, and on its revisions that concern any of these parts."""
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
    return [one for one in DOCUMENTED if not comes_later(one, version)]
