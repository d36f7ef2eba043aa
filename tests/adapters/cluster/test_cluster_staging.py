"""A user's own cluster on loopback is judged, with and without stories, and left unchanged."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pulsar_conformance.adapters.admin_api.remote import Access, AdminApi
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.adapters.pulsar.connect import released_jars
from pulsar_conformance.adapters.pulsar.target import Target

pytestmark = pytest.mark.cluster

PROFILE = "documented-3.0"
STANDING = Path(__file__).parents[2] / "standins" / "standing_cluster.py"


@pytest.fixture
def operated(tmp_path):
    """The admin URL of a cluster of three brokers that another process has started."""
    _, jars = released_jars(Target("3.0.7"))
    words = [sys.executable, str(STANDING), "3.0.7", str(jars), str(tmp_path), "3"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(words, **pipes, text=True) as process:
        yield process.stdout.readline().strip()
        process.stdin.close()
        process.wait(60)


def told(url, path):
    return AdminApi(Access(url)).get(f"/admin/v2/{path}")


def passed(adapter, out):
    words = ["-m", "pulsar_conformance.conformance", "run", "--adapter", adapter, "--out", "out"]
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, timeout=600, cwd=out
    )
    assert done.returncode == 0, done.stdout
    lines = map(json.loads, (out / "out" / "verdicts.jsonl").read_text().splitlines()[1:])
    return {line["rule"] for line in lines if line["verdict"] == "pass"}


def test_a_cluster_of_somebodys_own_is_judged_as_it_is_and_by_stories(operated, tmp_path):
    paths = ("tenants", "namespaces/shop", "persistent/shop/eu", "namespaces/shop/eu/bundles")
    paths += ("clusters/conformance/failureDomains", "brokers/configuration/values")
    before = [told(operated, path) for path in paths]
    read = {"BUNDLE-01", "BUNDLE-04", "BUNDLE-05", "MANAGER-01", "REPORT-01"}
    assert passed(f"cluster:{operated}", tmp_path) == read
    played = {"OWN-01", "OWN-02", "OWN-03", "OWN-07", "OWN-09", "OWN-10"}
    played |= {"ANTI-11", "ANTI-12", "ANTI-13", "ANTI-15"}
    assert passed(f"cluster:{operated},changes=allowed", tmp_path) == read | played
    assert [told(operated, path) for path in paths] == before


def test_a_setting_of_a_cluster_of_somebodys_own_is_set_back(operated):
    name = "loadBalancerSheddingEnabled"
    ups = [{"broker_up": {"broker": f"broker-{one}", "capacity": 1e8}} for one in (1, 2, 3)]
    off = {"setting": {"name": name, "value": False, "how": "dynamic"}}
    with connect(f"cluster:{operated},changes=allowed", PROFILE, {}) as connection:
        [answer] = connection.ask("cluster.replay", [{"settings": {}, "events": [*ups, off]}])
    assert "ignored" not in answer["steps"][-1]
    assert told(operated, "brokers/configuration/values") == {}
    assert told(operated, "brokers/configuration/runtime")[name] == "true"
    assert told(operated, "tenants") == ["shop"]
