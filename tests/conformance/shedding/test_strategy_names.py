"""The model and its checks use the same strategy for a cycle, however it is named."""

import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.shedding.view import SheddingCycle
from pulsar_conformance.reference import Readings, Settings
from pulsar_conformance.reference.shedding import Cycle

LATER = "org.apache.pulsar.broker.loadbalance.extensions"
MANAGER = {"loadManagerClassName": f"{LATER}.ExtensibleLoadManagerImpl"}
STRATEGY = "loadBalancerLoadSheddingStrategy"
SHEDDER = f"{LATER}.scheduler.TransferShedder"


@pytest.mark.parametrize(
    ("profile", "named", "settings", "strategy"),
    [
        ("documented-4.2", SHEDDER, {}, "TransferShedder"),
        ("documented-4.2", None, {STRATEGY: SHEDDER}, "TransferShedder"),
        ("documented-4.2", None, MANAGER, "TransferShedder"),
        ("documented-4.2", "OverloadShedder", MANAGER, "OverloadShedder"),
        ("documented-4.2", None, {**MANAGER, STRATEGY: "OverloadShedder"}, "OverloadShedder"),
        ("documented-4.2", None, {}, "ThresholdShedder"),
        ("documented-3.0", None, MANAGER, "ThresholdShedder"),
    ],
)
def test_model_and_checks_know_the_strategy_alike(profile, named, settings, strategy):
    given = Settings(settings, specs.load().defaults(profile))
    readings = Readings.of(profile, {})
    cycles = (kind({"strategy": named}, given, readings) for kind in (Cycle, SheddingCycle))
    assert [one.strategy for one in cycles] == [strategy, strategy]
