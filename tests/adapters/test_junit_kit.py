"""The kit for JUnit 5: a right balancer passes, a wrong one fails with the arithmetic. By Maven."""

import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pulsar_conformance.reports import archive

pytestmark = pytest.mark.pulsar

ROOT = Path(__file__).parents[2]
FAULTS = 20
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


@pytest.fixture(scope="module")
def suites(tmp_path_factory):
    """The result of each test class, of one run of Maven; the wrong one fails."""
    folder = tmp_path_factory.mktemp("kit")
    shutil.copytree(ROOT / "adapters/junit", folder / "junit")
    shutil.copytree(ROOT / "adapters/samples/java", folder / "samples" / "java")
    (folder / "junit/src/test/java/WrongTest.java").write_text(WRONG)
    assert archive.main(["--to", str(folder)]) == 0
    [fixtures] = folder.glob("*.tar.gz")
    words = ["mvn", "-q", "-B", "-f", str(folder / "junit"), "test"]
    done = subprocess.run(
        [*words, f"-Dpulsar.conformance.fixtures={fixtures}"], capture_output=True, text=True
    )
    assert done.returncode == 1, done.stdout + done.stderr
    reports = (folder / "junit/target/surefire-reports").glob("*.xml")
    return {
        root.get("name"): root for root in (ElementTree.parse(one).getroot() for one in reports)
    }


def test_the_sample_passes_and_every_planted_fault_is_found(suites):
    sample = suites["SampleTest"]
    assert (sample.get("failures"), sample.get("errors")) == ("0", "0")
    names = [case.get("name") for case in sample.iter("testcase")]
    assert names.count("aFaultIsFound") == FAULTS
    assert len(names) - FAULTS - int(sample.get("skipped")) > 100


def test_a_wrong_balancer_fails_with_rule_document_and_arithmetic(suites):
    failures = [one.text for one in suites["WrongTest"].iter("failure")]
    assert failures
    shown = next(text for text in failures if "\nOVERLOAD-02: " in text)
    assert "load-balance-3.0 § Shed load automatically" in shown
    assert "allowed   [" in shown
    assert 'answered  [{"unload":[]}]' in shown
