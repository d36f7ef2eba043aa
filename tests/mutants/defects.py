"""Seeded defects: models with one mistake that programmers made before, or are likely to make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from pulsar_conformance import fixtures, specs
from pulsar_conformance.conformance.cases.legality import trial_flaw
from pulsar_conformance.conformance.common.trial import Question, Trial
from pulsar_conformance.conformance.engine.draw import draw_trials
from pulsar_conformance.conformance.engine.judge import AppliedRule
from pulsar_conformance.conformance.engine.reduce import smallest_case
from pulsar_conformance.specs.errors import unknown_name
from pulsar_conformance.specs.lines import Sheet, read_sheet
from pulsar_conformance.specs.schemas import check_shape

from mutants.evaluations import EXAMPLES, PROFILES, SEED
from mutants.judged import Bench
from mutants.loading import another_model
from mutants.making import MODEL

SMALL = 4
"""Maximum number of brokers, and of bundles, in a case that a person can check by hand."""

MOST_MODELS = 64
"""Maximum number of models with a defect that are kept for further questions."""

REDUCED = 3
"""Number of failing cases that are reduced if no drawn case is small."""


@dataclass(frozen=True, eq=False)
class Defect:
    """A part of the model's source, and its replacement."""

    name: str
    stands_for: str
    """The historical defect or the mistake."""
    rule: str
    """The rule under which the defect must be found."""
    file: str
    """Path below `reference/`."""
    was: str
    becomes: str
    readings: Mapping[str, str]
    """Readings under which the defect changes an answer."""

    @property
    def source(self) -> str:
        """Return the source of the module that the defect changes."""
        return (MODEL / self.file).read_text("utf-8").replace(self.was, self.becomes)


@dataclass(frozen=True)
class Exhibit:
    """The case that shows a defect under its own rule."""

    trial: Trial
    brokers: int
    bundles: int

    @property
    def small(self) -> bool:
        """True if a person can check the case by hand."""
        return max(self.brokers, self.bundles) <= SMALL


@cache
def defects() -> tuple[Defect, ...]:
    """Return the defects in `defects.yaml`. Errors: `SpecError`, with file and line."""
    sheet = read_sheet(Path(__file__).parent.parent, "mutants/defects.yaml")
    check_shape(sheet, "seeded-defects")
    return tuple(_defects(sheet))


def _defects(sheet: Sheet) -> Iterator[Defect]:
    known, names = specs.load(), set()
    for number, entry in enumerate(sheet.data):
        one = Defect(**{"readings": {}, **entry})
        if one.name in names:
            raise sheet.error((number, "name"), f"{one.name} is used twice; choose another name")
        names.add(one.name)
        if one.rule not in known.rules:
            raise sheet.error((number, "rule"), unknown_name(one.rule, "rule", known.rules))
        if not (MODEL / one.file).is_file():
            raise sheet.error((number, "file"), f"there is no {one.file} in the model")
        count = (MODEL / one.file).read_text("utf-8").count(one.was)
        if count != 1:
            problem = f"{one.file} has that {count} times; write as much as stands there once"
            raise sheet.error((number, "was"), problem)
        yield one


def shown(defect: Defect, examples: int = EXAMPLES) -> Exhibit | None:
    """Return a trial that shows a defect under its own rule, if possible a small trial.

    This is the first small trial in which the defect breaks the rule, and no rule that it
    presupposes. If there is none, the first few larger trials are reduced, and the smallest is
    returned.
    """
    rule = specs.load().rules[defect.rule]
    profile = next(one for one in PROFILES if one in rule.profiles)
    bench = bench_of(defect, profile)
    broken = []
    for trial in _trials(rule, profile, examples):
        if not bench.subject.evaluator.legal(trial) or not bench.own_fault(rule.id, trial):
            continue
        found = _sized(trial)
        if found.small:
            return found
        broken.append(trial)
    applied = AppliedRule(rule, bench.subject)
    reduced = [_sized(smallest_case(applied, trial)) for trial in broken[:REDUCED]]
    return min(reduced, key=lambda one: (one.brokers, one.bundles), default=None)


@lru_cache(MOST_MODELS)
def bench_of(defect: Defect, profile: str) -> Bench:
    """Return the model with the defect, as an implementation that can be judged."""
    modules = another_model({defect.file: defect.source})
    rule = specs.load().rules[defect.rule]
    return Bench(modules[""].Model, profile, {**defect.readings, **rule.reading})


def _trials(rule: specs.Rule, profile: str, examples: int) -> Iterator[Trial]:
    defaults = specs.load().defaults(profile)
    yield from draw_trials(rule.id, profile, SEED, examples)
    for example in fixtures.examples():
        trial = Trial(tuple(Question(*question) for question in example.questions))
        if rule.id in example.rules and trial_flaw(trial, defaults) is None:
            yield trial


def _sized(trial: Trial) -> Exhibit:
    """Return a trial with the numbers of brokers and bundles of its largest case."""
    cases = [case for _, case in trial.questions]
    return Exhibit(trial, max(map(_brokers, cases)), max(map(_bundles, cases)))


def _brokers(case: Mapping[str, Any]) -> int:
    joined = sum("broker_up" in event for event in case.get("events", ()))
    return max(joined, len(case.get("brokers", ())), len(case.get("candidates", ())))


def _bundles(case: Mapping[str, Any]) -> int:
    """Return the number of owned or measured bundles, or of a story's topics if it is larger."""
    brokers = case.get("brokers", {})
    each = brokers.values() if isinstance(brokers, dict) else ()
    owned = {bundle for one in each for bundle in one.get("bundles", ())}
    measured = case.get("bundles")
    named = owned | set(measured) if isinstance(measured, dict) else owned
    topics = sum("topic" in event for event in case.get("events", ()))
    return max(len(named), topics)
