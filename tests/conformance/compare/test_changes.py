"""Changes between two stub releases are reported with their causes."""

import json
import os
import re
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from pulsar_conformance.adapters.pulsar.nearest import comparable_part
from pulsar_conformance.adapters.pulsar.versions import releases
from pulsar_conformance.conformance.commands import changes
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.conformance.common.trial import Question, Trial
from pulsar_conformance.conformance.compare import changes as compared
from pulsar_conformance.conformance.compare.changes import Comparison
from pulsar_conformance.conformance.compare.changes_text import (
    changes_without_case,
    lines_without_case,
    profile_of,
    settings_lines,
    way_case_file,
    why_no_case,
)
from pulsar_conformance.conformance.compare.differences import Causes, all_factors
from pulsar_conformance.reference import Model

TESTS = Path(__file__).parents[2]
USAGES = ("--operation", "usage.max", "--examples", "8")
LEFT, RIGHT = "t/ns/0x00000000_0x80000000", "t/ns/0x80000000_0xffffffff"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    stands_in(monkeypatch, lambda _version: "Same")


def stands_in(monkeypatch, variant_of):
    """Make each release answer like the variant of the model that `variant_of(version)` names."""
    name = "python:standins.variants:{}".format
    monkeypatch.setattr(changes, "adapter_of", lambda version: name(variant_of(version)))


def told(capfd, *words):
    status = main(["changes", *words])
    out, err = capfd.readouterr()
    assert "Traceback" not in out + err
    # A path of Pulsar's source is one word, and is not broken.
    long = [line for line in out.splitlines() if len(line) > 80 and len(line.split()) > 1]
    assert long == []
    assert "\x1b" not in out
    return status, out, err


def test_the_way_that_explains_a_change_is_named_with_the_place_of_both(capfd):
    status, out, err = told(capfd, "3.0.7", "4.2.4", *USAGES)
    assert (status, err) == (0, "")
    [entry] = re.findall(r"^  overload-usage \(\d+ cases?\)\n(.*?)\n(?:\n|\Z)", out, re.M | re.S)
    older, newer = entry.split("    4.2.4\n")
    assert "overload-usage: The largest of all resources." in older
    assert "overload-usage: The largest after weighting." in newer
    assert all("OverloadShedder.findBundlesForUnloading" in one for one in (older, newer))
    assert re.search(r"maximum +100 % of ", older)
    assert "4.2.4 breaks USAGE-01" in older


def test_a_setting_that_only_the_newer_release_reads_breaks_no_rule(capfd):
    """Cases drawn for 4.0 have a weight whose name is new in 4.0; 3.0.7 breaks no rule by it."""
    _, out, _ = told(capfd, "3.0.7", "4.0.7", "--operation", "usage.max", "--examples", "2")
    assert "3.0.7 has no loadBalancerBandwidth" in " ".join(out.split())
    older, newer = out.partition("    4.0.7\n")[::2]
    assert "ResourceWeight: no such setting" in older
    assert "ServiceConfiguration.loadBalancerBandwidth" not in older
    assert "ResourceWeight: its default is 1.0" in " ".join(newer.split())
    assert "ServiceConfiguration.loadBalancerBandwidth" in newer
    assert "breaks USAGE-09" not in out


def test_either_release_has_the_place_that_it_has_itself(capfd):
    """For each release, the report names the method that decides in that release."""
    words = ("--operation", "usage.nic", "--operation", "manager.choose", "--examples", "8")
    _, out, _ = told(capfd, "2.4.2", "2.10.5", *words)
    older, newer = (out.index(one) for one in ("getTotalNicLimitKbps", "getTotalNicLimit\n"))
    assert older < newer
    assert out.count("FieldParser.update") == 2


def test_a_failing_implementation_is_not_said_to_break_every_rule(capfd, monkeypatch):
    topics = ["persistent://t/ns/clicks-1", "persistent://t/ns/orders-2"]
    settings = {"defaultNamespaceBundleSplitAlgorithm": "specified_positions_divide"}
    case = {"bundle": "0x00000000_0xffffffff", "algorithm": None, "by": "admin"}
    case |= {"settings": settings, "topics": topics, "positions": ["0x40000000", "0x40000000"]}
    monkeypatch.setattr(Comparison, "_draw_questions", lambda *_: [Trial.of("bundles.split", case)])
    monkeypatch.setattr(compared, "reduce", lambda trial, _failing: trial)
    _, out, _ = told(capfd, "2.10.5", "3.0.7", "--operation", "bundles.split")
    [entry] = re.findall(r"^  (default-positions.*?\n)\n  ?\S", f"{out}\n  end", re.M | re.S)
    assert "given twice: the request is never answered" in " ".join(entry.split())
    assert "breaks" not in entry


def test_defaults_that_changed_are_listed_once(capfd):
    _, out, _ = told(capfd, "3.0.7", "4.2.4", *USAGES)
    assert out.count("loadBalancerMemoryResourceWeight: 1.0 → 0.0") == 1
    assert out.count("loadBalancerDirectMemoryResourceWeight: 1.0 → 0.0") == 1
    assert "loadBalancerBandwidthInResourceWeight: new, in place of" in out


def test_the_smallest_case_of_a_slack_has_two_brokers(capfd):
    words = ("--operation", "shed.select", "--examples", "4", "--json", "found.json")
    told(capfd, "4.0.7", "4.2.4", *words)
    [pair] = json.loads(Path("found.json").read_text())
    [slack] = [one for one in pair["changes"] if one["cause"] == "uniform-slack"]
    assert len(slack["case"]["brokers"]) == 2
    assert len(slack["answers"]["4.0.7"]["unload"]) > len(slack["answers"]["4.2.4"]["unload"])
    [factor] = slack["factors"]
    assert factor["places"] == ["UniformLoadShedder.findBundlesForUnloading"] * 2
    assert json.loads(Path(slack["file"]).read_text())["case"] == slack["case"]


def test_ties_are_counted_and_not_reported(capfd, monkeypatch):
    stands_in(monkeypatch, lambda version: "Same" if version == "4.2.4" else "Contrary")
    words = ("--operation", "shed.select", "--examples", "12")
    _, out, _ = told(capfd, "4.2.4", "5.0.0-M1", *words)
    assert re.search(r"^shed.select: \d+ cases, 0 decided differently$", out, re.MULTILINE)
    assert "where ties, random choice or rounding could decide" in " ".join(out.split())
    assert "smallest case" not in out


def test_what_the_models_do_not_foresee_is_reported_by_the_rule_that_is_broken(capfd, monkeypatch):
    stands_in(monkeypatch, lambda version: "Locating" if version == "4.2.4" else "Same")
    words = ("--operation", "bundles.locate", "--examples", "4")
    _, out, _ = told(capfd, "4.2.4", "5.0.0-M1", *words)
    assert re.search(r"^  BUNDLE-04", out, re.MULTILINE)
    assert "5.0.0-M1 breaks BUNDLE-04" in out
    assert "    4.2.4 breaks it in other cases\n" in out
    assert "NamespaceBundles.getBundle" in out


def test_equal_releases_changed_in_nothing(capfd):
    _, out, _ = told(capfd, "4.2.4", "5.0.0-M1", *USAGES)
    assert re.search(r"nothing changed \(cases asked\): usage.max \(\d+\)", out)
    assert "loadManagerMigrationEnabled: new; its default is false" in out
    assert list(settings_lines([], ("4.2.4", "5.0.0-M1"))) == ["", "settings: no default changed"]


def test_operations_without_cases_are_not_said_to_be_unchanged(capfd):
    """The documents of 3.0, for which the cases of both releases are drawn, have no channel."""
    _, out, _ = told(capfd, "4.2.4", "5.0.0-M1", *USAGES, "--operation", "channel.apply")
    out = " ".join(out.split())
    assert "channel.apply (0)" not in out
    why = "not asked, as no case is drawn for the rules of documented-3.0: channel.apply"
    assert why in out


def test_a_class_that_the_older_release_lacks_is_the_cause_and_no_rule_is_named(capfd, monkeypatch):
    """Both releases break MANAGER-05 alike: they refuse names of classes that they do not have."""
    name = "org.apache.pulsar.broker.loadbalance.impl.ThresholdShedder"
    conf = "org.apache.pulsar.broker.loadbalance.impl.SimpleLoadManagerImpl"
    trial = Trial.of("manager.choose", {"conf": conf, "dynamic": name})
    monkeypatch.setattr(Comparison, "_draw_questions", lambda *_: [trial])
    _, out, _ = told(capfd, "2.4.2", "2.10.5", "--operation", "manager.choose")
    assert "ThresholdShedder (1 case)" in out
    assert f"Does the release have the class {name}?" in " ".join(out.split())
    older, newer = out.partition("    2.10.5\n")[::2]
    assert "ThresholdShedder: No." in older
    assert "ThresholdShedder: Yes." in newer
    assert "MANAGER-05" not in out


def test_all_releases_are_walked_and_what_turned_is_summed_up(capfd):
    _, out, _ = told(capfd, "--all", *USAGES)
    walked = re.findall(r"^What changed from (\S+) to (\S+)$", out, re.MULTILINE)
    versions = list(releases())
    assert walked == list(pairwise(versions))
    summary = out.partition("Changes by release")[2]
    assert re.search(r"^usage.max, overload-usage: 4.0.7$", summary, re.MULTILINE)
    assert re.search(r"^settings, loadBalancerMemoryResourceWeight: 2.10.5", summary, re.MULTILINE)
    assert "settings, loadBalancerBrokerLoadTargetStd: 3.0.7\n" in summary


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["3.0.7", "3.0.8"], "3.0.8 is not a release;"),
        (["3.0.7", "3.0.7"], "3.0.7 is given twice; name two releases"),
        (["3.0", "3.0.7"], "3.0.7 is given twice; name two releases"),
        (["3.0.7"], "name two releases, or --all; choose from 2.4.2, "),
        (["3.0.7", "--all"], "--all compares all releases; it cannot be combined with 3.0.7"),
        (
            ["3.0.7", "4.2.4", "--operation", "shed.slect"],
            "only operations that both releases answer can be compared",
        ),
        (["3.0.7", "4.2.4", "--json", "no/such.json"], "there is no folder no"),
    ],
)
def test_a_mistake_is_one_clear_message(words, said, capfd):
    status, out, err = told(capfd, *words)
    assert (status, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1


def test_every_release_has_its_profile():
    assert [profile_of(one) for one in releases()] == [
        f"released-{one}" for one in ("2.4", "2.10", "3.0", "4.0", "4.2", "5.0")
    ]


def test_the_factors_of_neighbours_are_what_their_profiles_differ_in():
    changed = [one for one in all_factors("released-4.0", "released-4.2") if one.older != one.newer]
    assert [(one.name, one.older, one.newer) for one in changed] == [
        ("spared-namespaces", "own", "own-without-cluster"),
        ("uniform-slack", "both", "none"),
        ("average-order", "whole-points", "exact"),
        ("removed-bundle", "split", "skipped"),
        ("old-names", "read", "refused"),
        ("bad-manager", "simple", "refused"),
        ("bad-shedder", "simple-manager", "refused"),
        ("bad-placer", "simple-manager", "refused"),
        ("unreachable-metadata", "ends", "waits"),
    ]


def test_two_changes_explain_together_what_neither_does_alone():
    """4.0 weights usage, and its weight for direct memory is 0: only both explain 0 % for 100 %."""
    case = {"settings": {}, "weighted": False}
    trial = Trial.of(
        "usage.max", {**case, "broker": {"directMemory": {"usage": 100, "limit": 100}}}
    )
    answers = tuple(Model(f"released-{one}").answer(*trial.questions[0]) for one in ("3.0", "4.0"))
    assert [answer["percent"] for answer in answers] == [100, 0]
    explained = Causes("released-3.0", "released-4.0").explaining_factors(trial, answers)
    assert [one.name for one in explained] == [
        "overload-usage",
        "loadBalancerDirectMemoryResourceWeight",
    ]


def test_a_least_amount_that_either_measure_may_have_is_a_matter_of_the_pair():
    """A fifth of 9 messages is less than 1000; a fifth of 500 MB/s is more than 1 MiB/s.

    In 2.10.5, one of the minimums is enough; later, the deciding measure has to reach its own. Both
    releases compare the same two brokers.
    """
    settings = {"loadBalancerMsgRateDifferenceShedderThreshold": 50}
    busy = {"msgRateOut": 10, "msgThroughputOut": 500_000_000, "bundles": [LEFT, RIGHT]}
    idle = {"bundles": ["t/other/0x00000000_0x80000000", "t/other/0x80000000_0xffffffff"]}
    case = {"strategy": "UniformLoadShedder", "settings": settings, "bundles": {}}
    case |= {"brokers": {"b1": busy, "b2": idle}, "recentlyUnloaded": {}}
    trial = Trial.of("shed.select", case)
    profiles = "released-2.10", "released-3.0"
    older, newer = (Model(one).answer(*trial.questions[0]) for one in profiles)
    assert len(older["unload"]) == 2
    assert newer["unload"] == []
    assert [one.name for one in Causes(*profiles).explaining_factors(trial, (older, newer))] == [
        "uniform-pair"
    ]
    steps = Model(profiles[0]).derive(*trial.questions[0]).steps
    [why] = [step.text for step in steps if step.label.strip() == "enough"]
    assert why.startswith("by the other measure: 100 MB/s (UniformLoadShedder.")


def test_what_no_case_shows_is_reported_in_words():
    versions = ("2.10.5", "3.0.7")
    changed = changes_without_case([], versions)
    names = [one.name for one in changed]
    assert "gone-brokers" in names
    # 2.10.5 has neither splits at positions nor AvgShedder.
    assert not {"position-twice", "positions-for", "average-order"} & {*names}
    told = "\n".join(lines_without_case(changed, versions))
    assert "2.10.5: Yes.\n" in told
    assert "(ThresholdShedder.onActiveBrokersChange)" in told
    way = next(one for one in changed if one.name == "gone-brokers")
    shown = SimpleNamespace(found=[SimpleNamespace(cause=SimpleNamespace(factors=[way]))])
    assert way not in changes_without_case([shown], versions)
    assert list(lines_without_case([], versions)) == []


def test_each_change_that_no_drawn_case_shows_has_a_case_or_a_reason_why_none_can():
    for file in sorted((TESTS.parent / "reports/changes").glob("*.json")):
        [pair] = json.loads(file.read_text("utf-8"))
        for name in (one["name"] for one in pair["unshown"]):
            case = way_case_file(name)
            assert bool(case) != bool(why_no_case(name)), name
            if case:
                saved = json.loads((TESTS.parent / case).read_text("utf-8"))
                profiles = profile_of(pair["older"]), profile_of(pair["newer"])
                older, newer = (Model(one).answer(saved["ask"], saved["case"]) for one in profiles)
                assert comparable_part(older) != comparable_part(newer), name


def test_a_setting_that_only_the_newer_release_reads_is_explained_by_its_way():
    settings = {"defaultNamespaceBundleSplitAlgorithm": "topic_count_equally_divide"}
    case = {"bundle": "0x00000000_0xffffffff", "algorithm": None, "by": "admin", "positions": []}
    topics = ["persistent://t/ns/clicks-1", "persistent://t/ns/orders-2"]
    question = ("bundles.split", {**case, "settings": settings, "topics": topics})
    causes = Causes("released-2.4", "released-2.10")
    answers = tuple(model.answer(*question) for model in causes.models)
    [way] = causes.explaining_factors(Trial((Question(*question),)), answers)
    assert way.name == "split-algorithms"
