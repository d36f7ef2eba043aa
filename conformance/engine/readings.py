"""Finds the readings that an implementation follows.

Readings are pinned by the run, declared by the implementation, or inferred from its answers. An
alternative of a reading is possible if, under some choice of the other readings, all rules allow
the answers. Readings that are already known help to decide the others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Literal

from pulsar_conformance import specs
from pulsar_conformance.conformance.cases import saved
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.engine.draw import aimed_at, controls_of
from pulsar_conformance.conformance.engine.evaluate import (
    Choices,
    Disagreeing,
    Domains,
    Evidence,
    RuleEvaluator,
    common_alternatives,
    disagreeing_trials,
    narrow_domains,
    without_broken_rules,
)
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.reference import Readings
from pulsar_conformance.reference.context import Context

How = Literal["pinned", "declared", "documented", "found", "undecided", "mixed"]
"""How the alternative of a reading is known.

`pinned`: given by --reading. `declared`: in the hello message. `documented`: the documents or the
release allow only this one. `found`: from the answers. `undecided`: not known. `mixed`: the answers
contradict each other.
"""


@dataclass(frozen=True)
class ResolvedReadings:
    """The readings by which an implementation is judged."""

    profile: str
    domains: Domains
    """The alternatives that remain possible for each reading; the first one is in force."""
    how: Mapping[str, How] = field(default_factory=dict)
    disagreeing: Mapping[str, Disagreeing] = field(default_factory=dict)
    """For each mixed reading, two trials that contradict each other, if there are two."""

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

        The rule may apply if the answers have not excluded the alternatives that it needs.
        """
        may_apply = all(value in self.domains[name] for name, value in rule.reading.items())
        return may_apply and rule.id in checks() and implementation.why_not_offered(rule) is None

    def why_not(self, rule: specs.Rule) -> str | None:
        """Return why a rule does not apply under the alternatives in force; None if it applies."""
        for name, value in rule.reading.items():
            if self.chosen[name] != value:
                if self.how.get(name) in ("undecided", "mixed"):
                    return f"{name} is {self.how[name]}, so {self.chosen[name]} is assumed"
                return f"it follows {name}={self.chosen[name]}, not {value}"
        return None

    def excludes(self, name: str, value: str) -> bool:
        """True if the answers have excluded an alternative of a reading."""
        return self.how[name] in ("found", "undecided") and value not in self.domains[name]

    def choosing(self, choices: Choices) -> ResolvedReadings:
        """Return a copy in which these alternatives are in force."""
        ahead = {
            name: (value, *(one for one in self.domains[name] if one != value))
            for name, value in choices.items()
        }
        return replace(self, domains={**self.domains, **ahead})

    def how_known(self) -> dict[str, str]:
        """Return, for each reading of the documents, how it is known, such as "found"."""
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
    """Return the readings, as far as they are known before anything is asked.

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


AnswersByReading = Mapping[str, Iterable[tuple[Trial, Sequence[Json]]]]
"""Answered trials, with their answers, by reading."""


def find_readings(
    before: ResolvedReadings, answered: AnswersByReading, controls: AnswersByReading
) -> ResolvedReadings:
    """Return the readings; open readings are decided as far as the answers allow.

    `answered` has, for each reading, the trials that distinguish its alternatives, with their
    answers. Trials that violate a rule under every reading are ignored; the verdict on that rule
    reports them. `controls` has trials whose answers do not depend on the reading. A rule that is
    violated in controls does not decide the reading: its fault may look like an alternative.
    """
    evaluator, domains = before.evaluator, before.domains

    def evidence_in(trials: AnswersByReading, name: str) -> list[Evidence]:
        return list(as_evidence(evaluator, before.profile, trials.get(name, ())))

    suspects = {
        name: {
            rule
            for one in evidence_in(controls, name)
            if not one.allows(domains)
            for rule in one.violated_rules()
        }
        for name in before.open
    }
    evidence = _evidence_that_decides(
        {name: evidence_in(answered, name) for name in before.open}, suspects, domains
    )
    domains = narrow_domains(evidence, before.domains)
    how = dict(before.how)
    disagreeing = {}
    for name in before.open:
        possible = {**domains, name: before.domains[name]}
        left = common_alternatives(name, evidence[name], possible)
        if len(left) == 1 and evidence[name]:
            how[name] = "found"
        elif not left:
            how[name] = "mixed"
            disagreeing[name] = disagreeing_trials(name, evidence[name], possible)
    return ResolvedReadings(before.profile, domains, how, disagreeing)


def _evidence_that_decides(
    evidence: Mapping[str, Sequence[Evidence]],
    suspects: Mapping[str, Collection[str]],
    domains: Domains,
) -> dict[str, list[Evidence]]:
    """Return the evidence that can decide each reading.

    `suspects` has, for each reading, the rules that are violated in its controls. Nothing can
    decide a reading whose remaining alternatives depend on whether these rules are left out.
    """
    left = without_broken_rules(evidence, domains)
    if not any(suspects.values()):
        return left
    sound = {name: [one for one in each if one.allows(domains)] for name, each in evidence.items()}
    rest = {
        name: [one.judged_without(suspects[name]) for one in each] for name, each in left.items()
    }
    by_all, by_rest = narrow_domains(sound, domains), narrow_domains(rest, domains)
    return {
        name: [] if suspects[name] and by_all[name] != by_rest[name] else each
        for name, each in left.items()
    }


FAULT_LOOKS_MIXED = "a fault, perhaps a known deviation, changes its answers"
"""Possible reason why the answers of an implementation agree with no alternative."""


def describe_mixed(reading: str, disagreeing: Disagreeing, profile: str, root: Path) -> str:
    """Return text about a mixed reading: two cases that show it, causes, and options to pin it.

    The cases are saved below `root`.
    """
    fits = [
        f"{' or '.join(values)} fits its answer to "
        f"{saved.save(trial, root, {'profile': profile}).as_posix()}"
        for trial, values in disagreeing
    ]
    shows = " but ".join([*fits, *([] if fits else ["none fits all its answers"])])
    shows += f"; either it switches between alternatives, or {FAULT_LOOKS_MIXED}"
    options = (
        f"--reading {reading}={value}" for value in specs.load().open_values(profile, reading)
    )
    return f"{shows}; to judge it by one alternative, give {' or '.join(options)}"


@cache
def deciding_rules(profile: str, operations: frozenset[str]) -> Sequence[specs.Rule]:
    """Return the rules about these operations that can decide a reading.

    These are the testable documented rules of the profile and its base profiles, and the rules of
    any profile that apply under one alternative of a reading. Rules that the profile replaces are
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
    """Yield evidence for each trial, unless one of its questions is unsupported or has failed."""
    for trial, answers in answered:
        if not any("unsupported" in answer or "failed" in answer for answer in answers):
            yield Evidence(evaluator, deciding_rules(profile, trial.operations), trial, answers)


def evidence_of(implementation: Implementation, reading: str, seed: int) -> list[Evidence]:
    """Ask the trials that distinguish a reading's alternatives; return the answers as evidence.

    Trials that the implementation does not support are left out. Errors: `AdapterError`.
    """
    return list(
        as_evidence(
            before_asking(implementation).evaluator,
            implementation.profile,
            _ask_trials(implementation, aimed_at(reading, implementation.profile, seed)),
        )
    )


def resolve_readings(implementation: Implementation, seed: int) -> ResolvedReadings:
    """Ask trials that distinguish the alternatives of open readings; return the readings found.

    Errors: `AdapterError`.
    """
    before = before_asking(implementation)
    profile = implementation.profile
    answered, controls = (
        {
            name: list(_ask_trials(implementation, trials_of(name, profile, seed)))
            for name in before.open
        }
        for trials_of in (aimed_at, controls_of)
    )
    return find_readings(before, answered, controls)


def _ask_trials(
    implementation: Implementation, trials: Sequence[Trial]
) -> Iterable[tuple[Trial, Sequence[Json]]]:
    return zip(trials, implementation.answers(trials), strict=True)
