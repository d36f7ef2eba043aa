"""Worked examples list every answer that the rules allow, or are right that there is only one."""

from itertools import combinations, islice, permutations, product

import pytest
from pulsar_conformance import fixtures, specs
from pulsar_conformance.conformance.common.trial import Question, Trial
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.reference import Readings
from test_examples import profiles_of, readings_of

PROFILE = "documented-3.0"
JUDGING = ("SHED-02", "SHED-03", "SHED-08")
EXAMPLES = [one for one in fixtures.examples() if "SHED-08" in one.rules]


def owned_bundles(case):
    """Return every owned bundle as an unload, in the order of the brokers."""
    return [
        {"broker": name, "bundle": bundle}
        for name, broker in case["brokers"].items()
        for bundle in broker.get("bundles", ())
    ]


def rules_about(operation, profile):
    """Return the IDs of the profile's testable rules about an operation."""
    rules = specs.load().rules_of(profile)
    return [rule.id for rule in rules if operation in rule.operations and rule.untestable is None]


def judge_of(example, profile, chosen, rules):
    """Return a function that says if none of the rules is violated by an answer to the example."""
    [(operation, case)] = example.questions
    evaluator = RuleEvaluator(specs.load().defaults(profile), Readings.of(profile, chosen))
    trial = Trial((Question(operation, case),))

    def allows(answer):
        words = (evaluator.judge(rule, trial, [answer]).word for rule in rules)
        return all(word != "violated" for word in words)

    return allows


def unloads_of(case):
    """Yield every list of unloads of owned bundles, the brokers in their order."""
    owned = owned_bundles(case)
    places = {name: place for place, name in enumerate(case["brokers"])}
    for count in range(len(owned) + 1):
        for unload in permutations(owned, count):
            order = [places[one["broker"]] for one in unload]
            if order == sorted(order):
                yield list(unload)


AT_A_LIMIT = ("uniform-at-the-thresholds", "uniform-50-messages-more")
"""Examples exactly at a threshold, where no rule judges; their arithmetic says so."""

MAX_CHOICES = 200
"""Number of answers up to which all are judged."""

WITH_ONE_ANSWER = [
    one
    for one in fixtures.examples()
    if [operation for operation, _case in one.questions] == ["shed.select"]
    and len(one.allowed or ()) == 1
    and not one.judged_by_rules
]


def choices_of(case):
    """Yield every choice of owned bundles; under TransferShedder, with every next owner."""
    owned = owned_bundles(case)
    transfers = (case.get("strategy") or "").endswith("TransferShedder")
    for count in range(len(owned) + 1):
        for chosen in combinations(owned, count):
            for owners in product(case["brokers"] if transfers else [None], repeat=count):
                unload = [
                    {**one, "to": to} if transfers else one
                    for one, to in zip(chosen, owners, strict=True)
                ]
                if all(one.get("to") != one["broker"] for one in unload):
                    yield unload


@pytest.mark.parametrize("example", WITH_ONE_ANSWER, ids=lambda one: one.id)
def test_no_other_choice_of_bundles_is_allowed_beside_a_single_answer(example):
    [(operation, case)] = example.questions
    profile = profiles_of(example)[0]
    readings = readings_of(example, profile)[0]
    allows = judge_of(example, profile, readings, rules_about(operation, profile))
    [[given]] = example.allowed
    others = [
        unload
        for unload in islice(choices_of(case), MAX_CHOICES)
        if sorted(map(str, unload)) != sorted(map(str, given.get("unload", ())))
        and allows({"unload": unload})
    ]
    assert bool(others) == (example.id in AT_A_LIMIT), others


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: one.id)
def test_every_answer_that_the_rule_allows_is_listed(example):
    [(_operation, case)] = example.questions
    allows = judge_of(example, PROFILE, example.readings, JUDGING)
    allowed = [unload for unload in unloads_of(case) if allows({"unload": unload})]
    listed = [answer["unload"] for [answer] in example.allowed]
    assert sorted(map(str, listed)) == sorted(map(str, allowed))


PLACING = ("place.select", "place.broker")

WITH_LISTED_BROKERS = [
    one
    for one in fixtures.examples()
    if len(one.questions) == 1 and one.questions[0][0] in PLACING
    if one.allowed and not one.judged_by_rules
]


@pytest.mark.parametrize("example", WITH_LISTED_BROKERS, ids=lambda one: one.id)
def test_every_broker_that_the_rules_allow_is_listed(example):
    [(operation, case)] = example.questions
    profile = profiles_of(example)[0]
    allows = judge_of(example, profile, example.readings, rules_about(operation, profile))
    listed = {answer["broker"] for [answer] in example.allowed}
    brokers = case.get("candidates", case["brokers"])
    assert listed - {None} == {name for name in brokers if allows({"broker": name})}
