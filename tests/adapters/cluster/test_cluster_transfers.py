"""Stories in which a cluster of the extensible load manager moves bundles."""

import pytest
from pulsar_conformance.adapters.names import connect

pytestmark = pytest.mark.cluster

PROFILE = "documented-4.2"
EXTENSIBLE, MODULAR = "cluster:4.2.4,manager=extensible", "cluster:4.2.4"
STRATEGY = "loadBalancerLoadSheddingStrategy"
HITS = "loadBalancerSheddingConditionHitCountThreshold"
ENABLED = "loadBalancerSheddingEnabled"
SETTINGS = {
    ENABLED: True,
    STRATEGY: "org.apache.pulsar.broker.loadbalance.extensions.scheduler.TransferShedder",
    "loadBalancerHistoryResourcePercentage": 0,
    "loadBalancerAutoBundleSplitEnabled": False,
    "loadBalancerReportUpdateMaxIntervalMinutes": 1,
    "loadBalancerSheddingIntervalMinutes": 1,
}


def up(number):
    return {"broker_up": {"broker": f"broker-{number}", "capacity": 1e8}}


def used(space, megabytes):
    rates = {"msgRateIn": 100 * megabytes, "msgThroughputIn": 1e6 * megabytes}
    return {"topic": {"topic": f"persistent://{space}/orders", **rates}}


def switch(value):
    return {"setting": {"name": ENABLED, "value": value, "how": "dynamic"}}


LOADED = (
    up(1),
    *({"namespace": {"name": space, "bundles": 1}} for space in ("shop/a", "shop/b", "shop/c")),
    used("shop/a", 20),
    used("shop/b", 30),
    used("shop/c", 40),
)
"""Three bundles on one broker; the two smaller bundles carry more than half of its traffic."""

MINUTE = {"tick": {"minutes": 1}}
SMALLEST = "shop/a/0x00000000_0xffffffff"
NOTHING = ([], [])
SHED = (
    [{"bundle": SMALLEST, "from": "broker-1", "reason": "shed"}],
    [{"bundle": SMALLEST, "to": "broker-2"}],
)


@pytest.fixture(scope="module")
def cluster():
    with connect(EXTENSIBLE, PROFILE, {}) as connection:
        yield connection


def played(cluster, *events, **settings):
    """Return the unloads and assignments of each step after the events in `LOADED`."""
    case = {"settings": {**SETTINGS, **settings}, "events": [*LOADED, *events]}
    [answer] = cluster.ask("cluster.replay", [case])
    steps = answer["steps"][len(LOADED) :]
    return [(step.get("unloaded", []), step.get("assigned", [])) for step in steps]


def test_the_cycle_that_exceeds_the_count_moves_a_bundle_to_its_destination(cluster):
    seen = played(cluster, up(2), *[MINUTE] * 9)
    assert seen == [*[NOTHING] * 4, SHED, *[NOTHING] * 5]


def test_the_switch_is_read_in_each_cycle(cluster):
    events = (switch(False), up(2), *[MINUTE] * 3, switch(True), *[MINUTE] * 3)
    assert played(cluster, *events, **{HITS: 0}) == [*[NOTHING] * 6, SHED, *[NOTHING] * 2]


def declined(cluster, strategy):
    case = {"settings": {**SETTINGS, STRATEGY: strategy}, "events": [*LOADED, MINUTE]}
    [answer] = cluster.ask("cluster.replay", [case])
    return answer["unsupported"]


def test_a_story_about_the_strategy_of_another_manager_is_declined(cluster):
    said = "the extensible load manager sheds only with TransferShedder, but the story uses"
    assert declined(cluster, "OverloadShedder") == f"{said} OverloadShedder"
    with connect(MODULAR, PROFILE, {}) as modular:
        said = "only the extensible load manager sheds with TransferShedder"
        assert declined(modular, SETTINGS[STRATEGY]) == said
