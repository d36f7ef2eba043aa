"""Judges answers under every reading, to see which alternatives they leave possible."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from pulsar_conformance import specs
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.reference import Readings

Choices = Mapping[str, str]
"""Chosen alternative by reading, for some or all readings."""

Domains = Mapping[str, Sequence[str]]
"""Remaining alternatives by reading, likeliest first."""


class RecordingReadings(Readings):
    """Readings that record which of them are looked up."""

    _recorded: set[str]

    def __init__(self, choices: Choices) -> None:
        super().__init__(choices)
        object.__setattr__(self, "_recorded", set())

    def __getitem__(self, name: str) -> str:
        self._recorded.add(name)
        return super().__getitem__(name)

    @property
    def consulted(self) -> Choices:
        """The readings looked up so far, with their alternatives."""
        return {name: self.choices[name] for name in sorted(self._recorded)}


def consulted(
    rule: specs.Rule, evaluator: RuleEvaluator, trial: Trial, answers: Sequence[Json]
) -> Choices:
    """Return the readings on which a rule's judgment depends, with their alternatives."""
    recording = RecordingReadings(evaluator.readings.choices)
    evaluator.under(recording).judge(rule.id, trial, answers)
    return {**recording.consulted, **rule.reading}


@dataclass(frozen=True)
class Conflict:
    """A rule, and choices of readings under which answers violate it whatever the rest are."""

    rule: str
    choices: Choices


@dataclass(frozen=True)
class Evidence:
    """An answered trial, and the conflicts found by judging it under some readings."""

    evaluator: RuleEvaluator
    rules: Sequence[specs.Rule]
    """The rules by which the answers are judged."""
    trial: Trial
    answers: Sequence[Json]
    conflicts: list[Conflict] = field(default_factory=list)
    """Choices under which a rule is violated, as far as they have been tried."""
    fits: list[Choices] = field(default_factory=list)
    """Choices under which no rule is violated, as far as they have been tried."""

    def allows(self, domains: Domains) -> bool:
        """True if the answers violate no rule under at least one choice of readings."""
        return any(map(self._fits, _without_conflict(domains, self.conflicts)))

    def broken(self, domains: Domains) -> Iterator[str]:
        """Yield the rules that the answers violate under every choice of readings."""
        suspects = {one.rule for one in self.conflicts}
        for rule in self.rules:
            if rule.id in suspects:
                alone = Evidence(self.evaluator, [rule], self.trial, self.answers)
                if not alone.allows(domains):
                    yield rule.id

    def judged_without(self, rules: Collection[str]) -> Evidence:
        """Return the same answers, judged without some rules."""
        left = [one for one in self.rules if one.id not in rules]
        return Evidence(self.evaluator, left, self.trial, self.answers)

    @property
    def complaint(self) -> str:
        """A sentence that names the rules that the answers violate."""
        for one in self.conflicts:
            if not one.choices:
                return f"it breaks {one.rule} under every reading"
        return f"it breaks {' or '.join(dict.fromkeys(one.rule for one in self.conflicts))}"

    def _fits(self, choices: Choices) -> bool:
        """True if the answers violate no rule under these choices; record conflicts.

        Rules that were violated under other choices are judged first.
        """
        if any(fit.items() <= choices.items() for fit in self.fits):
            return True
        suspects = {one.rule for one in self.conflicts}
        if not all(self._is_allowed(one, choices) for one in self.rules if one.id in suspects):
            return False
        recording = RecordingReadings(choices)
        evaluator = self.evaluator.under(recording)
        for rule in self.rules:
            applies = all(recording[name] == value for name, value in rule.reading.items())
            if applies and evaluator.judge(rule.id, self.trial, self.answers).violated:
                # Readings that only other rules consulted are not part of this conflict.
                return self._is_allowed(rule, choices)
        self.fits.append(recording.consulted)
        return True

    def _is_allowed(self, rule: specs.Rule, choices: Choices) -> bool:
        """True if a rule allows the answers or does not apply; otherwise record the conflict."""
        if any(choices[name] != value for name, value in rule.reading.items()):
            return True
        recording = RecordingReadings(choices)
        judge = self.evaluator.under(recording).judge
        if not judge(rule.id, self.trial, self.answers).violated:
            return True
        self.conflicts.append(Conflict(rule.id, {**recording.consulted, **rule.reading}))
        return False


def _without_conflict(domains: Domains, conflicts: Sequence[Conflict]) -> Iterator[Choices]:
    """Yield choices of all readings that contain no known conflict, most likely first.

    The caller adds the conflicts that it finds under a choice to `conflicts` before it requests the
    next one.
    """
    turns: dict[str, int] = {}
    """Index of the current alternative of each reading that is part of a conflict.

    The last reading changes first, as the last digit of a counter does.
    """
    excluded: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    seen = 0
    while True:
        for one in conflicts[seen:]:
            excluded.setdefault(tuple(one.choices), set()).add(tuple(one.choices.values()))
            turns = {**turns, **{name: 0 for name in one.choices if name not in turns}}
        seen = len(conflicts)
        chosen = {name: values[turns.get(name, 0)] for name, values in domains.items()}
        found = [
            names for names, those in excluded.items() if tuple(chosen[n] for n in names) in those
        ]
        if not found:
            yield chosen
        elif not _next_turns(turns, found, domains):
            return


def _next_turns(
    turns: dict[str, int], conflicting: Sequence[Sequence[str]], domains: Domains
) -> bool:
    """Advance `turns` to the next choice without the current conflicts; False if there is none.

    `conflicting` lists, for each conflict in the current choice, the readings that it consists of.
    """
    order = list(turns)
    places = {name: place for place, name in enumerate(order)}
    place = min(max((places[name] for name in names), default=-1) for names in conflicting)
    for later in order[place + 1 :]:
        turns[later] = 0
    while place >= 0:
        name = order[place]
        turns[name] += 1
        if turns[name] < len(domains[name]):
            return True
        turns[name] = 0
        place -= 1
    return False


def without_broken_rules(
    evidence: Mapping[str, Sequence[Evidence]], domains: Domains
) -> dict[str, list[Evidence]]:
    """Return the evidence that can decide readings.

    A rule that some answers violate under every reading is broken for another cause, which can look
    like an alternative elsewhere: a broker that is never seen as overloaded keeps its bundles as if
    none might move. So such a rule decides nothing. Answers that still violate a rule under every
    reading are left out.
    """
    while True:
        refuted = [one for each in evidence.values() for one in each if not one.allows(domains)]
        broken = {rule for one in refuted for rule in one.broken(domains)}
        if not broken:
            return {
                name: [one for one in each if one not in refuted] for name, each in evidence.items()
            }
        evidence = {
            name: [one.judged_without(broken) for one in each] for name, each in evidence.items()
        }


def narrow(evidence: Mapping[str, Sequence[Evidence]], domains: Domains) -> Domains:
    """Return the alternatives that remain possible in the light of all evidence.

    The evidence is examined repeatedly, because each reading that is decided helps to decide
    others.
    """
    while True:
        before = domains
        for reading, trials in evidence.items():
            left = common_alternatives(reading, trials, domains)
            if left:  # None remain if an implementation follows no alternative, or several.
                domains = {**domains, reading: left}
        if domains == before:
            return domains


def common_alternatives(
    reading: str, evidence: Iterable[Evidence], domains: Domains
) -> tuple[str, ...]:
    """Return the alternatives of a reading under which every trial's answers may be right."""
    trials = list(evidence)
    return tuple(
        value
        for value in domains[reading]
        if all(one.allows({**domains, reading: [value]}) for one in trials)
    )


@cache
def deciding_rules(profile: str, operations: frozenset[str]) -> Sequence[specs.Rule]:
    """Return the rules about these operations that can decide a reading.

    These are the testable documented rules of the profile and of its base profiles, and those of
    any profile that apply under one alternative of a reading; rules that the profile replaces are
    left out.
    """
    lineage = {one.id for one in specs.load().lineage(profile)}
    dropped = specs.load().dropped(profile)
    return [
        rule
        for rule in specs.load().rules.values()
        if rule.provenance == "documented"
        and rule.untestable is None
        and rule.id not in dropped
        and (rule.reading or lineage.intersection(rule.profiles))
        and operations & set(rule.operations)
    ]


def as_evidence(
    evaluator: RuleEvaluator, profile: str, answered: Iterable[tuple[Trial, Sequence[Json]]]
) -> Iterator[Evidence]:
    """Yield evidence for each answered trial, unless an answer is `unsupported`."""
    for trial, answers in answered:
        if not any("unsupported" in answer for answer in answers):
            yield Evidence(evaluator, deciding_rules(profile, trial.operations), trial, answers)
