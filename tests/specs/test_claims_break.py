"""Every claim is backed by a check that can fail: each rule is broken by some deviating answer."""

from contextlib import suppress
from functools import cache

import pytest
from pulsar_conformance import fixtures, specs
from pulsar_conformance.conformance.cases.legality import trial_flaw
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.conformance.common.trial import Question, Trial
from pulsar_conformance.conformance.drawing.drawing import draw
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.reference import MissingSetting, Model, Readings
from pulsar_conformance.specs.claims import claiming_rules
from standins.deviations import DEVIATIONS, breaks_down, misheard, renamed

SPECS = specs.load()
DRAWN = 12


def profile_of(rule):
    """Return the newest profile of documents that has the rule, else the newest release's."""
    kinds = {name: SPECS.profiles[name].kind for name in SPECS.rules[rule].profiles}
    return next((name for name in reversed(kinds) if kinds[name] != "released"), list(kinds)[-1])


def trials_of(rule, profile):
    """Yield the trials of a rule: worked examples first, then drawn trials."""
    defaults = SPECS.defaults(profile)
    worked = [
        Trial(tuple(Question(*one) for one in example.questions))
        for example in fixtures.examples()
        if rule in example.rules
    ]
    drawn = (one for part in checks()[rule].parts for one in draw(part, DRAWN, f"claims/{rule}"))
    for trials in (worked, drawn):
        yield from (one for one in trials if trial_flaw(one, defaults) is None)


def deviating(rule, trial, told, models):
    """Yield named faults, each applied to all answers, only to the first, or only to the last."""
    model, *others = models
    for other in others:
        with suppress(MissingSetting):
            yield "another reading", [other.answer(*one) for one in trial.questions]
    for turn in {0, len(told) - 1}:
        operation, case = trial.questions[turn]
        for name, changed in misheard(case):
            with suppress(MissingSetting):
                heard = model.answer(operation, changed)
                yield name, [heard if place == turn else one for place, one in enumerate(told)]
    for deviate in (*DEVIATIONS[trial.operation], renamed, breaks_down):
        for turns in ({*range(len(told))}, {0}, {len(told) - 1}):
            with suppress(KeyError):  # of an answer that this cannot be made of
                yield (
                    deviate.__name__,
                    [
                        deviate(trial.questions[place].case, one, place) if place in turns else one
                        for place, one in enumerate(told)
                        if trial.questions[place].operation == trial.operation or place not in turns
                    ],
                )


def other_models(rule, profile):
    for name, value in SPECS.rules[rule].reading.items():
        for other in SPECS.readings[name].values:
            if other != value:
                yield Model(profile, {**SPECS.rules[rule].reading, name: other})


@cache
def breaking(rule):
    """Return the fault that makes the rule's check fail; None if there is none."""
    profile = profile_of(rule)
    readings = SPECS.rules[rule].reading
    evaluator = RuleEvaluator(SPECS.defaults(profile), Readings.of(profile, readings))
    models = [Model(profile, readings), *other_models(rule, profile)]
    for trial in trials_of(rule, profile):
        told = [models[0].answer(*one) for one in trial.questions]
        if evaluator.judge(rule, trial, told).violated:
            assert SPECS.profiles[profile].kind == "released", "the model keeps what is documented"
            return "what the documents say"
        for name, answers in deviating(rule, trial, told, models):
            if len(answers) == len(told) and evaluator.judge(rule, trial, answers).violated:
                return name
    return None


@pytest.mark.parametrize("rule", checks())
def test_a_deviation_breaks_the_rule(rule):
    assert breaking(rule), f"no deviation makes the check of {rule} fail"


def test_each_sentence_that_is_claimed_has_a_check_that_fails_or_says_why_not():
    for where, rules in claiming_rules(SPECS).items():
        telling = [rule for rule in rules if SPECS.rules[rule].untestable is None]
        assert telling or all(SPECS.rules[rule].untestable for rule in rules), where
        assert set(telling) <= set(checks()), where
