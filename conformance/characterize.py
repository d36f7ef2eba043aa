"""Which readings an implementation follows, found out from its answers alone.

An alternative is possible as long as every rule allows the answers under it, whatever the other
readings are; those that are found out already help with the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from pulsar_conformance import specs
from pulsar_conformance.conformance import checks
from pulsar_conformance.conformance.draw import draw
from pulsar_conformance.conformance.draws.aimed import AIMED
from pulsar_conformance.conformance.evidence import Domains, Evidence
from pulsar_conformance.conformance.legal import bad_trial
from pulsar_conformance.conformance.respondent import Respondent
from pulsar_conformance.conformance.trial import Trial

assert checks.__all__, "importing the checks registers them"

CASES = 8
"""Trials that decide a reading, of each strategy that aims at it."""

Found = Mapping[str, Sequence[Evidence]]
"""The evidence for each reading: its own trials, answered."""


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


def characterize(respondent: Respondent, seed: int) -> list[Finding]:
    """What the implementation was found to follow, of each reading of the profile.

    Errors: `AdapterError` where it breaks.
    """
    readings = readings_of(respondent.profile)
    found = {name: _evidence(respondent, name, seed) for name in readings if name in AIMED}
    domains = _narrowed(found, _every_alternative(respondent))
    return [_finding(respondent, name, found.get(name), domains, seed) for name in readings]


def _narrowed(found: Found, domains: Domains) -> Domains:
    """The alternatives that are left when each reading has helped to decide the others."""
    while True:
        before = domains
        for reading, evidence in found.items():
            left = _common(reading, evidence, domains)
            if left:  # nothing is left where an implementation follows none, or several
                domains = {**domains, reading: left}
        if domains == before:
            return domains


def _common(reading: str, evidence: Sequence[Evidence], domains: Domains) -> list[str]:
    """The alternatives, of those left, that every trial allows."""
    return [
        value
        for value in domains[reading]
        if all(one.allows({**domains, reading: [value]}) for one in evidence)
    ]


def _evidence(respondent: Respondent, reading: str, seed: int) -> list[Evidence]:
    """The trials that aim at a reading, with the answers to those that it can be asked."""
    trials = trials_for(reading, respondent.profile, seed)
    answers = respondent.answers(trials)
    return [
        Evidence(respondent.court, _rules(respondent.profile, trial.operations), trial, answered)
        for trial, answered in zip(trials, answers, strict=True)
        if not any("unsupported" in answer for answer in answered)
    ]


@cache
def trials_for(reading: str, profile: str, seed: int) -> tuple[Trial, ...]:
    """The legal trials that tell the alternatives of a reading apart."""
    defaults = specs.load().defaults(profile)
    return tuple(
        trial
        for strategy in AIMED[reading]
        for trial in draw(strategy, CASES, f"{seed}/{reading}")
        if bad_trial(trial, defaults) is None
    )


@cache
def readings_of(profile: str) -> tuple[str, ...]:
    """The readings about which some document of the profile says something, in order."""
    documents = {name for one in specs.load().lineage(profile) for name in one.documents}
    return tuple(
        name
        for name, reading in specs.load().readings.items()
        if any(
            source.document in documents
            for alternative in reading.alternatives
            for source in alternative.sources
        )
    )


@cache
def _rules(profile: str, operations: frozenset[str]) -> Sequence[specs.Rule]:
    """The documented rules about these operations: the profile's, and of others each reading's."""
    lineage = {one.id for one in specs.load().lineage(profile)}
    return [
        rule
        for rule in specs.load().rules.values()
        if rule.provenance == "documented"
        and rule.untestable is None
        and (rule.reading or lineage.intersection(rule.profiles))
        and operations & set(rule.operations)
    ]


def _every_alternative(respondent: Respondent) -> Domains:
    """All alternatives of every reading, first what the implementation says or was asked for."""
    return {
        name: sorted(reading.values, key=lambda value: value != respondent.readings[name])
        for name, reading in specs.load().readings.items()
    }


def _finding(
    respondent: Respondent,
    reading: str,
    evidence: Sequence[Evidence] | None,
    domains: Domains,
    seed: int,
) -> Finding:
    says = respondent.hello.readings.get(reading)
    if evidence is None:
        return Finding(reading, says, "undecided", _unasked(reading))
    if not evidence:
        asked = trials_for(reading, respondent.profile, seed)
        why = "it does not offer what would tell" if asked else "no case that tells is legal"
        return Finding(reading, says, "undecided", why)
    every = {**domains, reading: specs.load().readings[reading].values}
    for one in evidence:
        if not one.allows(every):
            return Finding(reading, says, "none", one.complaint)
    left = _common(reading, evidence, every)
    if not left:
        return Finding(reading, says, "mixed", "one alternative here, another there")
    if len(left) > 1:
        return Finding(reading, says, "undecided", " or ".join(left))
    return Finding(reading, says, *left)


def _unasked(reading: str) -> str:
    """Why no case aims at a reading."""
    rules = [rule for rule in specs.load().rules.values() if reading in rule.reading]
    if rules and all(rule.untestable for rule in rules):
        return f"{', '.join(rule.id for rule in rules)}, which would tell, cannot be tested"
    return "no case aims at it yet"
