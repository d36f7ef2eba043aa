"""A broker in its own JVM behaves like other brokers, and crashes when its process is killed."""

import subprocess

import pytest
from pulsar_conformance.adapters.cluster.target import BadCluster, ClusterTarget
from pulsar_conformance.adapters.names import connect

pytestmark = pytest.mark.cluster

ORDERS = "persistent://shop/eu/orders"
NAMESPACE = {"namespace": {"name": "shop/eu", "bundles": 1}}
CRASH = {"broker_down": {"broker": "broker-1"}}
SETTINGS = {
    "loadBalancerSheddingEnabled": False,
    "loadBalancerAutoBundleSplitEnabled": False,
    "loadBalancerReportUpdateMaxIntervalMinutes": 1,
}


def up(number):
    return {"broker_up": {"broker": f"broker-{number}", "capacity": 1e8}}


def separate():
    """Return the IDs of processes that each run a single broker."""
    found = subprocess.run(["pgrep", "-f", "cluster.separate_host"], capture_output=True, text=True)
    return set(found.stdout.split())


@pytest.fixture(scope="module", params=["modular", "simple"])
def steps(request):
    """Play a story in which the leader is killed; return its steps.

    Check that no process of a broker is left.
    """
    before = separate()
    with connect(f"cluster:3.0.7,manager={request.param},crash=kill", "documented-3.0", {}) as one:
        used = {"topic": {"topic": ORDERS, "msgRateIn": 100}}
        events = [up(1), NAMESPACE, used, up(2), {"tick": {"minutes": 1}}, CRASH]
        [answer] = one.ask("cluster.replay", [{"settings": SETTINGS, "events": events}])
        assert separate() == before
    return answer["steps"]


def test_it_leads_owns_and_reports_as_others_do(steps):
    used, tick = steps[2], steps[4]
    assert used["owners"] == {ORDERS: "broker-1"}
    assert used["leader"] == "broker-1"
    assert "broker-1" in tick["reports"]


def test_others_take_what_it_had(steps):
    down = steps[-1]
    assert down["leader"] == "broker-2"
    assert down["owners"] == {ORDERS: "broker-2"}
    assert "unloaded" not in down


def test_no_other_way_to_crash_is_known():
    assert ClusterTarget.parse("3.0.7,crash=kill").crash == "kill"
    with pytest.raises(BadCluster, match="'burn' is not a kind of crash; choose from close, kill"):
        ClusterTarget.parse("3.0.7,crash=burn")
