"""`cluster:URL,changes=allowed` on a scripted admin API plays stories, then removes all it made."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.conformance.commands.main import main
from standins.staging import StagingCluster

PROFILE = "documented-3.0"
SHEDDING, UNLOADING = "loadBalancerSheddingEnabled", "loadBalancerAutoUnloadSplitBundlesEnabled"
ORDERS = "persistent://sales/eu/orders"
UP = [{"broker_up": {"broker": name, "capacity": 1e8}} for name in ("b1", "b2")]
USED = [*UP, {"namespace": {"name": "sales/eu", "bundles": 1}}, {"topic": {"topic": ORDERS}}]
BUNDLE = "sales/eu/0x00000000_0xffffffff"


@pytest.fixture
def cluster():
    fake = StagingCluster()
    yield fake
    fake.let_go.set()
    fake.close()


@pytest.fixture
def untouched(cluster):
    """Provide the initial state of the cluster, which a test compares with the final state."""
    return state(cluster)


def state(cluster):
    told = [cluster.tenants, cluster.spaces, cluster.boundaries, cluster.topics, cluster.domains]
    told += [cluster.groups, cluster.dynamic, cluster.runtime, cluster.owned]
    return [sorted(one.items()) if isinstance(one, dict) else sorted(one) for one in told]


def play(cluster, *events, **settings):
    with connect(f"cluster:{cluster.url},changes=allowed", PROFILE, {}) as connection:
        [answer] = connection.ask("cluster.replay", [{"settings": settings, "events": [*events]}])
    return answer


def test_a_story_is_played_in_a_tenant_of_its_own(cluster, untouched):
    steps = play(cluster, *USED, {"unload": {"bundleOf": ORDERS}})["steps"]
    one, two = sorted(cluster.names)
    names = {one: "b1", two: "b2"}
    assert steps[3]["assigned"] == [{"bundle": BUNDLE, "to": steps[3]["owners"][ORDERS]}]
    assert steps[3]["leader"] == names[cluster.leader]
    before = steps[3]["owners"][ORDERS]
    assert steps[4]["unloaded"] == [{"bundle": BUNDLE, "from": before, "reason": "admin"}]
    assert [move["bundle"] for move in steps[4]["assigned"]] == [BUNDLE]
    changed = {path for _, method, path in cluster.seen if method != "GET"}
    assert len({re.search("conformance-[0-9a-f]{8}", path)[0] for path in changed}) == 1
    assert state(cluster) == untouched


def test_a_split_by_hand(cluster, untouched):
    steps = play(cluster, *USED, {"split": {"bundleOf": ORDERS}})["steps"]
    parts = ["sales/eu/0x00000000_0x7fffffff", "sales/eu/0x7fffffff_0xffffffff"]
    assert steps[-1]["split"] == [{"bundle": BUNDLE, "into": parts, "reason": "admin"}]
    assert state(cluster) == untouched


def test_groups_and_domains(cluster, untouched):
    group = {"group": {"namespace": "sales/eu", "group": "apart"}}
    north = {"domain": {"name": "north", "brokers": ["b1"]}}
    again = {"domain": {"name": "south", "brokers": ["b1", "b2"]}}
    gone = {"domain": {"name": "north", "brokers": []}}
    steps = play(cluster, *USED, north, group, again, gone)["steps"]
    assert ["refused" in step for step in steps] == [False] * 6 + [True, False]
    assert state(cluster) == untouched


@pytest.mark.parametrize("before", [None, "true"])
def test_a_setting_is_as_it_was_set_or_not(cluster, before):
    if before is not None:
        cluster.dynamic[SHEDDING] = before
    untouched = state(cluster)
    change = {"setting": {"name": SHEDDING, "value": False, "how": "dynamic"}}
    steps = play(cluster, *UP, change)["steps"]
    assert "ignored" not in steps[-1]
    sent = [path for _, method, path in cluster.seen if method == "POST" and SHEDDING in path]
    assert [path.rpartition("/")[2] for path in sent] == ["false", "true"]
    assert state(cluster) == untouched


def test_the_settings_of_a_story_are_set_where_that_is_possible(cluster, untouched):
    assert "steps" in play(cluster, *USED, **{UNLOADING: False})
    assert any(path.endswith(f"{UNLOADING}/false") for *_, path in cluster.seen)
    answer = play(cluster, *USED, loadBalancerBrokerOverloadedThresholdPercentage=70)
    assert "=70 from the start, but 85.0 is set" in answer["unsupported"]
    assert state(cluster) == untouched


@pytest.mark.parametrize(
    ("events", "why"),
    [
        (USED[:1], "the story has 1 broker, but the cluster has 2"),
        ([*USED, {"broker_down": {"broker": "b1"}}], "this adapter does not crash brokers"),
        ([*USED, {"restart": {"broker": "b1"}}], "this adapter does not restart brokers"),
        ([*USED, {"leader_lost": {}}], "this adapter does not make a leader step down"),
        ([*USED, {"tick": {"minutes": 1}}], "the cluster's clock cannot be advanced"),
        ([UP[0], USED[2], UP[1]], "this adapter starts no broker during a story"),
        ([*USED, {"topic": {"topic": ORDERS, "msgRateIn": 5}}], "this adapter sends no traffic"),
        (
            [*USED, {"setting": {"name": SHEDDING, "value": True, "how": "conf"}}],
            "this adapter does not change the brokers' configuration files",
        ),
    ],
)
def test_what_an_admin_api_cannot_do_is_unsupported(cluster, events, why):
    answer = play(cluster, *events)
    assert f"the story cannot be played on this cluster: {why}" in answer["unsupported"]
    assert {method for _, method, _ in cluster.seen} == {"GET"}


def test_groups_are_not_judged_where_load_may_decide(cluster):
    cluster.usage = 80.0
    answer = play(cluster, *USED, {"group": {"namespace": "sales/eu", "group": "apart"}})
    assert " is 80 %, which may influence placement" in answer["unsupported"]


def test_groups_are_not_judged_if_a_broker_reports_no_load(cluster):
    answer = cluster.answer
    cluster.answer = lambda name, path: None if "load-report" in path else answer(name, path)
    told = play(cluster, *USED, {"group": {"namespace": "sales/eu", "group": "apart"}})
    assert "does not report its load" in told["unsupported"]


def test_groups_are_not_judged_beside_domains_of_the_operators(cluster):
    cluster.domains["rack-1"] = [cluster.names[0]]
    answer = play(cluster, *USED, {"domain": {"name": "north", "brokers": ["b2"]}})
    assert "the cluster has failure domains of its own" in answer["unsupported"]


@pytest.mark.parametrize("breaks", ["unload", "topic/orders", "ns-1/0x"])
def test_an_error_half_way_leaves_nothing(cluster, untouched, breaks):
    cluster.breaks = [breaks]
    play(cluster, *USED, {"unload": {"bundleOf": ORDERS}}, {"split": {"bundleOf": ORDERS}})
    assert state(cluster) == untouched


def test_what_cannot_be_removed_is_named(cluster, monkeypatch):
    from pulsar_conformance.adapters.operated import tenant

    monkeypatch.setattr(tenant, "SECONDS", 0.2)
    change = cluster.change

    def keeps(method, path, body):
        return 500 if method == "DELETE" and "/namespaces/" in path else change(method, path, body)

    cluster.change = keeps
    with pytest.raises(AdapterError) as caught:
        play(cluster, *USED)
    [name] = cluster.tenants - {"shop"}
    said = str(caught.value)
    assert f"changes in eu-1 could not be undone: namespace {name}/ns-1, tenant {name} (" in said


def killed(cluster, number):
    """Stop a run while the cluster unloads a bundle for it; return its exit status and output.

    The run handles an interrupt even if these tests run in the background of a shell, which ignores
    interrupts.
    """
    begun, stopped, change = threading.Event(), threading.Event(), cluster.change

    def held(method, path, body):
        if "unload" in path:
            begun.set()
            assert stopped.wait(60)
        return change(method, path, body)

    cluster.change = held
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from pulsar_conformance.conformance.commands.main import main; sys.exit(main())"
    )
    words = ["run", "--adapter", f"cluster:{cluster.url},changes=allowed", "--rules", "OWN-*"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words, "--out", "out"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert begun.wait(60), process.poll()
    os.kill(process.pid, number)
    stopped.set()
    said, _ = process.communicate(timeout=60)
    return process.returncode, said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_leaves_nothing(cluster, untouched, number, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, said = killed(cluster, number)
    assert status == 130
    assert "Traceback" not in said
    assert state(cluster) == untouched


def test_one_failing_undo_keeps_no_other_from_being_undone(cluster, untouched, monkeypatch):
    from pulsar_conformance.adapters.operated.tenant import StoryTenant

    empty, broken = StoryTenant._delete_namespace, []

    def breaks(tenant, space):
        empty(tenant, space)
        if not broken:
            broken.append(space)
            raise KeyError("boundaries")

    monkeypatch.setattr(StoryTenant, "_delete_namespace", breaks)
    with pytest.raises(AdapterError, match=r"could not be undone: .* \(KeyError: 'boundaries'\)"):
        play(cluster, *USED)
    assert state(cluster) == untouched


@pytest.mark.parametrize("error", [KeyError("boundaries"), None])
def test_a_deferred_signal_is_not_lost_where_the_block_raises(error):
    from pulsar_conformance.adapters.operated.tenant import signals_deferred

    def undo():
        with signals_deferred():
            signal.raise_signal(signal.SIGTERM)
            if error:
                raise error

    with pytest.raises(KeyboardInterrupt) as caught:
        undo()
    assert caught.value.__cause__ is error
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_nothing_is_changed_from_a_thread_that_no_signal_reaches(cluster, untouched):
    with ThreadPoolExecutor(1) as aside:
        error = aside.submit(play, cluster, *USED).exception()
    assert "only from the main thread" in str(error)
    assert state(cluster) == untouched


def test_the_next_run_names_what_a_killed_one_left(cluster, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    status, _ = killed(cluster, signal.SIGKILL)
    assert status == -signal.SIGKILL
    [name] = cluster.tenants - {"shop"}
    assert main(["run", "--adapter", f"cluster:{cluster.url}", "--rules", "BUNDLE-01"]) == 0
    said = "".join(capsys.readouterr())
    spaces = f"namespace {name}/ns-1, namespace {name}/ns-2"
    assert f"left by a run that was killed or is still running: tenant {name}, {spaces}" in said


def test_a_run_judges_what_such_a_cluster_can_show(cluster, untouched, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    adapter = f"cluster:{cluster.url},changes=allowed"
    status = main(["run", "--adapter", adapter, "--out", "out"])
    lines = (tmp_path / "out" / "verdicts.jsonl").read_text().splitlines()[1:]
    verdicts = {line["rule"]: line["verdict"] for line in map(json.loads, lines)}
    shown = {rule for rule, verdict in verdicts.items() if verdict == "pass"}
    assert {"OWN-01", "OWN-02", "OWN-03", "OWN-09", "OWN-10", "ANTI-11"} <= shown
    assert {verdicts[rule] for rule in ("OWN-04", "SHED-09", "CONFIG-01")} == {"not_applicable"}
    assert status == 0
    assert state(cluster) == untouched
