"""Questions that people asked in public about decisions, and the answers.

Questions about files of settings and reports are in the tests of cases.
"""

import json
import os
import sys

import pytest
from pulsar_conformance.conformance.commands.main import main

IMPL = "org.apache.pulsar.broker.loadbalance.impl."
RATES = ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")
MIB = 1024 * 1024
BUNDLES = [
    f"acme/a/0x{low}0000000_0x{high}"
    for low, high in (
        ("0", "40000000"),
        ("4", "80000000"),
        ("8", "c0000000"),
        ("c", "ffffffff"),
    )
]


@pytest.fixture
def explained(tmp_path, capsys):
    """Return a function that explains questions, or a folder of reports."""

    def explain(*questions, reports=None, options=()):
        if reports is not None:
            place = tmp_path / "reports"
            place.mkdir()
            for broker, one in reports.items():
                (place / f"{broker}.json").write_text(json.dumps(one))
        else:
            place = tmp_path / "cases.jsonl"
            lines = [json.dumps({"ask": operation, "case": case}) for operation, case in questions]
            place.write_text("\n".join(lines) + "\n")
        assert main(["explain", str(place), *options]) == 0
        return " ".join(capsys.readouterr().out.split())

    return explain


def resource(usage, limit=100):
    return {"usage": usage, "limit": limit}


def report(cpu, loads, version="3.0.7", **more):
    """Return a broker's report, given its CPU in percent and its bundles' bytes per second."""
    stats = {
        bundle: {"msgThroughputIn": load / 2, "msgThroughputOut": load / 2, "topics": 3}
        for bundle, load in loads.items()
    }
    totals = {name: sum(one.get(name, 0) for one in stats.values()) for name in RATES}
    usage = {"cpu": resource(cpu), "bundles": list(stats), "lastStats": stats, **totals}
    return {**usage, "brokerVersionString": version, **more}


def test_the_amount_of_a_log_line_is_that_of_the_reports(explained):
    """At 87.08 % over 85 %, 7.08 % of 5.36 MB/s go, which are the 0.362 MiB/s of the log line."""
    whole = 0.36224863451117845 * MIB / (0.8708186149597168 - 0.85 + 0.05)
    parts = dict(zip(BUNDLES[:3], (0.5 * whole, 0.3 * whole, 0.2 * whole), strict=True))
    reports = {
        "broker101": report(87.08186149597168, parts, "2.10.5"),
        "broker102": report(20, {BUNDLES[3]: 1e6}, "2.10.5"),
    }
    setting = f"loadBalancerLoadSheddingStrategy={IMPL}OverloadShedder"
    out = explained(reports=reports, options=["--setting", setting])
    assert "(87.08 - 85) + 5 = 7.08 % of 5.36 MB/s = 379.85 KB/s (0.362 MiB/s)" in out
    assert f"answer unload {BUNDLES[0]} of broker101" in out


AVERAGING = (
    f"loadBalancerLoadSheddingStrategy={IMPL}AvgShedder",
    f"loadBalancerLoadPlacementStrategy={IMPL}AvgShedder",
    "loadBalancerAvgShedderHitCountLowThreshold=8",
    "loadBalancerAvgShedderLowThreshold=15",
    "loadBalancerAvgShedderHighThreshold=40",
    "maxUnloadPercentage=0.5",
    "minUnloadMessageThroughput=10485760",
    "minUnloadMessage=10000",
)
"""Settings from a comment on the AvgShedder proposal, but not the hits of the high threshold."""


@pytest.mark.parametrize(
    ("hits", "said"),
    [
        (2, "by loadBalancerAvgShedderHighThreshold, broker-a 1 and broker-b 1 of 2 times"),
        (1, f"answer unload {BUNDLES[1]} of broker-a"),
    ],
)
def test_a_strategy_that_counts_cycles_says_how_many_are_missing(explained, hits, said):
    """The bundle of 30 MB/s fits into half of the difference of 69 MB/s; that of 40 does not."""
    reports = {
        "broker-a": report(80, {BUNDLES[0]: 4e7, BUNDLES[1]: 3e7}, "4.2.4"),
        "broker-b": report(20, {BUNDLES[2]: 1e6}, "4.2.4"),
    }
    settings = (*AVERAGING, f"loadBalancerAvgShedderHitCountHighThreshold={hits}")
    options = [word for text in settings for word in ("--setting", text)]
    assert said in explained(reports=reports, options=options)


def test_brokers_without_a_pair_far_enough_apart_are_shown_their_partner(explained):
    """Sorted by usage, the first broker is paired with the last, and the middle one with itself."""
    asked = [word for text in AVERAGING for word in ("--setting", text)]
    usages = {"broker-a": 70, "broker-b": 66, "broker-c": 4}
    reports = {
        name: report(usage, {BUNDLES[place]: 1e7}, "4.2.4")
        for place, (name, usage) in enumerate(usages.items())
    }
    out = explained(reports=reports, options=[*asked, "--broker", "broker-b"])
    assert "it is the middle one of 3 brokers sorted by usage, so it is paired only with" in out


@pytest.mark.parametrize(
    ("broker", "said"),
    [
        ("broker-a", "idle broker broker-b, at 66 % decision they are less than"),
        ("broker-b", "busy broker broker-a, at 70 % decision it is the idle one of its pair"),
    ],
)
def test_a_pair_that_is_close_together_is_named(explained, broker, said):
    asked = [word for text in AVERAGING for word in ("--setting", text)]
    reports = {
        "broker-a": report(70, {BUNDLES[0]: 1e7}, "4.2.4"),
        "broker-b": report(66, {BUNDLES[1]: 1e7}, "4.2.4"),
    }
    assert said in explained(reports=reports, options=[*asked, "--broker", broker])


@pytest.mark.parametrize(("history", "warned"), [(0.1, True), (10, False)])
def test_only_the_broker_over_the_smoothed_average_is_unloaded(explained, history, warned):
    """In a recorded cycle of five brokers, only one is over the limit; two are almost as busy."""
    now = {"b161": 41.94, "b206": 68.51, "b32": 61.43, "b83": 62.01, "b87": 34.53}
    before = {"b161": 12.01, "b206": 24.56, "b32": 12.96, "b83": 9.38, "b87": 11.10}
    brokers = {}
    for place, (name, usage) in enumerate(now.items()):
        bundles = [
            f"perf/load/0x{3 * place + one:x}0000000_0x{3 * place + one + 1:x}0000000"
            for one in (0, 1)
        ]
        brokers[name] = {
            "cpu": resource(usage),
            "bundles": bundles,
            "msgThroughputIn": 2.4e8,
            "usageHistory": [before[name] * history / 10],
        }
    shares = {"numSamples": 1, "maxSamples": 10, "msgThroughputIn": 4e7}
    loads = {name: {"shortTermData": shares} for one in brokers.values() for name in one["bundles"]}
    case = {
        "strategy": "ThresholdShedder",
        "settings": {
            "loadBalancerBrokerThresholdShedderPercentage": 10,
            "loadBalancerHistoryResourcePercentage": 0.9,
        },
        "brokers": brokers,
        "bundles": loads,
        "recentlyUnloaded": {},
    }
    out = explained(("shed.select", case), options=["--judge-by", "released-3.0"])
    assert ("fractions from a log, multiply them by 100" in out) is warned
    if not warned:
        answer = out.partition("answer ")[2]
        assert "of b206" in answer
        assert not any(f"of {name}" in answer for name in ("b32", "b83"))


def test_partitions_on_bundles_are_counted_and_compared_with_chance(explained):
    edges = ["0x00000000", "0x40000000", "0x80000000", "0xc0000000", "0xffffffff"]
    topics = [
        f"persistent://kafka/omb/test-topic-{topic:07d}-partition-{part}"
        for topic in range(10)
        for part in range(3)
    ]
    out = explained(("bundles.locate", {"boundaries": edges, "topics": topics}))
    assert "0x00000000_0x40000000 8 topics 0x40000000_0x80000000 7 topics" in out
    assert "No distribution has fewer topics in the fullest bundle" in out


def test_a_report_without_the_speed_of_a_network_card_is_usable(tmp_path, capsys):
    """A limit of -1 means not measured, so CPU counts; a question about the speed is refused."""
    unread = {"bandwidthIn": resource(-1.0, -1.0), "bandwidthOut": resource(-1.0, -1.0)}
    one = {**report(0, {}, **unread), "cpu": resource(164.48, 1600)}
    (tmp_path / "n1.json").write_text(json.dumps(one))
    assert main(["case", str(tmp_path), "--operation", "usage.max"]) == 0
    file = tmp_path / "usage"
    file.write_text(capsys.readouterr().out)
    assert main(["explain", str(file)]) == 0
    assert "10.28 % of cpu" in capsys.readouterr().out
    cards = {"settings": {}, "nics": [{"reportedGbps": None}]}
    file.write_text(json.dumps({"ask": "usage.nic", "case": cards}))
    assert main(["explain", str(file)]) == 2
    assert "the speed is neither reported nor set" in capsys.readouterr().err


HOT = ["persistent://acme/o/t-3", "persistent://acme/o/t-7", "persistent://acme/o/t-11"]


def split(algorithm, positions=(), bundle="0x00000000_0x40000000", by="admin"):
    asked = {"bundle": bundle, "algorithm": algorithm, "by": by, "settings": {}}
    return "bundles.split", {**asked, "topics": HOT, "positions": list(positions)}


def test_a_hot_topic_is_parted_by_positions_and_not_by_rates_that_are_not_given(explained):
    positions = split("specified_positions_divide", ["0x0c4a3480", "0x1a266dee"])
    traffic = split("flow_or_qps_equally_divide", by="broker")
    out = explained(positions, traffic, options=["--judge-by", "released-3.0"])
    assert "0x0c4a3480_0x1a266dee, 0x1a266dee_0x40000000" in out
    assert "needs the rates of topics, and topicLoads has none of the topics; the answer" in out
    assert "it has fewer than 2 topics with traffic" in out
    out = explained(traffic, options=["--judge-by", "released-2.10"])
    assert "needs the rates" not in out
    out = explained(traffic, options=["--judge-by", "documented-3.0"])
    assert "refused the documents do not describe flow_or_qps_equally_divide" in out


def test_a_bundle_is_split_by_the_rates_that_are_given(explained):
    """Ordered by hash, the topics are 7, 11 and 3. Each alone exceeds a part's limit."""
    operation, case = split("flow_or_qps_equally_divide", by="broker")
    case["topicLoads"] = {topic: {"msgRateIn": 20000, "msgRateOut": 11000} for topic in HOT}
    for profile in ("released-3.0", "released-5.0", "documented-4.2"):
        out = explained((operation, case), options=["--judge-by", profile])
        assert "needs the rates" not in out
        assert len(out.partition("answer bundles ")[2].split()) == 3
    assert case["topicLoads"].pop(HOT[0])
    out = explained((operation, case), options=["--judge-by", "released-4.2"])
    assert f"topicLoads has none of {HOT[0]}; the answer assumes no traffic there" in out
    assert len(out.partition("answer bundles ")[2].split()) == 2


@pytest.mark.parametrize("own", ["pulsar/broker-a:8080", "pulsar/use/broker-a:8080"])
def test_the_heartbeat_of_a_broker_is_never_unloaded(explained, own):
    heartbeat = f"{own}/0x00000000_0xffffffff"
    reports = {
        "broker-a": report(90, {heartbeat: 9e7, BUNDLES[0]: 4e7, BUNDLES[1]: 3e7}),
        "broker-b": report(10, {BUNDLES[2]: 1e6}),
    }
    out = explained(reports=reports, options=["--all"])
    assert f"stays {heartbeat}, of the heartbeat namespace of a broker" in out
    assert f"answer unload {BUNDLES[0]} of broker-a" in out


@pytest.mark.parametrize(
    ("profile", "middle"), [("released-3.0", "0x7fffffff"), ("documented-3.0", "0x80000000")]
)
def test_the_middle_of_all_hashes_is_as_the_quick_start_prints_it(explained, profile, middle):
    whole = split("range_equally_divide", bundle="0x00000000_0xffffffff")
    out = explained(whole, options=["--judge-by", profile])
    assert f"answer bundles 0x00000000_{middle}, {middle}_0xffffffff" in out


@pytest.mark.parametrize(("version", "unloads"), [("3.0.7", True), ("4.0.7", False)])
def test_direct_memory_without_weight_overloads_a_broker_until_3_0(explained, version, unloads):
    loads = dict.fromkeys(BUNDLES[:3], 2e6)
    reports = {
        "broker101": report(40, loads, version, directMemory=resource(93)),
        "broker102": report(40, {BUNDLES[3]: 1e6}, version),
    }
    settings = (
        f"loadBalancerLoadSheddingStrategy={IMPL}OverloadShedder",
        "loadBalancerDirectMemoryResourceWeight=0",
    )
    options = [word for text in settings for word in ("--setting", text)]
    answer = explained(reports=reports, options=options).partition("answer ")[2]
    assert answer.startswith("unload acme/a/" if unloads else "unload nothing")


def verdicts(tmp_path, *options):
    out = tmp_path / "out"
    main(["run", "--judge-by", "released-4.2", "--out", str(out), *options])
    lines = (out / "verdicts.jsonl").read_text().splitlines()
    return {found["rule"]: found["verdict"] for found in map(json.loads, lines) if "rule" in found}


def test_round_robin_of_partitions_is_a_difference_to_a_release(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.chdir(tmp_path)
    adapter = ("--adapter", "python:standins.public:RoundRobin")
    found = verdicts(tmp_path, *adapter, "--rules", "BUNDLE-07", "--examples", "5")
    assert found == {"BUNDLE-07": "fail"}


def test_no_rule_judges_a_case_that_the_release_would_refuse(tmp_path, monkeypatch, capfd):
    """4.2 refuses a threshold of 90.5, so no rule judges the case. It ignores direct memory."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.chdir(tmp_path)
    case = {
        "strategy": "OverloadShedder",
        "settings": {"loadBalancerBrokerOverloadedThresholdPercentage": 90.5},
        "brokers": {
            "broker-6": {
                "directMemory": resource(1, 1),
                "msgThroughputOut": 1,
                "bundles": BUNDLES[:2],
            },
            "broker-7": {},
        },
        "bundles": {},
        "recentlyUnloaded": {},
    }
    file = tmp_path / "case.json"
    file.write_text(json.dumps({"ask": "shed.select", "case": case}))
    adapter = ("--adapter", "python:standins.public:Continuous")
    assert verdicts(tmp_path, *adapter, "--replay", str(file)) == {}
    said = " ".join("".join(capfd.readouterr()).split())
    assert "takes whole numbers up to 2147483647, not 90.5" in said


def test_hits_are_counted_for_each_broker_and_not_for_a_pair(explained):
    """The second cycle is the first hit of broker-b, and the second hit of broker-c."""

    def cycle(**usages):
        brokers = {
            f"broker-{name}": {"cpu": {"usage": usage, "limit": 100}, "bundles": []}
            for name, usage in usages.items()
        }
        return {"minutes": 0, "brokers": brokers, "bundles": {}, "recentlyUnloaded": {}}

    settings = dict(text.split("=") for text in AVERAGING)
    settings["loadBalancerAvgShedderHitCountHighThreshold"] = "3"
    case = {
        "strategy": settings["loadBalancerLoadSheddingStrategy"],
        "settings": {
            name: float(one) if one[0].isdigit() else one for name, one in settings.items()
        },
        "cycles": [cycle(a=81, b=30, c=20), cycle(a=30, b=81, c=20)],
    }
    said = explained(("shed.cycles", case), options=("--judge-by", "released-4.0"))
    assert "by loadBalancerAvgShedderHighThreshold, broker-a 1 and broker-c 1 of 3 times" in said
    assert "by loadBalancerAvgShedderHighThreshold, broker-b 1 and broker-c 2 of 3 times" in said
