"""Draw: collects the trials of each rule and reading.

Trials come from saved cases, worked examples and Hypothesis strategies. Answers never influence
which trials are drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Literal

from hypothesis.strategies import SearchStrategy
from pulsar_conformance import fixtures, specs
from pulsar_conformance.conformance.any_answer.edits import EDITED_OPERATIONS, edited, fits
from pulsar_conformance.conformance.any_answer.transformations import variations
from pulsar_conformance.conformance.cases.legality import (
    Defaults,
    drawn_flaw,
    trial_flaw,
)
from pulsar_conformance.conformance.catalogue import OPERATIONS, aims_by_reading, checks
from pulsar_conformance.conformance.common.trial import Question, Trial
from pulsar_conformance.conformance.drawing.drawing import draw
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.reference import Readings
from pulsar_conformance.reference.answers.shedding import strategies_of
from pulsar_conformance.reference.shedding import TRANSFER_SHEDDER

Origin = Literal["saved", "example", "searched", "drawn", "edited", "aimed", "other"]
"""Source of a trial. `edited`: a drawn trial that was edited at random, and may no longer concern
its rule. `searched`: a fault that a campaign found. `aimed`: a trial that distinguishes the
alternatives of a reading. `other`: a trial that was drawn for another rule.
"""

TRIALS_PER_AIM = 8
"""Number of trials drawn from each strategy that distinguishes the alternatives of a reading."""

TRIALS_PER_CONTROL = 6
"""Number of trials drawn from each control; readings with the same control share its trials."""

COSTLY_DIVISOR = 2
"""Number by which a rule's number of trials is divided if a case takes seconds. The rule then also
judges the trials that were drawn for other rules.
"""

COSTLY_RULES = 12
"""Maximum number of trials of an operation whose cases take seconds, divided by --examples."""

ONE_VARIED_IN = 4
"""One in this many drawn trials is rewritten in a way that must not change its answer: it gets
other names, another notation, or additions without effect.
"""

ONE_EDITED_IN = 4
"""One in this many drawn trials is replaced by a randomly edited copy. All other trials are kept
and, because small cases cost little, an edited copy of each small trial is added.
"""

MAX_SMALL_BYTES = 1_500
"""Maximum number of bytes of a small trial."""

EDITING_ATTEMPTS = 4
"""Maximum number of attempts to edit a trial so that it stays valid."""

GROWTH_LIMIT = 8
"""Largest factor by which the number of draws grows in one step if they yield too few questions."""

MIN_NEW_SHARE = 0.4
"""Drawing stops if a larger draw yields less than this share of the new questions expected."""

SEQUENCE_WEIGHT = 6
"""Work for a rule whose cases are sequences of questions, as a multiple of the usual work."""


@dataclass(frozen=True, eq=False)
class SourcedTrial:
    """A trial and its source. Instances are compared by identity."""

    origin: Origin
    trial: Trial
    example: fixtures.Example | None = None
    broke: str | None = None
    """ID of the rule that a saved trial violated; None if unknown or not saved."""


def earlier_trials(plan: Plan) -> tuple[SourcedTrial, ...]:
    """Return the plan's replayed trial, if any, or else the trials saved by earlier runs."""
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

    In a replay, the replayed case is the only trial. An implementation that answers only questions
    about its own state lists these in its hello message. Trials that are invalid under the profile
    are left out; drawn trials are not checked if the implementation runs a strategy of its own.
    `earlier` are the saved trials, by default those of the plan.
    """
    earlier = earlier_trials(plan) if earlier is None else earlier
    if plan.replay is not None:
        yield from earlier
        return
    profile = implementation.profile
    defaults = specs.load().defaults(profile)
    if implementation.hello.own is not None:
        for questions in implementation.hello.own.get(rule.id, ()):
            own = Trial.asking(questions)
            if trial_flaw(own, defaults) is None:
                yield SourcedTrial("drawn", own)
        return
    for saved in earlier:
        if checks()[rule.id].judges(saved.trial) and trial_flaw(saved.trial, defaults) is None:
            yield saved
    for trial, example in _worked_trials(rule.id, profile):
        yield SourcedTrial("example", trial, example)
    if plan.campaign is not None:
        for trial in plan.campaign_results(implementation.adapter, profile, rule.id).faults:
            yield SourcedTrial("searched", trial)
        return
    costly = implementation.costly(rule)
    examples = examples_for_costly_rule(rule, plan) if costly else plan.examples
    draws = rule.id, profile, plan.seed, examples
    drawn = _as_drawn(draw_trials(*draws)) if costly else with_edits(*draws)
    for origin, trial in drawn:
        own = _with_its_strategy(trial, rule, implementation)
        if own is trial or implementation.plugged_strategy or trial_flaw(own, defaults) is None:
            yield SourcedTrial(origin, own)


@cache
def _worked_trials(rule: str, profile: str) -> tuple[tuple[Trial, fixtures.Example], ...]:
    """Return the valid trials of a rule's worked examples, the same for every implementation."""
    defaults = specs.load().defaults(profile)
    found = (
        (Trial.asking(example.questions), example)
        for example in fixtures.examples_of(rule)
        if example.holds_in(specs.load(), profile)
    )
    return tuple(one for one in found if trial_flaw(one[0], defaults) is None)


def examples_for_costly_rule(rule: specs.Rule, plan: Plan) -> int:
    """Return how many trials to draw for a rule whose cases take seconds each."""
    rules = specs.load().rules.values()
    sharing = max(sum(name in one.operations for one in rules) for name in rule.operations)
    return min(-(-plan.examples // COSTLY_DIVISOR), -(-plan.examples * COSTLY_RULES // sharing))


@cache
def draw_trials(rule: str, profile: str, seed: int, examples: int) -> tuple[Trial, ...]:
    """Return valid trials drawn for a rule; they are the same for every implementation."""
    defaults = specs.load().defaults(profile)
    parts = checks()[rule].parts
    share = -(-examples // len(parts))
    trials = [
        trial
        for index, part in enumerate(parts)
        for trial in draw(
            part.filter(lambda trial: drawn_flaw(trial, defaults) is None),
            share,
            f"{seed}/{profile}/{rule}" + (f"/{index}" if index else ""),
        )
    ]
    spec = specs.load()
    if spec.rules[rule].any_operation or spec.profiles[profile].released:
        return tuple(trials)
    random = Random(f"{seed}/{profile}/{rule}/varied")
    for index in range(ONE_VARIED_IN - 1, len(trials), ONE_VARIED_IN):
        other = _varied_copy(trials[index], random)
        trials[index] = trials[index] if trial_flaw(other, defaults) else other
    return tuple(trials)


@cache
def with_edits(
    rule: str, profile: str, seed: int, examples: int
) -> tuple[tuple[Origin, Trial], ...]:
    """Return a rule's drawn trials, some replaced by edited trials, and edits of small trials.

    No trial is edited under the profile of a release, or for a rule whose operations have cases
    that are never edited.
    """
    spec, trials = specs.load(), draw_trials(rule, profile, seed, examples)
    found = _as_drawn(trials)
    edits = EDITED_OPERATIONS.intersection(spec.rules[rule].operations)
    if not edits or spec.rules[rule].any_operation or spec.profiles[profile].released:
        return tuple(found)
    random, defaults = Random(f"{seed}/{profile}/{rule}/edited"), spec.defaults(profile)
    for index, trial in enumerate(trials):
        replaced = index % ONE_EDITED_IN == 1
        other = (
            _edit(trial, random, defaults) if replaced or fits(trial, MAX_SMALL_BYTES) else trial
        )
        if other is not trial and replaced:
            found[index] = "edited", other
        elif other is not trial:
            found.append(("edited", other))
    return tuple(found)


def _as_drawn(trials: Sequence[Trial]) -> list[tuple[Origin, Trial]]:
    """Return each trial with the origin "drawn"."""
    return [("drawn", trial) for trial in trials]


def _edit(trial: Trial, random: Random, defaults: Defaults) -> Trial:
    """Return a valid copy of a trial with random edits, or the trial itself if no edit is valid."""
    attempts = (edited(trial, random) for _ in range(EDITING_ATTEMPTS))
    valid = (one for one in attempts if one != trial and trial_flaw(one, defaults) is None)
    return next(valid, trial)


def _varied_copy(trial: Trial, random: Random) -> Trial:
    """Return a trial, rewritten if possible in a way that must not change its answer."""
    known, weights = variations(trial)
    return random.choices(known, weights)[0].of_all(trial) if known else trial


@cache
def aimed_at(reading: str, profile: str, seed: int) -> tuple[Trial, ...]:
    """Return valid trials whose answers distinguish a reading's alternatives.

    The answers distinguish them under every combination of the other readings.
    """
    return tuple(
        trial
        for aim in aims_by_reading().get(reading, ())
        if not aim.control
        for trial in _valid_trials(aim.strategy, profile, TRIALS_PER_AIM, f"{seed}/{reading}")
    )


def controls_of(reading: str, profile: str, seed: int) -> tuple[Trial, ...]:
    """Return valid trials that resemble trials of `aimed_at`, but distinguish no alternatives."""
    aims = (aim for aim in aims_by_reading().get(reading, ()) if aim.control)
    return tuple(trial for aim in aims for trial in _draw_controls(aim.strategy, profile, seed))


@cache
def _draw_controls(strategy: SearchStrategy[Trial], profile: str, seed: int) -> tuple[Trial, ...]:
    """Return valid trials of a control; they are the same for every reading."""
    return _valid_trials(strategy, profile, TRIALS_PER_CONTROL, f"{seed}/control")


def _valid_trials(
    strategy: SearchStrategy[Trial], profile: str, count: int, seed: str
) -> tuple[Trial, ...]:
    defaults = specs.load().defaults(profile)
    return tuple(one for one in draw(strategy, count, seed) if trial_flaw(one, defaults) is None)


def forget_drawn_trials() -> None:
    """Free the memory of all drawn trials; if needed later, the same trials are drawn again."""
    for kept in (draw_trials, with_edits, aimed_at, _draw_controls):
        kept.cache_clear()


def aimed_trials(
    readings: Sequence[str], operations: Set[str], implementation: Implementation, plan: Plan
) -> dict[str, list[SourcedTrial]]:
    """Return, for each reading, trials of these operations that distinguish its alternatives.

    If cases of an operation take seconds, only one trial in `COSTLY_DIVISOR` is used.
    """
    if implementation.hello.own is not None or not plan.examples:
        return {}
    costly = set(implementation.hello.costly)
    found = {}
    for reading in readings:
        if any(aim.operation in operations for aim in aims_by_reading().get(reading, ())):
            trials = aimed_at(reading, implementation.profile, plan.seed)
            quick = [trial for trial in trials if not trial.operations & costly]
            slow = [trial for trial in trials if trial.operations & costly]
            found[reading] = [
                SourcedTrial("aimed", trial)
                for trial in (*quick, *slow[::COSTLY_DIVISOR])
                if trial.operations <= operations
            ]
    return found


def control_trials(
    readings: Iterable[str], operations: Set[str], implementation: Implementation, plan: Plan
) -> dict[str, list[SourcedTrial]]:
    """Return, for each reading, its control trials of these operations, except costly trials."""
    known, asked = dict[int, SourcedTrial](), operations - set(implementation.hello.costly)
    return {
        reading: [
            known.setdefault(id(trial), SourcedTrial("aimed", trial))
            for trial in controls_of(reading, implementation.profile, plan.seed)
            if trial.operations <= asked
        ]
        for reading in readings
    }


def distinct_questions(operation: str, profile: str, seed: int, examples: int) -> list[Trial]:
    """Return the distinct questions of an operation that are drawn for a profile's rules.

    Each question is a trial of its own; `examples` trials are drawn for each rule.
    """
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
    operation: str, profile: str, seed: int, examples: int, count: int
) -> list[Trial]:
    """Return `count` distinct questions of an operation, evenly spaced among the questions drawn.

    The number of draws per rule is `examples` at first, and grows until there are enough questions.
    If larger draws yield too few new questions, fewer are returned.
    """
    found = distinct_questions(operation, profile, seed, examples)
    while 0 < len(found) < count:
        times = min(GROWTH_LIMIT, -(-count * 5 // (len(found) * 4)))
        before, examples = len(found), examples * times
        found = distinct_questions(operation, profile, seed, examples)
        if len(found) < before * times * MIN_NEW_SHARE:
            break
    step = max(1.0, len(found) / max(1, count))
    return [found[int(step * index)] for index in range(min(count, len(found)))]


def _with_its_strategy(trial: Trial, rule: specs.Rule, implementation: Implementation) -> Trial:
    """Return the trial, adapted to an implementation with its own strategy or TransferShedder."""
    plugged = implementation.plugged_strategy if rule.any_strategy else None
    if plugged is not None:
        return with_strategy(plugged, trial)
    if implementation.hello.manager != "extensible":
        return trial
    documented = strategies_of(specs.load().defaults(implementation.profile))
    return with_transfer_shedder(trial) if TRANSFER_SHEDDER in documented else trial


def with_transfer_shedder(trial: Trial) -> Trial:
    """Return the trial with TransferShedder in each story that sheds."""
    return Trial(
        tuple(
            Question(operation, OPERATIONS[operation].under_transfer_shedder(case))
            for operation, case in trial.questions
        )
    )


def with_strategy(strategy: str, trial: Trial) -> Trial:
    """Return a trial in which all cases with a field for the shedding strategy name `strategy`."""
    return Trial(
        tuple(
            Question(operation, {**case, "strategy": strategy} if "strategy" in case else case)
            for operation, case in trial.questions
        )
    )


def readings_fit_example(example: fixtures.Example, readings: Readings) -> bool:
    """True if these readings contain every alternative that a worked example assumes."""
    return all(readings[name] == value for name, value in example.readings.items())


def group_rules(
    rules: Sequence[specs.Rule], sequential: Set[str] | None = None
) -> list[list[specs.Rule]]:
    """Return groups of rules that share no operation, the group with the most work first.

    One group can be asked while the next one is drawn. `sequential` names the operations whose
    cases are sequences of questions and take longer; the default is every sequential operation.
    """
    if sequential is None:
        sequential = {name for name, one in OPERATIONS.items() if one.sequential}
    groups: list[set[str]] = []
    for rule in rules:
        joined = set(rule.operations).union(*(one for one in groups if one & {*rule.operations}))
        groups = [*(one for one in groups if not one & joined), joined]
    found = [[rule for rule in rules if one & {*rule.operations}] for one in groups]

    def sort_key(together: Sequence[specs.Rule]) -> tuple[int, int]:
        slow = (sequential & {*rule.operations} for rule in together)
        work = sum(SEQUENCE_WEIGHT if one else 1 for one in slow)
        return -work, rules.index(together[0])

    return sorted(found, key=sort_key)
