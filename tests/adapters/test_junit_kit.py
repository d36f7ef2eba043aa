"""The kit for JUnit 5, run by Maven: a correct balancer passes, and a wrong one fails with a
message that shows the arithmetic.
"""

import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pulsar_conformance.adapters.pulsar.connect import released_jars
from pulsar_conformance.adapters.pulsar.target import Target
from pulsar_conformance.reports import archive

pytestmark = pytest.mark.pulsar

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "reports/site/guides/gate-a-plug-in.md").read_text("utf-8")
FAULTS = 20
RELEASE = "3.0.7"
WRONG = """
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import pulsarconformance.Conformance;

class WrongTest {
    @TestFactory
    Stream<DynamicTest> shedsNothing() {
        return Conformance.of(Path.of(System.getProperty("pulsar.conformance.fixtures")))
                .reading("overload-amount", "margin")
                .reading("shed-window", "short-term")
                .about("shed.select")
                .tests(asked -> {
                    var answer = new ObjectMapper().createObjectNode();
                    answer.putArray("unload");
                    return answer;
                });
    }
}
"""
STRATEGY = """
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import pulsarconformance.Conformance;

class StrategyTest {
    @TestFactory
    Stream<DynamicTest> shedsAsTheDocumentsSay() {
        return Conformance.of(Path.of(System.getProperty("pulsar.conformance.fixtures")))
                .by("PROFILE")
                .reading("overload-amount", "margin")
                .reading("overload-trigger", "reaches")
                .reading("shed-window", "short-term")
                .shedding("OverloadShedder", StrategyTest::made);
    }

    private static Object made() {
        try {
            String name = "MADE";
            return Class.forName(name).getConstructor().newInstance();
        } catch (ReflectiveOperationException wrong) {
            throw new IllegalStateException(wrong);
        }
    }
}
"""
"""Test class that finds the strategy by name, so that the module compiles without Pulsar."""


IMPL = "org.apache.pulsar.broker.loadbalance.impl."
LAST_STATS = ROOT / "tests/adapters/pulsar/LastStatsShedder.java"


def strategy(name, profile, made=f"{IMPL}OverloadShedder"):
    """Return the source of a test class that judges a class as OverloadShedder."""
    text = STRATEGY.replace("StrategyTest", name)
    return text.replace("PROFILE", profile).replace("MADE", made)


[SNIPPET] = re.findall(r"^```java\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)
"""The test in the guide, which is used here for a class that is no strategy."""

SOURCES = {
    "org/example/MyShedder": "package org.example; class MyShedder {}",
    "org/example/MyShedderTest": re.sub(
        r'"src/.*\.tar\.gz"', 'System.getProperty("pulsar.conformance.fixtures")', SNIPPET
    ),
    "WrongTest": WRONG,
    "StrategyTest": strategy("StrategyTest", "documented-3.0"),
    "LaterTest": strategy("LaterTest", "documented-4.2"),
    "LaterWrongTest": strategy("LaterWrongTest", "documented-4.2", f"{IMPL}ThresholdShedder"),
    "LastStatsTest": strategy("LastStatsTest", "documented-3.0", "com.acme.LastStatsShedder"),
}


[NAMED] = re.findall(r"<statelessTestsetReporter.*</statelessTestsetReporter>", GUIDE, re.DOTALL)
"""The guide's configuration of Surefire, which names tests after examples."""


@pytest.fixture(scope="module")
def suites(tmp_path_factory):
    """Run Maven once, which fails due to a wrong class; return the results by test class."""
    folder = tmp_path_factory.mktemp("kit")
    shutil.copytree(ROOT / "adapters/junit", folder / "junit")
    shutil.copytree(ROOT / "adapters/samples/java", folder / "samples" / "java")
    pom = folder / "junit/pom.xml"
    pom.write_text(pom.read_text().replace("<systemProp", f"{NAMED}<systemProp", 1))
    for name, source in SOURCES.items():
        file = folder / f"junit/src/test/java/{name}.java"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)
    _, library = released_jars(Target(RELEASE))
    words = ["javac", "-cp", f"{library}/*", "-d", str(folder / "plug-ins"), str(LAST_STATS)]
    subprocess.run(words, check=True, capture_output=True)
    assert archive.main(["--to", str(folder)]) == 0
    [fixtures] = folder.glob("*.tar.gz")
    words = ["mvn", "-q", "-B", "-f", str(folder / "junit"), "test"]
    given = {
        "pulsar.conformance.fixtures": fixtures,
        "maven.test.additionalClasspath": ",".join(
            map(str, [folder / "plug-ins", *sorted(library.glob("*.jar"))])
        ),
    }
    words += [f"-D{name}={value}" for name, value in given.items()]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    reports = (folder / "junit/target/surefire-reports").glob("*.xml")
    return {
        root.get("name"): root for root in (ElementTree.parse(one).getroot() for one in reports)
    }


def test_the_sample_passes_and_every_planted_fault_is_found(suites):
    sample = suites["SampleTest"]
    assert (sample.get("failures"), sample.get("errors")) == ("0", "0")
    names = [case.get("name") for case in sample.iter("testcase")]
    assert sum(name.startswith("aFaultIsFound") for name in names) == FAULTS
    assert len(names) - FAULTS - int(sample.get("skipped")) > 100


def test_a_wrong_balancer_fails_with_rule_document_and_arithmetic(suites):
    failures = [one.text for one in suites["WrongTest"].iter("failure")]
    assert failures
    assert all(
        re.search(r"^pulsar-conformance explain --example [\w-]+ ", one, re.M) for one in failures
    )
    shown = next(text for text in failures if "\nOVERLOAD-02: " in text)
    assert "\nit rests on the readings overload-amount=margin" in shown
    assert "load-balance-3.0 § Shed load automatically" in shown
    assert "allowed   [" in shown
    assert 'answered  [{"unload":[]}]' in shown


def test_a_failure_says_what_differs_and_shows_traffic_in_each_direction(suites):
    failures = [one.text for one in suites["WrongTest"].iter("failure")]
    shown = next(text for text in failures if "\noverload-95-over-85: " in f"\n{text}")
    as_a_whole = "the answer as a whole differs from this example's; no rule is judged by itself.\n"
    assert f"\n{as_a_whole}the example illustrates OVERLOAD-02:\nOVERLOAD-02: " in shown
    assert "more\n          by the rules of this example; another rule may forbid some\n" in shown
    traffic = "in 0 B/s, 0 msg/s; out 27000000 B/s, 2700 msg/s\n"
    assert f"\ntraffic   shop/eu/0x80000000_0xa0000000 shortTermData: {traffic}" in shown


@pytest.mark.parametrize("name", ["StrategyTest", "LaterTest"])
def test_a_strategy_of_pulsar_is_handed_over_as_a_class(name, suites):
    """OverloadShedder of 3.0.7 fails only the example of OVERLOAD-09 that heap memory counts."""
    cases = list(suites[name].iter("testcase"))
    failed = [one.find("failure").text for one in cases if one.find("failure") is not None]
    assert len(cases) > 15
    assert len(failed) == 1
    assert "Memory alone can overload a broker" in failed[0]


def test_a_strategy_may_take_the_traffic_of_bundles_from_the_reports(suites):
    suite = suites["LastStatsTest"]
    assert int(suite.get("tests")) > 15
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")


def test_tests_and_failures_are_named_after_examples(suites):
    failed = [
        one for one in suites["WrongTest"].iter("testcase") if one.find("failure") is not None
    ]
    for case in failed:
        first = case.find("failure").get("message").partition(":")[0]
        assert case.get("name").split()[-1] == first


def test_another_strategy_fails_by_later_documents(suites):
    wrong, right = (
        len(list(suites[one].iter("failure"))) for one in ("LaterWrongTest", "LaterTest")
    )
    assert wrong > 2 * right > 0
    assert suites["LaterTest"].get("errors") == "0"


def test_mistakes_are_named_and_nothing_passes_unasked(suites):
    suite = suites["MistakesTest"]
    assert int(suite.get("tests")) - int(suite.get("skipped")) > 8
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")


def test_the_test_of_the_guide_compiles_and_asks(suites):
    assert SNIPPET in (ROOT / "adapters/junit/README.md").read_text("utf-8")
    suite = suites["org.example.MyShedderTest"]
    assert suite.get("tests") == "21", "as the guide says"
    assert int(suite.get("errors")) > 15
    message = next(suite.iter("error")).get("message")
    assert re.match(r"[\w-]+: ", message)
    assert "no strategy of Pulsar 3.0 or later can be asked" in message
