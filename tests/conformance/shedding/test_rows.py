"""Consecutive cycles of one question show the state that a strategy keeps between cycles."""

import json

import pytest
from pulsar_conformance.adapters.reference import ReferenceConnection
from pulsar_conformance.conformance.cases.legality import case_flaw
from pulsar_conformance.conformance.cases.saved import load_saved
from pulsar_conformance.conformance.engine import implementation as implementations
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.run import Run
from pulsar_conformance.reference import Model
from pulsar_conformance.specs import load as specs
from standins.examples import EXAMPLES
from standins.shedders import REMEMBERING, Idle, WithoutGrace

PROFILE = "documented-3.0"
ROWS = ("SHED-15", "SHED-16", "OVERLOAD-12", "THRESHOLD-15")
SINGLE = ("SHED-01", "SHED-02", "SHED-03", "SHED-04", "OVERLOAD-01", "OVERLOAD-04", "THRESHOLD-07")
LEFT, RIGHT = "t/ns/0x00000000_0x80000000", "t/ns/0x80000000_0xffffffff"


@pytest.fixture
def judged(monkeypatch, tmp_path):
    """Return a function that judges an implementation in this process and returns its verdicts."""

    def judge(kind, *rules):
        def made(name, profile, readings, *_limits):
            return kind(name, profile, readings)

        monkeypatch.setattr(implementations, "connect", made)
        plan = Plan.make(
            ["reference"], [PROFILE], rules=list(rules or ROWS), examples=30, root=tmp_path
        )
        run = Run(plan, "reference", PROFILE)
        try:
            return {rule.id: run.verdict(rule) for rule in run.rules}
        finally:
            run.close()

    return judge


def failed(found):
    return {rule for rule, one in found.items() if one.verdict == "fail"}


def test_the_model_passes_the_rules_of_cycles_in_a_row(judged):
    assert not failed(judged(ReferenceConnection))


@pytest.mark.parametrize("kind", REMEMBERING, ids=lambda kind: kind.__name__)
def test_a_strategy_with_a_wrong_memory_fails_only_over_several_cycles(kind, judged):
    assert failed(judged(kind)) >= REMEMBERING[kind]
    assert not failed(judged(kind, *SINGLE))


def test_a_fault_of_a_single_cycle_fails_the_rule_of_single_cycles(judged):
    """An implementation that never sheds fails OVERLOAD-01 (one cycle), but not OVERLOAD-12."""
    found = failed(judged(Idle, "OVERLOAD-01", "OVERLOAD-12"))
    assert found == {"OVERLOAD-01"}


def test_a_failing_row_is_reduced_to_few_cycles_and_brokers(judged, tmp_path):
    failure = judged(WithoutGrace, "SHED-16")["SHED-16"].failure
    trial = load_saved(tmp_path / failure.case_file).trial
    [question] = trial.questions
    assert len(question.case["cycles"]) == 2
    assert len(json.dumps(question.case)) < 2000


def row(*cycles, strategy="OverloadShedder", settings=None):
    return {"strategy": strategy, "settings": settings or {}, "cycles": list(cycles)}


def cycle(used, minutes=0, recent=None, **more):
    """Return a cycle: b1 has this usage and two bundles of 60 and 40 MB/s, and b2 is at 0 %."""
    rates = {name: {"msgThroughputIn": size, "numSamples": 1} for name, size in BYTES.items()}
    b1 = {"cpu": {"usage": used, "limit": 100}, "msgThroughputIn": 1e8, "bundles": [LEFT, RIGHT]}
    return {
        "minutes": minutes,
        "brokers": {"b1": {**b1, **more}, "b2": {}},
        "bundles": {name: {"shortTermData": one} for name, one in rates.items()},
        "recentlyUnloaded": recent or {},
    }


BYTES = {LEFT: 60e6, RIGHT: 40e6}


def unloaded(case, profile=PROFILE):
    answer = Model(profile, neutral=True).answer("shed.cycles", case)
    return [[each["bundle"] for each in one["unload"]] for one in answer["cycles"]]


def test_a_row_of_one_cycle_is_that_cycle():
    assert unloaded(row(cycle(95))) == [[LEFT]]


@pytest.mark.parametrize(("minutes", "again"), [(29, RIGHT), (30, RIGHT), (31, LEFT)])
def test_an_unloaded_bundle_stays_for_the_grace_period(minutes, again):
    assert unloaded(row(cycle(95), cycle(95, minutes))) == [[LEFT], [again]]


def test_an_unload_reported_in_one_cycle_counts_in_later_ones():
    """An unload is 20, 25 and 31 minutes before the three cycles; only the last may repeat it."""
    case = row(cycle(95, recent={LEFT: 20}), cycle(95, 5), cycle(95, 6))
    assert unloaded(case) == [[RIGHT], [], [LEFT]]


WEIGHTED = {
    "loadBalancerBrokerThresholdShedderPercentage": 10,
    "loadBalancerHistoryResourcePercentage": 0.9,
    **{
        f"loadBalancer{name}ResourceWeight": 1.0
        for name in ("CPU", "Memory", "DirectMemory", "BandwithIn", "BandwithOut")
    },
}


@pytest.mark.parametrize("profile", [PROFILE, "released-3.0"])
def test_earlier_usage_is_a_brokers_history(profile):
    """At 19 x 0.9 + 6 = 23.1 % over 11.55 + 10 %, b1 sheds; at 10 x 0.9 + 6 = 15 %, it does not."""
    case = row(cycle(19), cycle(60, 5), strategy="ThresholdShedder", settings=WEIGHTED)
    assert [bool(one) for one in unloaded(case, profile)] == [False, True]
    case = row(cycle(10), cycle(60, 5), strategy="ThresholdShedder", settings=WEIGHTED)
    assert [bool(one) for one in unloaded(case, profile)] == [False, False]


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (row(), "cycles"),
        (row(cycle(95, usageHistory=[1])), "leave out usageHistory; earlier cycles give it"),
        (
            row(cycle(95), {**cycle(95), "brokers": {"b1": {}}}),
            "every cycle must have the same brokers",
        ),
        (row(cycle(95), {**cycle(95), "recentlyUnloaded": {"a/b/0x2_0x1": 1}}), "recentlyUnloaded"),
    ],
)
def test_a_problem_of_a_row_names_its_place(case, said):
    assert said in case_flaw("shed.cycles", case, specs().defaults(PROFILE))


def test_a_row_with_an_unknown_strategy_is_unsupported():
    case = row(cycle(95), strategy="AvgShedder")
    assert "unsupported" in Model(PROFILE).answer("shed.cycles", case)


def test_a_derivation_explains_each_cycle_in_order():
    case = row(cycle(95), cycle(50, 7))
    labels = [step.label for step in Model(PROFILE).derive("shed.cycles", case).steps]
    assert [one for one in labels if one.startswith("cycle")] == ["cycle 1", "cycle 2"]


def test_worked_rows_are_answered_cycle_by_cycle():
    assert all(
        len(Model(PROFILE).answer("shed.cycles", case).get("cycles", ())) == len(case["cycles"])
        for case in EXAMPLES["shed.cycles"]
    )
