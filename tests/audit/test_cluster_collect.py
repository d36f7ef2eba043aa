"""`pulsar-conformance collect` on a scripted admin API: which changes are recorded, and when."""

import json
import os
import signal
import subprocess
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pulsar_conformance.adapters.admin_api.remote import TOKEN_VARIABLE, Access
from pulsar_conformance.adapters.operated.in_force import documented_settings
from pulsar_conformance.adapters.operated.looking import Observation
from pulsar_conformance.adapters.operated.sight import ObservedState
from pulsar_conformance.audit.collect.files import Recording
from pulsar_conformance.audit.collect.recording import Recorder
from pulsar_conformance.conformance.commands.main import main
from standins.admin import FakeCluster
from standins.looks import Recorded, happened

ONE = "shop/eu/0x00000000_0x80000000"
TWO = "shop/eu/0x80000000_0xffffffff"
STOPS = Path(__file__).parents[1] / "histories" / "stops"
HALVES = ["shop/eu/0x00000000_0x40000000", "shop/eu/0x40000000_0x80000000"]


@pytest.fixture
def cluster():
    fake = FakeCluster()
    yield fake
    fake.close()


@pytest.fixture
def recorded(cluster, tmp_path):
    cluster.owned[cluster.names[0]] = [ONE, TWO]
    found = Recorded(cluster, tmp_path / "history")
    found.look()
    return found


def test_a_history_begins_with_all_that_is_known(cluster, recorded):
    one, two = cluster.names
    lines = recorded.lines()
    assert {line["cluster"] for line in lines} == {"eu-1"}
    assert [line["kind"] for line in lines] == [
        "settings", "leader", "owners", "load_report", "load_report",
    ]  # fmt: skip
    assert lines[1]["anew"] is False
    assert lines[2]["owners"] == {one: [ONE, TWO], two: []} or lines[2]["owners"] == {
        two: [],
        one: [ONE, TWO],
    }
    assert "bundle data" in recorded.told[0]


def test_settings_that_no_document_names_are_not_recorded(recorded):
    assert recorded.lines()[0]["settings"] == {"loadBalancerSheddingEnabled": True}
    assert "secret" not in json.dumps(recorded.lines())


def test_settings_are_read_as_a_broker_writes_them():
    told = {
        "defaultNumberOfNamespaceBundles": "4",
        "loadBalancerOverrideBrokerNicSpeedGbps": "Optional[1.5]",
        "loadBalancerBandwidthInResourceWeight": "0.5",
        "supportedNamespaceBundleSplitAlgorithms": "[range_equally_divide, topic_count]",
        "loadBalancerLoadSheddingStrategy": "org.acme.Shedder",
        "loadBalancerHistoryResourcePercentage": "much",
        "loadManagerClassName": "null",
    }
    assert documented_settings(told) == {
        "defaultNumberOfNamespaceBundles": 4,
        "loadBalancerOverrideBrokerNicSpeedGbps": 1.5,
        "loadBalancerBandwithInResourceWeight": 0.5,
        "supportedNamespaceBundleSplitAlgorithms": "range_equally_divide,topic_count",
        "loadBalancerLoadSheddingStrategy": "org.acme.Shedder",
    }
    assert documented_settings({"loadBalancerOverrideBrokerNicSpeedGbps": "Optional.empty"}) == {}


@pytest.fixture
def at_once(monkeypatch):
    """Record unloads immediately, without waiting for the leader to count them."""
    monkeypatch.setattr("pulsar_conformance.audit.collect.recording.MAX_PAUSE", timedelta(0))


def test_a_leader_counts_what_was_seen_in_the_middle_of_its_cycle(cluster, recorded):
    unloaded, assigned = moved(cluster)
    assert happened(recorded.look()) == []
    others = moved(cluster, TWO)
    cluster.shed += 2
    shed = [{**one, "cause": "shedding"} for one in (unloaded, others[0])]
    assert happened(recorded.look()) == [shed[0], assigned, shed[1], others[1]]


def test_nothing_new_is_nothing_but_reports(recorded):
    assert happened(recorded.look()) == []


def moved(cluster, bundle=ONE):
    one, two = cluster.names
    cluster.owned[one].remove(bundle)
    cluster.owned[two].append(bundle)
    return [
        {"kind": "unloaded", "bundle": bundle, "broker": one},
        {"kind": "assigned", "bundle": bundle, "broker": two},
    ]


@pytest.mark.parametrize(("counted", "cause"), [(1, "shedding"), (0, "admin"), (2, "unknown")])
@pytest.mark.usefixtures("at_once")
def test_the_leaders_count_shows_the_cause(cluster, recorded, counted, cause):
    unloaded, assigned = moved(cluster)
    cluster.shed += counted
    assert happened(recorded.look()) == [{**unloaded, "cause": cause}, assigned]


def test_a_new_leader_has_counted_nothing_yet(cluster, recorded):
    unloaded, assigned = moved(cluster)
    cluster.leader = cluster.names[1]
    leader = {"kind": "leader", "broker": cluster.names[1]}
    assert happened(recorded.look()) == [leader, {**unloaded, "cause": "unknown"}, assigned]


def test_a_split_and_where_its_parts_go(cluster, recorded):
    one, two = cluster.names
    cluster.boundaries["shop/eu"] = ["0x00000000", "0x40000000", "0x80000000", "0xffffffff"]
    cluster.owned[one] = [TWO, HALVES[0]]
    cluster.owned[two] = [HALVES[1]]
    assert happened(recorded.look()) == [
        {"kind": "split", "bundle": ONE, "into": HALVES},
        {"kind": "unloaded", "bundle": HALVES[1], "broker": one, "cause": "split"},
        {"kind": "assigned", "bundle": HALVES[1], "broker": two},
    ]


def test_a_broker_that_is_gone(cluster, recorded):
    one, two = cluster.names
    cluster.stop(one)
    cluster.leader, cluster.owned[two] = two, [ONE]
    assert happened(recorded.look()) == [
        {"kind": "leader", "broker": two},
        {"kind": "unloaded", "bundle": ONE, "broker": one, "cause": "shutdown"},
        {"kind": "unloaded", "bundle": TWO, "broker": one, "cause": "shutdown"},
        {"kind": "assigned", "bundle": ONE, "broker": two},
    ]


def test_an_extensible_broker_gives_its_bundles_up_before_it_is_gone(cluster, tmp_path):
    one, two = cluster.names
    package = "org.apache.pulsar.broker.loadbalance.extensions"
    cluster.runtime["loadManagerClassName"] = f"{package}.ExtensibleLoadManagerImpl"
    cluster.owned[one] = [ONE, TWO]
    recorded = Recorded(cluster, tmp_path / "history")
    recorded.look()
    assert "load data (rules that depend on loads are undecided)" in recorded.told[0]
    assert not any(path.endswith("load-report") for _, _, path in cluster.seen)
    cluster.owned |= {one: [TWO], two: [ONE]}
    assert recorded.look() == []
    cluster.stop(one)
    cluster.leader, cluster.owned[two] = two, [ONE, TWO]
    unloaded = [line for line in happened(recorded.look()) if line["kind"] == "unloaded"]
    assert unloaded == [
        {"kind": "unloaded", "bundle": ONE, "broker": one, "cause": "shutdown"},
        {"kind": "unloaded", "bundle": TWO, "broker": one, "cause": "shutdown"},
    ]


def test_an_unload_at_an_extensible_broker_that_stays_is_an_administrators(
    cluster, tmp_path, monkeypatch
):
    from pulsar_conformance.audit.collect import recording

    one, two = cluster.names
    cluster.runtime["loadManagerClassName"] = "ExtensibleLoadManagerImpl"
    cluster.owned[one] = [ONE, TWO]
    recorded = Recorded(cluster, tmp_path / "history")
    recorded.look()
    monkeypatch.setattr(recording, "MAX_STOP", timedelta(seconds=0))
    cluster.owned |= {one: [TWO], two: [ONE]}
    assert happened(recorded.look())[0]["cause"] == "admin"


@pytest.mark.parametrize("counted", [1, 2])
def test_a_transfer_that_the_leader_counts_once_all_are_over(cluster, tmp_path, counted):
    """The cause is shedding if the leader later counts one unload, and unknown if it counts two."""
    cluster.runtime["loadManagerClassName"] = "ExtensibleLoadManagerImpl"
    cluster.owned[cluster.names[0]] = [ONE, TWO]
    recorded = Recorded(cluster, tmp_path / "history")
    recorded.look()
    moved(cluster)
    assert happened(recorded.look()) == []
    cluster.shed += counted
    causes = [line.get("cause") for line in happened(recorded.look())]
    recorded.end()
    causes = causes or [line.get("cause") for line in happened(recorded.lines())[-2:]]
    assert causes == ["shedding" if counted == 1 else "unknown", None]


def test_a_transfer_that_takes_longer_than_a_stopping_broker_pauses(cluster, tmp_path, monkeypatch):
    from pulsar_conformance.audit.collect import recording

    cluster.runtime["loadManagerClassName"] = "ExtensibleLoadManagerImpl"
    cluster.owned[cluster.names[0]] = [ONE, TWO]
    recorded = Recorded(cluster, tmp_path / "history")
    recorded.look()
    cluster.owned[cluster.names[0]] = [TWO]
    monkeypatch.setattr(recording, "MAX_PAUSE", timedelta(seconds=0.1))
    for _ in range(2):
        time.sleep(0.15)
        assert happened(recorded.look()) == []
    cluster.owned[cluster.names[1]] = [ONE]
    cluster.shed += 1
    recorded.look()
    recorded.end()
    assert [line.get("cause") for line in happened(recorded.lines())[-2:]] == ["shedding", None]


@pytest.mark.usefixtures("at_once")
def test_unloads_by_hand_that_an_extensible_leader_counts_are_not_shed(cluster, recorded):
    unloaded, assigned = moved(cluster)
    cluster.by_hand += 1
    assert happened(recorded.look()) == [{**unloaded, "cause": "admin"}, assigned]


def test_an_unload_right_before_the_end_of_a_recording_is_of_unknown_cause(cluster, tmp_path):
    """The cause is unknown, since a broker under the extensible load manager may be stopping."""
    one, two = cluster.names
    cluster.runtime["loadManagerClassName"] = "ExtensibleLoadManagerImpl"
    cluster.owned[one] = [ONE, TWO]
    recorded = Recorded(cluster, tmp_path / "history")
    recorded.look()
    cluster.owned |= {one: [TWO], two: [ONE]}
    recorded.look()
    recorded.end()
    assert [line.get("cause") for line in happened(recorded.lines())[-2:]] == ["unknown", None]


class SeenAgain:
    """An observer that repeats another observer's observations at the same times."""

    cluster = "conformance"

    def __init__(self, lines):
        self.lines = iter(lines)
        self.at = None

    def observe(self, _before):
        line = next(self.lines)
        self.at = datetime.fromisoformat(line["at"])
        owners = {broker: frozenset(held) for broker, held in line["owners"].items()}
        settings = {"loadManagerClassName": line["manager"]}
        return Observation(
            ObservedState(
                owners=owners, leader=line["leader"], settings=settings, shed=line["shed"]
            ),
            {},
            {},
        )

    def now(self, _zone):
        return self.at


@pytest.mark.parametrize("stopped", ["follower", "leader"])
def test_all_bundles_of_an_extensible_broker_that_stopped_are_of_a_shutdown(
    stopped, tmp_path, monkeypatch
):
    """After an unload by hand, all causes are shutdown; 4.2.4 was observed every 0.2 seconds."""
    from pulsar_conformance.audit.collect import recording

    lines = [json.loads(line) for line in (STOPS / f"{stopped}.jsonl").read_text().splitlines()]
    looker, folder = SeenAgain(lines), tmp_path / "history"
    monkeypatch.setattr(recording, "datetime", looker)
    recorder = Recorder(looker, Recording(folder, "eu-1"), [].append)
    for number in range(len(lines)):
        recorder.observe(first=number == 0)
    recorder.flush()
    history = [json.loads(line) for file in folder.glob("*") for line in file.open()]
    by_hand, *others = [one for one in history if one["kind"] == "unloaded"]
    [gone] = lines[0]["owners"].keys() - lines[-1]["owners"].keys()
    before = next(one for one in reversed(lines) if len(one["owners"].get(gone, ())) > 1)
    assert by_hand["cause"] == "admin"
    assert {(one["broker"], one["cause"]) for one in others} == {(gone, "shutdown")}
    assert {one["bundle"] for one in others} >= set(before["owners"][gone])


def test_a_slow_broker_is_not_lost(cluster, tmp_path):
    cluster.owned[cluster.names[1]] = [ONE]
    recorded = Recorded(cluster, tmp_path / "history", seconds=0.3)
    recorded.look()
    cluster.slow.add(cluster.names[1])
    lines = recorded.look()
    assert [line["broker"] for line in lines] == [cluster.names[0]]
    assert any("no answer in time" in line for line in recorded.told)
    cluster.slow.clear()
    cluster.let_go.set()
    assert happened(recorded.look()) == []
    assert recorded.told[-1].endswith("readable again")


def test_domains_and_groups(cluster, recorded):
    cluster.domains["north"] = [cluster.names[0]]
    assert happened(recorded.look()) == [
        {"kind": "domain", "name": "north", "members": [cluster.names[0]]}
    ]
    cluster.domains.clear()
    assert happened(recorded.look()) == [{"kind": "domain", "name": "north", "members": []}]


@pytest.mark.usefixtures("at_once")
def test_a_later_run_goes_on_where_the_first_was_stopped(cluster, recorded, tmp_path):
    moved(cluster)
    again = Recorded(cluster, tmp_path / "history")
    kinds = [line["kind"] for line in happened(again.look())]
    assert kinds == ["unloaded", "assigned"]
    assert happened(again.look()) == []
    texts = [json.dumps(line, sort_keys=True) for line in again.lines()]
    assert len(set(texts)) == len(texts)


def test_a_line_that_was_cut_off_is_taken_away(cluster, recorded, tmp_path):
    [file] = (tmp_path / "history").glob("*.jsonl")
    whole = file.read_bytes()
    file.write_bytes(whole + b'{"kind": "assigned", "bro')
    Recording(tmp_path / "history", "eu-1")
    assert file.read_bytes() == whole


def test_only_reading_requests_are_made(cluster, recorded):
    moved(cluster)
    recorded.look()
    assert {command for _, command, _ in cluster.seen} == {"GET"}


def command(*words, **environment):
    return subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; from pulsar_conformance.conformance.commands.main import main; "
            "sys.exit(main())",
            "collect",
            *words,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_whenever_it_is_killed_the_history_can_be_read(cluster, tmp_path, number):
    process = command(cluster.url, "--output", str(tmp_path), "--every", "0.05")
    end = time.monotonic() + 60
    while sum(path.stat().st_size for path in tmp_path.glob("*")) < 3000:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
    process.send_signal(number)
    out, _err = process.communicate(timeout=30)
    lines = b"".join(path.read_bytes() for path in tmp_path.glob("*")).split(b"\n")
    for line in lines[:-1]:
        assert json.loads(line)["cluster"] == "eu-1"
    if number != signal.SIGKILL:
        assert process.returncode == 0
        assert f"{len(lines) - 1} lines" in out


def test_a_token_is_sent_and_never_printed(cluster, tmp_path, capsys, monkeypatch):
    cluster.token = "very-secret"
    words = ["collect", cluster.url, "--output", str(tmp_path / "one"), "--for", "0.01"]
    assert main(words) == 2
    assert "HTTP 401: the token is missing" in capsys.readouterr().err
    monkeypatch.setenv(TOKEN_VARIABLE, "very-secret")
    assert main(words) == 0
    monkeypatch.delenv(TOKEN_VARIABLE)
    file = tmp_path / "token"
    file.write_text("very-secret\n")
    words[3] = str(tmp_path / "two")
    assert main([*words, "--token-file", str(file)]) == 0
    said = "".join(capsys.readouterr())
    written = "".join(path.read_text() for path in tmp_path.glob("*/*.jsonl"))
    assert "very-secret" not in said + written + repr(Access("http://x", "very-secret"))
