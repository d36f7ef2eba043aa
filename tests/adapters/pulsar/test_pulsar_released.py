"""Released classes answer each case as if it were the only one."""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import threading
from pathlib import Path

import pytest
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.adapters.pulsar.shelf import CachedJars
from pulsar_conformance.conformance.commands.check import check_adapter
from pulsar_conformance.conformance.engine.draw import draw_trials
from pulsar_conformance.specs import load

NEEDED = ("java", "javac", "mvn")
HERE = all(map(shutil.which, NEEDED)) and importlib.util.find_spec("jpype") is not None
pytestmark = [
    pytest.mark.pulsar,
    pytest.mark.skipif(not HERE, reason="needs Java, Maven and the extra pulsar"),
]

PROFILE = "documented-3.0"
VERSIONS = ("3.0.7", "4.2.4")
SAMPLES = Path(__file__).parents[3] / "adapters" / "samples" / "pulsar"
LEFT, RIGHT = "t/ns/0x00000000_0x80000000", "t/ns/0x80000000_0xffffffff"
IMPL = "org.apache.pulsar.broker.loadbalance.impl"
MB = 1_000_000


@pytest.fixture(scope="module", params=VERSIONS)
def release(request):
    with connect(f"pulsar:{request.param}", PROFILE, {}) as connection:
        yield connection


@pytest.fixture(scope="module")
def newer():
    with connect("pulsar:3.0.7", PROFILE, {}) as connection:
        yield connection


def questions():
    """Return a few drawn cases of every rule, by operation."""
    found = {}
    for rule in load().rules_of(PROFILE):
        if rule.untestable is None:
            for trial in draw_trials(rule.id, PROFILE, 0, 3):
                for question in trial.questions:
                    found.setdefault(question.operation, []).append(question.case)
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_it_keeps_the_protocol(version):
    found = check_adapter(f"pulsar:{version}", PROFILE, {})
    assert found.ok, found.lines


def test_cases_alone_together_and_in_reverse_get_the_same_answers(release):
    """The cases of a request are distinct, since a repeated case may get another answer."""
    for operation, cases in questions().items():
        if operation in release.hello.operations:
            different = list({json.dumps(case, sort_keys=True): case for case in cases}.values())
            cases = different[:40]
            together = release.ask(operation, cases)
            assert [release.ask(operation, [case])[0] for case in cases] == together
            release.ask(operation, cases[:1])
            assert release.ask(operation, cases[::-1])[::-1] == together


def broker(percent, throughput=0, bundles=(), resource="cpu"):
    return {
        resource: {"usage": percent, "limit": 100},
        "msgThroughputIn": throughput,
        "bundles": list(bundles),
    }


def carrying(throughput, messages=1.0):
    average = {"msgThroughputIn": throughput, "msgRateIn": messages, "numSamples": 10}
    return {"shortTermData": average, "longTermData": average}


def cycle(strategy, brokers, bundles, **more):
    case = {"strategy": strategy, "brokers": brokers, "bundles": bundles}
    return {**case, "settings": {}, "recentlyUnloaded": {}, **more}


def unloaded(connection, case):
    [answer] = connection.ask("shed.select", [case])
    return [one["bundle"] for one in answer["unload"]]


def overloaded(**more):
    """Return a cycle with a broker at 95 %, whose two bundles carry 60 and 40 MB/s."""
    brokers = {"b1": broker(95, 100 * MB, [LEFT, RIGHT]), "b2": broker(0)}
    return cycle(
        "OverloadShedder", brokers, {LEFT: carrying(60 * MB), RIGHT: carrying(40 * MB)}, **more
    )


def test_an_overloaded_broker_sheds(release):
    assert unloaded(release, overloaded()) == [LEFT]


@pytest.mark.parametrize(("ago", "shed"), [(29.9, RIGHT), (30, RIGHT), (30.1, LEFT)])
def test_the_grace_period_is_the_managers_own(release, ago, shed):
    assert unloaded(release, overloaded(recentlyUnloaded={LEFT: ago})) == [shed]


def test_the_switch_is_the_managers_own(release):
    off = {"loadBalancerSheddingEnabled": False}
    assert unloaded(release, overloaded(settings=off)) == []


def test_the_setting_names_the_strategy(release):
    named = {"loadBalancerLoadSheddingStrategy": "OverloadShedder"}
    assert unloaded(release, {**overloaded(settings=named), "strategy": None}) == [LEFT]


def test_history_weighs_nine_tenths(newer):
    """With history, no bundle is unloaded: 90 % of the earlier 10 % and 10 % of the present 60 %
    are 15 %, within 10 points of the average of 12.5 %.
    """
    brokers = {
        "b1": {**broker(60, 100 * MB, [LEFT, RIGHT]), "usageHistory": [10]},
        "b2": {**broker(10), "usageHistory": [10]},
    }
    settings = {
        "loadBalancerHistoryResourcePercentage": 0.9,
        "loadBalancerBrokerThresholdShedderPercentage": 10,
    }
    loads = {LEFT: carrying(60 * MB), RIGHT: carrying(40 * MB)}
    case = cycle("ThresholdShedder", brokers, loads, settings=settings)
    assert unloaded(newer, case) == []
    for one in brokers.values():
        del one["usageHistory"]
    assert unloaded(newer, case) == [LEFT]


def small_traffic():
    """Return a case with 9 MB/s to shed, less than the 10 MiB/s that the release requires."""
    brokers = {"b1": broker(40, 60 * MB, [LEFT, RIGHT]), "b2": broker(10), "b3": broker(10)}
    settings = {"loadBalancerBrokerThresholdShedderPercentage": 10}
    loads = {LEFT: carrying(30 * MB), RIGHT: carrying(30 * MB)}
    return cycle("ThresholdShedder", brokers, loads, settings=settings)


def test_a_neutral_setting_is_reported_and_can_be_undone(newer):
    name = "loadBalancerBundleUnloadMinThroughputThreshold"
    assert name in newer.hello.neutral
    assert len(unloaded(newer, small_traffic())) == 1
    with connect(f"pulsar:3.0.7,set={name}=10", PROFILE, {}) as undone:
        assert name not in undone.hello.neutral
        assert unloaded(undone, small_traffic()) == []


def test_a_value_that_the_release_cannot_hold_is_unsupported(newer):
    settings = {"loadBalancerBrokerOverloadedThresholdPercentage": 90.5}
    [answer] = newer.ask("shed.select", [overloaded(settings=settings)])
    assert "takes whole numbers" in answer["unsupported"]


def test_a_folder_of_jars_is_a_release_too():
    folder = CachedJars("3.0.7").library
    with connect(f"pulsar:{folder}", PROFILE, {}) as connection:
        assert connection.hello.version == "3.0.7"
        assert unloaded(connection, overloaded()) == [LEFT]


def test_a_jvm_that_is_killed_in_a_batch_is_one_adapter_error():
    """The kill falls within the batch, which would take a hundred times as long."""
    with connect("pulsar:3.0.7", PROFILE, {}) as connection:
        connection.ask("shed.select", [overloaded()])
        blow = threading.Timer(0.2, os.kill, (connection.pid, signal.SIGKILL))
        blow.start()
        with pytest.raises(AdapterError, match="killed by SIGKILL"):
            connection.ask("shed.select", [overloaded()] * 10_000)
        blow.join()
        with pytest.raises(ProcessLookupError):
            os.killpg(connection.pid, 0)


def copied(folder):
    """Copy a release's jars to a cache that a test may damage; return the folder of the jars."""
    for shelf in (CachedJars("3.0.7"), CachedJars("shells-3.12.4")):
        shutil.copytree(shelf.folder, folder / "pulsar" / shelf.name)
    return folder / "pulsar" / "3.0.7" / "lib"


def test_jars_that_go_away_in_a_run_are_an_adapter_error_and_no_finding(tmp_path, monkeypatch):
    library = copied(tmp_path)
    monkeypatch.setenv("PULSAR_CONFORMANCE_CACHE", str(tmp_path))
    usage = {"settings": {}, "broker": broker(50), "weighted": False}
    with connect("pulsar:3.0.7", PROFILE, {}) as connection:
        shutil.rmtree(library)
        with pytest.raises(AdapterError, match="all jars are present and complete"):
            connection.ask("usage.max", [usage])


ODD = """
package com.acme;
import com.google.common.collect.*;
import org.apache.pulsar.broker.ServiceConfiguration;
import org.apache.pulsar.broker.loadbalance.*;
public class Odd implements LoadSheddingStrategy {
    public Multimap<String, String> findBundlesForUnloading(LoadData l, ServiceConfiguration c) {
        if (l.getBrokerData().size() > 2) System.exit(7);
        throw new IllegalStateException("no idea");
    }
}
"""


@pytest.fixture(scope="module")
def plug_ins(tmp_path_factory, newer):
    """Compile the sample strategies and one more against the release."""
    folder = tmp_path_factory.mktemp("plug-ins")
    (folder / "Odd.java").write_text(ODD)
    sources = [*SAMPLES.glob("*.java"), folder / "Odd.java"]
    words = ["javac", "-cp", f"{CachedJars('3.0.7').library}/*", "-d", folder, *sources]
    subprocess.run(words, check=True, capture_output=True)
    return folder


def plugged(folder, name):
    return f"pulsar:3.0.7,strategy=com.acme.{name},classpath={folder}"


def judged(adapter, folder, monkeypatch, *rules, examples=30):
    """Return the exit status of a run, and the lines of its verdicts."""
    from pulsar_conformance.conformance.commands.main import main

    folder.mkdir(exist_ok=True)
    monkeypatch.chdir(folder)
    words = [word for rule in rules for word in ("--rules", rule)]
    words = ["run", "--adapter", adapter, *words]
    status = main([*words, "--examples", str(examples), "--out", "out"])
    return status, (folder / "out" / "verdicts.jsonl").read_text().splitlines()


def verdicts(adapter, tmp_path, monkeypatch, *rules):
    status, lines = judged(adapter, tmp_path, monkeypatch, *(rules or ("SHED-*", "OVERLOAD-0*")))
    return status, {line["rule"]: line["verdict"] for line in map(json.loads, lines[1:])}


def test_two_runs_with_the_same_first_line_give_the_same_verdicts(tmp_path, monkeypatch):
    rules = ("SPLIT-0[1-3]", "THRESHOLD-0[1-3]", "PLACE-0[1-3]", "ANTI-01")
    one, two = (
        judged("pulsar:3.0.7", tmp_path / name, monkeypatch, *rules, examples=4)
        for name in ("one", "two")
    )
    assert one == two
    words = {json.loads(line)["verdict"] for line in one[1][1:]}
    assert {"pass", "fail"} <= words


def test_a_right_plug_in_passes_what_holds_for_every_strategy(plug_ins, tmp_path, monkeypatch):
    adapter = plugged(plug_ins, "BusiestShedder")
    status, found = verdicts(adapter, tmp_path, monkeypatch)
    assert status == 0
    assert [rule for rule, word in found.items() if word == "pass"] == [
        "SHED-01", "SHED-02", "SHED-03", "SHED-04", "SHED-15", "SHED-16",
    ]  # fmt: skip
    assert found["OVERLOAD-01"] == "not_applicable"


def test_a_wrong_plug_in_fails_on_a_drawn_case(plug_ins, tmp_path, monkeypatch):
    adapter = plugged(plug_ins, "HastyShedder")
    with connect(adapter, PROFILE, {}) as connection:
        assert unloaded(connection, {**overloaded(), "strategy": None}) == [LEFT]
    status, found = verdicts(adapter, tmp_path, monkeypatch)
    assert status == 1
    # A case of SHED-15 is attributed to SHED-02 if one of its cycles shows the fault alone.
    broken = [rule for rule, word in found.items() if word == "fail"]
    assert broken in (["SHED-02"], ["SHED-02", "SHED-15"])


def test_a_right_placement_passes_what_holds_for_every_one(plug_ins, tmp_path, monkeypatch):
    adapter = plugged(plug_ins, "QuietestPlacement")
    status, found = verdicts(adapter, tmp_path, monkeypatch, "PLACE-*", "SHED-01")
    assert status == 0
    assert [rule for rule, word in found.items() if word == "pass"] == ["PLACE-01", "PLACE-13"]
    assert set(found.values()) == {"pass", "not_applicable"}


def test_a_wrong_placement_fails_on_a_drawn_case(plug_ins, tmp_path, monkeypatch):
    adapter = plugged(plug_ins, "HastyPlacement")
    status, found = verdicts(adapter, tmp_path, monkeypatch, "PLACE-*")
    assert status == 1
    assert [rule for rule, word in found.items() if word == "fail"] == ["PLACE-01"]


@pytest.mark.parametrize(
    ("adapter", "said"),
    [
        ("pulsar:3.0.7,strategy=com.acme.Absent", "there is no class com.acme.Absent"),
        ("pulsar:3.0.7,strategy=java.lang.String", "String implements neither"),
        (f"pulsar:2.10.5,strategy={IMPL}.LeastLongTermMessageRate", "so it cannot run"),
    ],
)
def test_a_class_that_takes_no_place_is_reported_in_one_sentence(adapter, said):
    with pytest.raises(AdapterError, match=said) as told, connect(adapter, PROFILE, {}):
        pass
    assert "Traceback" not in str(told.value)


def test_a_plug_in_that_throws_fails_the_case_and_one_that_exits_ends_the_run(plug_ins):
    with connect(plugged(plug_ins, "Odd"), PROFILE, {}) as connection:
        [answer] = connection.ask("shed.select", [{**overloaded(), "strategy": None}])
        assert "IllegalStateException: no idea" in answer["failed"]
        case = {**overloaded(), "strategy": None}
        case["brokers"] = {**case["brokers"], "b3": broker(0)}
        with pytest.raises(AdapterError, match="exited with status 7"):
            connection.ask("shed.select", [case])


def test_a_class_that_is_not_there_is_unsupported(newer):
    [answer] = newer.ask("shed.select", [cycle("com.acme.Absent", overloaded()["brokers"], {})])
    assert "com.acme.Absent" in answer["unsupported"]
