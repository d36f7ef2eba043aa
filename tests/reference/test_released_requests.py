"""Splits and load reports under a released profile, worked out by hand."""

import pytest
from pulsar_conformance import specs
from pulsar_conformance.reference import Model
from pulsar_conformance.reference.cluster import RATE_FIELDS
from pulsar_conformance.reference.reports import COUNTS

RELEASED = [name for name, one in specs.load().profiles.items() if one.kind == "released"]
LATER = [name for name in RELEASED if name not in ("released-2.4", "released-2.10")]
WHOLE = "0x00000000_0xffffffff"
TOPICS = [f"persistent://t/ns/t{number}" for number in range(4)]
SUPPORTED = "supportedNamespaceBundleSplitAlgorithms"
RANGE, POSITIONS = "range_equally_divide", "specified_positions_divide"


def split(profile, algorithm, topics=TOPICS, positions=(), by="admin", **settings):
    case = {"bundle": WHOLE, "algorithm": algorithm, "by": by, "settings": settings}
    return Model(profile).answer(
        "bundles.split", {**case, "topics": list(topics), "positions": list(positions)}
    )


HALVES = {"bundles": ["0x00000000_0x7fffffff", "0x7fffffff_0xffffffff"]}


@pytest.mark.parametrize("profile", [name for name in RELEASED if name != "released-2.4"])
def test_an_administrator_is_refused_what_is_not_supported(profile):
    other = {SUPPORTED: "topic_count_equally_divide"}
    refused = split(profile, RANGE, **other)["refused"]
    assert f"{SUPPORTED} does not name {RANGE}" in refused
    assert ("split all the same" in refused) is (profile == "released-2.10")
    assert split(profile, RANGE) == HALVES
    assert split(profile, RANGE, **{SUPPORTED: f"topic_count_equally_divide,{RANGE}"}) == HALVES
    assert split(profile, RANGE, by="broker", **other) == HALVES
    of_default = {"defaultNamespaceBundleSplitAlgorithm": RANGE}
    assert split(profile, None, **other, **of_default) == HALVES


def test_before_algorithms_had_names_none_was_refused():
    assert split("released-2.4", RANGE, **{SUPPORTED: "x"})["bundles"]


@pytest.mark.parametrize("profile", LATER)
def test_positions_divide_a_bundle_with_two_topics_and_no_smaller_one(profile):
    at = ["0x40000000"]
    parts = ["0x00000000_0x40000000", "0x40000000_0xffffffff"]
    assert split(profile, POSITIONS, TOPICS[:2], at) == {"bundles": parts}
    assert split(profile, POSITIONS, TOPICS[:1], at) == {"bundles": [WHOLE]}
    assert split(profile, POSITIONS, TOPICS[:1], at * 2) == {"bundles": [WHOLE]}
    assert "given twice" in split(profile, POSITIONS, TOPICS[:2], at * 2)["failed"]


def read(profile, **report):
    return Model(profile).answer("report.read", {"report": report})


CPU = {"cpu": {"usage": 50, "limit": 100}}
FIRST, SECOND = "t/ns/0x00000000_0x80000000", "t/ns/0x80000000_0xffffffff"
STATS = {
    FIRST: {"msgRateIn": 3, "msgThroughputIn": 900, "topics": 2, "producerCount": 5},
    SECOND: {"msgRateIn": 4, "msgRateOut": 6, "topics": 1, "consumerCount": 7},
}


@pytest.mark.parametrize("profile", RELEASED)
def test_marks_show_whose_report_it_is_and_resources_do_not(profile):
    """Without a marker field, the content of systemResourceUsage is ignored."""
    unmarked = read(profile, systemResourceUsage=CPU)
    assert unmarked["manager"] == "modular"
    assert "cpu" not in unmarked["broker"]
    assert read(profile, **CPU)["broker"]["cpu"] == CPU["cpu"]
    for mark in ({"underLoaded": None}, {"loadReportType": "LoadReport"}):
        found = read(profile, systemResourceUsage=CPU, **mark)
        assert (found["manager"], found["broker"]["cpu"]) == ("simple", CPU["cpu"])
    assert read(profile, loadReportType="LocalBrokerData")["manager"] == "modular"


@pytest.mark.parametrize("profile", RELEASED)
def test_an_empty_report_is_read_as_one_of_a_broker_without_anything(profile):
    lists = {"bundles": [], "lastBundleGains": [], "lastBundleLosses": [], "lastStats": {}}
    nothing = {**dict.fromkeys((*COUNTS, *RATE_FIELDS), 0), **lists}
    assert read(profile) == {"manager": "modular", "broker": nothing}
    assert read(profile, numTopics=3)["broker"]["numTopics"] == 3


@pytest.mark.parametrize("profile", RELEASED)
def test_a_simple_report_carries_what_its_bundles_do(profile):
    """The bundles' rates are summed: 3 + 4 in and 6 out, both for messages and for bytes."""
    stated = {"msgRateIn": 1000, "msgThroughputIn": 1000, "numTopics": 99, "numBundles": 9}
    broker = read(profile, underLoaded=False, bundleStats=STATS, **stated)["broker"]
    rates = {"msgRateIn": 7, "msgRateOut": 6, "msgThroughputIn": 7, "msgThroughputOut": 6}
    counts = {"numTopics": 3, "numBundles": 2, "numProducers": 5, "numConsumers": 7}
    none = dict.fromkeys((*RATE_FIELDS, "topics", "producerCount", "consumerCount"), 0)
    stats = {bundle: {**none, **one} for bundle, one in STATS.items()}
    changes = {"lastBundleGains": [], "lastBundleLosses": []}
    own = {"bundles": [FIRST, SECOND], "lastStats": stats}
    assert broker == {**rates, **counts, **changes, **own}
    assert read(profile, underLoaded=False, **stated)["broker"]["msgRateIn"] == 0


@pytest.mark.parametrize("profile", RELEASED)
def test_what_is_no_report_is_refused(profile):
    assert "not a number" in read(profile, cpu={"usage": "x", "limit": 1})["refused"]
    assert "not a JSON object" in read(profile, underLoaded=True, systemResourceUsage=3)["refused"]


@pytest.mark.parametrize("profile", RELEASED)
def test_numbers_as_text_and_missing_parts_are_read_as_jackson_reads_them(profile):
    assert read(profile, cpu={"usage": " 5 ", "limit": "100"})["broker"]["cpu"] == {
        "usage": 5,
        "limit": 100,
    }
    assert read(profile, cpu={"limit": 100})["broker"]["cpu"] == {"usage": 0, "limit": 100}
    assert "out of range" in read(profile, numTopics=3_000_000_000)["refused"]
    assert "not a boolean" in read(profile, persistentTopicsEnabled="maybe")["refused"]


def test_a_number_that_no_answer_holds_is_unsupported():
    assert "-1" in read("released-3.0", msgRateIn=-1)["unsupported"]


def chosen(profile, owned, *reports, **settings):
    """Return the bundles that a leader splits: `owned` are b1's, `reports` count topics."""
    brokers = {
        f"b{place}": {"lastStats": {name: {"topics": count} for name, count in stats.items()}}
        for place, stats in enumerate(reports, start=1)
    }
    brokers["b1"]["bundles"] = owned
    case = {"settings": settings, "leader": True, "brokers": {**brokers, "b3": {}}, "bundles": {}}
    case["namespaceBundles"] = {"t/ns": len(owned)}
    return Model(profile).answer("bundles.split_candidates", case)["split"]


@pytest.mark.parametrize("profile", RELEASED)
def test_a_bundle_that_no_longer_exists_takes_room_but_is_not_split_since_4_2(profile):
    gone = {f"t/ns/{WHOLE}": 2000}
    since_4_2 = profile in ("released-4.2", "released-5.0")
    assert bool(chosen(profile, [FIRST, SECOND], gone)) is not since_4_2
    tight = {"loadBalancerNamespaceMaximumBundles": 3}
    both = chosen(profile, [FIRST, SECOND], {**gone, FIRST: 2000}, **tight)
    assert FIRST not in both or profile == "released-2.4"


@pytest.mark.parametrize("profile", RELEASED)
def test_a_bundle_that_moved_is_split_if_either_report_exceeds_a_limit(profile):
    found = chosen(profile, [FIRST, SECOND], {FIRST: 2000}, {FIRST: 2, SECOND: 2000})
    assert sorted(found) == [FIRST, SECOND]
    assert chosen(profile, [FIRST, SECOND], {FIRST: 2}, {FIRST: 2000}) == [FIRST]


@pytest.mark.parametrize("profile", RELEASED)
def test_a_change_of_a_resource_without_weight_is_reported_at_once_before_4_0(profile):
    cpu = ({"cpu": {"usage": usage, "limit": 100}} for usage in (10, 60))
    settings = {"loadBalancerCPUResourceWeight": 0}
    case = {**dict(zip(("written", "now"), cpu, strict=True)), "settings": settings}
    asked = [
        Model(profile).answer("report.due", {**case, "manager": manager, "seconds": seconds})["due"]
        for manager, seconds in (("modular", 60), ("modular", 4), ("extensible", 60))
    ]
    plain = profile in ("released-2.4", "released-2.10", "released-3.0")
    assert asked == [plain, False, True]


def parts_by_traffic(profile, loads, **settings):
    """Return the boundaries of a bundle's parts, given each topic's messages and bytes."""
    default = {"defaultNamespaceBundleSplitAlgorithm": "flow_or_qps_equally_divide"}
    limit = {"loadBalancerNamespaceBundleMaxMsgRate": 450}
    names = ("msgRateIn", "msgRateOut", "msgThroughputIn")
    case = {"bundle": WHOLE, "algorithm": None, "by": "broker", "positions": []}
    case["topics"] = list(FLOWS)
    case["topicLoads"] = {
        topic: dict(zip(names, rates, strict=False))
        for topic, rates in zip(FLOWS, loads, strict=True)
    }
    case["settings"] = {**default, **limit, **settings}
    found = Model(profile).answer("bundles.split", case)["bundles"]
    return [one.partition("_")[2] for one in found[:-1]]


FLOWS = (
    "persistent://t/ns/flow1-abaabaaababbabbbbbaaabaabbbaabaaaaaa",
    "persistent://t/ns/flow2-baabbbabaabbbabbbababbbabaabaaaaaaaa",
    "persistent://t/ns/flow3-baabbabaabbbaabbaabbabbbbbbbbbaaaaaa",
    "persistent://t/ns/flow4-aababaabbbbbaaaabbababaaaabaabbaaaaa",
)
"""Topics with the hashes 0x10000000, 0x15000000, 0x24000000 and 0x39000000."""

MIB = 1024 * 1024


@pytest.mark.parametrize("profile", RELEASED[2:])
@pytest.mark.parametrize(
    ("loads", "cuts"),
    [
        ([(100,), (200,), (300,), (400,)], ["0x1c800001", "0x2e800001"]),
        ([(100,), (200,), (150,), (50,)], ["0x2e800001"]),
        ([(100,), (100,), (100, 100), (50, 46)], ["0x2e800001"]),
        ([(100,), (100,), (100, 100), (50, 45)], []),
        ([(400,), (), (), (400,)], ["0x24800001"]),
        ([(900,), (), (), ()], []),
        ([(0, 0, 60 * MIB), (0, 0, 40 * MIB), (0, 0, 11 * MIB), (1,)], ["0x1c800001"]),
        ([(0, 0, 60 * MIB), (0, 0, 40 * MIB), (0, 0, 10 * MIB), (1,)], []),
    ],
)
def test_releases_since_3_0_cut_by_traffic_one_hash_above_half_way(profile, loads, cuts):
    """A limit must be exceeded by a tenth; 450 x 1.1 and 100 MiB x 1.1 are too large as doubles."""
    margin = {"flowOrQpsDifferenceThresholdPercentage": 10}
    assert parts_by_traffic(profile, loads, **margin) == cuts
    assert parts_by_traffic(profile, loads) == cuts


def test_releases_before_3_0_split_by_range_whatever_the_traffic():
    assert parts_by_traffic("released-2.10", [(100,), (200,), (300,), (400,)]) == ["0x7fffffff"]


def test_the_margin_over_a_limit_is_that_of_the_settings():
    loads = [(100,), (200,), (150,), (50,)]
    margin = {"flowOrQpsDifferenceThresholdPercentage": 20}
    assert parts_by_traffic("released-4.2", loads, **margin) == []
