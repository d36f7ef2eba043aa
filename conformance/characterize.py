"""Which readings an implementation follows, found out from its answers alone.

An alternative is possible as long as every rule allows the answers under it, whatever the other
readings are; those that are found out already help with the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

from pulsar_conformance import specs
from pulsar_conformance.conformance import checks
from pulsar_conformance.conformance.draw import draw
from pulsar_conformance.conformance.draws.aimed import AIMED
from pulsar_conformance.conformance.judge import Court
from pulsar_conformance.conformance.legal import bad_trial
from pulsar_conformance.conformance.respondent import Respondent
from pulsar_conformance.conformance.trial import Json, Trial
from pulsar_conformance.reference import Readings

assert checks.__all__, "importing the checks registers them"

CASES = 8
"""Trials that decide a reading."""

Answered = tuple[Trial, list[Json]]


@dataclass(frozen=True)
class Finding:
    """What was found out about one reading."""

    reading: str
    says: str | None
    """What the implementation says that it follows."""
    found: str
    """An alternative, or none, mixed, undecided."""
    why: str = ""

    @property
    def fails(self) -> bool:
        """Whether it follows no reading, several, or another one than it says."""
        if self.found == "undecided":
            return False
        return self.found in ("none", "mixed") or self.says not in (None, self.found)


class Noting(Readings):
    """Readings that note which of them were consulted."""

    def __init__(self, choices: Mapping[str, str], noted: set[str]) -> None:
        super().__init__(choices)
        object.__setattr__(self, "noted", noted)

    def __getitem__(self, name: str) -> str:
        noted: set[str] = self.__dict__["noted"]
        noted.add(name)
        return super().__getitem__(name)


def characterize(respondent: Respondent, seed: int) -> list[Finding]:
    """What the implementation was found to follow, each reading in turn.

    Errors: `AdapterError` where it breaks.
    """
    asked = dict(_asked(respondent, seed))
    known: dict[str, str] = {}
    possible: dict[str, list[set[str]]] = {}
    while True:
        before = dict(known)
        for reading, answered in asked.items():
            possible[reading] = [_allowing(respondent, reading, one, known) for one in answered]
            left = _common(reading, possible[reading])
            if len(left) == 1:
                known[reading] = left.pop()
        if known == before:
            break
    return [_finding(respondent, name, possible.get(name)) for name in specs.load().readings]


def _asked(respondent: Respondent, seed: int) -> Iterator[tuple[str, list[Answered]]]:
    """For each reading the trials that aim at it, with the answers to those it can be asked."""
    for reading, strategies in AIMED.items():
        trials = [
            trial
            for strategy in strategies
            for trial in draw(strategy, CASES, f"{seed}/{reading}")
            if bad_trial(trial, respondent.court.defaults) is None
        ]
        answers = respondent.answers(trials)
        yield (
            reading,
            [
                (trial, answered)
                for trial, answered in zip(trials, answers, strict=True)
                if not any("unsupported" in answer for answer in answered)
            ],
        )


def _allowing(
    respondent: Respondent, reading: str, answered: Answered, known: Mapping[str, str]
) -> set[str]:
    """The alternatives under which some choice of the other readings allows the answers."""
    values = specs.load().readings[reading].values
    return {value for value in values if _allowed(respondent, reading, value, answered, known)}


def _allowed(
    respondent: Respondent, reading: str, value: str, answered: Answered, known: Mapping[str, str]
) -> bool:
    base = {**respondent.readings.choices, **known, reading: value}
    every, tried = specs.load().readings, {reading, *known}
    open_ones: set[str] = set()
    while True:
        combinations = product(*(every[name].values for name in sorted(open_ones)))
        noted: set[str] = set()
        for combination in combinations:
            choices = {**base, **dict(zip(sorted(open_ones), combination, strict=True))}
            if _holds(respondent.court, Noting(choices, noted), answered):
                return True
        if noted <= open_ones | tried:
            return False
        open_ones |= noted - tried


def _holds(court: Court, readings: Noting, answered: Answered) -> bool:
    """Whether no rule is broken by the answers, under these readings."""
    trial, answers = answered
    court = court.under(readings)
    return not any(
        all(readings[name] == value for name, value in rule.reading.items())
        and court.judge(rule.id, trial, answers).violated
        for rule in _rules(trial.operations)
    )


@cache
def _rules(operations: frozenset[str]) -> Sequence[specs.Rule]:
    """Every documented rule that speaks about these operations, of whatever profile."""
    return [
        rule
        for rule in specs.load().rules.values()
        if rule.provenance == "documented"
        and rule.untestable is None
        and operations & set(rule.operations)
    ]


def _common(reading: str, possible: Sequence[set[str]]) -> set[str]:
    """The alternatives that every trial leaves possible."""
    every = set(specs.load().readings[reading].values)
    return every.intersection(*possible)


def _finding(respondent: Respondent, reading: str, possible: Sequence[set[str]] | None) -> Finding:
    says = respondent.hello.readings.get(reading)
    if possible is None:
        return Finding(reading, says, "undecided", "no question about one moment tells")
    if not possible:
        return Finding(reading, says, "undecided", "it does not offer what would tell")
    if not all(possible):
        return Finding(reading, says, "none", "an answer that no alternative allows")
    left = _common(reading, possible)
    if not left:
        return Finding(reading, says, "mixed", "one alternative here, another there")
    if len(left) > 1:
        return Finding(reading, says, "undecided", f"{' or '.join(sorted(left))}")
    return Finding(reading, says, left.pop())
