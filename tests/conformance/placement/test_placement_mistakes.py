"""Each mistake in a placement strategy breaks the rule about it, and at most general rules."""

from functools import cache

import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.cases.legality import trial_flaw
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.conformance.drawing.drawing import draw
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.conformance.engine.reduce import reduce
from pulsar_conformance.reference import Readings
from standins import placers

PROFILE = "documented-3.0"
EXAMPLES = 30
EVALUATOR = RuleEvaluator(specs.load().defaults(PROFILE), Readings.of(PROFILE))

GENERAL = {"PLACE-02", "PLACE-04", "PLACE-05", "PLACE-06", "PLACE-13"} | {
    "ANTI-01",
    "ANTI-02",
    "ANTI-03",
    "ANTI-05",
}
"""Rules about the final choice, which any earlier mistake may break as well."""

MISTAKES = {
    placers.Unweighted: "PLACE-02",
    placers.Weighted: "PLACE-02",
    placers.KeepsTheOverloaded: "PLACE-04",
    placers.FirstOfTheOverloaded: "PLACE-05",
    placers.NowhereIfAllAreOverloaded: "PLACE-01",
    placers.ByShortTerm: "PLACE-03",
    placers.ByWhatComesIn: "PLACE-03",
    placers.ReportsAlone: "PLACE-07",
    placers.NothingWithoutASample: "PLACE-08",
    placers.FixedThreshold: "PLACE-09",
    placers.AnotherDefault: "PLACE-10",
    placers.WithoutDirectMemory: "PLACE-11",
    placers.GladlyAtTheThreshold: "PLACE-06",
    placers.BrokersBeforeDomains: "ANTI-01",
    placers.AnyBrokerOfTheDomain: "ANTI-02",
    placers.AllAreCandidates: "ANTI-03",
    placers.OnceInAGroup: "ANTI-07",
}


OFFERED = {"place.select", "place.anti_affinity"}


@cache
def drawn(rule):
    strategy = checks()[rule].draws.filter(
        lambda trial: trial_flaw(trial, EVALUATOR.defaults) is None
    )
    return draw(strategy, EXAMPLES, f"mistakes/{rule}")


def breaks(placer, rule, trial):
    answers = [placer.answer(*question) for question in trial.questions]
    return EVALUATOR.judge(rule, trial, answers).violated


def broken(placer, area):
    """Return the rules of an area that a placement strategy breaks."""
    every = specs.load().rules_of(PROFILE)
    rules = [one for one in every if one.area == area and set(one.operations) <= OFFERED]
    return {
        rule.id
        for rule in rules
        if rule.untestable is None
        and any(breaks(placer, rule.id, trial) for trial in drawn(rule.id))
    }


@pytest.mark.parametrize("area", ["PLACE", "ANTI"])
def test_a_placer_in_floating_point_breaks_nothing(area):
    assert broken(placers.Placer(), area) == set()


@pytest.mark.parametrize("mistaken", MISTAKES, ids=lambda placer: placer.__name__)
def test_a_mistake_breaks_its_rule(mistaken):
    rule = MISTAKES[mistaken]
    found = broken(mistaken(), rule.partition("-")[0])
    assert rule in found
    assert found <= GENERAL | {rule}


@pytest.mark.parametrize(
    ("mistaken", "rules"),
    [
        (placers.EveryNamespaceCounts, {"ANTI-06"}),
        (placers.GroupsMadeBeforehand, {"ANTI-04"}),
        (placers.TheEmptiestDomainEvenIfDown, {"ANTI-09"}),
        (placers.OnceInADomain, {"ANTI-08", "ANTI-10"}),
        (placers.StaysWhereItWas, {"PLACE-12"}),
    ],
)
def test_a_larger_mistake_breaks_several_rules_with_its_own_among_them(mistaken, rules):
    assert rules <= broken(mistaken(), min(rules).partition("-")[0])


def test_a_question_asked_repeatedly_is_reduced():
    [trial, *_] = drawn("PLACE-05")
    placer = placers.FirstOfTheOverloaded()

    def failing(trials):
        legal = [trial_flaw(one, EVALUATOR.defaults) is None for one in trials]
        asked = zip(legal, trials, strict=True)
        return [fine and breaks(placer, "PLACE-05", one) for fine, one in asked]

    small = reduce(trial, failing)
    brokers = small.questions[0].case["brokers"]
    assert len(brokers) == 2
    assert sum(len(one.get("bundles", ())) for one in brokers.values()) == 0
    assert len(small.questions) == 21, "2 x (1/2)^21 is below one in a million"
