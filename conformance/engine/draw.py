"""Draw: collect trials for rules and readings from saved cases, worked examples and strategies.

Answers never influence what is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Literal

from pulsar_conformance import fixtures, specs
from pulsar_conformance.conformance.any_answer.transformations import variations
from pulsar_conformance.conformance.cases.legality import bad_trial
from pulsar_conformance.conformance.catalogue import OPERATIONS, aimed, checks
from pulsar_conformance.conformance.common.trial import Question, Trial
from pulsar_conformance.conformance.drawing.drawing import draw
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.reference import Readings

Origin = Literal["saved", "example", "searched", "drawn", "aimed", "other"]
"""Source of a trial: `searched` is a fault that a campaign found, and `other` was drawn for a
different rule.
"""

TRIALS_PER_AIM = 8
"""Trials of each strategy that distinguishes the alternatives of a reading."""

COSTLY_DIVISOR = 2
"""A rule's number of trials is divided by this where a case takes seconds, since the cases of other
rules are shared with it.
"""

COSTLY_RULES = 12
"""Where a case takes seconds, an operation gets at most this many times the number of examples."""

VARIED = 4
"""One drawn trial in this many gets other names, another notation or additions without effect."""

GROWTH_LIMIT = 8
"""Factor by which the number of draws may grow while there are too few different questions."""

LEAST_NEW_SHARE = 0.4
"""Drawing stops when a larger draw yields less than this share of the questions expected from it.
"""

SEQUENCE_WEIGHT = 6
"""Weight of a rule with sequences of questions when the work of a group is estimated."""


@dataclass(frozen=True, eq=False)
class SourcedTrial:
    """A trial and where it comes from; compared by identity, so that each is asked once."""

    origin: Origin
    trial: Trial
    example: fixtures.Example | None = None
    broke: str | None = None
    """ID of the rule that a saved trial broke, or None if unknown."""


def earlier_trials(plan: Plan) -> tuple[SourcedTrial, ...]:
    """Return the plan's replayed trial, or else its saved trials, which all rules share."""
    if plan.replay is not None:
        return (SourcedTrial("saved", plan.replay),)
    return tuple(SourcedTrial("saved", one.trial, broke=one.rule) for one in plan.saved)


def trials_of_rule(
    rule: specs.Rule,
    plan: Plan,
    implementation: Implementation,
    earlier: Sequence[SourcedTrial] | None = None,
) -> Iterator[SourcedTrial]:
    """Yield a rule's trials: saved ones first, then worked examples, then drawn ones.

    A replayed case is the only trial. An implementation that can be asked only about its own state
    lists its trials in hello. Trials that are invalid under the profile are left out.
    """
    earlier = earlier_trials(plan) if earlier is None else earlier
    if plan.replay is not None:
        yield from earlier
        return
    profile = implementation.profile
    defaults = specs.load().defaults(profile)
    if implementation.hello.own is not None:
        for questions in implementation.hello.own.get(rule.id, ()):
            own = Trial(tuple(Question(*question) for question in questions))
            if bad_trial(own, defaults) is None:
                yield SourcedTrial("drawn", own)
        return
    for saved in earlier:
        if checks()[rule.id].judges(saved.trial) and bad_trial(saved.trial, defaults) is None:
            yield saved
    for example in fixtures.examples_of(rule.id):
        if example.holds_in(specs.load(), profile):
            trial = Trial(tuple(Question(*question) for question in example.questions))
            if bad_trial(trial, defaults) is None:
                yield SourcedTrial("example", trial, example)
    if plan.campaign is not None:
        for trial in plan.searched(implementation.adapter, profile, rule.id).faults:
            yield SourcedTrial("searched", trial)
        return
    plugged = implementation.plugged_strategy if rule.any_strategy else None
    costly = implementation.costly(rule)
    examples = examples_for_costly_rule(rule, plan) if costly else plan.examples
    for trial in draw_trials(rule.id, profile, plan.seed, examples):
        yield SourcedTrial("drawn", trial if plugged is None else with_strategy(plugged, trial))


def examples_for_costly_rule(rule: specs.Rule, plan: Plan) -> int:
    """Return how many trials to draw for a rule whose cases take seconds each."""
    rules = specs.load().rules.values()
    sharing = max(sum(name in one.operations for one in rules) for name in rule.operations)
    return min(-(-plan.examples // COSTLY_DIVISOR), -(-plan.examples * COSTLY_RULES // sharing))


@cache
def draw_trials(rule: str, profile: str, seed: int, examples: int) -> tuple[Trial, ...]:
    """Return valid trials that aim at a rule, the same for every implementation."""
    defaults = specs.load().defaults(profile)
    parts = checks()[rule].parts
    share = -(-examples // len(parts))
    trials = [
        trial
        for place, part in enumerate(parts)
        for trial in draw(
            part.filter(lambda trial: bad_trial(trial, defaults) is None),
            share,
            f"{seed}/{profile}/{rule}" + (f"/{place}" if place else ""),
        )
    ]
    spec = specs.load()
    if not (spec.rules[rule].any_operation or spec.profiles[profile].released):
        random = Random(f"{seed}/{profile}/{rule}/varied")
        for place in range(VARIED - 1, len(trials), VARIED):
            other = _vary(trials[place], random)
            trials[place] = trials[place] if bad_trial(other, defaults) else other
    return tuple(trials)


def _vary(trial: Trial, random: Random) -> Trial:
    """Return a trial with other names, notation or additions that must not change the answer."""
    known, weights = variations(trial)
    return random.choices(known, weights)[0].of_all(trial) if known else trial


@cache
def aimed_at(reading: str, profile: str, seed: int) -> tuple[Trial, ...]:
    """Return valid trials that tell a reading's alternatives apart.

    They do so whatever the other readings are.
    """
    defaults = specs.load().defaults(profile)
    return tuple(
        trial
        for aim in aimed().get(reading, ())
        for trial in draw(aim.strategy, TRIALS_PER_AIM, f"{seed}/{reading}")
        if bad_trial(trial, defaults) is None
    )


def aimed_trials(
    readings: Sequence[str], operations: Set[str], implementation: Implementation, plan: Plan
) -> dict[str, list[SourcedTrial]]:
    """Return, for each reading, trials of these operations that tell its alternatives apart.

    Fewer are used where each takes the implementation seconds.
    """
    if implementation.hello.own is not None:
        return {}
    costly = set(implementation.hello.costly)
    found = {}
    for reading in readings:
        if any(aim.operation in operations for aim in aimed().get(reading, ())):
            trials = aimed_at(reading, implementation.profile, plan.seed)
            quick = [trial for trial in trials if not trial.operations & costly]
            slow = [trial for trial in trials if trial.operations & costly]
            found[reading] = [
                SourcedTrial("aimed", trial)
                for trial in (*quick, *slow[::COSTLY_DIVISOR])
                if trial.operations <= operations
            ]
    return found


def distinct_questions(operation: str, profile: str, seed: int, examples: int) -> list[Trial]:
    """Return distinct single-question trials of an operation, as drawn by a profile's rules."""
    found: dict[str, Trial] = {}
    for rule in specs.load().rules_of(profile):
        if operation in rule.operations and rule.untestable is None:
            for trial in draw_trials(rule.id, profile, seed, examples):
                for question in trial.questions:
                    if question.operation == operation:
                        alone = Trial((question,))
                        found[alone.fingerprint] = alone
    return list(found.values())


def sample_questions(
    operation: str, profile: str, seed: int, examples: int, least: int
) -> list[Trial]:
    """Return `least` distinct questions of an operation, spread evenly over those drawn.

    The number of draws per rule starts at `examples` and grows until there are enough. Fewer are
    returned if larger draws bring too few new ones.
    """
    found = distinct_questions(operation, profile, seed, examples)
    while 0 < len(found) < least:
        times = min(GROWTH_LIMIT, -(-least * 5 // (len(found) * 4)))
        before, examples = len(found), examples * times
        found = distinct_questions(operation, profile, seed, examples)
        if len(found) < before * times * LEAST_NEW_SHARE:
            break
    step = max(1.0, len(found) / max(1, least))
    return [found[int(step * place)] for place in range(min(least, len(found)))]


def with_strategy(strategy: str, trial: Trial) -> Trial:
    """Return the questions with another shedding strategy."""
    return Trial(
        tuple(
            Question(operation, {**case, "strategy": strategy} if "strategy" in case else case)
            for operation, case in trial.questions
        )
    )


def holds_under(example: fixtures.Example, readings: Readings) -> bool:
    """True if an example applies under these readings."""
    return all(readings[name] == value for name, value in example.readings.items())


def group_rules(
    rules: Sequence[specs.Rule], sequential: Set[str] | None = None
) -> list[list[specs.Rule]]:
    """Return groups of rules that share no operation, largest first.

    One group can be asked while the next is drawn. `sequential` names the operations whose cases
    are sequences of questions, which take longer; by default those of the catalogue.
    """
    if sequential is None:
        sequential = {name for name, one in OPERATIONS.items() if one.sequential}
    groups: list[set[str]] = []
    for rule in rules:
        joined = set(rule.operations).union(*(one for one in groups if one & {*rule.operations}))
        groups = [*(one for one in groups if not one & joined), joined]
    found = [[rule for rule in rules if one & {*rule.operations}] for one in groups]

    def first(together: Sequence[specs.Rule]) -> tuple[int, int]:
        slow = (sequential & {*rule.operations} for rule in together)
        work = sum(SEQUENCE_WEIGHT if one else 1 for one in slow)
        return -work, rules.index(together[0])

    return sorted(found, key=first)
