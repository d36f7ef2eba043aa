"""Decisions of the model under released profiles, worked out by hand from Pulsar's source."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from pulsar_conformance import fixtures, specs
from pulsar_conformance.adapters.pulsar import versions
from pulsar_conformance.conformance.cases.saved import load_saved
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.judge import AppliedRule, JudgedImplementation
from pulsar_conformance.reference import Model
from pulsar_conformance.reference.released.java import (
    in_map_order,
    java_hash,
    to_float32,
    to_int,
    wrap_int,
)
from pulsar_conformance.reference.released.release import ReleasedWays

LEFT, RIGHT = "t/ns/0x00000000_0x80000000", "t/ns/0x80000000_0xffffffff"
MB = 1_000_000
RELEASED = [name for name, one in specs.load().profiles.items() if one.kind == "released"]


def average(throughput=0.0, messages=0.0):
    one = {"msgThroughputIn": throughput, "msgRateIn": messages, "numSamples": 10}
    return {"shortTermData": one, "longTermData": one}


def broker(percent=0, throughput=0.0, bundles=(), messages=0.0, **resources):
    usages = {name: {"usage": usage, "limit": 100} for name, usage in resources.items()}
    carries = {"msgThroughputIn": throughput, "msgRateIn": messages}
    return {"cpu": {"usage": percent, "limit": 100}, **usages, **carries, "bundles": list(bundles)}


def shed(profile, strategy, brokers, bundles, **settings):
    case = {"strategy": strategy, "settings": settings, "brokers": brokers, "bundles": bundles}
    answer = Model(profile).answer("shed.select", {**case, "recentlyUnloaded": {}})
    return [one["bundle"] for one in answer["unload"]]


def three(throughput):
    """Return brokers at 40, 10 and 10 %: the first is 10 points over 20 + 10 %, so 10 + 5 % go."""
    brokers = {"b1": broker(40, throughput, [LEFT, RIGHT]), "b2": broker(10), "b3": broker(10)}
    return brokers, {LEFT: average(throughput * 0.2), RIGHT: average(throughput * 0.1)}


CASES = sorted((Path(fixtures.__file__).parent / "cases").glob("*/*.json"))


@pytest.mark.parametrize("profile", RELEASED)
def test_a_release_is_not_held_to_what_it_is_known_to_break(profile):
    """In cases on which a release breaks the documents, its own profile finds no fault."""
    subject = JudgedImplementation.before_asking(Implementation("reference", profile, {}))
    rules = [rule for rule in specs.load().rules_of(profile) if rule.id in checks()]
    trials = [load_saved(file).trial for file in CASES]
    trials = list(filter(subject.evaluator.legal, trials))
    assert len(trials) > len(CASES) / 3
    for trial, answers in zip(trials, subject.implementation.answers(trials), strict=True):
        for rule in rules:
            if not subject.inapplicable(rule):
                assert not AppliedRule(rule, subject).outcome(trial, answers).violated, rule.id


def test_who_breaks_a_rule_that_the_release_keeps_is_found():
    """An answer that keeps all bundles breaks OVERLOAD-01 where the release unloads."""
    subject = JudgedImplementation.before_asking(Implementation("reference", "released-4.2", {}))
    applied = AppliedRule(specs.load().rules["OVERLOAD-01"], subject)
    found = 0
    for example in fixtures.examples():
        operation, case = example.questions[0]
        if "OVERLOAD-01" in example.rules and operation == "shed.select":
            trial = Trial.of(operation, case)
            [right] = subject.implementation.answers([trial])
            if right[0].get("unload"):
                found += applied.outcome(trial, [{"unload": []}]).violated
    assert found


def test_a_release_takes_the_threshold_off_the_amount_too():
    """The release sheds 15 % of 100 MB/s, less than the larger bundle; documents shed 25 %."""
    assert shed("released-3.0", "ThresholdShedder", *three(100 * MB)) == [LEFT]
    by_documents = {
        "loadBalancerBrokerThresholdShedderPercentage": 10,
        "loadBalancerHistoryResourcePercentage": 0.9,
    }
    assert shed("documented-3.0", "ThresholdShedder", *three(100 * MB), **by_documents) == [
        LEFT,
        RIGHT,
    ]


def test_under_ten_mebibytes_nothing_is_shed_unless_the_hidden_setting_says_so():
    """15 % of 60 MB/s are 9 MB/s, less than 10 MiB/s, which are 10.49 MB/s."""
    assert shed("released-3.0", "ThresholdShedder", *three(60 * MB)) == []
    name = "loadBalancerBundleUnloadMinThroughputThreshold"
    assert shed("released-3.0", "ThresholdShedder", *three(60 * MB), **{name: 8}) == [LEFT]


@pytest.mark.parametrize(
    ("profile", "shown"), [("released-2.4", [LEFT]), ("released-2.10", []), ("released-3.0", [])]
)
def test_heap_memory_counts_in_the_oldest_alone(profile, shown):
    brokers = {"b1": broker(0, 100.0, [LEFT, RIGHT], memory=95), "b2": broker()}
    bundles = {LEFT: average(60.0), RIGHT: average(40.0)}
    assert shed(profile, "OverloadShedder", brokers, bundles) == shown


@pytest.mark.parametrize(("percent", "sheds"), [(85, True), (70, False), (90, False)])
def test_floats_of_32_bits_decide_at_the_threshold(percent, sheds):
    """0.7 in 32 bits is less than 0.7; 0.85 is more than 0.85."""
    brokers = {"b1": broker(percent, 100.0, [LEFT, RIGHT]), "b2": broker()}
    bundles = {LEFT: average(60.0), RIGHT: average(40.0)}
    at = {"loadBalancerBrokerOverloadedThresholdPercentage": percent}
    assert bool(shed("released-3.0", "OverloadShedder", brokers, bundles, **at)) is sheds
    assert shed("released-4.0", "OverloadShedder", brokers, bundles, **at) == [LEFT]


@pytest.mark.parametrize(("profile", "moved"), [("released-3.0", 2), ("released-4.2", 1)])
def test_a_thousand_messages_more_are_moved_until_4_2(profile, moved):
    """A fifth of 9999 is 1999: one bundle of 1500 fits. Before 4.2, 1000 more move, so two go."""
    brokers = {"b1": broker(bundles=[LEFT, RIGHT], messages=10000.0), "b2": broker(messages=1.0)}
    bundles = {LEFT: average(messages=1500.0), RIGHT: average(messages=1400.0)}
    assert len(shed(profile, "UniformLoadShedder", brokers, bundles)) == moved


def test_a_thousand_more_than_the_largest_int_let_nothing_go():
    """A fifth of 12 GB/s becomes the largest int; adding 1000 to it overflows."""
    most = {"msgThroughputOut": 12e9, "bundles": [LEFT, RIGHT]}
    case = {"strategy": "UniformLoadShedder", "settings": {}, "bundles": {}, "recentlyUnloaded": {}}
    question = ("shed.select", {**case, "brokers": {"b1": most, "b2": {}}})
    found = Model("released-3.0").derive(*question)
    assert found.answer["unload"] == []
    [beyond] = [step.text for step in found.steps if step.label.strip() == "beyond"]
    assert "overflows an int and is negative, so nothing goes" in beyond
    assert len(Model("released-4.2").answer(*question)["unload"]) == 2


def growing(profile, topics=2, brokers=2, **settings):
    first = {"bundles": [LEFT], "lastStats": {LEFT: {"topics": topics, "producerCount": 2000}}}
    reports = {"b1": first, **({"b2": {}} if brokers > 1 else {})}
    case = {"settings": settings, "leader": True, "brokers": reports, "bundles": {}}
    return Model(profile).answer(
        "bundles.split_candidates", {**case, "namespaceBundles": {"t/ns": 1}}
    )["split"]


def test_few_topics_one_broker_and_no_limit_keep_a_bundle_whole():
    assert growing("released-3.0") == [LEFT]
    assert growing("released-3.0", topics=1) == []
    assert growing("released-3.0", brokers=1) == []
    assert growing("released-2.4", topics=1, brokers=1) == [LEFT]
    assert growing("released-3.0", loadBalancerNamespaceBundleMaxSessions=0) == []


def test_a_limit_of_2048_megabytes_overflows_an_int():
    limits = {"loadBalancerNamespaceBundleMaxSessions": 5000}
    name = "loadBalancerNamespaceBundleMaxBandwidthMbytes"
    assert growing("released-3.0", **limits, **{name: 2047}) == []
    assert growing("released-3.0", **limits, **{name: 2048}) == [LEFT]


def test_what_the_model_does_not_foresee_is_refused_in_a_sentence(capsys, tmp_path):
    case = {"strategy": "DeviationShedder", "settings": {}, "brokers": {}, "bundles": {}}
    file = tmp_path / "case.json"
    file.write_text(json.dumps({"ask": "shed.select", "case": {**case, "recentlyUnloaded": {}}}))
    assert main(["explain", str(file), "--judge-by", "released-3.0"]) == 2
    said = " ".join(capsys.readouterr().out.split())
    assert "the model of 'What Pulsar 3.0.7 does' does not include DeviationShedder" in said


def test_lines_from_the_source_name_their_class():
    case = {"strategy": "ThresholdShedder", "settings": {}, "recentlyUnloaded": {}}
    brokers, bundles = three(100 * MB)
    found = Model("released-3.0").derive(
        "shed.select", {**case, "brokers": brokers, "bundles": bundles}
    )
    [line] = [step.text for step in found.steps if step.label.strip() == "to shed"]
    assert line.endswith("= 15 MB/s (ThresholdShedder.findBundlesForUnloading)")


@pytest.mark.parametrize("profile", RELEASED)
def test_every_way_of_a_release_that_is_not_documented_has_a_place(profile):
    bundled = specs.load()
    for name, value in bundled.profile(profile).ways.items():
        assert bundled.ways[name].alternatives[value].place


def test_neutral_values_are_those_of_the_adapter():
    of_adapter = {one.name: one.value for one in versions.neutral_settings(())}
    assert of_adapter == {**of_adapter, **specs.load().neutral}


def test_java_s_numbers_and_maps():
    """A string's hash is 31 x the hash so far + a letter; a and q share one of 16 buckets."""
    assert java_hash("ab") == 97 * 31 + 98
    assert to_float32(0.7) < 0.7 < to_float32(0.7) * 1.001
    assert to_int(-3.9) == -3
    assert to_int(1e300) == 2**31 - 1
    assert wrap_int(2**31) == -(2**31)
    assert in_map_order(["b", "a", "q"]) == ["a", "q", "b"]


IMPL = "org.apache.pulsar.broker.loadbalance.impl."


def placed_in_turn(usage, owned=()):
    """Return the answer and the decision step for a bundle that RoundRobinBrokerSelector places."""
    settings = {
        "loadBalancerLoadPlacementStrategy": f"{IMPL}RoundRobinBrokerSelector",
        "loadBalancerDistributeBundlesEvenlyEnabled": True,
    }
    brokers = {
        name: {
            "cpu": {"usage": percent, "limit": 100},
            "bundles": [bundle for bundle, owner in owned if owner == name],
        }
        for name, percent in usage.items()
    }
    nothing = {"preallocated": {}, "domains": {}, "groups": {}, "isolation": [], "versions": {}}
    case = {"settings": settings, "bundle": "a/b/0x80000000_0xffffffff", "brokers": brokers}
    found = Model("released-4.2").derive("place.broker", {**case, "bundles": {}, **nothing})
    return found.answer["broker"], found.steps[-1].text


def test_a_set_of_brokers_is_in_the_order_that_java_prints():
    """b6 and b11 share one of 16 buckets, but a set made of 12 brokers has 32 buckets."""
    first, decision = placed_in_turn({f"b{number}": 10 for number in reversed(range(12))})
    assert first == "b1"
    rest = "b9, b10, b4, b11, b6, b5, b8, b0, b2, b3, b7"
    assert decision.startswith(f"b1 first, then {rest}: in turn since the leader's start")


def test_the_next_in_turn_is_chosen_if_the_first_is_overloaded():
    """b0 and b2 share a bucket. Both calls count as turns, so the second gets the next broker."""
    assert placed_in_turn({"b0": 80, "b2": 80})[0] == "b0"
    assert placed_in_turn({"b0": 90, "b2": 80})[0] == "b2"
    assert placed_in_turn({"b0": 90, "b2": 90, "b3": 90})[0] == "b2"


def test_an_overloaded_choice_comes_before_brokers_of_its_place_that_are_added():
    """b0 serves the namespace and is added later, so the order in the set is b2, b0."""
    owned = [("a/b/0x00000000_0x80000000", "b0")]
    assert placed_in_turn({"b0": 90, "b2": 90}, owned)[0] == "b0"
    assert placed_in_turn({"b0": 90, "b2": 80}, owned)[0] == "b2"


def manager(profile, conf, dynamic=None):
    return Model(profile).answer("manager.choose", {"conf": conf, "dynamic": dynamic})


@pytest.mark.parametrize("profile", RELEASED)
def test_the_modular_manager_runs_where_none_is_named(profile):
    for conf in (None, "", " "):
        assert manager(profile, conf) == {"manager": "modular"}
    assert manager(profile, None, IMPL + "SimpleLoadManagerImpl") == {"manager": "simple"}
    assert "no class" in manager(profile, None, "x.Y")["refused"]
    assert "no class" in manager(profile, None, IMPL + "ExtensibleLoadManagerImpl")["refused"]


@pytest.mark.parametrize("name", ["x.Y", IMPL + "ExtensibleLoadManagerImpl"])
def test_before_4_2_the_simple_manager_runs_after_a_mistake_in_the_files(name):
    for profile in ("released-2.4", "released-2.10", "released-3.0", "released-4.0"):
        assert manager(profile, name) == {"manager": "simple"}
    for profile in ("released-4.2", "released-5.0"):
        assert "LoadManager.create" in manager(profile, name)["refused"]


def test_a_release_stays_itself_by_other_defaults():
    model, (brokers, bundles) = Model("released-3.0"), three(100 * MB)
    case = {"strategy": "ThresholdShedder", "settings": {}, "brokers": brokers, "bundles": bundles}
    case |= {"recentlyUnloaded": {}}
    again = model.with_defaults(dict(model.defaults)).answer("shed.select", case)
    assert (
        again == model.answer("shed.select", case) == {"unload": [{"broker": "b1", "bundle": LEFT}]}
    )


def test_of_equal_domains_the_one_with_the_emptiest_brokers_is_taken():
    """Among equal domains, a release takes the one with the emptiest broker.

    Each domain has two namespaces of the group, on one broker (b3) or on two (b4 and b5). By the
    documents, the emptiest brokers of either domain may be chosen. A release takes b1 or b2, which
    have none.
    """
    case = {
        "settings": {},
        "namespace": "t/new",
        "groups": {"t/new": "blue", **{f"t/{number}": "blue" for number in range(4)}},
        "domains": {"one": ["b1", "b2", "b3"], "two": ["b4", "b5"]},
        "owned": {"b3": ["t/0", "t/1"], "b4": ["t/2"], "b5": ["t/3"]},
        "candidates": ["b4", "b1", "b2", "b3", "b5"],
    }
    documented = Model("documented-3.0").answer("place.anti_affinity", case)
    assert documented["candidates"] == ["b4", "b1", "b2", "b5"]
    for profile in ("released-2.4", "released-3.0", "released-5.0"):
        answer = Model(profile).answer("place.anti_affinity", case)
        assert answer == {"broker": "b1", "domains": ["two", "one"], "candidates": ["b1", "b2"]}
    steps = [
        f"{step.label} {step.text}"
        for step in Model("released-3.0").derive("place.anti_affinity", case).steps
    ]
    assert any(one.startswith("one 2 on its candidates, among the fewest (Load") for one in steps)
    alone = {**case, "settings": {"failureDomainsEnabled": False}}
    assert Model("released-3.0").answer("place.anti_affinity", alone)["candidates"] == ["b1", "b2"]


def test_only_candidates_count_in_a_domain_of_a_release():
    """b2 has a namespace of the group, but is no candidate, so its domain counts as empty."""
    case = {
        "settings": {},
        "namespace": "t/new",
        "groups": {"t/new": "blue", "t/0": "blue"},
        "domains": {"one": ["b1", "b2"], "two": ["b3"]},
        "owned": {"b2": ["t/0"]},
        "candidates": ["b1", "b3"],
    }
    assert Model("documented-3.0").answer("place.anti_affinity", case)["candidates"] == ["b3"]
    assert Model("released-3.0").answer("place.anti_affinity", case)["candidates"] == ["b1", "b3"]


def test_a_topic_at_the_very_end_of_the_hashes_is_found_nowhere():
    """The CRC of this topic is 0xffffffff, where no bundle starts: the search finds none."""
    top = "persistent://t/ns/top-njwx544jvq7nxj7t7kw8vmo75rqwwfoomnawhmlv"
    case = {"boundaries": ["0x00000000", "0x80000000", "0xffffffff"], "topics": [top]}
    [found] = Model("documented-3.0").answer("bundles.locate", case)["bundles"]
    assert found == "0x80000000_0xffffffff"
    for profile in ("released-2.4", "released-5.0"):
        assert (
            "NamespaceBundles.getBundle" in Model(profile).answer("bundles.locate", case)["failed"]
        )
        below = {**case, "topics": ["persistent://t/ns/other"]}
        assert len(Model(profile).answer("bundles.locate", below)["bundles"]) == 1


def test_the_oldest_release_has_the_defaults_of_its_own_settings():
    found = Model("released-2.4").answer("settings.defaults", {})["settings"]
    assert found["loadBalancerReportUpdateMaxIntervalMinutes"] == 15
    assert found["loadBalancerResourceQuotaUpdateIntervalMinutes"] == 15
    assert found["loadManagerClassName"].endswith(".ModularLoadManagerImpl")
    assert "loadBalancerLoadSheddingStrategy" not in found
    assert (
        "loadBalancerLoadSheddingStrategy"
        in Model("released-2.10").answer("settings.defaults", {})["settings"]
    )


def test_the_leaders_map_keeps_the_places_that_an_earlier_cycle_gave_it():
    """Two bundles are in buckets 3 and 7 of 16, or 19 and 7 of 32, which twelve bundles need."""
    digits = "0123456789abc"
    twelve = [f"t/ns/0x{low}0000000_0x{high}0000000" for low, high in pairwise(digits)]
    two = twelve[:2]

    def seen(minutes, percent, bundles):
        busy = {"cpu": {"usage": percent, "limit": 100}, "bundles": bundles}
        brokers = {"b1": busy, "b2": {}}
        return {"minutes": minutes, "brokers": brokers, "bundles": {}, "recentlyUnloaded": {}}

    def shed_last(*cycles):
        case = {"strategy": "OverloadShedder", "settings": {}, "cycles": list(cycles)}
        *_, last = Model("released-2.4").answer("shed.cycles", case)["cycles"]
        return [one["bundle"] for one in last["unload"]]

    assert shed_last(seen(0, 0, two), seen(1, 95, two)) == [two[0]]
    assert shed_last(seen(0, 0, twelve), seen(1, 95, two)) == [two[1]]


@pytest.mark.parametrize(
    ("profile", "weighted", "method"),
    [
        ("released-2.4", False, ""),
        ("released-2.10", False, "getMaxResourceUsage"),
        ("released-2.10", True, ""),
        ("released-3.0", False, "getMaxResourceUsage"),
        ("released-3.0", True, "getMaxResourceUsageWithWeight"),
    ],
)
def test_the_method_that_leaves_out_heap_memory_is_the_one_that_is_asked(profile, weighted, method):
    named = ReleasedWays.of(profile).method_without_heap(weighted)
    assert named == (method and f"LocalBrokerData.{method}")
