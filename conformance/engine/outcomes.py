"""Judges all answers by all rules, under the readings with the fewest violated rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice, product

from pulsar_conformance import specs
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.conformance.common.trial import Json, KnownAnswers, Trial
from pulsar_conformance.conformance.engine.ask import (
    AnsweredTrial,
    AnsweredTrialsByRule,
    AskedTrials,
)
from pulsar_conformance.conformance.engine.draw import SourcedTrial
from pulsar_conformance.conformance.engine.evaluate import Choices, Outcome
from pulsar_conformance.conformance.engine.judge import (
    AppliedRule,
    CollectedAnswers,
    JudgedImplementation,
    OutcomesByRule,
    distinct_answers,
    outcomes_of,
)
from pulsar_conformance.reference import Model

MAX_CHOICES = 64
"""Maximum number of combinations of undecided readings to try for a rule, likeliest first."""

MAX_CONSISTENT = 8
"""Maximum number of combinations of readings under which all rules are judged.

Each combination makes at least one violated rule allow all answers to its questions.
"""

MAX_SUPPORTING = 16
"""Maximum number of a rule's faults that are judged again under a combination of readings."""

MAX_SHARED_FAULTS = 3
"""Maximum number of faults of a rule to collect from trials that were drawn for other rules."""


def judge_all(
    rules: Sequence[specs.Rule],
    answered: CollectedAnswers,
    asked: AskedTrials,
    judged: JudgedImplementation,
) -> tuple[JudgedImplementation, AnsweredTrialsByRule, OutcomesByRule]:
    """Judge each rule on its own trials, then on trials of other rules that show a fault.

    Return the implementation under the readings with the fewest violated rules, the trials of each
    rule, and their outcomes.
    """
    judged, outcomes = judge(rules, answered, judged)
    shared = shared_faults(outcomes, asked, judged)
    if shared:
        answered = answered.with_shared_faults(shared)
        judged, outcomes = judge(rules, answered, judged)
    return judged, answered.by_rule, outcomes


def judge(
    rules: Sequence[specs.Rule], answered: CollectedAnswers, judged: JudgedImplementation
) -> tuple[JudgedImplementation, OutcomesByRule]:
    """Return the implementation and outcomes under the readings with the fewest violated rules.

    If no aimed trial decides a reading, all answers of the run do: a rule is violated only if no
    alternative of the reading makes it allow every answer to its questions. Rules of the profile
    that were not selected also count, so that the selection cannot change a reading.
    """
    trials = answered.by_rule
    outcomes = answered.outcomes or _all_outcomes(rules, trials, judged, answered.known)
    others = _unchosen_rules(rules, trials, judged) if _count_violated(outcomes) else []
    while better := _find_better_readings(rules, trials, others, (judged, outcomes)):
        judged, outcomes = better
    return judged, outcomes


def _find_better_readings(
    rules: Sequence[specs.Rule],
    trials: AnsweredTrialsByRule,
    others: Sequence[tuple[specs.Rule, Sequence[AnsweredTrial]]],
    now: tuple[JudgedImplementation, OutcomesByRule],
) -> tuple[JudgedImplementation, OutcomesByRule] | None:
    """Return the implementation and outcomes under readings with fewer violated rules, or None.

    The readings tried are those under which a violated rule would allow all answers to its
    questions. Of these, the readings with the fewest violated rules are returned.
    """
    judged, outcomes = now
    consistent = (
        _consistent_choices(rules, trials, outcomes, judged) if _count_violated(outcomes) else ()
    )
    if not consistent:
        return None
    fewest = _count_violated(outcomes) + _count_violated(_outcomes_of_others(others, judged))
    better: tuple[JudgedImplementation, OutcomesByRule] | None = None
    for choices in consistent:
        other = judged.choosing(choices)
        found = _all_outcomes(rules, trials, other)
        broken = _count_violated(found)
        if broken < fewest:
            broken += _count_violated(_outcomes_of_others(others, other))
        if broken < fewest:
            fewest, better = broken, (other, found)
    return better


def _unchosen_rules(
    rules: Sequence[specs.Rule], answered: AnsweredTrialsByRule, judged: JudgedImplementation
) -> list[tuple[specs.Rule, list[AnsweredTrial]]]:
    """Return each rule of the profile that was not selected, with the trials that it can judge."""
    chosen = {rule.id for rule in rules}
    trials = list({id(one): (one, row) for each in answered.values() for one, row in each}.values())
    return [
        (rule, [(one, row) for one, row in trials if checks()[rule.id].judges(one.trial)])
        for rule in specs.load().rules_of(judged.resolved.profile)
        if rule.id in checks()
        and rule.id not in chosen
        and judged.implementation.why_not_offered(rule) is None
    ]


def _outcomes_of_others(
    others: Sequence[tuple[specs.Rule, Sequence[AnsweredTrial]]], judged: JudgedImplementation
) -> OutcomesByRule:
    """Return these rules' outcomes for the answers that differ from the model's answers.

    No rule rejects an answer that is equal to the model's.
    """
    return {
        rule.id: outcomes_of(
            rule, [one for one in trials if _differs_from_model(*one, judged)], judged
        )
        for rule, trials in others
        if judged.resolved.applies(rule)
    }


def _differs_from_model(
    sourced: SourcedTrial, answers: Sequence[Json], judged: JudgedImplementation
) -> bool:
    """True if an answer to a trial differs from the model's under the readings in force."""
    right = _cached_model_answers(sourced.trial, judged)
    return right is None or not all(map(agrees_with_model, answers, right))


def _all_outcomes(
    rules: Sequence[specs.Rule],
    answered: AnsweredTrialsByRule,
    judged: JudgedImplementation,
    known: KnownAnswers[Outcome] | None = None,
) -> OutcomesByRule:
    return {
        rule.id: outcomes_of(rule, answered[rule.id], judged, known)
        for rule in rules
        if rule.id in answered and judged.resolved.applies(rule)
    }


def _count_violated(outcomes: OutcomesByRule) -> int:
    """Return the number of violated rules."""
    return sum(any(outcome.violated for outcome in row) for row in outcomes.values())


def _consistent_choices(
    rules: Sequence[specs.Rule],
    answered: AnsweredTrialsByRule,
    outcomes: OutcomesByRule,
    judged: JudgedImplementation,
) -> list[Choices]:
    """Return choices of open readings under which a violated rule allows all answers to its
    questions.
    """
    is_open = judged.resolved.open
    found: list[Choices] = []
    for rule in rules if is_open else ():
        pairs = zip(answered.get(rule.id, ()), outcomes.get(rule.id, ()), strict=False)
        faulty = [one for one, outcome in pairs if outcome.violated]
        if not faulty:
            continue
        applied = AppliedRule(rule, judged)
        rests = [applied.consulted(one.trial, answers) for one, answers in faulty]
        names = [name for name in is_open if any(name in choices for choices in rests)]
        trials = [*faulty, *answered[rule.id]]  # A faulty trial rules out most choices.
        choices = next(
            (
                one
                for one in _likely_choices(names, judged)
                if _is_consistent(applied, one, trials) and _is_supported(applied, one, faulty)
            ),
            None,
        )
        found += [choices] if choices is not None and choices not in found else []
    return found[:MAX_CONSISTENT]


def _is_supported(
    applied_rule: AppliedRule, choices: Choices, faulty: Sequence[AnsweredTrial]
) -> bool:
    """True if at least one faulty trial of a rule violates no rule under these choices.

    An answer that is wrong under every reading supports no choice.
    """
    other = AppliedRule(applied_rule.rule, applied_rule.judged.choosing(choices))
    chosen = other.judged.evaluator.readings.choices
    domains = {name: [value] for name, value in chosen.items()}
    return any(
        not other.breaks_a_rule(one.trial, answers, domains)
        for one, answers in faulty[:MAX_SUPPORTING]
    )


def _likely_choices(names: Sequence[str], judged: JudgedImplementation) -> Iterator[Choices]:
    """Yield combinations of remaining alternatives; first, those that change a single reading."""
    domains = judged.resolved.open
    for name in names:
        yield from ({name: value} for value in domains[name][1:])
    for values in islice(product(*(domains[name] for name in names)), MAX_CHOICES):
        yield dict(zip(names, values, strict=True))


def _is_consistent(
    applied_rule: AppliedRule, choices: Choices, answered: Sequence[AnsweredTrial]
) -> bool:
    """True if no answer violates a rule under these choices of open readings."""
    other = AppliedRule(applied_rule.rule, applied_rule.judged.choosing(choices))
    applies = other.judged.resolved.applies(applied_rule.rule)
    return not applies or not any(other.outcome_of(*one).violated for one in answered)


def shared_faults(
    outcomes: OutcomesByRule, asked: AskedTrials, judged: JudgedImplementation
) -> AnsweredTrialsByRule:
    """Return, for each rule, trials of other rules whose answers violate it.

    Every rule of an operation judges every answer that differs from the model's; no rule rejects
    the model's answers. Rules that are violated by their own trials are left out. The model's own
    answers are kept for implementations that are judged later.
    """
    if judged.implementation.is_model:
        _keep_model_answers(asked, judged)
        return {}
    unviolated = {
        name: AppliedRule(specs.load().rules[name], judged)
        for name, own in outcomes.items()
        if not any(outcome.violated for outcome in own)
    }
    unviolated = {name: applied for name, applied in unviolated.items() if not applied.costly}
    found: dict[str, list[AnsweredTrial]] = {name: [] for name in unviolated}
    judging: dict[tuple[str, ...], list[str]] = {}
    """The rules that judge a trial, by the operations of its questions."""
    for source, one, answers in _answers_unlike_model(asked, judged):
        operations = tuple(question.operation for question in one.trial.questions)
        if operations not in judging:
            judging[operations] = [name for name in found if checks()[name].judges(one.trial)]
        for name in judging[operations]:
            applied = unviolated.get(name) if name != source else None
            if applied is not None and applied.outcome(one.trial, answers).violated:
                found[name].append((one, answers))
                if len(found[name]) == MAX_SHARED_FAULTS:
                    del unviolated[name]
        if not unviolated:
            break
    return {name: faults for name, faults in found.items() if faults}


def _answers_unlike_model(
    asked: AskedTrials, judged: JudgedImplementation
) -> Iterator[tuple[str, SourcedTrial, Sequence[Json]]]:
    """Yield a rule's ID, a trial drawn for it with answers unlike the model's, and the answers.

    If a trial has several questions, each differing answer is also yielded as a trial of its own,
    with an empty rule ID. Trials that have no answer or are invalid under the readings in force are
    left out.
    """
    for name, trials in asked.by_rule.items():
        for one in trials:
            if one.origin not in ("drawn", "edited", "example") or asked.dispatcher.failed(one):
                continue
            trial, answers = one.trial, asked.dispatcher.answers(one)
            right = _cached_model_answers(trial, judged)
            unlike = [
                place
                for place, answer in enumerate(answers)
                if right is None or not agrees_with_model(answer, right[place])
            ]
            if not unlike or judged.evaluator.lacks_setting(trial):
                continue
            if not any("unsupported" in answer for answer in answers):
                yield name, SourcedTrial("other", trial), answers
            if len(answers) > 1:
                for place in unlike:
                    single = Trial((trial.questions[place],))
                    yield "", SourcedTrial("other", single), [answers[place]]


def agrees_with_model(answer: Json, right: Json) -> bool:
    """True if an answer equals the model's, if both are refusals, or if it is `unsupported`."""
    if answer == right or "unsupported" in answer:
        return True
    return "refused" in answer and "refused" in right


def _keep_model_answers(asked: AskedTrials, judged: JudgedImplementation) -> None:
    """Keep the answers of the judged reference model, so that the model need not answer again."""
    _, kept = _model_of(judged)
    for trials in asked.by_rule.values():
        for one in trials:
            if not asked.dispatcher.failed(one):
                answers = asked.dispatcher.answers(one)
                if not any("unsupported" in answer for answer in answers):
                    kept[id(one.trial)] = one.trial, answers


def _cached_model_answers(trial: Trial, judged: JudgedImplementation) -> list[Json] | None:
    """Return the model's answers to a trial; the cache is shared by all equal models."""
    model, kept = _model_of(judged)
    if id(trial) not in kept:
        # Each entry keeps its trial alive, so that its id cannot be reused.
        kept[id(trial)] = trial, next(distinct_answers(model, trial, 1), None)
    return kept[id(trial)][1]


def _model_of(
    judged: JudgedImplementation,
) -> tuple[Model, dict[int, tuple[Trial, list[Json] | None]]]:
    """Return the model under the readings in force, and the cache of its answers."""
    readings = frozenset(judged.evaluator.readings.choices.items())
    return model_and_answers(judged.resolved.profile, readings, judged.implementation.neutral)


@cache
def model_and_answers(
    profile: str, readings: frozenset[tuple[str, str]], neutral: bool
) -> tuple[Model, dict[int, tuple[Trial, list[Json] | None]]]:
    """Return the model under these readings, and a cache of its answers by the trial's `id()`."""
    return Model(profile, dict(readings), neutral), {}
