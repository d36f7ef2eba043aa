"""What the answers of a run show of each rule: allowed, broken, or broken by what it builds on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from itertools import islice, product

from pulsar_conformance import specs
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.conformance.engine.corpus import Tried
from pulsar_conformance.conformance.engine.evidence import Choices
from pulsar_conformance.conformance.engine.hearing import Hearing
from pulsar_conformance.conformance.engine.judge import Fault, Outcome
from pulsar_conformance.conformance.engine.subject import Subject

Answered = tuple[Tried, Sequence[Json]]

Docket = Mapping[str, Sequence[Answered]]
"""By rule, its trials with their answers."""

Outcomes = Mapping[str, Sequence[Outcome]]
"""By rule, what it says of each of its trials."""

MOST_CHOICES = 64
"""So many combinations of undecided readings are tried for a rule, the likeliest first."""

MOST_EXCUSES = 8
"""So many of those that allow all answers about one rule are held against the other rules."""

UNSPOKEN = Outcome("not_reached", why="the rule does not speak about the case")
"""Of a saved case that was not answered, and on which another rule was broken."""

ILLEGAL = Outcome("not_reached", why="the case leaves out a setting that these readings need")

SPOKEN = frozenset({"allowed", "violated"})


@dataclass
class Findings:
    """What was found about one rule."""

    hearing: Hearing
    answered: Sequence[Answered]
    outcomes: Sequence[Outcome]
    own: list[Fault] = field(default_factory=list)
    """What breaks this rule and nothing that it builds on, the first first."""
    aside: int = 0
    """How many cases break a rule that it builds on, too."""
    wrong: AdapterError | None = None
    """Why it cannot be told whose fault it is."""

    @property
    def reached(self) -> int:
        """On how many trials the rule had something to say."""
        allowed = sum(outcome.word == "allowed" for outcome in self.outcomes)
        return allowed + len(self.own)


def settled(
    rules: Sequence[specs.Rule], docket: Docket, subject: Subject
) -> tuple[Subject, Outcomes]:
    """The readings under which fewest rules are broken, of those left, and the outcomes.

    Of readings that no trial aimed at decides, the answers of the whole run may: a rule is broken
    only where no alternative allows all that was answered to its questions.
    """
    outcomes = _judged(rules, docket, subject)
    best = _broken(outcomes), subject, outcomes
    for choices in _excuses(rules, docket, outcomes, subject):
        other = subject.choosing(choices)
        outcomes = _judged(rules, docket, other)
        if _broken(outcomes) < best[0]:
            best = _broken(outcomes), other, outcomes
    return best[1:]


def outcomes_of(rule: specs.Rule, answered: Sequence[Answered], subject: Subject) -> list[Outcome]:
    """What a rule says of each of its trials."""
    hearing = Hearing(rule, subject)
    return [_outcome(hearing, *one) for one in answered]


def _judged(rules: Sequence[specs.Rule], docket: Docket, subject: Subject) -> Outcomes:
    return {
        rule.id: outcomes_of(rule, docket[rule.id], subject)
        for rule in rules
        if rule.id in docket and subject.followed.applies(rule)
    }


def _broken(outcomes: Outcomes) -> int:
    """How many rules are broken."""
    return sum(any(outcome.violated for outcome in row) for row in outcomes.values())


def _excuses(
    rules: Sequence[specs.Rule], docket: Docket, outcomes: Outcomes, subject: Subject
) -> list[Choices]:
    """Choices of open readings that allow all answers about some rule that is broken now."""
    followed = subject.followed
    found: list[Choices] = []
    for rule in rules if followed.open else ():
        pairs = zip(docket.get(rule.id, ()), outcomes.get(rule.id, ()), strict=False)
        faulty = [one for one, outcome in pairs if outcome.violated]
        if not faulty:
            continue
        hearing = Hearing(rule, subject)
        rests = [hearing.consulted(one.trial, answers) for one, answers in faulty]
        names = [name for name in followed.open if any(name in choices for choices in rests)]
        likely = _likely(names, subject)
        asked = [*faulty, *docket[rule.id]]  # most choices are ruled out by a faulty one
        excuse = next((one for one in likely if _excused(hearing, one, asked)), None)
        found += [excuse] if excuse is not None and excuse not in found else []
    return found[:MOST_EXCUSES]


def _likely(names: Sequence[str], subject: Subject) -> Iterator[Choices]:
    """Combinations of what is left of these readings: first with one of them taken otherwise."""
    domains = subject.followed.open
    for name in names:
        yield from ({name: value} for value in domains[name][1:])
    for values in islice(product(*(domains[name] for name in names)), MOST_CHOICES):
        yield dict(zip(names, values, strict=True))


def _excused(hearing: Hearing, choices: Choices, asked: Sequence[Answered]) -> bool:
    """Whether a rule is not broken where open readings are taken so."""
    other = Hearing(hearing.rule, hearing.subject.choosing(choices))
    applies = other.subject.followed.applies(hearing.rule)
    return not applies or not any(_outcome(other, *one).violated for one in asked)


def dependents_first(rules: Sequence[specs.Rule]) -> list[specs.Rule]:
    """The rules in an order in which each comes after those that build on it."""
    known = {rule.id: rule for rule in rules}
    builders: dict[str, list[str]] = {rule.id: [] for rule in rules}
    for rule in rules:
        for presupposed in rule.presupposes:
            if presupposed in known:
                builders[presupposed].append(rule.id)
    return [known[name] for name in TopologicalSorter(builders).static_order()]


def attributed(
    rules: Sequence[specs.Rule], docket: Docket, outcomes: Outcomes, subject: Subject
) -> dict[str, Findings]:
    """Each fault held against the rule that it is a fault of, which may be one built upon.

    A rule that a release is known to break is no rule of its profile: there the fault ends.
    """
    findings = {
        rule.id: Findings(Hearing(rule, subject), docket[rule.id], outcomes[rule.id])
        for rule in rules
        if rule.id in outcomes
    }
    for rule in dependents_first([one.hearing.rule for one in findings.values()]):
        mine = findings[rule.id]
        trials = zip(mine.answered, mine.outcomes, strict=True)
        faults = [
            Fault(tried.trial, answers, outcome)
            for (tried, answers), outcome in trials
            if outcome.violated and not outcome.unanswered
        ]
        handed, mine.own = mine.own, []
        try:
            blames = mine.hearing.blamed([*faults, *handed])
        except AdapterError as error:
            mine.wrong = error
            continue
        for blame in blames:
            if blame.rule is None:
                mine.own.append(blame.fault)
                continue
            mine.aside += 1
            if blame.beneath is not None and blame.rule in findings:
                findings[blame.rule].own.append(blame.beneath)
    return findings


def _outcome(hearing: Hearing, tried: Tried, answers: Sequence[Json]) -> Outcome:
    if tried.origin in ("saved", "example"):
        if not hearing.subject.court.legal(tried.trial):
            return ILLEGAL
        if tried.origin == "saved" and _beside(hearing, tried, answers):
            return UNSPOKEN
    return hearing.outcome(tried.trial, answers)


def _beside(hearing: Hearing, tried: Tried, answers: Sequence[Json]) -> bool:
    """Whether a saved case has no answer, and is none that the rule has a say in.

    A failure tells nothing of the case: without this, a saved one would break every rule of its
    operation. The rule has a say where what the model answers reaches it.
    """
    if not any("failed" in one for one in answers):
        return False
    right = hearing.subject.right(tried.trial)
    return right is not None and hearing.outcome(tried.trial, right).word not in SPOKEN
