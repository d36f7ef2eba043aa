"""A fault of an audit is judged again by every open reading that its rule depends on."""

from functools import cache
from random import Random

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance import specs
from pulsar_conformance.audit.pipeline.plan import AuditPlan
from pulsar_conformance.audit.verdicts.checks import CHECKS
from pulsar_conformance.audit.verdicts.checks.open_readings import (
    READINGS_OF_RULE,
    open_alternatives,
    readings_of,
)
from pulsar_conformance.conformance.engine.draw import aimed_at, draw_trials
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator, consulted_readings
from pulsar_conformance.reference import Model, Readings
from standins.changed_answers import changed_answers

PROFILES = ("documented-3.0", "documented-4.2")
SHEDDING = ("overload", "threshold", "uniform", "lower", "grace", "shed", "expensive")
SEED, EACH, AIMED = 12, 10, 6


def others_of(profile):
    """Return each alternative about shedding that a document allows, other than the default."""
    usual = specs.load().default_readings(profile)
    return [
        (name, value)
        for name, reading in specs.load().readings.items()
        if name.startswith(SHEDDING)
        for value in reading.documented
        if value != usual[name]
    ]


def aimed(profile, rule):
    """Yield a few trials of each reading of the rule's area that tell its alternatives apart."""
    area = rule.partition("-")[0].lower()
    for name in specs.load().readings:
        if name.startswith((area, "overload-trigger")):
            yield from aimed_at(name, profile, SEED)[:AIMED]


@cache
def observed(profile, rule):
    """Return the readings that a check consults, and those that allow what it accuses."""
    own = specs.load().rules[rule]
    judge = RuleEvaluator(specs.load().defaults(profile), Readings.of(profile, own.reading))
    others = {(n, v): judge.under(Readings.of(profile, {n: v})) for n, v in others_of(profile)}
    model, random, consulted, allowing = Model(profile), Random(5), set(), set()
    for trial in (*draw_trials(rule, profile, SEED, EACH), *aimed(profile, rule)):
        if [one.operation for one in trial.questions] != ["shed.select"]:
            continue
        case = trial.questions[0].case
        for pairs in changed_answers(random, case, model.answer("shed.select", case)):
            said = [{"unload": pairs}]
            consulted |= consulted_readings(own, judge, trial, said).keys()
            if judge.judge(rule, trial, said).word == "violated":
                allowing |= {
                    name
                    for (name, _), other in others.items()
                    if other.judge(rule, trial, said).word != "violated"
                }
    return consulted, allowing


JUDGED = [
    (profile, rule.id)
    for profile in PROFILES
    for rule in specs.load().rules_of(profile)
    if rule.id in CHECKS
]


@pytest.mark.parametrize(("profile", "rule"), JUDGED)
def test_every_reading_that_allows_what_a_check_accuses_is_named(profile, rule):
    _consulted, allowing = observed(profile, rule)
    assert allowing <= {*readings_of(rule)}


def test_every_named_reading_is_one_that_the_check_consults():
    consulted = {}
    for profile, rule in JUDGED:
        consulted.setdefault(rule, set()).update(observed(profile, rule)[0])
    stray = {
        rule: set(names) - consulted[rule]
        for rule, names in READINGS_OF_RULE.items()
        if set(names) - consulted[rule]
    }
    assert stray == {}


def test_what_is_open_and_not_chosen_has_other_alternatives():
    plan = AuditPlan.of("documented-4.2")
    assert open_alternatives("OVERLOAD-04", plan) == {"overload-trigger": ("reaches",)}
    chosen = AuditPlan.of("documented-4.2", {"overload-trigger": "exceeds"})
    assert open_alternatives("OVERLOAD-04", chosen) == {}
    assert open_alternatives("SHED-02", plan) == {}
    assert open_alternatives("OVERLOAD-03", plan) == {
        "overload-amount": ("one", "every"),
        "shed-measure": ("message-rate",),
        "shed-window": ("long-term",),
    }


def test_a_release_leaves_nothing_open():
    assert open_alternatives("OVERLOAD-04", AuditPlan.of("released-4.2")) == {}
