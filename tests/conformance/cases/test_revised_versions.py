"""Versions that decide differently from the examined release of their line.

The versions and their behavior are from the pull requests in specs/broker.yaml, and from the
sources of 2.10.4, 3.0.0, 3.0.7, 3.1.0 and 3.2.0.
"""

import json

import pytest
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.reference import Model
from pulsar_conformance.specs.broker import broker_data, known_releases
from pulsar_conformance.specs.judged import (
    caveat_text,
    judged_version,
    nearest_profile,
    requires_strategy_pair,
    ways_of_version,
)
from pulsar_conformance.specs.loading import load
from pulsar_conformance.specs.revisions import revisions
from pulsar_conformance.specs.versions import precedes

MB = 1_000_000


def model(version):
    return Model(nearest_profile(version)).with_ways(ways_of_version(version))


@pytest.mark.parametrize(
    ("version", "firsts", "older"),
    [
        ("3.0.0", ["2.11.2", "3.0.1"], True),
        ("3.0.1", ["2.11.2", "3.0.1"], False),
        ("3.0.12", ["2.11.2", "3.0.1"], False),
        ("2.11.1", ["2.11.2", "3.0.1"], True),
        ("2.11.2", ["2.11.2", "3.0.1"], False),
        ("2.10.6", ["2.11.2", "3.0.1"], True),  # A line that never got the change.
        ("3.1.0", ["2.11.2", "3.0.1"], False),  # A later line, which has the change from its start.
        ("3.2.4", ["3.0.8", "3.3.3"], True),
        ("3.3.2", ["3.0.8", "3.3.3"], True),
        ("4.0.0", ["3.0.8", "3.3.3"], False),
    ],
)
def test_a_version_has_what_its_line_got_before(version, firsts, older):
    assert precedes(version, firsts) is older


def test_examined_releases_are_never_revised():
    for release in known_releases():
        judged = judged_version(release)
        assert judged is None or not judged.revised


def test_each_revision_names_alternatives_that_exist():
    ways = load().ways
    for one in revisions():
        assert one.first
        assert one.ways or (one.before and one.after) or (one.gone and one.after)
        for name, both in one.ways.items():
            assert {*both} <= {*ways[name].alternatives}
    assert len(revisions()) == len(broker_data()["revisions"])


def brokers(*each):
    """Return brokers with bundles, given the messages and megabytes per second of each bundle."""
    found, averages = {}, {}
    for place, bundles in enumerate(each):
        names = []
        for number, (messages, megabytes) in enumerate(bundles):
            name = f"t/ns/0x{16 * place + number:02x}000000_0x{16 * place + number + 1:02x}000000"
            rates = {"msgRateIn": messages, "msgRateOut": 0, "msgThroughputOut": 0}
            rates["msgThroughputIn"] = megabytes * MB
            averages[name] = {"shortTermData": {**rates, "numSamples": 10, "maxSamples": 10}}
            names.append(name)
        found[f"b{place}"] = {
            "cpu": {"usage": 10, "limit": 100},
            "msgRateIn": sum(one[0] for one in bundles),
            "msgRateOut": 0,
            "msgThroughputIn": sum(one[1] for one in bundles) * MB,
            "msgThroughputOut": 0,
            "bundles": names,
        }
    return {"brokers": found, "bundles": averages, "recentlyUnloaded": {}}


# Broker b2 has the most messages, 70,000/s, and b3 the most bytes. Before the change, b3 takes b2's
# place for its 80 MB/s, then b4 takes b3's for its 20,000 messages, over the 10,000 of b3: in the
# end b4 is both the busiest and the least busy.
@pytest.mark.parametrize(
    ("version", "sheds"),
    [
        *((one, False) for one in ("2.10.5", "3.0.0", "3.0.1", "3.1.0")),
        *((one, True) for one in ("2.10.6", "3.0.2", "3.0.7", "3.1.1", "3.2.0")),
    ],
)
def test_uniform_load_shedder_chose_one_pair_by_both_measures(version, sheds):
    loads = ((50_000, 50), (60_000, 60), (70_000, 70), (10_000, 80), (20_000, 10))
    each = [[(messages / 10, megabytes / 10)] * 10 for messages, megabytes in loads]
    settings = {"loadBalancerLoadSheddingStrategy": "UniformLoadShedder"}
    case = {"strategy": "UniformLoadShedder", "settings": settings, **brokers(*each)}
    unloads = model(version).answer("shed.select", case)["unload"]
    assert {one["broker"] for one in unloads} == ({"b2"} if sheds else set())


# In 2.10, a broker with fewer than two bundles is not compared. From 2.11 on, an empty one is the
# least busy, so that the other, with 12 bundles of 1,000 messages each, sheds.
@pytest.mark.parametrize(
    ("version", "sheds"), [("2.10.5", False), ("3.0.0", True), ("3.1.0", True), ("3.0.7", True)]
)
def test_uniform_load_shedder_compares_an_empty_broker_from_2_11_on(version, sheds):
    settings = {"loadBalancerLoadSheddingStrategy": "UniformLoadShedder"}
    case = brokers([(1000, 1)] * 12, [])
    answer = model(version).answer(
        "shed.select", {"strategy": "UniformLoadShedder", "settings": settings, **case}
    )
    assert bool(answer["unload"]) is sheds


@pytest.mark.parametrize(
    ("version", "goes"),
    [("2.11.1", False), ("3.0.0", False), ("2.11.2", True), ("3.0.1", True), ("3.1.0", True)],
)
def test_bundles_of_the_system_namespace_were_spared(version, goes):
    case = brokers([(100, 40), (100, 30), (100, 20)], [(10, 1)], [(10, 1)])
    case["brokers"]["b0"]["cpu"]["usage"] = 90
    text = json.dumps({"strategy": "ThresholdShedder", "settings": {}, **case})
    first = case["brokers"]["b0"]["bundles"][0]
    case = json.loads(text.replace(first, "pulsar/system/0x00000000_0xffffffff"))
    unloads = model(version).answer("shed.select", case)["unload"]
    assert unloads
    assert any(one["bundle"].startswith("pulsar/system/") for one in unloads) is goes


@pytest.mark.parametrize(
    ("version", "splits"),
    [
        *((one, True) for one in ("2.10.4", "2.11.1", "3.0.0")),
        *((one, False) for one in ("2.10.5", "2.11.2", "3.0.1", "3.1.0")),
    ],
)
def test_a_lone_broker_split_its_bundles(version, splits):
    assert (ways_of_version(version)["lone-broker"] == "splits") is splits


@pytest.mark.parametrize(
    ("version", "by_setting"),
    [
        *((one, True) for one in ("2.11.4", "3.0.5", "3.1.3", "3.2.3", "3.3.0")),
        *((one, False) for one in ("3.0.6", "3.2.4", "3.3.1", "4.0.0")),
    ],
)
def test_the_switch_of_even_spread_held_for_the_system_namespace_too(version, by_setting):
    assert (ways_of_version(version)["even-spread"] == "setting-alone") is by_setting


@pytest.mark.parametrize(
    ("version", "paired"),
    [("3.0.7", False), ("3.2.4", False), ("3.3.2", False), ("3.0.8", True), ("4.2.4", True)],
)
def test_from_when_on_the_two_settings_of_avg_shedder_are_compared(version, paired):
    assert requires_strategy_pair(version) is paired


@pytest.mark.parametrize(
    ("version", "way", "taken"),
    [
        *((one, "kept-averages", "first-broker") for one in ("2.10.5", "2.11.2", "3.0.1", "3.1.0")),
        *((one, "kept-averages", "all") for one in ("2.10.4", "2.11.3", "3.0.2", "3.1.1", "3.2.0")),
        *((one, "policy-change", "unscoped") for one in ("2.4.2", "2.10.5")),
        *((one, "policy-change", "all-of-new") for one in ("2.11.0", "3.0.6", "3.2.4", "3.3.1")),
        *((one, "policy-change", "of-new") for one in ("3.0.7", "3.0.12", "3.3.2", "3.3.6")),
        *((one, "policy-change", "of-both") for one in ("4.0.0", "4.2.4")),
        *((one, "average-order", "whole-points") for one in ("3.3.6", "4.0.7", "4.1.1")),
        *((one, "average-order", "exact") for one in ("4.0.8", "4.1.2", "4.2.0")),
        *((one, "gone-brokers", "remembered") for one in ("2.10.5", "2.11.0")),
        *((one, "gone-brokers", "forgotten") for one in ("2.11.1", "3.0.0", "4.2.4")),
        *((one, "removed-bundle", "split") for one in ("3.0.7", "4.0.8", "4.1.2")),
        *((one, "removed-bundle", "skipped") for one in ("4.0.9", "4.1.3", "4.2.0")),
        *((one, "unreachable-metadata", "ends") for one in ("4.0.7", "4.1.1")),
        *((one, "unreachable-metadata", "waits") for one in ("4.0.8", "4.1.2", "4.2.4")),
        *((one, "bad-shedder", "simple-manager") for one in ("4.0.7", "4.0.11", "4.2.2")),
        *((one, "bad-shedder", "refused") for one in ("4.0.12", "4.2.3", "4.2.4")),
        *((one, "bad-shedder", "overload") for one in ("3.0.7", "3.3.6")),
        *((one, "destination", "group-asked") for one in ("2.10.5", "2.11.2", "3.0.0")),
        *((one, "destination", "asked") for one in ("2.10.6", "2.11.3", "3.0.1", "3.1.0")),
    ],
)
def test_a_version_takes_the_way_of_its_place_in_its_line(version, way, taken):
    assert ways_of_version(version)[way] == taken


POLICY = {"primary": ["b1"], "secondary": [], "minLimit": 1, "usageThreshold": 80}


# 3.0 leaves out what the new policy does not select, and without a scope unloads all that it
# selects.
@pytest.mark.parametrize(
    ("scope", "old_releases", "later"),
    [
        ("changed", ["t/b"], ["t/a", "t/b"]),
        ("all_matching", ["t/b", "t/c"], ["t/a", "t/b", "t/c"]),
        ("none", [], []),
        (None, ["t/b", "t/c"], ["t/a", "t/b"]),
    ],
)
def test_a_changed_policy_unloads_what_the_new_one_selects(scope, old_releases, later):
    case = {
        "scope": scope,
        "old": {**POLICY, "namespaces": ["t/a", "t/c"]},
        "new": {**POLICY, "namespaces": ["t/b", "t/c"]},
        "namespaces": ["t/a", "t/b", "t/c", "t/d"],
    }
    assert Model("released-3.0").answer("policy.changed", case) == {"unload": old_releases}
    for profile in ("released-4.0", "released-4.2", "documented-4.0"):
        assert Model(profile).answer("policy.changed", case) == {"unload": later}
    assert "unsupported" in Model("released-2.10").answer("policy.changed", case)
    before = Model("released-3.0").with_ways({"policy-change": "all-of-new"})
    answer = before.answer("policy.changed", case)
    if scope is None:  # ClustersBase of 2.11.0 knows no scopes.
        assert answer == {"unload": ["t/b", "t/c"]}
    else:
        assert "All that the new policy selects" in answer["unsupported"]


def test_other_brokers_in_a_policy_unload_all_that_the_new_one_selects():
    case = {
        "scope": "changed",
        "old": {**POLICY, "namespaces": ["t/a", "t/c"]},
        "new": {**POLICY, "primary": ["b2"], "namespaces": ["t/b", "t/c"]},
        "namespaces": ["t/a", "t/b", "t/c"],
    }
    assert Model("released-3.0").answer("policy.changed", case) == {"unload": ["t/b", "t/c"]}


def test_the_differences_of_a_version_are_reported(capsys, tmp_path):
    conf = tmp_path / "broker.conf"
    conf.write_text("loadBalancerSheddingIntervalMinutes=2\n", "utf-8")
    main(["settings", str(conf), "--release", "3.0.0"])
    out = " ".join(capsys.readouterr().out.split())
    assert "Pulsar 3.0.0 differs from 3.0.7" in out
    assert "Is a bundle split if only one broker is up? Yes." in out
    main(["settings", str(conf), "--release", "2.10.4"])
    out = " ".join(capsys.readouterr().out.split())
    assert "Pulsar 2.10.4 differs from 3.0.7" in out
    assert "Does heap memory count in the usage of a broker? Only in the weighted usage" in out
    assert "other differences (--all lists them)" in out
    main(["settings", str(conf), "--release", "3.0.7"])
    assert "Pulsar 3.0.7 differs" not in capsys.readouterr().out


# The ways of a load manager are not about another one; before 3.0.5 TransferShedder looks at the
# average usage alone (apache/pulsar#22321).
def test_differences_of_the_modular_manager_are_not_reported_for_another(capsys, tmp_path):
    package = "org.apache.pulsar.broker.loadbalance."
    manager = f"loadManagerClassName={package}extensions.ExtensibleLoadManagerImpl\n"
    conf = tmp_path / "broker.conf"
    conf.write_text(manager, "utf-8")
    main(["settings", str(conf), "--release", "3.0.1"])
    out = " ".join(capsys.readouterr().out.split())
    assert "Pulsar 3.0.1 differs from 3.0.7" in out
    assert "a broker is underloaded only below 1 B/s" in out
    assert "spread evenly" not in out
    main(["settings", str(conf), "--release", "3.0.7"])
    assert "differs from 3.0" not in capsys.readouterr().out
    conf.write_text(f"loadManagerClassName={package}impl.SimpleLoadManagerImpl\n", "utf-8")
    main(["settings", str(conf), "--release", "3.0.1", "--all"])
    out = " ".join(capsys.readouterr().out.split())
    assert "isolation policy unload? All that the new policy selects" in out
    assert "spread evenly" not in out
    assert "UniformLoadShedder" not in out


# ThresholdShedder.updateAvgResourceUsage of 2.8.2 and 2.9.1 starts at getOrDefault(broker, 0.0):
# 85, 84 and 2 % count as 8.5, 8.4 and 0.2 %, of which none is 10 points over the mean of 5.7.
@pytest.mark.parametrize(
    ("version", "sheds"), [("2.8.2", False), ("2.9.1", False), ("2.10.5", True)]
)
def test_threshold_shedder_smoothed_the_first_usage_before_2_10(version, sheds):
    shedder = "ThresholdShedder"
    case = {
        "strategy": shedder,
        "settings": {"loadBalancerLoadSheddingStrategy": shedder},
        **brokers(*[[(500, 5)] * 10] * 3),
    }
    for (name, broker), usage in zip(case["brokers"].items(), (85, 84, 2), strict=True):
        case["brokers"][name] = {**broker, "cpu": {"usage": usage, "limit": 100}}
    unloads = model(version).answer("shed.select", case)["unload"]
    assert {one["broker"] for one in unloads} == ({"b0", "b1"} if sheds else set())


# The hashes of ten topics with 200 messages/s each: a part may have 250, so that each gets its own.
@pytest.mark.parametrize("release", ["3.0.7", "4.0.7", "4.2.4", "5.0.0-M1"])
@pytest.mark.parametrize(
    ("manager", "by", "parts"),
    [
        ("impl.ModularLoadManagerImpl", "broker", 10),
        ("extensions.ExtensibleLoadManagerImpl", "broker", 1),
        ("extensions.ExtensibleLoadManagerImpl", "admin", 10),
    ],
)
def test_a_broker_of_the_extensible_manager_splits_at_one_place(release, manager, by, parts):
    topics = [f"persistent://pinger/v2.0.0/t{n}" for n in (44, 40, 54, 50, 9, 1, 5, 8, 51, 55)]
    flow = "flow_or_qps_equally_divide"
    case = {
        "bundle": "0xaaaaaaa8_0xc71c71c4",
        "algorithm": flow,
        "by": by,
        "settings": {
            "loadBalancerNamespaceBundleMaxMsgRate": 250,
            "defaultNamespaceBundleSplitAlgorithm": flow,
            "loadManagerClassName": f"org.apache.pulsar.broker.loadbalance.{manager}",
        },
        "topics": topics,
        "positions": [],
        "topicLoads": {name: {"msgRateIn": 100, "msgRateOut": 100} for name in topics},
    }
    assert len(model(release).answer("bundles.split", case)["bundles"]) == parts


# BundleSplitterTask of 2.8.2, 2.9.1 and 2.10.1 compares the number of bundles alone; from 2.10.2
# and 2.11.0 on, it adds those that it has chosen (apache/pulsar#16552).
@pytest.mark.parametrize(
    ("version", "room"),
    [
        *((one, "uncounted") for one in ("2.8.2", "2.9.1", "2.10.1")),
        *((one, "counted") for one in ("2.10.2", "2.10.5", "2.11.0", "3.0.7", "4.2.4")),
    ],
)
def test_bundles_chosen_in_a_round_did_not_count_before_2_10_2(version, room):
    assert ways_of_version(version)["room"] == room


# LocalBrokerData.getMaxResourceUsageWithWeightWithinLimit is in the sources of 2.10.2, and not in
# those of 2.10.1, 2.10.3, 2.10.4, 2.10.5, 2.11.0 and 3.0.7.
@pytest.mark.parametrize(
    ("version", "has"),
    [("2.10.2", True), *((one, False) for one in ("2.10.1", "2.10.3", "2.11.0"))],
)
def test_a_change_that_was_taken_back_is_reported_for_versions_that_have_it(version, has):
    judged = judged_version(version)
    told = " ".join(judged.differences({})) if judged else ""
    assert ("over 100 %" in told) is has


@pytest.mark.parametrize(
    ("version", "says"),
    [
        *((one, "") for one in ("2.4.2", "2.8.2", "2.10.5", "3.0.7", "3.3.6", "4.0.8", "4.2.4")),
        ("4.2", ""),
        ("5.0.0-M1", ""),
        ("2.10.1", "was not examined: the behavior of 2.10.5 is assumed, except where"),
        ("3.1.4", "was not examined: the behavior of 3.1.2 is assumed, except where"),
        ("4.2.5", "was not examined: the behavior of 4.2.4 is assumed"),
        ("4.1.0", "is newer than 4.0.7, whose behavior is assumed"),
        ("5.0.1", "is newer than 5.0.0-M1, whose behavior is assumed, except where"),
    ],
)
def test_a_version_that_was_not_examined_is_explained_with_a_caveat(version, says):
    assert says in caveat_text(version)
    assert bool(caveat_text(version)) is bool(says)
