"""One strategy object of a release answers consecutive cycles; a plug-in that keeps old unloads is
found.
"""

import importlib.util
import shutil
import subprocess

import pytest
from pulsar_conformance import specs
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.conformance.cases.legality import matches
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.run import Run
from pulsar_conformance.fixtures import examples
from sampling import ordinarily
from standins.releases import library_of

NEEDED = ("java", "javac", "mvn")
HERE = all(map(shutil.which, NEEDED)) and importlib.util.find_spec("jpype") is not None
pytestmark = [
    pytest.mark.pulsar,
    pytest.mark.skipif(not HERE, reason="needs Java, Maven and the extra pulsar"),
]

PROFILE = "documented-3.0"
ROWS = ("SHED-15", "SHED-16", "OVERLOAD-12", "THRESHOLD-15")
ANY_STRATEGY = ("SHED-02", "SHED-03", "SHED-04", "SHED-15", "SHED-16")
JUDGED_BY = {"2.10.5": "released-2.10", "3.0.7": "released-3.0", "4.2.4": "released-4.2"}

STALE = """
package com.acme;
import com.google.common.collect.*;
import org.apache.pulsar.broker.ServiceConfiguration;
import org.apache.pulsar.broker.loadbalance.*;
/** Takes one bundle of each broker that has two; what it chose earlier it never forgets. */
public class StaleShedder implements LoadSheddingStrategy {
    private final Multimap<String, String> selected = ArrayListMultimap.create();
    public Multimap<String, String> findBundlesForUnloading(LoadData load, ServiceConfiguration c) {
        CLEARED
        load.getBrokerData().forEach((broker, data) -> {
            var bundles = data.getLocalData().getBundles();
            if (bundles.size() > 1 && selected.get(broker).isEmpty()) {
                bundles.stream().sorted()
                    .filter(one -> !load.getRecentlyUnloadedBundles().containsKey(one))
                    .findFirst().ifPresent(one -> selected.put(broker, one));
            }
        });
        return selected;
    }
}
"""


def verdicts(adapter, profile, root, rules, examples=25):
    run = Run(
        Plan.make([adapter], [profile], rules=rules, examples=examples, root=root), adapter, profile
    )
    try:
        return {rule.id: run.verdict(rule).verdict for rule in run.rules}
    finally:
        run.close()


@pytest.fixture(scope="module")
def plug_ins(tmp_path_factory):
    """Compile a strategy that keeps old unloads, and one that drops them before each cycle."""
    folder = tmp_path_factory.mktemp("plug-ins")
    for name, cleared in (("StaleShedder", ""), ("FreshShedder", "selected.clear();")):
        source = STALE.replace("CLEARED", cleared).replace("StaleShedder", name)
        (folder / f"{name}.java").write_text(source)
    words = ["javac", "-cp", f"{library_of('3.0.7')}/*", "-d", folder]
    subprocess.run([*words, *folder.glob("*.java")], check=True, capture_output=True)
    return folder


@pytest.mark.parametrize(
    ("name", "failing"), [("StaleShedder", {"SHED-15", "SHED-16"}), ("FreshShedder", set())]
)
def test_a_stale_map_fails_in_a_row_alone(name, failing, plug_ins, tmp_path):
    adapter = f"pulsar:3.0.7,strategy=com.acme.{name},classpath={plug_ins}"
    found = verdicts(adapter, PROFILE, tmp_path, ANY_STRATEGY)
    assert {rule for rule, word in found.items() if word == "fail"} == failing
    assert set(found) == set(ANY_STRATEGY)


@pytest.mark.parametrize("version", ordinarily("4.2.4", JUDGED_BY))
def test_a_release_keeps_what_it_has_to(version, tmp_path):
    found = verdicts(f"pulsar:{version}", JUDGED_BY[version], tmp_path, ROWS)
    assert found == dict.fromkeys(sorted(ROWS, key=list(found).index), "pass")


def test_a_strategy_of_no_document_is_judged_in_a_row_too(tmp_path):
    found = verdicts("pulsar:4.2.4,strategy=AvgShedder", PROFILE, tmp_path, ANY_STRATEGY)
    assert set(found.values()) == {"pass"}


def test_a_release_answers_the_worked_rows():
    judged = {rule.id for rule in specs.load().rules_of(PROFILE)}
    rows = (one for one in examples() if one.questions[0][0] == "shed.cycles")
    asked = [one for one in rows if judged.issuperset(one.rules)]
    assert asked
    with connect("pulsar:3.0.7", PROFILE, {}) as connection:
        for one in asked:
            [answer] = connection.ask("shed.cycles", [one.questions[0][1]])
            assert any(matches("shed.cycles", each[0], answer) for each in one.allowed), one.id


LEFT, RIGHT = "t/ns/0x00000000_0x80000000", "t/ns/0x80000000_0xffffffff"


def test_hits_are_counted_from_cycle_to_cycle():
    """AvgShedder unloads in the second cycle with a difference of 40 points or more."""
    rates = {LEFT: 2500, RIGHT: 600}
    cycle = {
        "minutes": 1,
        "brokers": {
            "b1": {"cpu": {"usage": 95, "limit": 100}, "msgRateIn": 3100, "bundles": [LEFT, RIGHT]},
            "b2": {},
        },
        "bundles": {
            name: {"shortTermData": {"msgRateIn": rate, "numSamples": 1}}
            for name, rate in rates.items()
        },
        "recentlyUnloaded": {},
    }
    case = {"strategy": "AvgShedder", "settings": {}, "cycles": [cycle] * 3}
    with connect("pulsar:4.2.4", PROFILE, {}) as connection:
        [answer] = connection.ask("shed.cycles", [case])
    assert [[x["bundle"] for x in one["unload"]] for one in answer["cycles"]] == [[], [RIGHT], []]
