"""How checks see cases and answers: typed, exact, in the words of the field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pulsar_conformance.conformance.trial import Json
from pulsar_conformance.conformance.views import (
    averages,
    bundles,
    loads,
    managers,
    placement,
    reports,
    shedding,
)
from pulsar_conformance.conformance.views.averages import Owning, Sampled
from pulsar_conformance.conformance.views.bundles import Chosen, Found, Locating, Parts
from pulsar_conformance.conformance.views.loads import Measured
from pulsar_conformance.conformance.views.managers import Chooses, Choosing
from pulsar_conformance.conformance.views.placement import Placed, Placing, Spreading
from pulsar_conformance.conformance.views.plain import AnswerView, CaseView, Plain
from pulsar_conformance.conformance.views.reports import Reported, Said
from pulsar_conformance.conformance.views.shedding import Unloading
from pulsar_conformance.reference import Readings, Settings

__all__ = [
    "Chooses",
    "Choosing",
    "Chosen",
    "Found",
    "Locating",
    "Measured",
    "Owning",
    "Parts",
    "Placed",
    "Placing",
    "Plain",
    "Reported",
    "Said",
    "Sampled",
    "Spreading",
    "Unloading",
]

CASES: Mapping[str, CaseView] = {
    **bundles.CASES,
    **averages.CASES,
    **shedding.CASES,
    **placement.CASES,
    **reports.CASES,
    **managers.CASES,
}
"""Operations whose cases have a shape of their own; the others are `Plain`."""

ANSWERS: Mapping[str, AnswerView] = {
    "settings.defaults": lambda _case, answer: answer["settings"],
    **bundles.ANSWERS,
    **loads.ANSWERS,
    **averages.ANSWERS,
    **shedding.ANSWERS,
    **managers.ANSWERS,
    **placement.ANSWERS,
    **reports.ANSWERS,
}


def view(operation: str, case: Json, settings: Settings, readings: Readings) -> Any:
    """A case as its checks see it."""
    if operation in CASES:
        return CASES[operation](case, settings, readings)
    return Plain(case, settings)
