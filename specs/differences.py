"""Differences of a version of Pulsar from a known release, as they are told."""

from __future__ import annotations

from collections.abc import Mapping
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

DOCUMENTED = ("OverloadShedder", "ThresholdShedder", "UniformLoadShedder")
"""The documented shedding strategies."""
SHEDDERS = "shedders"
"""The way about the strategies that a release has."""


def differences_from(
    version: str, release: str, settings: Mapping[str, Any], *, lacks: bool
) -> tuple[list[str], Mapping[str, str]]:
    """Return the differences of a version from a known release: clauses, and those clauses that are
    about the ways of another profile, by the way.

    None is about what the version lacks; without `lacks`, none says that another strategy runs
    instead of one that it lacks.
    """
    judged = _judged_beside(version, release, lacks=lacks)
    profile_name = nearest_profile(version)
    profile, theirs = load().ways_of(profile_name), ways_of_version(release)
    ways = {
        name: way_clause(name, taken)
        for name, taken in ways_of_version(version).items()
        if taken == profile[name] != theirs[name] and taken != "unspoken"
        if concerns_version(name, version)
    }
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


def _judged_beside(version: str, release: str, *, lacks: bool) -> JudgedVersion | None:
    """Return what is known of a version, without the ways that a release has as well."""
    judged, theirs = judged_version(version), ways_of_version(release)
    if judged is None:
        return None
    ways = {name: taken for name, taken in judged.ways.items() if taken != theirs[name]}
    return replace(judged, ways=ways, lacks=judged.lacks if lacks else ())


def unlike_strategy(version: str, strategy: str) -> list[str]:
    """Return the clauses on a version's differences that are about one strategy alone."""
    judged, named = judged_version(version), strategy.rpartition(".")[2]
    pairs = judged.revised if judged else ()
    return [text for one, has in pairs if one.strategy == named and (text := one.clause(has))]


def _documented_strategies(version: str) -> list[str]:
    """Return the documented shedding strategies that a version has."""
    return [one for one in DOCUMENTED if not comes_later(one, version)]
