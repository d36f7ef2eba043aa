"""Share: let every rule of an operation judge the answers to the trials of the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice

from pulsar_conformance import specs
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.engine.ask import (
    AnsweredTrial,
    AnsweredTrialsByRule,
    AskedTrials,
)
from pulsar_conformance.conformance.engine.draw import SourcedTrial
from pulsar_conformance.conformance.engine.judge import (
    Answered,
    AppliedRule,
    JudgedImplementation,
    OutcomesByRule,
    distinct_answers,
    judge,
)
from pulsar_conformance.reference import Model

MOST_SHARED_FAULTS = 3
"""Faults of a rule that are taken from the trials of other rules."""


def judge_all(
    rules: Sequence[specs.Rule],
    answered: Answered,
    asked: AskedTrials,
    judged: JudgedImplementation,
) -> tuple[JudgedImplementation, AnsweredTrialsByRule, OutcomesByRule]:
    """Judge each rule's own trials, and then those of others that show a fault.

    Return the remaining readings under which the fewest rules are broken, the trials, and the
    outcomes.
    """
    judged, outcomes = judge(rules, answered, judged)
    shared = shared_faults(outcomes, asked, judged)
    if shared:
        answered = answered.sharing(shared)
        judged, outcomes = judge(rules, answered, judged)
    return judged, answered.by_rule, outcomes


def shared_faults(
    outcomes: OutcomesByRule, asked: AskedTrials, judged: JudgedImplementation
) -> AnsweredTrialsByRule:
    """Return answers to questions drawn for other rules that break a rule, by that rule.

    Every rule of an operation judges every answer, but for those that are the model's own, which
    no rule rejects. A rule that is broken already needs no more faults.
    """
    if judged.implementation.is_model:
        return {}
    unlike = list(_unlike_model(asked, judged))
    found: dict[str, list[AnsweredTrial]] = {}
    for name, own in outcomes.items():
        applied = AppliedRule(specs.load().rules[name], judged)
        if applied.costly or any(outcome.violated for outcome in own):
            continue
        faults = (
            (one, answers)
            for source, one, answers in unlike
            if source != name
            and checks()[name].judges(one.trial)
            and applied.outcome(one.trial, answers).violated
        )
        found[name] = list(islice(faults, MOST_SHARED_FAULTS))
    return {name: faults for name, faults in found.items() if faults}


def _unlike_model(
    asked: AskedTrials, judged: JudgedImplementation
) -> Iterator[tuple[str, SourcedTrial, Sequence[Json]]]:
    """Yield trials that are answered otherwise than by the model, with the rule they are for.

    Of several questions each is also a trial by itself. Trials without an answer, and those that
    are illegal under these readings, are left out.
    """
    for name, trials in asked.by_rule.items():
        for one in trials:
            if one.origin not in ("drawn", "example") or asked.dispatcher.failed(one):
                continue
            trial, answers = one.trial, asked.dispatcher.answers(one)
            right = _kept_model_answers(trial, judged)
            unlike = [
                place
                for place, answer in enumerate(answers)
                if right is None or not _equal(answer, right[place])
            ]
            if not unlike or not judged.evaluator.legal(trial):
                continue
            if not any("unsupported" in answer for answer in answers):
                yield name, SourcedTrial("other", trial), answers
            if len(answers) > 1:
                for place in unlike:
                    single = Trial((trial.questions[place],))
                    yield "", SourcedTrial("other", single), [answers[place]]


def _equal(answer: Json, right: Json) -> bool:
    """True if an answer is the model's, or declined like it or for a reason of its own."""
    if answer == right or "unsupported" in answer:
        return True
    return "refused" in answer and "refused" in right


def _kept_model_answers(trial: Trial, judged: JudgedImplementation) -> list[Json] | None:
    """Return the model's answers, which are kept for all implementations with these readings."""
    readings = frozenset(judged.evaluator.readings.choices.items())
    model, kept = _model_and_answers(
        judged.resolved.profile, readings, judged.implementation.neutral
    )
    if id(trial) not in kept:
        # An entry keeps its trial alive, so that no other trial gets its id.
        kept[id(trial)] = trial, next(distinct_answers(model, trial, 1), None)
    return kept[id(trial)][1]


@cache
def _model_and_answers(
    profile: str, readings: frozenset[tuple[str, str]], neutral: bool
) -> tuple[Model, dict[int, tuple[Trial, list[Json] | None]]]:
    return Model(profile, dict(readings), neutral), {}
