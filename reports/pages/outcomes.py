"""The model's derivations of an example, and its answers under other readings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.fixtures import Answer, Example, profiles_judging
from pulsar_conformance.reference import Derivation, MissingSetting, Model, Readings
from pulsar_conformance.reference.shedding_steps import TIE
from pulsar_conformance.reports.pages.answers import format_answers
from pulsar_conformance.specs import Alternative, Rule, load

ABOUT_ALL = "settings.defaults"
"""Operation for which no other rules are listed, since every rule about a setting judges it."""

DRAWING: Mapping[str, str] = {"place.select": "candidates", "place.broker": "brokers"}
"""Operations with answers that may be random, and the field of a case that lists the brokers."""


@dataclass(frozen=True)
class ReadingOutcome:
    """The model's answers under another alternative of a reading."""

    reading: str
    alternative: Alternative
    answers: tuple[Answer, ...]
    drawn: tuple[str, ...] = ()
    """The brokers among which the model chooses at random; empty if the answer is not random."""
    tied: bool = False
    """True if a bundle is shed only because its name sorts before that of an equal bundle."""


@dataclass(frozen=True)
class DerivedExample:
    """An example with the model's derivations, under the first profile that answers it."""

    example: Example
    profile: str
    derivations: tuple[Derivation, ...]

    @classmethod
    def of(cls, example: Example) -> DerivedExample:
        """Return the example with the model's derivations.

        Errors: `MissingSetting` if every profile lacks a setting that the example needs.
        """
        declined: list[DerivedExample] = []
        for profile in profiles_judging(example):
            try:
                worked = cls(example, profile, derivations(example, profile, example.readings))
            except MissingSetting as missing:
                lacking = missing
                continue
            if not any("unsupported" in one for one in worked.answers):
                return worked
            declined.append(worked)
        if declined:
            return declined[0]
        raise lacking

    @cached_property
    def answers(self) -> tuple[Answer, ...]:
        """The model's answers under the example's readings."""
        return tuple(dict(one.answer) for one in self.derivations)

    def other_rules(self) -> Iterator[Rule]:
        """Yield the rules that the case also exercises, besides those that the example names.

        The model's answers keep these rules under the example's readings.
        """
        trial, bundled = Trial.asking(self.example.questions), load()
        readings = Readings.of(self.profile, self.example.readings)
        evaluator = RuleEvaluator(bundled.defaults(self.profile), readings)
        for rule in bundled.rules_of(self.profile):
            if rule.id in self.example.rules or rule.untestable or rule.area == "ANSWER":
                continue
            if not trial.operations & {*rule.operations} - {ABOUT_ALL}:
                continue
            judged = rule.applies(readings.choices)
            if judged and evaluator.judge(rule.id, trial, self.answers).word == "allowed":
                yield rule

    def outcomes(self) -> Iterator[ReadingOutcome]:
        """Yield each alternative that changes the answers if all other readings stay the same."""
        bundled = load()
        own = self.example.readings
        taken = {**bundled.default_readings(self.profile), **own}
        for reading in bundled.readings.values():
            for alternative in reading.alternatives:
                if alternative.value == taken[reading.id]:
                    continue
                other = {**own, reading.id: alternative.value}
                try:
                    derived = derivations(self.example, self.profile, other)
                except MissingSetting:
                    continue  # The case lacks a setting that the alternative needs.
                answers = tuple(dict(one.answer) for one in derived)
                drawn = drawn_brokers(self.example, self.profile, other)
                same = format_answers(answers) == format_answers(self.answers)
                if not same or drawn != drawn_brokers(self.example, self.profile, own):
                    tied = any(TIE in step.text for one in derived for step in one.steps)
                    yield ReadingOutcome(reading.id, alternative, answers, drawn, tied)


def drawn_brokers(example: Example, profile: str, readings: Mapping[str, str]) -> tuple[str, ...]:
    """Return the brokers among which the model chooses at random in an example's single question,
    in order.

    Empty if the answer is not random.
    """
    [question, *others] = example.questions
    of = DRAWING.get(question[0])
    if others or of is None:
        return ()
    model = Model(profile, readings)
    answers = [model.answer(*question) for _ in question[1][of]]
    brokers = {str(one["broker"]) for one in answers if "broker" in one}
    return tuple(sorted(brokers)) if len(brokers) > 1 else ()


def derivations(
    example: Example, profile: str, readings: Mapping[str, str]
) -> tuple[Derivation, ...]:
    """Return the model's derivation for each question. Errors: `MissingSetting`."""
    model = Model(profile, readings)
    return tuple(model.derive(*question) for question in example.questions)
