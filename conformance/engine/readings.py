"""Find the readings that an implementation follows.

They are pinned by the run, declared by the implementation, or inferred from its answers. An
alternative of a reading remains possible while there is a choice of the other readings under which
all rules allow the answers. Readings that are already known help to decide the rest.
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
"""How the alternative of a reading is known.

`pinned`: given by --reading. `declared`: in the hello message. `documented`: the documents or the
release leave no other. `found`: from the answers. `undecided`: not known. `mixed`: the answers
contradict each other.
"""


@dataclass(frozen=True)
class ResolvedReadings:
    """The readings by which an implementation is judged."""

    profile: str
    domains: Domains
    """The alternatives that remain possible for each reading; the first one is in force."""
    how: Mapping[str, How] = field(default_factory=dict)

    @property
    def chosen(self) -> Readings:
        """The alternative of each reading that is in force."""
        return Readings({name: values[0] for name, values in self.domains.items()})

    @property
    def evaluator(self) -> RuleEvaluator:
        """An evaluator that judges under the alternatives in force."""
        release = Context.of(self.profile, None, False).release
        return RuleEvaluator(specs.load().defaults(self.profile), self.chosen, release)

    @property
    def open(self) -> Domains:
        """The readings with more than one remaining alternative."""
        return {name: values for name, values in self.domains.items() if len(values) > 1}

    def applies(self, rule: specs.Rule) -> bool:
        """True if a rule applies under the alternatives in force."""
        return self.why_not(rule) is None

    def may_be_asked(self, rule: specs.Rule, implementation: Implementation) -> bool:
        """True if an implementation can be tested by a rule, and the rule may apply to it.

        It may apply if the alternatives that it needs have not been ruled out.
        """
        may_apply = all(value in self.domains[name] for name, value in rule.reading.items())
        return may_apply and rule.id in checks() and implementation.why_not_offered(rule) is None

    def why_not(self, rule: specs.Rule) -> str | None:
        """Return why a rule does not apply under the alternatives in force, or None."""
        for name, value in rule.reading.items():
            if self.chosen[name] != value:
                if self.how.get(name) in ("undecided", "mixed"):
                    return f"{name} is {self.how[name]}, so {self.chosen[name]} is assumed"
                return f"it follows {name}={self.chosen[name]}, not {value}"
        return None

    def choosing(self, choices: Choices) -> ResolvedReadings:
        """Return a copy in which these alternatives are in force."""
        ahead = {
            name: (value, *(one for one in self.domains[name] if one != value))
            for name, value in choices.items()
        }
        return replace(self, domains={**self.domains, **ahead})

    def how_known(self) -> dict[str, str]:
        """Return how each reading of the profile's documents is known, such as "found"."""
        return {name: self.how[name] for name in documented_readings(self.profile)}


@cache
def documented_readings(profile: str) -> tuple[str, ...]:
    """Return the names of the readings that the profile's documents mention, in order."""
    return tuple(name for name, values in documented_alternatives(profile).items() if values)


@cache
def documented_alternatives(profile: str) -> Mapping[str, tuple[str, ...]]:
    """Return the alternatives of each reading that the profile's documents allow."""
    known = specs.load()
    return {name: known.documented_values(profile, name) for name in known.readings}


def before_asking(implementation: Implementation) -> ResolvedReadings:
    """Return the readings as known before anything is asked.

    Pinned and declared readings are known, and all others are open. Under a released profile, the
    readings are those of the release, and none is open.
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


def find_readings(
    before: ResolvedReadings, answered: Mapping[str, Iterable[tuple[Trial, Sequence[Json]]]]
) -> ResolvedReadings:
    """Return the readings, with the open ones decided as far as answers allow.

    `answered` has, for each reading, the trials that distinguish its alternatives, with their
    answers. Trials that violate a rule under every reading are ignored; the verdict on that rule
    reports them.
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


def evidence_of(implementation: Implementation, reading: str, seed: int) -> list[Evidence]:
    """Ask the trials that distinguish a reading's alternatives; return the answers as evidence.

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
    """Ask trials that distinguish the alternatives of open readings; return the readings found.

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
