"""Every check is sound on every legal case: the reference breaks no rule on any case.

A case that failed is saved, and every rule about its operations judges it later. A reduced or
pasted case may be one that no strategy draws. A correct implementation must pass on such cases,
too.
"""

from functools import cache
from random import Random

import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.cases.legality import trial_flaw
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.conformance.common.trial import Question, Trial
from pulsar_conformance.conformance.drawing.drawing import draw
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.reference import Model, Readings

SEED = "cross"
DRAWN = 6
SAMPLED = [6, pytest.param(40, marks=pytest.mark.thorough)]
"""Number of trials judged under each set of readings, in usual and in thorough tests."""
STEPS = [6, pytest.param(3, marks=pytest.mark.thorough)]
"""One in this many trials is judged under default readings, in usual and in thorough tests."""
NUMBERS = (0, 1, 5, 10, 25, 50, 75, 85, 90, 100, 1000, 1e6, 0.3)
ALWAYS = ("documented-5.0", "unwritten-3.0")
"""Profiles that usual tests cover; thorough tests cover all profiles."""
PROFILES = [
    name if name in ALWAYS else pytest.param(name, marks=pytest.mark.thorough)
    for name, one in specs.load().profiles.items()
    if one.kind != "released"
]
"""The profiles of documents, whose rules the model follows."""


def rules_of(profile):
    return [rule for rule in specs.load().rules_of(profile) if rule.untestable is None]


def changed(value, gone, random, share):
    """Return a case without some names, and with a share of its numbers replaced."""
    if isinstance(value, dict):
        kept = {name: item for name, item in value.items() if name not in gone}
        return {name: changed(item, gone, random, share) for name, item in kept.items()}
    if isinstance(value, list):
        return [
            changed(one, gone, random, share)
            for one in value
            if isinstance(one, dict) or one not in gone
        ]
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return random.choice(NUMBERS) if plain and random.random() < share else value


def names_in(value):
    """Yield all names in a case: keys of objects and strings in lists."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = [name for name in value if isinstance(name, str)] if inner else []
    return [*own, *(name for one in inner for name in names_in(one))]


def nearby(trial, defaults, random):
    """Return a similar legal trial with fewer names and simpler numbers, if one is found."""
    for _ in range(20):
        names = sorted({name for _, case in trial.questions for name in names_in(case)})
        gone = set(random.sample(names, min(len(names), random.choice((0, 1, 2, 5)))))
        share, state = random.choice((0, 0.02, 0.1)), random.random()
        other = Trial(
            tuple(
                Question(operation, changed(case, gone, Random(state), share))
                for operation, case in trial.questions
            )
        )
        if trial_flaw(other, defaults) is None:
            trial = other
    return trial


@cache
def pool(profile):
    """Return legal trials of every rule, similar trials, and some shortened or repeated trials."""
    defaults, random = specs.load().defaults(profile), Random(SEED)
    drawn = [
        trial
        for rule in rules_of(profile)
        for trial in draw(checks()[rule.id].draws, DRAWN, f"{SEED}/{profile}/{rule.id}")
        if trial_flaw(trial, defaults) is None
    ]
    near = [nearby(trial, defaults, random) for trial in random.sample(drawn, len(drawn) // 2)]
    mixed = [
        Trial(tuple(random.choices(trial.questions, k=random.choice((1, 2, 3)))))
        for trial in drawn
        if len(trial.questions) > 1
    ]
    return drawn + near + mixed


def choices_of(profile):
    """Return a profile's default readings, variants with one changed, and random combinations."""
    own, random = specs.load().default_readings(profile), Random(SEED)
    every = {name: reading.values for name, reading in specs.load().readings.items()}
    flipped = [
        {**own, name: value} for name in every for value in every[name] if value != own[name]
    ]
    mixed = [{name: random.choice(every[name]) for name in every} for _ in range(12)]
    return [own, *flipped, *mixed]


def problems(profile, choices, trials):
    """Yield each violation that a rule finds in the reference's answers under these readings."""
    evaluator = RuleEvaluator(specs.load().defaults(profile), Readings.of(profile, choices))
    model = Model(profile, choices)
    chosen = [rule for rule in rules_of(profile) if rule.applies(choices)]
    for trial in filter(evaluator.legal, trials):
        answers = [model.answer(*question) for question in trial.questions]
        for rule in chosen:
            if trial.operations & set(rule.operations):
                outcome = evaluator.judge(rule.id, trial, answers)
                if outcome.violated:
                    yield rule.id, outcome.allowed, outcome.answered, trial.as_json()


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("most", SAMPLED)
def test_no_check_is_broken_by_the_reference_on_any_legal_case(most, profile):
    random = Random(SEED)
    trials = pool(profile)
    for choices in choices_of(profile):
        sampled = random.sample(trials, min(most, len(trials)))
        assert next(problems(profile, choices, sampled), None) is None, choices


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("step", STEPS)
def test_every_trial_is_judged_by_every_rule_that_concerns_one_of_its_operations(step, profile):
    choices = specs.load().default_readings(profile)
    assert next(problems(profile, choices, pool(profile)[::step]), None) is None
