"""The readings of an implementation: pinned, declared, or found from its answers.

An alternative remains possible while every rule allows the answers under it, whatever the other
readings are. Readings that are already known help to decide the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Literal

from pulsar_conformance import specs
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.engine.corpus import aimed_at
from pulsar_conformance.conformance.engine.evidence import Domains, Evidence
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.judge import Court
from pulsar_conformance.reference import Readings

How = Literal["pinned", "declared", "documented", "found", "undecided", "mixed"]
"""How it is known which alternative is followed: by --reading, by hello, since the documents or the
release leave no other, from the answers; or not at all, or now one is and now another."""

EvidenceByReading = Mapping[str, Sequence[Evidence]]
"""The trials that aim at a reading, answered."""


@dataclass(frozen=True)
class Followed:
    """The readings by which an implementation is judged."""

    profile: str
    domains: Domains
    """The alternatives that are left of each reading; the one that counts is the first."""
    how: Mapping[str, How] = field(default_factory=dict)

    @property
    def readings(self) -> Readings:
        """The alternative of each reading by which the implementation is judged."""
        return Readings({name: values[0] for name, values in self.domains.items()})

    @property
    def court(self) -> Court:
        """A court that judges by these readings."""
        return Court(specs.load().defaults(self.profile), self.readings)

    @property
    def open(self) -> Domains:
        """The readings with more than one remaining alternative."""
        return {name: values for name, values in self.domains.items() if len(values) > 1}

    def applies(self, rule: specs.Rule) -> bool:
        """Whether a rule applies under the current alternatives."""
        return self.why_not(rule) is None

    def may_apply(self, rule: specs.Rule) -> bool:
        """Whether a rule applies under some of the remaining alternatives."""
        return all(value in self.domains[name] for name, value in rule.reading.items())

    def why_not(self, rule: specs.Rule) -> str | None:
        """Why a rule does not apply, or an empty text."""
        for name, value in rule.reading.items():
            if self.readings[name] != value:
                return f"it follows {name}={self.readings[name]}, not {value}"
        return None

    def choosing(self, choices: Mapping[str, str]) -> Followed:
        """A copy in which these alternatives come first."""
        ahead = {
            name: (value, *(one for one in self.domains[name] if one != value))
            for name, value in choices.items()
        }
        return replace(self, domains={**self.domains, **ahead})

    def told(self) -> dict[str, str]:
        """How the alternative of each reading is known, for readings that the documents mention."""
        return {name: self.how[name] for name in readings_of(self.profile)}


@cache
def readings_of(profile: str) -> tuple[str, ...]:
    """The readings about which a document of the profile says something, in order."""
    return tuple(name for name, values in alternatives_of(profile).items() if values)


@cache
def alternatives_of(profile: str) -> Mapping[str, tuple[str, ...]]:
    """Of each reading, the alternatives for which the profile's documents have a sentence."""
    documents = {name for one in specs.load().lineage(profile) for name in one.documents}
    return {
        name: tuple(
            alternative.value
            for alternative in reading.alternatives
            if any(source.document in documents for source in alternative.sources)
        )
        for name, reading in specs.load().readings.items()
    }


def before_asking(implementation: Implementation) -> Followed:
    """What is known before any answer: pinned, declared and remaining alternatives.

    The readings of a released profile are what the release does, and are not open.
    """
    profile = implementation.profile
    usual = specs.load().default_readings(profile)
    settled = specs.load().profile(profile)
    fixed = dict(settled.readings) if settled.released else {}
    known: dict[str, tuple[Sequence[str], How]] = {}
    for name, documented in alternatives_of(profile).items():
        others = (value for value in documented if value != usual[name])
        known[name] = (usual[name], *others), "undecided" if documented[1:] else "documented"
        if name in fixed:
            known[name] = (fixed[name],), "documented"
        declared = implementation.declared.get(name)
        if declared in specs.load().open_values(profile, name):
            known[name] = (declared,), "declared"
        if name in implementation.pinned:
            known[name] = (implementation.pinned[name],), "pinned"
    return Followed(
        profile,
        {name: values for name, (values, _) in known.items()},
        {name: how for name, (_, how) in known.items()},
    )


def found(before: Followed, evidence: EvidenceByReading) -> Followed:
    """The open readings as the answers to aimed trials decide them.

    Trials that break a rule under every reading are ignored here; the rule reports them.
    """
    telling = {
        name: [one for one in evidence.get(name, ()) if one.allows(before.domains)]
        for name in before.open
    }
    domains = narrowed(telling, before.domains)
    how = dict(before.how)
    for name in before.open:
        left = common(name, telling[name], {**domains, name: before.domains[name]})
        if len(left) == 1 and telling[name]:
            how[name] = "found"
        elif not left:
            how[name] = "mixed"
    return Followed(before.profile, domains, how)


def narrowed(evidence: EvidenceByReading, domains: Domains) -> Domains:
    """The alternatives that remain after each reading has helped to decide the others."""
    while True:
        before = domains
        for reading, trials in evidence.items():
            left = common(reading, trials, domains)
            if left:  # nothing is left where an implementation follows none, or several
                domains = {**domains, reading: left}
        if domains == before:
            return domains


def common(reading: str, evidence: Iterable[Evidence], domains: Domains) -> tuple[str, ...]:
    """The remaining alternatives that every trial allows."""
    trials = list(evidence)
    return tuple(
        value
        for value in domains[reading]
        if all(one.allows({**domains, reading: [value]}) for one in trials)
    )


@cache
def telling_rules(profile: str, operations: frozenset[str]) -> Sequence[specs.Rule]:
    """The documented rules about these operations: those of the profile, and of other readings."""
    lineage = {one.id for one in specs.load().lineage(profile)}
    return [
        rule
        for rule in specs.load().rules.values()
        if rule.provenance == "documented"
        and rule.untestable is None
        and (rule.reading or lineage.intersection(rule.profiles))
        and operations & set(rule.operations)
    ]


def followed_by(implementation: Implementation, seed: int) -> Followed:
    """The readings that an implementation follows, by aimed trials. Errors: `AdapterError`."""
    before = before_asking(implementation)
    return found(before, {name: evidence_of(implementation, name, seed) for name in before.open})


def evidence_of(implementation: Implementation, reading: str, seed: int) -> list[Evidence]:
    """The trials that aim at a reading, with answers to those that it supports.

    Errors: `AdapterError`.
    """
    trials = aimed_at(reading, implementation.profile, seed)
    court = before_asking(implementation).court
    answered = zip(trials, implementation.answers(trials), strict=True)
    return list(telling(court, implementation.profile, answered))


def telling(
    court: Court, profile: str, answered: Iterable[tuple[Trial, Sequence[Json]]]
) -> Iterator[Evidence]:
    """The answers as evidence, without unsupported questions."""
    for trial, answers in answered:
        if not any("unsupported" in answer for answer in answers):
            yield Evidence(court, telling_rules(profile, trial.operations), trial, answers)
