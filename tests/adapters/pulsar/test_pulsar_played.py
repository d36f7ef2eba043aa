"""A plug-in that claims to be a documented strategy is judged as that strategy."""

import importlib.util
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.conformance.commands.main import main
from standins.releases import library_of

NEEDED = ("java", "javac", "mvn")
HERE = all(map(shutil.which, NEEDED)) and importlib.util.find_spec("jpype") is not None
pytestmark = [
    pytest.mark.pulsar,
    pytest.mark.skipif(not HERE, reason="needs Java, Maven and the extra pulsar"),
]

SHEDDER = """
package com.acme;
import com.google.common.collect.*;
import java.util.*;
import org.apache.pulsar.broker.ServiceConfiguration;
import org.apache.pulsar.broker.loadbalance.*;
import org.apache.pulsar.policies.data.loadbalancer.*;
public class NAME implements LoadSheddingStrategy {
    public Multimap<String, String> findBundlesForUnloading(
            LoadData load, ServiceConfiguration conf) {
        Multimap<String, String> chosen = ArrayListMultimap.create();
        double threshold = conf.getLoadBalancerBrokerOverloadedThresholdPercentage() / 100.0;
        load.getBrokerData().forEach((broker, data) -> {
            LocalBrokerData local = data.getLocalData();
            double usage = Math.max(
                    local.getMaxResourceUsage(), local.getMemory().percentUsage() / 100.0);
            double excess = usage - threshold;
            if (excess < 0 || local.getBundles().size() < 2) return;
            double carried = local.getMsgThroughputIn() + local.getMsgThroughputOut();
            double need = (excess + MARGIN) * carried;
            List<String> bundles = new ArrayList<>(local.getBundles());
            bundles.removeIf(b -> load.getRecentlyUnloadedBundles().containsKey(b)
                    || !load.getBundleData().containsKey(b));
            bundles.sort(Comparator.comparingDouble(
                    b -> -traffic(load.getBundleData().get(b))));
            double gone = 0;
            for (String bundle : bundles) {
                if (gone >= need && chosen.containsKey(broker)) break;
                chosen.put(broker, bundle);
                gone += traffic(load.getBundleData().get(bundle));
            }
        });
        return chosen;
    }
    private static double traffic(BundleData b) {
        TimeAverageMessageData data = b.getShortTermData();
        return data.getMsgThroughputIn() + data.getMsgThroughputOut();
    }
}
"""
"""Source of a class NAME that sheds the excess plus MARGIN, and counts heap memory as documented.
"""
LAST_STATS = Path(__file__).with_name("LastStatsShedder.java")
MARGINS = {"Right": "0.05", "NoMargin": "0.0"}


@pytest.fixture(scope="module")
def plug_ins(tmp_path_factory):
    """Compile an OverloadShedder with the margin, and one without the margin."""
    folder = tmp_path_factory.mktemp("plug-ins")
    for name, margin in MARGINS.items():
        text = SHEDDER.replace("NAME", name).replace("MARGIN", margin)
        (folder / f"{name}.java").write_text(text)
    words = ["javac", "-cp", f"{library_of('3.0.7')}/*", "-d", folder, LAST_STATS]
    words += folder.glob("*.java")
    subprocess.run(words, check=True, capture_output=True)
    return folder


@pytest.fixture
def judged(plug_ins, tmp_path, monkeypatch, capfd):
    """Return a function that runs the suite: it returns the status, verdicts, and last lines."""

    def run(name, more=""):
        monkeypatch.chdir(tmp_path)
        adapter = f"pulsar:3.0.7,strategy=com.acme.{name},classpath={plug_ins}{more}"
        words = ["run", "--adapter", adapter, "--rules", "SHED-0*", "--rules", "OVERLOAD-0*"]
        status = main([*words, "--examples", "10", "--out", "out"])
        lines = (tmp_path / "out/verdicts.jsonl").read_text().splitlines()[1:]
        found = {}
        for line in map(json.loads, lines):
            found.setdefault(line["verdict"], []).append(line["rule"])
        last = capfd.readouterr().out.splitlines()[-4:]
        return status, found, " ".join(" ".join(last).split())

    return run


def test_a_plug_in_that_claims_nothing_is_judged_by_the_rules_for_every_strategy(judged):
    status, found, last = judged("NoMargin")
    assert (status, found["pass"]) == (0, ["SHED-01", "SHED-02", "SHED-03", "SHED-04"])
    assert "amounts, thresholds and order are judged only if its name has as=" in last


def test_a_right_overload_shedder_keeps_what_is_documented_of_it(judged):
    status, found, last = judged("Right", ",as=OverloadShedder")
    assert (status, "fail" in found) == (0, False)
    assert {"OVERLOAD-01", "OVERLOAD-02", "OVERLOAD-03"} <= {*found["pass"]}
    assert "not judged" not in last


def test_a_shedder_may_take_the_traffic_of_bundles_from_the_reports(judged):
    status, found, last = judged("LastStatsShedder", ",as=OverloadShedder")
    assert (status, "fail" in found) == (0, False), last
    assert {"OVERLOAD-01", "OVERLOAD-02", "OVERLOAD-03"} <= {*found["pass"]}


def test_an_overload_shedder_without_the_margin_breaks_the_rule_about_it(judged):
    status, found, _ = judged("NoMargin", ",as=OverloadShedder")
    assert status == 1
    assert "OVERLOAD-02" in found["fail"]


@pytest.mark.parametrize("strategy", [None, "TransferShedder"])
def test_a_class_is_not_asked_what_the_extensible_load_manager_decides(strategy):
    impl = "org.apache.pulsar.broker.loadbalance"
    manager = f"{impl}.extensions.ExtensibleLoadManagerImpl"
    broker = {"cpu": {"usage": 90, "limit": 100}, "bundles": []}
    case = {
        "strategy": strategy,
        "settings": {"loadManagerClassName": manager},
        "brokers": {"b1": broker, "b2": {**broker, "cpu": {"usage": 10, "limit": 100}}},
        "bundles": {},
        "recentlyUnloaded": {},
    }
    own = f"pulsar:4.2.4,strategy={impl}.impl.ThresholdShedder,as=ThresholdShedder"
    with connect(own, "documented-4.2", {}) as connection:
        [answer] = connection.ask("shed.select", [case])
    assert "TransferShedder decides the case, and not the class" in answer["unsupported"]
