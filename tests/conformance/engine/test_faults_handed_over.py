"""No violation is lost: if a fault counts against another rule, that rule fails."""

import pytest
from pulsar_conformance import fixtures, specs
from pulsar_conformance.adapters.reference import ReferenceConnection
from pulsar_conformance.conformance.common.trial import Question, Trial
from pulsar_conformance.conformance.engine import implementation as implementations
from pulsar_conformance.conformance.engine.attribute import attribute, dependents_first
from pulsar_conformance.conformance.engine.draw import SourcedTrial
from pulsar_conformance.conformance.engine.evaluate import ALLOWED, Outcome
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.judge import JudgedImplementation
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.run import Run
from pulsar_conformance.reference import Settings
from pulsar_conformance.reference.shedding import Cycle
from pulsar_conformance.reference.threshold import Levels
from sampling import one_in

PROFILE = "documented-3.0"
RULES = specs.load().rules
PAIRS = [
    (rule.id, presupposed)
    for rule in RULES.values()
    for presupposed in rule.presupposes
    if rule.untestable is None
    and rule.provenance == "documented"
    and set(rule.operations) & set(RULES[presupposed].operations)
]


class SmallestFirst(ReferenceConnection):
    """Sheds the bundle with the least traffic if the lower boundary requires an unload."""

    def exchange(self, operation, batch):
        answers = super().exchange(operation, batch)
        return [self._changed(*pair) for pair in zip(batch, answers, strict=True)]

    def _changed(self, case, answer):
        if not case.get("settings", {}).get("lowerBoundarySheddingEnabled"):
            return answer
        if case.get("strategy", "").rpartition(".")[2] != "ThresholdShedder":
            return answer
        if len({one["broker"] for one in answer["unload"]}) != 1:
            return answer
        model = self._model
        cycle = Cycle(case, Settings(case["settings"], model.defaults), model.readings)
        broker = cycle.brokers[answer["unload"][0]["broker"]]
        least_first = cycle.movable(broker)[::-1]
        carried, needed = 0, sum(cycle.traffic(one["bundle"]) for one in answer["unload"])
        levels = Levels(cycle)
        if levels.is_over(broker):
            needed = levels.need_of(broker)
        unload = []
        for bundle in least_first:
            if carried < needed:
                unload.append({"broker": broker.name, "bundle": bundle})
                carried += cycle.traffic(bundle)
        return {"unload": unload}


@pytest.mark.parametrize(
    ("order", "broken"), one_in(2, [("traffic", {"THRESHOLD-12"}), ("any", set())])
)
def test_who_gives_up_the_smallest_bundles_first_breaks_the_rule_of_the_order(
    order, broken, monkeypatch, tmp_path
):
    connection = SmallestFirst("reference", PROFILE, {"threshold-order": order})
    monkeypatch.setattr(implementations, "connect", lambda *_: connection)
    plan = Plan.make(["reference"], [PROFILE], rules=["SHED-07", "THRESHOLD-*"], root=tmp_path)
    run = Run(plan, "reference", PROFILE)
    failed = {rule.id for rule in run.rules if run.verdict(rule).verdict == "fail"}
    assert failed == broken


@pytest.fixture
def subject():
    return JudgedImplementation.before_asking(Implementation("reference", PROFILE, {}))


def example_trial_of(rule):
    """Return the first question of a worked example of the rule, as a trial."""
    example = next(one for one in fixtures.examples() if rule in one.rules)
    return Trial((Question(*example.questions[0]),))


@pytest.mark.parametrize(("rule", "presupposed"), PAIRS, ids=[" on ".join(pair) for pair in PAIRS])
def test_what_breaks_a_rule_that_is_built_upon_is_a_fault_of_that_one(
    rule, presupposed, subject, monkeypatch
):
    """A fault counts against the rule or a broken rule that it presupposes, and is never lost."""
    trial = example_trial_of(rule)
    answers = [{"failed": "it broke"}]
    broken = Outcome("violated", "an answer", "none")
    monkeypatch.setattr(subject.evaluator, "judge", lambda *_: broken)
    monkeypatch.setattr(
        subject.implementation, "answers", lambda trials: [[{"failed": "it broke"}] for _ in trials]
    )
    rules = [RULES[rule], RULES[presupposed]]
    docket = {rule: [(SourcedTrial("drawn", trial), answers)], presupposed: []}
    found = attribute(rules, docket, {rule: [broken], presupposed: []}, subject)
    blamed = set(found[rule].aside)
    assert blamed or found[rule].own, f"{rule}: its fault is lost"
    if blamed == {presupposed}:
        assert found[presupposed].own or found[presupposed].aside


def test_those_that_build_on_a_rule_come_before_it():
    order = [rule.id for rule in dependents_first(list(RULES.values()))]
    for rule, presupposed in PAIRS:
        assert order.index(rule) < order.index(presupposed)


def test_no_fault_is_found_under_a_rule_that_nothing_breaks(subject):
    rule = RULES["OVERLOAD-02"]
    docket = {rule.id: [(SourcedTrial("drawn", example_trial_of(rule.id)), [{"unload": []}])]}
    assert attribute([rule], docket, {rule.id: [ALLOWED]}, subject)[rule.id].own == []
