"""What a legal case is: one answer for drawn, reduced, pasted and saved cases alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pulsar_conformance.adapters.validation import asked_operations, wrong_in_case
from pulsar_conformance.conformance.legal import (
    averages,
    bundles,
    loads,
    placement,
    reports,
    shedding,
    stories,
)
from pulsar_conformance.conformance.legal.invariant import Invariant, Needed, none
from pulsar_conformance.conformance.trial import Json, Trial
from pulsar_conformance.reference import MissingSetting, Readings, Settings

INVARIANTS: Mapping[str, Invariant] = {
    "settings.defaults": none,
    **bundles.INVARIANTS,
    **loads.INVARIANTS,
    **averages.INVARIANTS,
    **shedding.INVARIANTS,
    **placement.INVARIANTS,
    "manager.choose": none,
    **reports.INVARIANTS,
    **stories.INVARIANTS,
}
"""What the schemas cannot say."""

NEEDED: Mapping[str, Needed] = {**bundles.NEEDED}
"""What a case must set under some readings alone."""


def bad_trial(
    trial: Trial, defaults: Mapping[str, Any], readings: Readings | None = None
) -> str | None:
    """Why a trial is not legal, or nothing."""
    for operation, case in trial.questions:
        problem = bad_case(operation, case, defaults, readings)
        if problem:
            return problem
    return None


def bad_case(
    operation: str, case: Json, defaults: Mapping[str, Any], readings: Readings | None = None
) -> str | None:
    """Why a case is not legal, with the place, or nothing.

    `defaults` are the documented defaults of the profile: a setting that has none and that the
    answer depends on must stand in the case; with `readings`, under those.
    """
    if operation not in asked_operations():
        return f"{operation} is no operation; there are {', '.join(asked_operations())}"
    wrong = wrong_in_case(operation, case)
    if wrong is not None:
        return wrong
    try:
        return _broken_invariant(operation, case, defaults, readings)
    except MissingSetting as missing:
        return f"case.settings: {missing}"


def missing_setting(
    trial: Trial, defaults: Mapping[str, Any], readings: Readings | None = None
) -> str | None:
    """A setting that cases of the right shape leave out, though nothing else gives it, or none."""
    for operation, case in trial.questions:
        if operation in asked_operations() and wrong_in_case(operation, case) is None:
            try:
                _broken_invariant(operation, case, defaults, readings)
            except MissingSetting as missing:
                return missing.name
    return None


def _broken_invariant(
    operation: str, case: Json, defaults: Mapping[str, Any], readings: Readings | None
) -> str | None:
    settings = Settings(case.get("settings", {}), defaults)
    if readings is not None and operation in NEEDED:
        NEEDED[operation](case, settings, readings)
    return next(INVARIANTS[operation](case, settings), None)
