"""A running cluster makes single decisions as worked out by hand."""

import json
import urllib.request

import pytest
from pulsar_conformance.adapters.cluster.decisions.names import BrokerNames
from pulsar_conformance.adapters.names import connect

pytestmark = pytest.mark.cluster

PROFILE = "documented-3.0"
WHOLE, LEFT, RIGHT = (
    "shop/eu/0x00000000_0xffffffff",
    "shop/eu/0x00000000_0x7fffffff",
    "shop/eu/0x7fffffff_0xffffffff",
)
CALM = {"loadBalancerDistributeBundlesEvenlyEnabled": False}


@pytest.fixture(scope="module")
def cluster():
    with connect("cluster:3.0.7", PROFILE, {}) as connection:
        yield connection


@pytest.fixture(scope="module")
def simple():
    with connect("cluster:3.0.7,manager=simple", PROFILE, {}) as connection:
        yield connection


@pytest.fixture(scope="module")
def extensible():
    with connect("cluster:4.0.7,manager=extensible", PROFILE, {}) as connection:
        yield connection


def decided(cluster, operation, **case):
    [answer] = cluster.ask(operation, [case])
    return answer


def rates(messages):
    """Return the rates for this number of messages in and out, each of 1,000 bytes."""
    in_and_out = dict.fromkeys(("msgRateIn", "msgRateOut"), messages / 2)
    return {**in_and_out, **dict.fromkeys(("msgThroughputIn", "msgThroughputOut"), messages * 500)}


def carrying(cpu, **bundles):
    """Return the report of a broker, given the messages per second of each of its bundles."""
    return {
        "cpu": {"usage": cpu, "limit": 100},
        "bundles": list(bundles),
        "lastStats": {
            name: {**rates(messages), "topics": 10} for name, messages in bundles.items()
        },
    }


def lasting(**bundles):
    """Return bundle data whose averages have many samples."""
    return {
        name: {
            frame: {**rates(messages), "numSamples": 10, "maxSamples": most}
            for frame, most in (("shortTermData", 10), ("longTermData", 1000))
        }
        for name, messages in bundles.items()
    }


def test_a_plan_made_elsewhere_is_declined(cluster):
    case = {
        "settings": {},
        "bundle": LEFT,
        "candidates": ["broker-1", "broker-2"],
        "brokers": {"broker-1": carrying(10), "broker-2": carrying(90)},
        "bundles": {},
        "preallocated": {},
        "plan": {"from": "broker-1", "to": "broker-2", "attempt": "running"},
    }
    assert "the case has a plan" in decided(cluster, "place.select", **case)["unsupported"]
    del case["plan"]
    assert decided(cluster, "place.select", **case) == {"broker": "broker-1"}


def test_it_says_what_it_decides(cluster, simple):
    decisions = {"bundles.create", "bundles.locate", "bundles.split", "manager.choose"}
    assert set(simple.hello.operations) == {"cluster.replay", *decisions}
    of_load = {"bundles.split_candidates", "shed.select", "report.read", "usage.max"}
    placing = {"place.select", "place.broker", "place.anti_affinity"}
    assert set(cluster.hello.operations) == {"cluster.replay", *decisions, *of_load, *placing}
    assert set(cluster.hello.costly) == set(cluster.hello.operations) - {"usage.max"}


def test_a_namespace_is_made(cluster, simple):
    for one in (cluster, simple):
        asked = decided(one, "bundles.create", bundles=2, settings={})
        assert asked == {"boundaries": ["0x00000000", "0x80000000", "0xffffffff"]}
        number = {"defaultNumberOfNamespaceBundles": 1}
        by_setting = decided(one, "bundles.create", bundles=None, settings=number)
        assert by_setting == {"boundaries": ["0x00000000", "0xffffffff"]}


def test_a_namespace_of_very_many_bundles_is_not_made(cluster):
    answer = decided(cluster, "bundles.create", bundles=100_000, settings={})
    assert answer == {
        "unsupported": "the boundaries of more than 65536 bundles do not fit into a metadata node"
    }


def test_a_topic_lies_where_its_hash_does(cluster):
    """Topics are in the bundles of their hashes: the CRC32s are 0xa4a9234e and 0x59b18739."""
    topics = ["persistent://shop/eu/orders", "persistent://shop/eu/b"]
    cuts = ["0x00000000", "0x7fffffff", "0xffffffff"]
    answer = decided(cluster, "bundles.locate", boundaries=cuts, topics=topics)
    assert answer == {"bundles": ["0x7fffffff_0xffffffff", "0x00000000_0x7fffffff"]}


def test_a_bundle_is_split_in_two(cluster, simple):
    case = {
        "bundle": "0x00000000_0x80000000",
        "algorithm": "range_equally_divide",
        "by": "admin",
        "settings": {},
        "topics": [],
        "positions": [],
    }
    parts = ["0x00000000_0x40000000", "0x40000000_0x80000000"]
    for one in (cluster, simple):
        assert decided(one, "bundles.split", **case) == {"bundles": parts}
    unknown = decided(cluster, "bundles.split", **{**case, "algorithm": "at_random"})
    assert "Unsupported namespace bundle split algorithm" in unknown["refused"]


def test_a_split_by_the_traffic_of_topics_is_not_asked_of_a_cluster_without_traffic(cluster):
    topic = "persistent://shop/eu/orders"
    answer = decided(
        cluster,
        "bundles.split",
        bundle=WHOLE.rpartition("/")[2],
        algorithm="flow_or_qps_equally_divide",
        by="broker",
        settings={},
        topics=[topic],
        positions=[],
        topicLoads={topic: {"msgRateIn": 1000}},
    )
    assert "traffic" in answer["unsupported"]


def test_the_leader_splits_what_is_busy(cluster):
    busy = carrying(10, **{LEFT: 40_000.0, RIGHT: 100.0})
    answer = decided(
        cluster,
        "bundles.split_candidates",
        settings={"loadBalancerNamespaceBundleMaxMsgRate": 30_000},
        leader=True,
        brokers={"broker-1": busy, "broker-2": carrying(10)},
        bundles=lasting(**{LEFT: 40_000.0, RIGHT: 100.0}),
        namespaceBundles={"shop/eu": 2},
    )
    assert answer == {"split": [LEFT], "unload": [LEFT]}


def test_any_broker_that_is_asked_leads(cluster):
    answer = decided(
        cluster,
        "bundles.split_candidates",
        settings={}, leader=False, brokers={}, bundles={}, namespaceBundles={},
    )  # fmt: skip
    assert "only the leader's decision can be observed" in answer["unsupported"]


@pytest.mark.parametrize(("cpu", "unloaded"), [(95, [LEFT]), (80, [])])
def test_an_overloaded_broker_sheds(cluster, cpu, unloaded):
    """At 95 %, a broker sheds 15 of 95 %: 790 of 5,000 messages, so the largest bundle (3,000)."""
    answer = decided(
        cluster,
        "shed.select",
        strategy="OverloadShedder",
        settings={"loadBalancerBrokerOverloadedThresholdPercentage": 85},
        brokers={
            "broker-1": carrying(cpu, **{LEFT: 3000.0, RIGHT: 2000.0}),
            "broker-2": carrying(10),
        },
        bundles=lasting(**{LEFT: 3000.0, RIGHT: 2000.0}),
        recentlyUnloaded={},
    )
    assert answer["unload"] == [{"broker": "broker-1", "bundle": one} for one in unloaded]


def test_a_bundle_that_was_unloaded_recently_stays(cluster):
    case = {
        "strategy": "OverloadShedder",
        "settings": {"loadBalancerSheddingGracePeriodMinutes": 30},
        "brokers": {"broker-1": carrying(95, **{LEFT: 3000.0, RIGHT: 2000.0}), "b": carrying(10)},
        "bundles": lasting(**{LEFT: 3000.0, RIGHT: 2000.0}),
    }
    answers = [
        decided(cluster, "shed.select", **case, recentlyUnloaded={LEFT: ago}) for ago in (5, 45)
    ]
    assert [[one["bundle"] for one in answer["unload"]] for answer in answers] == [[RIGHT], [LEFT]]


def test_a_bundle_goes_where_fewer_messages_are(cluster):
    case = {
        "settings": CALM,
        "bundle": WHOLE.replace("eu", "new"),
        "brokers": {name: carrying(20, **of) for name, of in BUSY.items()},
        "bundles": lasting(**BUSY["broker-1"], **BUSY["broker-2"], **BUSY["broker-3"]),
        "preallocated": {},
    }
    among = {"broker-3": ["broker-1", "broker-2", "broker-3"], "broker-2": ["broker-1", "broker-2"]}
    for least, candidates in among.items():
        answer = decided(cluster, "place.select", **case, candidates=candidates)
        assert answer == {"broker": least}
    nobody = decided(cluster, "place.select", **case, candidates=[])
    assert nobody == {"unsupported": "the case has no brokers, and a cluster needs one to decide"}


BUSY = {
    "broker-1": {"shop/us/0x00000000_0x40000000": 900.0},
    "broker-2": {"shop/us/0x40000000_0x80000000": 600.0},
    "broker-3": {"shop/us/0x80000000_0xffffffff": 300.0},
}


def test_a_policy_of_isolation_goes_before_load(cluster):
    case = {
        "settings": CALM,
        "bundle": WHOLE,
        "brokers": {"broker-1": carrying(90), "broker-2": carrying(10), "broker-3": carrying(10)},
        "bundles": {},
        "preallocated": {},
        "domains": {},
        "groups": {},
        "versions": {},
    }
    primary = {"namespaces": ["shop/eu"], "primary": ["broker-1"], "secondary": [], "least": 1}
    busy = decided(cluster, "place.broker", **case, isolation=[primary])
    assert busy == {"broker": "broker-1", "candidates": ["broker-1"]}
    other = {**primary, "namespaces": ["shop/us"], "primary": ["broker-2"]}
    left = decided(cluster, "place.broker", **case, isolation=[other])
    assert left == {"broker": "broker-3", "candidates": ["broker-1", "broker-3"]}


def test_a_group_is_spread_over_domains(cluster):
    answer = decided(
        cluster,
        "place.anti_affinity",
        settings={"failureDomainsEnabled": True, **CALM},
        domains={"north": ["broker-1", "broker-2"], "south": ["broker-3"]},
        groups={"shop/first": "orders", "shop/second": "orders"},
        owned={"broker-1": ["shop/first"]},
        candidates=["broker-1", "broker-2", "broker-3"],
        namespace="shop/second",
    )
    assert answer == {"broker": "broker-3", "candidates": ["broker-3"]}


SIMPLE = "org.apache.pulsar.broker.loadbalance.impl.SimpleLoadManagerImpl"
MODULAR = "org.apache.pulsar.broker.loadbalance.impl.ModularLoadManagerImpl"


def test_what_is_set_dynamically_counts(cluster):
    assert decided(cluster, "manager.choose", conf=SIMPLE, dynamic=None) == {"manager": "simple"}
    changed = decided(cluster, "manager.choose", conf=SIMPLE, dynamic=MODULAR)
    assert changed == {"manager": "modular"}


@pytest.mark.parametrize("manager", [SIMPLE, MODULAR])
def test_a_broker_that_changes_its_manager_meanwhile_is_not_waited_for(extensible, manager):
    """Each change is answered, though producers of the former manager may close at any time."""
    for _ in range(4):
        changed = decided(extensible, "manager.choose", conf=None, dynamic=manager)
        assert changed == {"manager": "simple" if manager == SIMPLE else "modular"}


def test_a_bundle_without_topics_is_not_split_at_positions(extensible):
    """A request to split a bundle without topics at positions fails with HTTP 500."""
    case = {
        "bundle": "0x40000000_0x80000000",
        "algorithm": "specified_positions_divide",
        "by": "admin",
        "settings": {},
        "topics": [],
        "positions": ["0x50000000"],
    }
    assert "HTTP 500" in decided(extensible, "bundles.split", **case)["failed"]


def test_a_class_that_is_not_there_cannot_be_set_dynamically(cluster):
    answer = decided(cluster, "manager.choose", conf=MODULAR, dynamic="org.example.None")
    assert answer == {"refused": "HTTP 412: Invalid dynamic-config value"}


def test_a_report_of_its_own_kind_is_read(cluster):
    report = {
        "webServiceUrl": "http://10.0.0.7:8080",
        "cpu": {"usage": 40.0, "limit": 200.0},
        "msgRateIn": 12.0,
        "bundles": [LEFT],
        "lastStats": {LEFT: {"msgRateIn": 12.0, "topics": 3}},
    }
    read = decided(cluster, "report.read", report=report)
    assert read["manager"] == "modular"
    assert read["broker"]["cpu"] == {"usage": 40.0, "limit": 200.0}
    assert read["broker"]["bundles"] == [LEFT]
    assert read["broker"]["lastStats"][LEFT]["topics"] == 3
    other = {"loadReportType": "LoadReport", "systemResourceUsage": {}, "bundleStats": {}}
    told = decided(cluster, "report.read", report=other)
    assert told == {
        "unsupported": "the modular load manager does not read the reports of other load managers"
    }


def test_a_story_after_a_decision_begins_again(cluster):
    decided(cluster, "bundles.create", bundles=2, settings={})
    up = {"broker_up": {"broker": "broker-1", "capacity": 1e8}}
    made = {"namespace": {"name": "t/ns", "bundles": 1}}
    [answer] = cluster.ask("cluster.replay", [{"settings": {}, "events": [up, made]}])
    assert "ignored" not in answer["steps"][1]


def test_each_broker_has_a_host_of_its_own():
    names = BrokerNames("first", "127.0.0.1:40001")
    ids = [names.identify(f"broker-{number}") for number in range(300)]
    assert names.identify("first") == "127.0.0.1:40001"
    assert len({one.partition(":")[0] for one in ids}) == 300
    assert all(one.startswith("127.") and ".256" not in one for one in ids)
    assert [names.name(one) for one in ids] == [f"broker-{number}" for number in range(300)]


def test_what_the_leader_asks_for_is_noted():
    from pulsar_conformance.adapters.cluster.decisions.requested import (
        RecordedRequest,
        RequestRecorder,
    )

    requests = RequestRecorder()
    url = f"http://127.0.0.1:{requests.port}/admin/v2/namespaces"
    for path in (f"{LEFT}/unload?destinationBroker=b", f"{RIGHT}/split?unload=true"):
        asked = urllib.request.Request(f"{url}/{path}", method="PUT", data=json.dumps({}).encode())
        with urllib.request.urlopen(asked) as answer:
            assert answer.status == 204
    assert requests.recorded == [
        RecordedRequest("unload", LEFT, unload=False), RecordedRequest("split", RIGHT, unload=True),
    ]  # fmt: skip
