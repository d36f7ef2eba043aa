"""Until the next load reports, a new leader may not know its predecessor's assignments."""

import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.common.trial import Question, Trial
from pulsar_conformance.conformance.engine.attribute import own_faults
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.judge import AppliedRule, JudgedImplementation
from pulsar_conformance.reference.story import events

RULE = specs.load().rules["ANTI-11"]
SETTINGS = {
    "loadBalancerReportUpdateMaxIntervalMinutes": 1,
    "loadBalancerSheddingIntervalMinutes": 1,
    "loadBalancerSheddingEnabled": False,
    "loadBalancerAutoBundleSplitEnabled": False,
    "loadBalancerBrokerOverloadedThresholdPercentage": 85,
}
RATES = {"msgRateIn": 0.0, "msgRateOut": 0.0, "msgThroughputIn": 0.0, "msgThroughputOut": 0.0}
LOST = [{"leader_lost": {}}]


def use(space):
    return {"topic": {"topic": f"persistent://{space}/topic-1", **RATES}}


def story(*between, before=("t/a",)):
    """Return a story in which t/b is first used after the events `between`."""
    set_up = [
        *({"broker_up": {"broker": name, "capacity": 10**8}} for name in ("b1", "b2")),
        {"domain": {"name": "north", "brokers": ["b1"]}},
        {"domain": {"name": "south", "brokers": ["b2"]}},
        *({"namespace": {"name": space, "bundles": 1}} for space in ("t/a", "t/b")),
        *({"group": {"namespace": space, "group": "apart"}} for space in ("t/a", "t/b")),
    ]
    steps = [*set_up, *map(use, before), *between, use("t/b")]
    return Trial((Question("cluster.replay", {"settings": SETTINGS, "events": steps}),))


@pytest.fixture
def fails(monkeypatch):
    """Return a function: true if ANTI-11 finds, in a story, that t/b is put where t/a is."""
    right = events.topic

    def topic(world, about, result):
        right(world, about, result)
        owners = {bundle.rpartition("/")[0]: bundle for bundle in world.owner}
        if "t/b" in owners:
            world.owner[owners["t/b"]] = world.owner[owners["t/a"]]

    monkeypatch.setitem(events.EVENTS, "topic", topic)
    implementation = Implementation("reference", "documented-3.0", {})
    applied = AppliedRule(RULE, JudgedImplementation.before_asking(implementation))
    return lambda trial: own_faults(applied, [trial])[0] is not None


@pytest.mark.parametrize(
    ("between", "certain"),
    [
        ([], True),
        ([{"tick": {"minutes": 2}}], True),
        (LOST, False),
        ([*LOST, {"tick": {"minutes": 1}}], False),
        ([*LOST, {"tick": {"minutes": 2}}], True),
        ([*LOST, {"tick": {"minutes": 1}}, {"tick": {"minutes": 1}}], True),
        ([{"tick": {"minutes": 2}}, *LOST], False),
    ],
)
def test_a_group_is_judged_once_the_leader_knows_its_owners(fails, between, certain):
    assert fails(story(*between)) is certain


def test_a_leader_that_changes_before_anything_is_assigned_is_judged(fails):
    assert fails(story(*LOST, use("t/a"), before=())) is True
