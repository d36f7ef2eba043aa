"""Find readings: pinned, declared, or inferred from an implementation's answers.

An alternative remains possible as long as every rule allows the answers under it, whatever the
other readings are. Readings that are already known help to decide the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Literal

from pulsar_conformance import specs
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.engine.draw import aimed_at
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.reference import Readings
from pulsar_conformance.reference.context import Context

Choices = Mapping[str, str]
"""Chosen alternative by reading, for some or all readings."""

Domains = Mapping[str, Sequence[str]]
"""Remaining alternatives by reading, likeliest first."""

How = Literal["pinned", "declared", "documented", "found", "undecided", "mixed"]
"""How an alternative is known: from --reading, from hello, from the documents or release (which
leave no other), or from the answers; the last two mean that nothing is known, or that answers
contradict each other.
"""


@dataclass(frozen=True)
class ResolvedReadings:
    """The readings by which an implementation is judged."""

    profile: str
    domains: Domains
    """Remaining alternatives of each reading; the first one is in force."""
    how: Mapping[str, How] = field(default_factory=dict)

    @property
    def chosen(self) -> Readings:
        """The current alternative of each reading."""
        return Readings({name: values[0] for name, values in self.domains.items()})

    @property
    def evaluator(self) -> RuleEvaluator:
        """An evaluator with these readings."""
        release = Context.of(self.profile, None, False).release
        return RuleEvaluator(specs.load().defaults(self.profile), self.chosen, release)

    @property
    def open(self) -> Domains:
        """The readings with more than one remaining alternative."""
        return {name: values for name, values in self.domains.items() if len(values) > 1}

    def applies(self, rule: specs.Rule) -> bool:
        """True if a rule applies under the current alternatives."""
        return self.why_not(rule) is None

    def may_be_asked(self, rule: specs.Rule, implementation: Implementation) -> bool:
        """True if a rule applies under some of the remaining alternatives and can be tested."""
        may_apply = all(value in self.domains[name] for name, value in rule.reading.items())
        return may_apply and rule.id in checks() and implementation.unoffered(rule) is None

    def why_not(self, rule: specs.Rule) -> str | None:
        """Return why a rule does not apply, or None."""
        for name, value in rule.reading.items():
            if self.chosen[name] != value:
                if self.how.get(name) in ("undecided", "mixed"):
                    return f"{name} is {self.how[name]}, and taken as {self.chosen[name]}"
                return f"it follows {name}={self.chosen[name]}, not {value}"
        return None

    def choosing(self, choices: Choices) -> ResolvedReadings:
        """Return a copy with these alternatives in force."""
        ahead = {
            name: (value, *(one for one in self.domains[name] if one != value))
            for name, value in choices.items()
        }
        return replace(self, domains={**self.domains, **ahead})

    def how_known(self) -> dict[str, str]:
        """Return how the alternative of each documented reading is known."""
        return {name: self.how[name] for name in documented_readings(self.profile)}


@cache
def documented_readings(profile: str) -> tuple[str, ...]:
    """Return the readings that the profile's documents mention, in order."""
    return tuple(name for name, values in documented_alternatives(profile).items() if values)


@cache
def documented_alternatives(profile: str) -> Mapping[str, tuple[str, ...]]:
    """Return the alternatives of each reading that the profile's documents allow."""
    known = specs.load()
    return {name: known.documented_values(profile, name) for name in known.readings}


def before_asking(implementation: Implementation) -> ResolvedReadings:
    """Return the readings known before asking: pinned or declared; all others are open.

    The readings of a released profile are those of the release, and none is open.
    """
    profile = implementation.profile
    usual = specs.load().default_readings(profile)
    settled = specs.load().profile(profile)
    fixed = dict(settled.readings) if settled.released else {}
    known: dict[str, tuple[Sequence[str], How]] = {}
    for name, documented in documented_alternatives(profile).items():
        others = (value for value in documented if value != usual[name])
        known[name] = (usual[name], *others), "undecided" if documented[1:] else "documented"
        if name in fixed:
            known[name] = (fixed[name],), "documented"
        declared = implementation.declared.get(name)
        if declared in specs.load().open_values(profile, name):
            known[name] = (declared,), "declared"
        if name in implementation.pinned:
            known[name] = (implementation.pinned[name],), "pinned"
    return ResolvedReadings(
        profile,
        {name: values for name, (values, _) in known.items()},
        {name: how for name, (_, how) in known.items()},
    )


class RecordingReadings(Readings):
    """Readings that record which of them are used."""

    _recorded: set[str]

    def __init__(self, choices: Choices) -> None:
        super().__init__(choices)
        object.__setattr__(self, "_recorded", set())

    def __getitem__(self, name: str) -> str:
        self._recorded.add(name)
        return super().__getitem__(name)

    @property
    def consulted(self) -> Choices:
        """Return the readings used so far, with their alternatives."""
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
    """Choices of readings under which answers violate a rule, whatever the other readings are."""

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
    fits: list[Choices] = field(default_factory=list)

    def allows(self, domains: Domains) -> bool:
        """True if the answers violate no rule under at least one choice of readings."""
        return any(map(self._fits, _without_conflict(domains, self.conflicts)))

    @property
    def complaint(self) -> str:
        """Format the rules that the answers violate under every reading."""
        for one in self.conflicts:
            if not one.choices:
                return f"it breaks {one.rule}, whatever the reading"
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
    """Yield choices of readings without a known conflict, most likely first.

    The caller must add to `conflicts` before it requests the next choice.
    """
    turns: dict[str, int] = {}
    """Index of the current alternative of each reading in a conflict; the last changes first."""
    taken: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    learned = 0
    while True:
        for one in conflicts[learned:]:
            taken.setdefault(tuple(one.choices), set()).add(tuple(one.choices.values()))
            turns = {**turns, **{name: 0 for name in one.choices if name not in turns}}
        learned = len(conflicts)
        chosen = {name: values[turns.get(name, 0)] for name, values in domains.items()}
        found = [
            names for names, those in taken.items() if tuple(chosen[n] for n in names) in those
        ]
        if not found:
            yield chosen
        elif not _next_turns(turns, found, domains):
            return


def _next_turns(
    turns: dict[str, int], conflicting: Sequence[Sequence[str]], domains: Domains
) -> bool:
    """Advance to the next alternatives after a conflict; return False after the last.

    `conflicting` lists the readings of each conflict between the current alternatives.
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


def find_readings(
    before: ResolvedReadings, answered: Mapping[str, Iterable[tuple[Trial, Sequence[Json]]]]
) -> ResolvedReadings:
    """Return the open readings, decided by the answers to the trials that aim at them.

    Trials that violate a rule under every reading are ignored here; the verdict on the rule reports
    them.
    """
    evaluator, domains = before.evaluator, before.domains
    evidence = {
        name: [
            one
            for one in as_evidence(evaluator, before.profile, answered.get(name, ()))
            if one.allows(domains)
        ]
        for name in before.open
    }
    domains = narrow(evidence, before.domains)
    how = dict(before.how)
    for name in before.open:
        left = common_alternatives(name, evidence[name], {**domains, name: before.domains[name]})
        if len(left) == 1 and evidence[name]:
            how[name] = "found"
        elif not left:
            how[name] = "mixed"
    return ResolvedReadings(before.profile, domains, how)


def narrow(evidence: Mapping[str, Sequence[Evidence]], domains: Domains) -> Domains:
    """Return the remaining alternatives; each decided reading helps to decide the others."""
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
    """Return the remaining alternatives that are allowed by every trial."""
    trials = list(evidence)
    return tuple(
        value
        for value in domains[reading]
        if all(one.allows({**domains, reading: [value]}) for one in trials)
    )


@cache
def deciding_rules(profile: str, operations: frozenset[str]) -> Sequence[specs.Rule]:
    """Return the rules about these operations, of any profile, except replaced ones."""
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
    """Yield answered trials as evidence, except those declined as unsupported."""
    for trial, answers in answered:
        if not any("unsupported" in answer for answer in answers):
            yield Evidence(evaluator, deciding_rules(profile, trial.operations), trial, answers)


def evidence_of(implementation: Implementation, reading: str, seed: int) -> list[Evidence]:
    """Ask the trials that aim at a reading; return the answers as evidence.

    Trials that the implementation does not support are left out. Errors: `AdapterError`.
    """
    return list(
        as_evidence(
            before_asking(implementation).evaluator,
            implementation.profile,
            _ask_aimed(implementation, reading, seed),
        )
    )


def resolve_readings(implementation: Implementation, seed: int) -> ResolvedReadings:
    """Ask the trials aimed at open readings, and return the readings as the answers decide them.

    Errors: `AdapterError`.
    """
    before = before_asking(implementation)
    return find_readings(
        before, {name: list(_ask_aimed(implementation, name, seed)) for name in before.open}
    )


def _ask_aimed(
    implementation: Implementation, reading: str, seed: int
) -> Iterable[tuple[Trial, Sequence[Json]]]:
    trials = aimed_at(reading, implementation.profile, seed)
    return zip(trials, implementation.answers(trials), strict=True)
