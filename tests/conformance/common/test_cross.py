"""Every check is sound on every legal case: none is broken by the reference, whoever drew the case.

A case that failed is saved, and judged by every rule that concerns one of its operations; a case
that is reduced or pasted is one that no strategy draws. Neither may be laid at anyone's door.
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
SAMPLED = [12, pytest.param(40, marks=pytest.mark.thorough)]
"""Trials drawn for a rule, and those judged by all rules under one set of readings."""
STEPS = [6, pytest.param(3, marks=pytest.mark.thorough)]
"""One trial in this many is judged by every rule under the usual readings."""
NUMBERS = (0, 1, 5, 10, 25, 50, 75, 85, 90, 100, 1000, 1e6, 0.3)
ALWAYS = ("documented-5.0", "unwritten-3.0")
"""Profiles that take part in all runs; the others are among the thorough tests."""
PROFILES = [
    name if name in ALWAYS else pytest.param(name, marks=pytest.mark.thorough)
    for name, one in specs.load().profiles.items()
    if one.kind != "released"
]
"""The rules that the model follows, without those that only releases keep."""


def rules_of(profile):
    return [rule for rule in specs.load().rules_of(profile) if rule.untestable is None]


def changed(value, gone, random, share):
    """A case without some names, and with a share of its numbers replaced."""
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
    """Whatever a case names: keys of objects and words of lists."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = [name for name in value if isinstance(name, str)] if inner else []
    return [*own, *(name for one in inner for name in names_in(one))]


def nearby(trial, defaults, random):
    """A legal trial that nobody drew: a few names less, a few numbers plainer."""
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
    """Legal trials of every rule; others near those, and some in part or twice."""
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
    """The profile's own readings, each of them taken the other way alone, and any mixture."""
    own, random = specs.load().default_readings(profile), Random(SEED)
    every = {name: reading.values for name, reading in specs.load().readings.items()}
    flipped = [
        {**own, name: value} for name in every for value in every[name] if value != own[name]
    ]
    mixed = [{name: random.choice(every[name]) for name in every} for _ in range(12)]
    return [own, *flipped, *mixed]


def problems(profile, choices, trials):
    """The violations that the rules of these readings find in the reference."""
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
