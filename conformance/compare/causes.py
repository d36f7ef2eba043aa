"""Causes of changed decisions between releases: ways, readings and defaults."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal, NamedTuple

from pulsar_conformance import specs
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.compare.differences import decided_otherwise
from pulsar_conformance.conformance.compare.predictions import DRAWN
from pulsar_conformance.reference import MissingSetting, Model

Answers = tuple[Json, Json]
"""Answers of the older and of the newer release."""


class Factor(NamedTuple):
    """Something that the profiles of two releases have otherwise."""

    kind: Literal["way", "reading", "setting"]
    name: str
    older: Any
    newer: Any
    """For a setting without a default, None."""


def factors(older: str, newer: str) -> tuple[Factor, ...]:
    """All that two released profiles have otherwise: ways, then readings, then defaults."""
    every = specs.load()
    ways = every.ways_of(older), every.ways_of(newer)
    readings = every.default_readings(older), every.default_readings(newer)
    defaults = every.defaults(older), every.defaults(newer)
    return (
        *(Factor("way", one, ways[0][one], ways[1][one]) for one in every.ways),
        *(Factor("reading", one, readings[0][one], readings[1][one]) for one in every.readings),
        *(
            Factor("setting", one, defaults[0].get(one), defaults[1].get(one))
            for one in dict.fromkeys((*defaults[0], *defaults[1]))
        ),
    )


class Causes:
    """The models of two releases, and what turns the answers of one into those of the other."""

    def __init__(self, older: str, newer: str) -> None:
        self.models = Model(older), Model(newer)
        found = factors(older, newer)
        self._factors = tuple(one for one in found if one.older != one.newer)
        self._hidden = specs.load().profile(newer).hidden
        self._turned = cache(self._model_with)

    def of(self, trial: Trial, answers: Answers) -> tuple[Factor, ...]:
        """Changes that explain why these answers differ: one alone, or all that it takes together.

        None of them does where the models do not foresee both answers.
        """
        older, newer = answers
        foreseen = _tells(self.models[0], trial, older) and _tells(self.models[1], trial, newer)
        if not foreseen or _tells(self.models[0], trial, newer):
            return ()
        for one in self._factors:
            if _tells(self._turned((one,)), trial, newer):
                return (one,)
        some = self._factors
        for one in self._factors:
            fewer = tuple(other for other in some if other != one)
            if _tells(self._turned(fewer), trial, newer):
                some = fewer
        return some if _tells(self._turned(some), trial, newer) else ()

    def foreseen(self, trial: Trial, some: tuple[Factor, ...]) -> bool:
        """True if the models decide this question otherwise, and `some` alone explains it."""
        try:
            older, newer = (one.answer(*trial.questions[0]) for one in self.models)
        except MissingSetting:
            return False
        if not decided_otherwise(trial.operation, older, newer):
            return False
        # Of equal brokers each may be drawn: what one draws the other may draw, too.
        if _tells(self.models[0], trial, newer) or _tells(self.models[1], trial, older):
            return False
        return _tells(self._turned(some), trial, newer)

    def _model_with(self, some: tuple[Factor, ...]) -> Model:
        """The older release with a few things as the newer one has them."""
        ways, readings, settings = (
            {one.name: one.newer for one in some if one.kind == kind}
            for kind in ("way", "reading", "setting")
        )
        return self.models[0].with_changes(ways, readings, settings, self._hidden)


def _tells(model: Model, trial: Trial, answer: Json) -> bool:
    """True if a model decides a question so, in one of its turns where it draws."""
    operation, case = trial.questions[0]
    try:
        for _ in range(often(trial)):
            told = model.answer(operation, case)
            if "unsupported" in told:
                return False
            if not decided_otherwise(operation, in_one_order(told), in_one_order(answer)):
                return True
    except MissingSetting:
        return False
    return False


def in_one_order(answer: Json) -> Json:
    """An answer with what brokers unload in one order: theirs is that of a hash table.

    Bundles that are split have no broker beside them, and no such order.
    """
    if "cycles" in answer:
        return {**answer, "cycles": [in_one_order(one) for one in answer["cycles"]]}
    going = answer.get("unload")
    if not isinstance(going, list) or not all(isinstance(one, dict) for one in going):
        return answer
    return {**answer, "unload": sorted(going, key=lambda one: (one["broker"], one["bundle"]))}


def often(trial: Trial, least: int = 1) -> int:
    """How often to ask a question until everything was seen that may be drawn."""
    operation, case = trial.questions[0]
    drawn = len(case[DRAWN[operation]]) if operation in DRAWN else 0
    return max(least, drawn)
