"""The model predicts the complete placement of each release."""

import importlib.util
import shutil

import pytest
from pulsar_conformance import specs
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.adapters.pulsar.versions import releases
from pulsar_conformance.conformance.cases.legality import trial_flaw
from pulsar_conformance.conformance.compare.changes_text import profile_of
from pulsar_conformance.conformance.drawing.drawing import draw
from pulsar_conformance.conformance.placement import draw_domains as assignments
from pulsar_conformance.reference import Model

NEEDED = ("java", "javac", "mvn")
HERE = all(map(shutil.which, NEEDED)) and importlib.util.find_spec("jpype") is not None
pytestmark = [
    pytest.mark.pulsar,
    pytest.mark.skipif(not HERE, reason="needs Java, Maven and the extra pulsar"),
]

BESIDE_LOAD = (
    assignments.add_isolation_policies,
    assignments.join_group,
    assignments.serve_other_bundles,
    assignments.set_topics_near_maximum,
    assignments.set_versions,
    assignments.set_even_distribution,
    assignments.overload_some,
)
EACH = 6
"""Number of cases for each filter, and for all filters together."""


def drawn(profile):
    kinds = [*((one,) for one in BESIDE_LOAD), BESIDE_LOAD]
    trials = [trial for kind in kinds for trial in draw(assignments.assigning(*kind), EACH, "7")]
    defaults = specs.load().defaults(profile)
    return [one.questions[0].case for one in trials if trial_flaw(one, defaults) is None]


@pytest.mark.parametrize("version", releases())
def test_each_case_is_decided_as_the_model_foresees(version):
    profile = profile_of(version)
    cases, model = drawn(profile), Model(profile)
    with connect(f"pulsar:{version}", profile, {}) as release:
        answers = release.ask("place.broker", cases)
    told = 0
    for case, answer in zip(cases, answers, strict=True):
        if "unsupported" in answer:
            continue
        told += 1
        assert answer["broker"] is None or answer["broker"] in answer["candidates"]
        may = {model.answer("place.broker", case)["broker"] for _ in case["brokers"]}
        assert answer["broker"] in may
    assert told > len(cases) / 2


def test_a_division_by_zero_in_java_is_an_answer_and_no_crash():
    """The answer is a failure: AvgShedder.getExpectedBroker divides by 0 candidates here."""
    profile = "released-4.2"
    average = "org.apache.pulsar.broker.loadbalance.impl.AvgShedder"
    settings = {"loadBalancerLoadPlacementStrategy": average}
    none = {"brokers": {}, "bundles": {}, "preallocated": {}, "domains": {}, "groups": {}}
    bundle = "shop/eu/0x00000000_0x04000000"
    case = {"settings": settings, "bundle": bundle, **none, "isolation": [], "versions": {}}
    with connect("pulsar:4.2.4", profile, {}) as release:
        [answer] = release.ask("place.broker", [case])
    assert "ArithmeticException" in answer["failed"]


IMPL = "org.apache.pulsar.broker.loadbalance.impl."


@pytest.mark.parametrize("version", ["3.0.7", "4.2.4"])
@pytest.mark.parametrize(
    ("strategy", "least_used", "chosen"),
    [("LeastResourceUsageWithWeight", 84, {"b1"}), ("RoundRobinBrokerSelector", 90, None)],
)
def test_a_manager_asks_its_strategy_again_if_the_choice_is_overloaded(
    version, strategy, least_used, chosen
):
    """The threshold is 85 %. b3 owns a bundle of the namespace, so b1 and b2 are candidates first.

    Their mean is 91.5 %, and neither is 10 points below it, so one of them is drawn. If that is b2,
    a broker is chosen among all three, and only b1 is 10 points below their mean of 94.33 %. The
    round-robin selector chooses b1 first and, if it is overloaded, the second of all three.
    """
    settings = {
        "loadBalancerLoadPlacementStrategy": f"{IMPL}{strategy}",
        "loadBalancerDistributeBundlesEvenlyEnabled": True,
    }
    brokers = {
        name: {"cpu": {"usage": usage, "limit": 100}, "bundles": []}
        for name, usage in {"b1": least_used, "b2": 99, "b3": 100}.items()
    }
    brokers["b3"]["bundles"] = ["a/b/0x00000000_0x80000000"]
    nothing = {"preallocated": {}, "domains": {}, "groups": {}, "isolation": [], "versions": {}}
    given = {"settings": settings, "bundle": "a/b/0x80000000_0xffffffff", "brokers": brokers}
    case = {**given, "bundles": {}, **nothing}
    profile = profile_of(version)
    with connect(f"pulsar:{version}", profile, {}) as release:
        answers = release.ask("place.broker", [case] * 6)
    model = Model(profile)
    may = {model.answer("place.broker", case)["broker"] for _ in range(6)}
    assert {one["broker"] for one in answers} == may
    assert chosen in (None, may)
    assert all(one["candidates"] == sorted(brokers) for one in answers)
