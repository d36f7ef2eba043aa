"""Every rule judges every answer of its operations, and choosing rules changes no verdict."""

import pytest
from pulsar_conformance import specs
from pulsar_conformance.adapters.reference import ReferenceConnection
from pulsar_conformance.conformance.catalogue import OPERATIONS
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.engine import ask, outcomes
from pulsar_conformance.conformance.engine import implementation as implementations
from pulsar_conformance.conformance.engine.confirm import Confirmer, ShownFault
from pulsar_conformance.conformance.engine.draw import SourcedTrial
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.judge import AppliedRule, JudgedImplementation
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.run import Run

PROFILE = "documented-3.0"


@pytest.fixture
def connected(monkeypatch):
    """Return a function that replaces `reference` by another connection."""

    def connect(connection):
        monkeypatch.setattr(implementations, "connect", lambda *_: connection)

    return connect


def verdicts(rules, root, examples=5):
    plan = Plan.make(["reference"], [PROFILE], rules=rules, examples=examples, root=root)
    run = Run(plan, "reference", PROFILE)
    return {rule.id: run.verdict(rule) for rule in run.rules}


class ShedsTwice(ReferenceConnection):
    """Unloads each bundle twice, but only in cases that are drawn for one rule."""

    def __init__(self, name, cases):
        super().__init__(name, PROFILE, {})
        self.cases = cases

    def _answer(self, operation, case):
        answer = super()._answer(operation, case)
        if operation == "shed.select" and id(case) in self.cases:
            return {"unload": [*answer["unload"], *answer["unload"]]}
        return answer


def test_a_rule_judges_an_answer_to_a_case_that_was_drawn_for_another(
    connected, monkeypatch, tmp_path
):
    """SHED-03 fails on a case drawn for OVERLOAD-01, the only rule whose cases show the fault."""
    cases = set()
    drawn_for = ask.trials_of_rule

    def watched(rule, *given):
        for one in drawn_for(rule, *given):
            if rule.id == "OVERLOAD-01" and one.origin == "drawn":
                cases.update(id(question.case) for question in one.trial.questions)
            yield one

    monkeypatch.setattr(ask, "trials_of_rule", watched)
    connection = ShedsTwice("reference", cases)
    connected(connection)
    alone = verdicts(["SHED-03"], tmp_path)
    assert alone["SHED-03"].verdict == "pass"
    together = verdicts(["SHED-03", "OVERLOAD-01"], tmp_path)
    assert together["SHED-03"].verdict == "fail"
    assert together["SHED-03"].drawn == alone["SHED-03"].drawn


def test_the_models_own_answers_are_not_judged_again(connected, monkeypatch, tmp_path):
    monkeypatch.setattr(outcomes, "_answers_unlike_model", None)
    found = verdicts(["SHED-03", "OVERLOAD-01"], tmp_path)
    assert {one.verdict for one in found.values()} == {"pass"}


class Idle(ReferenceConnection):
    """Unloads nothing, and declares no readings."""

    def __init__(self):
        super().__init__("idle", PROFILE, {})
        self.hello = type(self.hello).of(
            {"protocol": 1, "name": "idle", "operations": ["shed.select"]}
        )

    def _answer(self, operation, case):
        return {"unload": []}


AREAS = [
    "UNIFORM",
    *(pytest.param(one, marks=pytest.mark.thorough) for one in ("OVERLOAD", "THRESHOLD", "SHED")),
]


@pytest.mark.parametrize("area", AREAS)
def test_a_rule_has_the_same_verdict_alone_and_together(area, connected, monkeypatch, tmp_path):
    """Each rule has the same verdict alone and together with the other rules of its area.

    No case is reduced, to save time.
    """
    monkeypatch.setattr(
        Confirmer,
        "with_smallest_case",
        lambda _confirmer, _applied, fault, _known=None: ShownFault(fault),
    )
    connected(Idle())
    together = verdicts([f"{area}-*"], tmp_path, examples=20)
    for rule, found in together.items():
        alone = verdicts([rule], tmp_path / rule, examples=20)[rule]
        assert alone.verdict == found.verdict, (rule, alone.why, found.why)


def test_who_unloads_nothing_breaks_the_rule_of_the_amount(connected, tmp_path):
    """OVERLOAD-02 fails: under the other reading of the amount, another rule would be broken."""
    connected(Idle())
    found = verdicts(["OVERLOAD-02"], tmp_path)["OVERLOAD-02"]
    assert found.verdict == "fail"
    assert not any(one.startswith("overload-amount=") for one in found.failure.passes_under)


def test_no_document_judges_a_case_to_which_the_model_of_a_release_has_no_answer():
    one = JudgedImplementation.before_asking(Implementation("reference", "released-4.2", {}))
    case = OPERATIONS["shed.select"].examples[0]
    settings = {
        "loadBalancerBrokerOverloadedThresholdPercentage": 90.5,
        "loadBalancerBrokerThresholdShedderPercentage": 90.5,
    }
    trial = Trial.of("shed.select", {**case, "settings": settings})
    [refused] = one.model_answers(trial)
    assert "unsupported" in refused
    applied = AppliedRule(specs.load().rules["OVERLOAD-02"], one)
    assert applied.outcome(trial, [{"unload": []}]).word == "not_reached"
    assert not applied.outcome_of(SourcedTrial("drawn", trial), [{"unload": []}]).violated
