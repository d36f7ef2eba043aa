"""Clusters that run on loopback: what their stories show, and that they leave nothing behind."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.adapters.pulsar.connect import released_jars
from pulsar_conformance.adapters.pulsar.target import Target
from standins.recorded_story import EVENTS

pytestmark = pytest.mark.cluster

PROFILE = "documented-3.0"
STORY = Path(__file__).parents[2] / "standins" / "recorded_story.py"
ASKED = Path(__file__).parents[2] / "standins" / "brokers_asked.py"
CALM = {
    "loadBalancerSheddingEnabled": False,
    "loadBalancerAutoBundleSplitEnabled": False,
    "loadBalancerReportUpdateMaxIntervalMinutes": 1,
    "loadBalancerSheddingIntervalMinutes": 1,
    "loadBalancerBrokerOverloadedThresholdPercentage": 85,
    "defaultNamespaceBundleSplitAlgorithm": "range_equally_divide",
}
ORDERS = "persistent://shop/eu/orders"


def up(number):
    return {"broker_up": {"broker": f"broker-{number}", "capacity": 1e8}}


def story(*events):
    return {"settings": CALM, "events": list(events)}


USED = (up(1), {"namespace": {"name": "shop/eu", "bundles": 1}}, {"topic": {"topic": ORDERS}})


@pytest.fixture(scope="module")
def cluster():
    with connect("cluster:3.0.7", PROFILE, {}) as connection:
        yield connection


def steps(cluster, *events):
    [answer] = cluster.ask("cluster.replay", [story(*events)])
    return answer["steps"]


def processes(parent):
    """Return the process in a list if it still runs; a zombie does not."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(folder.name) == parent and stat[0] != "Z":
            found.append(int(folder.name))
    return found


def sockets(process, listening):
    """Return the addresses and ports at which a process listens, or to which it is connected."""
    inodes = set()
    for link in Path(f"/proc/{process}/fd").iterdir():
        try:
            inodes.add(str(link.readlink()))
        except OSError:
            continue
    return {
        tuple(words[1 if listening else 2].split(":"))
        for words in connections(process)
        if f"socket:[{words[9]}]" in inodes and (words[3] == LISTENS) == listening
    }


def connections(process="self"):
    """Return the lines of the kernel's tables of sockets."""
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]:
            yield line.split()


def listening_ports():
    return {words[1].split(":")[1] for words in connections() if words[3] == LISTENS}


def addresses(process, listening):
    return {address for address, _ in sockets(process, listening)}


LISTENS = "0A"
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F"}


def test_a_first_use_is_decided_by_the_leader(cluster):
    *_, used = steps(cluster, *USED)
    assert used["owners"] == {ORDERS: "broker-1"}
    assert used["assigned"] == [{"bundle": "shop/eu/0x00000000_0xffffffff", "to": "broker-1"}]
    assert used["decidedBy"] == used["leader"] == "broker-1"


def test_what_a_crashed_leader_had_others_take(cluster):
    *_, down = steps(cluster, *USED, up(2), {"broker_down": {"broker": "broker-1"}})
    assert down["owners"] == {ORDERS: "broker-2"}
    assert down["leader"] == "broker-2"
    assert "unloaded" not in down


def test_without_brokers_nobody_owns_anything(cluster):
    told = steps(cluster, *USED[1:], up(1), {"broker_down": {"broker": "broker-1"}})
    assert [one["owners"] for one in told[1:]] == [
        {ORDERS: None}, {ORDERS: "broker-1"}, {ORDERS: None},
    ]  # fmt: skip


def test_a_split_releases_its_parts(cluster):
    *_, split = steps(cluster, *USED, {"split": {"bundleOf": ORDERS}})
    [divided] = split["split"]
    assert divided["into"] == ["shop/eu/0x00000000_0x7fffffff", "shop/eu/0x7fffffff_0xffffffff"]
    assert [one["reason"] for one in split["unloaded"]] == ["split", "split"]


def test_what_brokers_and_the_leader_write_is_seen(cluster):
    case = story(*USED, {"tick": {"minutes": 4}})
    case["settings"] = {**CALM, "loadBalancerResourceQuotaUpdateIntervalMinutes": 2}
    [answer] = cluster.ask("cluster.replay", [case])
    tick = answer["steps"][-1]
    reported = tick["reports"]["broker-1"]
    assert reported["minutes"] == [1, 2, 3, 4]
    assert reported["last"]["bundles"] == ["shop/eu/0x00000000_0xffffffff"]
    assert reported["last"]["numTopics"] == 1
    assert tick["written"]["minutes"] == [2, 4]
    [(bundle, samples)] = tick["written"]["bundles"].items()
    assert bundle == "shop/eu/0x00000000_0xffffffff"
    assert samples["numSamples"] >= 4


def test_events_without_sense_are_ignored(cluster):
    told = steps(
        cluster,
        {"broker_down": {"broker": "broker-1"}},
        {"leader_lost": {}},
        {"topic": {"topic": ORDERS}},
        up(1),
        up(1),
        {"setting": {"name": "noSuchSetting", "value": 1, "how": "dynamic"}},
        {"unload": {"topic": ORDERS}},
    )
    assert [one for one, step in enumerate(told) if "ignored" not in step] == [3]


def test_the_same_story_three_times_is_the_same(cluster):
    events = (*USED, up(2), {"unload": {"namespace": "shop/eu"}}, {"tick": {"minutes": 1}})
    told = [steps(cluster, *events) for _ in range(3)]
    kinds = [[sorted(step) for step in one] for one in told]
    assert kinds[0] == kinds[1] == kinds[2]


def test_nothing_but_loopback(cluster):
    steps(cluster, *USED, up(2))
    assert addresses(cluster.pid, listening=True) <= LOOPBACK
    assert addresses(cluster.pid, listening=False) <= LOOPBACK


def test_a_setting_that_the_release_does_not_have():
    with pytest.raises(AdapterError) as caught:
        connect("cluster:3.0.7,set=noSuchSetting=1", PROFILE, {})
    assert "Pulsar 3.0.7 has no setting noSuchSetting" in str(caught.value)


def folders(pid):
    return list(Path(tempfile.gettempdir()).glob(f"pulsar-conformance-cluster-{pid}-*"))


@pytest.mark.parametrize("ended", ["in order", "by a signal"])
def test_nothing_is_left_in_the_temporary_folder(ended, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with connect("cluster:3.0.7", PROFILE, {}) as connection:
        pid = connection.pid
        steps(connection, *USED)
        [folder] = folders(pid)
        assert list(folder.glob("unpacked/librocksdbjni*.so")), "RocksDB unpacks itself there"
        maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
        loaded = [line.split(maxsplit=5)[5] for line in maps if UNPACKED.search(line)]
        assert [file for file in loaded if not file.startswith(f"{folder}/")] == []
        if ended == "in order":
            connection.bye()
        else:
            os.kill(pid, signal.SIGTERM)
            until(lambda: processes(pid) == [], 20)
    assert list(tmp_path.iterdir()) == []
    assert [one.name for one in Path("/tmp").iterdir() if str(pid) in one.name] == []


UNPACKED = re.compile("librocksdbjni|liblz4|libcirce|snappy-|libnetty")
"""Files that Java's libraries unpack for the system's loader."""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_cluster_that_is_killed_is_one_clear_error(number):
    connection = connect("cluster:3.0.7", PROFILE, {})
    pid = connection.pid
    os.kill(pid, number)
    with pytest.raises(AdapterError) as caught:
        connection.ask("cluster.replay", [story(*USED)])
    connection.close()
    assert "exited with status" in str(caught.value) or "was killed by" in str(caught.value)
    assert processes(pid) == []
    if number == signal.SIGTERM:
        assert folders(pid) == []


def test_a_story_whose_jvm_breaks_down_is_tried_once_more():
    with connect("cluster:3.0.7", PROFILE, {}) as connection:
        first = connection.pid
        os.kill(first, signal.SIGABRT)
        *_, used = steps(connection, *USED)
        assert used["owners"] == {ORDERS: "broker-1"}
        assert processes(first) == []
        [told] = connection.remarks()
        assert "its JVM crashed and was restarted" in told


def until(holds, seconds):
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.05)
    assert holds()


def test_a_suite_that_is_killed_in_the_middle_of_a_story_leaves_nothing():
    case = story(*USED, up(2), up(3), {"tick": {"minutes": 10_000}})
    code = (
        "import sys; from pulsar_conformance.adapters.names import connect; "
        f"c = connect('cluster:3.0.7', '{PROFILE}', {{}}); print(c.pid, flush=True); "
        f"c.ask('cluster.replay', [{case!r}])"
    )
    suite = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    pid = int(suite.stdout.readline())
    # ZooKeeper and the bookie, and two ports of each broker.
    until(lambda: len(sockets(pid, listening=True)) >= 2 + 3 * 2, 60)
    ports = {port for _, port in sockets(pid, listening=True)}
    suite.kill()
    suite.wait()
    until(lambda: processes(pid) == [], 20)
    assert folders(pid) == []
    # Its threads take a moment to end.
    until(lambda: not ports & listening_ports(), 20)


def test_simple_manager():
    with connect("cluster:3.0.7,manager=simple", PROFILE, {}) as connection:
        assert connection.hello.manager == "simple"
        *_, down = steps(connection, *USED, up(2), {"broker_down": {"broker": "broker-1"}})
        assert down["owners"] == {ORDERS: "broker-2"}


@pytest.fixture(scope="module")
def extensible():
    with connect("cluster:4.0.7,manager=extensible", PROFILE, {}) as connection:
        yield connection


def test_extensible_manager(extensible):
    assert extensible.hello.manager == "extensible"
    *_, down = steps(extensible, *USED, up(2), {"broker_down": {"broker": "broker-1"}})
    assert down["owners"] == {ORDERS: "broker-2"}
    assert down["leader"] == "broker-2"
    assert "unloaded" not in down


def test_no_broker_stays_connected_to_one_that_crashed(extensible):
    """Brokers use new connections after a crash of broker-1, which serves the manager's topics."""
    crash, restart = {"broker_down": {"broker": "broker-1"}}, {"restart": {"broker": "broker-2"}}
    another = "persistent://shop/us/orders"
    used = {"namespace": {"name": "shop/us", "bundles": 1}}, {"topic": {"topic": another}}
    *_, last = steps(extensible, up(1), up(2), up(3), *USED[1:], crash, restart, *used)
    assert last["owners"][another] in ("broker-2", "broker-3")


def test_what_the_extensible_manager_owns_is_seen_again(extensible):
    *_, used, unloaded = steps(extensible, *USED, {"unload": {"bundleOf": ORDERS}})
    bundle = "shop/eu/0x00000000_0xffffffff"
    assert used["assigned"] == unloaded["assigned"] == [{"bundle": bundle, "to": "broker-1"}]
    assert unloaded["unloaded"] == [{"bundle": bundle, "from": "broker-1", "reason": "admin"}]


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("2.10.5", "Pulsar 2.10.5 has no extensible load manager"),
        (
            "3.0.7",
            "Pulsar 3.0.7 does not expose messages to the extensible load manager",
        ),
    ],
)
def test_a_release_without_an_extensible_manager_that_can_be_watched(version, said):
    with pytest.raises(AdapterError) as caught:
        connect(f"cluster:{version},manager=extensible", PROFILE, {})
    assert f"{said}; use 4.0 or later with manager=extensible" in str(caught.value)


@pytest.mark.parametrize("version", ["3.0.7", "4.2.4"])
def test_a_broker_answers_for_itself_whatever_broker_was_there_before(version, tmp_path):
    _, jars = released_jars(Target(version))
    done = subprocess.run(
        [sys.executable, str(ASKED), version, str(jars), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(told) == 2 + 3 + 1
    for ports, answered in told:
        assert answered == [f"Optional[{port}]" for port in ports]


@pytest.mark.parametrize("version", ["3.0.7", "4.2.4"])
def test_a_story_is_recorded_as_it_happens(version, tmp_path):
    _, jars = released_jars(Target(version))
    (tmp_path / "cluster").mkdir()
    words = [version, str(jars), str(tmp_path / "cluster"), str(tmp_path / "history")]
    done = subprocess.run(
        [sys.executable, str(STORY), *words], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(told) == len(EVENTS)
    named = told[-1]["ports"]
    [file] = (tmp_path / "history").glob("*.jsonl")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for reason, cause in (("shed", "shedding"), ("split", "split")):
        asked = {
            (one["bundle"], named[one["from"]])
            for step in told
            for one in step["step"].get("unloaded", ())
            if one["reason"] == reason
        }
        recorded = {
            (one["bundle"], one["broker"])
            for one in lines
            if one["kind"] == "unloaded" and one["cause"] == cause
        }
        assert recorded == asked != set()
