"""Changes of a case that must not change the answer find every mistake with names or notation."""

import copy
from itertools import islice

import pytest
from pulsar_conformance import specs
from pulsar_conformance.adapters.reference import ReferenceConnection
from pulsar_conformance.conformance.any_answer.transformations import TRANSFORMATIONS
from pulsar_conformance.conformance.cases.saved import load_saved
from pulsar_conformance.conformance.engine import implementation as implementations
from pulsar_conformance.conformance.engine.draw import draw_trials
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.run import Run
from pulsar_conformance.reference import Readings
from sampling import one_in

PROFILE, EXAMPLES = "unwritten-3.0", 100


class Planted(ReferenceConnection):
    """The model, in this process, with one mistake that a subclass adds."""

    def _answer(self, operation, case):
        return getattr(self, operation.replace(".", "_"), self.right)(operation, case)

    def right(self, operation, case):
        return super()._answer(operation, case)


class Collides(Planted):
    """Stores brokers by a key that several names may share, so that only the last broker counts."""

    def key(self, name):
        raise NotImplementedError

    def shed_select(self, operation, case):
        kept = {self.key(name): name for name in case["brokers"]}
        brokers = {name: case["brokers"][name] for name in kept.values()}
        return self.right(operation, {**case, "brokers": brokers})


class CutsLongNames(Collides):
    def key(self, name):
        return name[:64]


class KeepsTheEndsOfNames(Collides):
    def key(self, name):
        return name[-64:]


class IgnoresCapitals(Collides):
    def key(self, name):
        return name.lower()


class CutsAtTheFirstDot(Collides):
    def key(self, name):
        return name.partition(".")[0]


class KnowsAsciiAlone(Planted):
    def place_select(self, operation, case):
        known = [name for name in case["candidates"] if name.isascii()]
        return self.right(operation, {**case, "candidates": known})


class FindsBrokersByTheirBeginning(Planted):
    def place_select(self, operation, case):
        broker = self.right(operation, case)["broker"]
        first = next((name for name in case["candidates"] if name.startswith(broker or "?")), None)
        return {"broker": first if broker else None}


class CutsTheTenant(Planted):
    """Stores limits by the local name of a namespace, without its tenant."""

    def bundles_split_candidates(self, operation, case):
        spaces = {space.rpartition("/")[2]: space for space in case["namespaceBundles"]}
        answer = self.right(operation, case)
        return {
            name: [one for one in answer[name] if one.rpartition("/")[0] in spaces.values()]
            for name in ("split", "unload")
        }


class TakesWholeNumbersAlone(Planted):
    def usage_max(self, operation, case):
        broker = {
            name: used
            for name, used in case["broker"].items()
            if not (isinstance(used, dict) and isinstance(used["usage"], float))
        }
        return self.right(operation, {**case, "broker": broker})


class ReadsAThousandBundles(Planted):
    def average_broker(self, operation, case):
        known = dict(islice(case["bundles"].items(), 1000))
        return self.right(operation, {**case, "bundles": known})


class ReadsAHundredBrokers(Planted):
    def place_select(self, operation, case):
        known = dict(islice(case["brokers"].items(), 100))
        candidates = [name for name in case["candidates"] if name in known]
        return self.right(operation, {**case, "brokers": known, "candidates": candidates})


class FailsOnUnknownSettings(Planted):
    def bundles_split(self, operation, case):
        unknown = {"clusterName", "numHttpServerThreads"} & set(case["settings"])
        return {"refused": "unknown"} if unknown else self.right(operation, case)


class TakesNullForZero(Planted):
    def usage_nic(self, operation, case):
        override = case["settings"].get("loadBalancerOverrideBrokerNicSpeedGbps", "")
        return {"gbps": 0.0} if override is None else self.right(operation, case)


class TakesAWrittenDefaultForAChoice(Planted):
    """Treats a default that a case gives explicitly as a deliberate choice."""

    def bundles_create(self, operation, case):
        answer = self.right(operation, case)
        if case["bundles"] is None and case["settings"].get("defaultNumberOfNamespaceBundles") == 4:
            return {"boundaries": ["0x00000000", "0xffffffff"]}
        return answer


OF_NAMES_AND_NOTATION = (
    CutsLongNames,
    KeepsTheEndsOfNames,
    IgnoresCapitals,
    CutsAtTheFirstDot,
    KnowsAsciiAlone,
    FindsBrokersByTheirBeginning,
    CutsTheTenant,
    TakesWholeNumbersAlone,
    ReadsAThousandBundles,
    ReadsAHundredBrokers,
    FailsOnUnknownSettings,
    TakesNullForZero,
    TakesAWrittenDefaultForAChoice,
)


@pytest.mark.parametrize(
    "mistake", one_in(3, OF_NAMES_AND_NOTATION), ids=lambda mistake: mistake.__name__
)
def test_a_mistake_with_names_or_notation_is_found(mistake):
    """The rules are judged without a run, which would draw the same trials for each mistake."""
    operations = {name.replace(".", "_"): name for name in TRANSFORMATIONS}
    [operation] = {operations[name] for name in operations if hasattr(mistake, name)}
    evaluator = RuleEvaluator(specs.load().defaults(PROFILE), Readings.of(PROFILE))
    wrong, right = mistake("reference", PROFILE, {}), Planted("reference", PROFILE, {})
    words = {wrong: set(), right: set()}
    for trial in draw_trials("ANSWER-06", PROFILE, 0, EXAMPLES):
        for connection in words if trial.operation == operation else ():
            answers = [connection._answer(*copy.deepcopy(one)) for one in trial.questions]
            words[connection].add(evaluator.judge("ANSWER-06", trial, answers).word)
    assert "violated" in words[wrong]
    # The profile's documents have no AvgShedder, which drawn cases may ask for.
    assert words[right] <= {"allowed", "not_reached", "unsupported"}


class TakesGroupsOfAnyCapitals(Planted):
    """Compares the names of groups without regard to case, as released Pulsar does."""

    def place_anti_affinity(self, operation, case):
        groups = {space: group.lower() for space, group in case["groups"].items()}
        return self.right(operation, {**case, "groups": groups})


def test_groups_may_be_compared_without_capitals():
    evaluator = RuleEvaluator(specs.load().defaults(PROFILE), Readings.of(PROFILE))
    connection = TakesGroupsOfAnyCapitals("reference", PROFILE, {})
    words = set()
    for trial in draw_trials("ANSWER-06", PROFILE, 0, EXAMPLES):
        if trial.operation == "place.anti_affinity":
            answers = [connection._answer(*copy.deepcopy(one)) for one in trial.questions]
            words.add(evaluator.judge("ANSWER-06", trial, answers).word)
    assert "allowed" in words
    assert "violated" not in words


def test_a_transformed_case_is_reduced_together_with_its_copy(monkeypatch, tmp_path):
    monkeypatch.setattr(
        implementations,
        "connect",
        lambda name, profile, readings, *_limits: CutsLongNames(name, profile, readings),
    )
    plan = Plan.make(["reference"], [PROFILE], rules=["ANSWER-06"], seed=0, root=tmp_path)
    run = Run(plan, "reference", PROFILE)
    try:
        run.prepare()
        [rule] = plan.rules_of(PROFILE)
        found = run.verdict(rule)
    finally:
        run.close()
    assert "the same answer with brokers whose long names differ" in found.failure.allowed
    first, second = load_saved(tmp_path / found.failure.case_file).trial.questions
    assert len(first.case["brokers"]) == len(second.case["brokers"]) <= 3
