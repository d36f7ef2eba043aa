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
    stories,
)
from pulsar_conformance.conformance.views.averages import Owning, Sampled
from pulsar_conformance.conformance.views.bundles import Chosen, Found, Locating, Parts
from pulsar_conformance.conformance.views.loads import Measured
from pulsar_conformance.conformance.views.managers import Chooses, Choosing
from pulsar_conformance.conformance.views.placement import Placed, Placing, Spreading
from pulsar_conformance.conformance.views.plain import AnswerView, CaseView, Plain
from pulsar_conformance.conformance.views.reports import Reported, Said
from pulsar_conformance.conformance.views.shedding import Unloading
from pulsar_conformance.conformance.views.stories import Course, Scene, Story
from pulsar_conformance.conformance.views.world import Moment
from pulsar_conformance.reference import Readings, Settings

__all__ = [
    "Chooses",
    "Choosing",
    "Chosen",
    "Course",
    "Found",
    "Locating",
    "Measured",
    "Moment",
    "Owning",
    "Parts",
    "Placed",
    "Placing",
    "Plain",
    "Reported",
    "Said",
    "Sampled",
    "Scene",
    "Spreading",
    "Story",
    "Unloading",
]

CASES: Mapping[str, CaseView] = {
    **bundles.CASES,
    **averages.CASES,
    **shedding.CASES,
    **placement.CASES,
    **managers.CASES,
    **reports.CASES,
    **stories.CASES,
}
"""Operations whose cases have a shape of their own; the others are `Plain`."""

ANSWERS: Mapping[str, AnswerView] = {
    "settings.defaults": lambda _case, answer: answer["settings"],
    **bundles.ANSWERS,
    **loads.ANSWERS,
    **averages.ANSWERS,
    **shedding.ANSWERS,
    **placement.ANSWERS,
    **managers.ANSWERS,
    **reports.ANSWERS,
    **stories.ANSWERS,
}


def view(operation: str, case: Json, settings: Settings, readings: Readings) -> Any:
    """A case as its checks see it."""
    if operation in CASES:
        return CASES[operation](case, settings, readings)
    return Plain(case, settings)
