"""Each known deviation of a release occurs again, with the answer in the list of deviations."""

import importlib.util
import json
import shlex
import shutil
from pathlib import Path

import pytest
from pulsar_conformance import specs
from pulsar_conformance.adapters.pulsar.versions import releases
from pulsar_conformance.conformance.cases.deviations import load_deviations
from pulsar_conformance.conformance.cases.saved import load_saved as load_case
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.conformance.engine.attribute import own_faults
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.judge import AppliedRule, JudgedImplementation
from pulsar_conformance.reference import Readings
from pulsar_conformance.reports.site.results import deviations_by_release

ROOT = Path(__file__).parents[3]
HERE = all(map(shutil.which, ("java", "mvn"))) and importlib.util.find_spec("jpype") is not None
pytestmark = [
    pytest.mark.pulsar,
    pytest.mark.skipif(not HERE, reason="needs Java, Maven and the extra pulsar"),
]


CASES = "fixtures/cases"
UNFOLLOWED_READINGS = (
    # Only one bundle goes, that with the most messages: D02.
    ("OVERLOAD-05", {"overload-amount": "one"}, "shed.select/5574602de653"),
    ("SHED-07", {"shed-measure": "message-rate"}, "shed.select/23fb7d1b45fd"),
    # A burst is no reason to split: D13.
    ("SPLIT-03", {"split-rate-window": "latest"}, "bundles.split_candidates/ce774a614c58"),
    # The parts of a bundle that was unloaded may be unloaded at once: D14.
    ("SHED-04", {"grace-of": "topic"}, "shed.select/dbdee421dfc5"),
    # Two partitions are in one bundle although another bundle is free: D21.
    ("BUNDLE-08", {"partitions": "spread"}, "bundles.locate/35c9ea082ae5"),
)
"""For readings that no release follows: a rule, the readings, and a case that breaks the rule."""

SHARED_DEVIATIONS = (
    ("OVERLOAD-04", "shed.select/1969b24e1ae2"),
    ("SPLIT-10", "bundles.split/d4e61fcfd5e0"),
    # Failure domains are left out of account unless failureDomainsEnabled is true: D06.
    ("ANTI-01", "place.anti_affinity/a68770df9148"),
)
"""Deviations that all releases share."""

MINIMUM = ("THRESHOLD-01", "shed.select/ce1322c463c5")
"""A rule, and a case with 9 MB/s to shed, less than the 10 MiB/s that releases require (D04)."""


def broken(subject, rule, case, readings=()):
    """True if a release breaks a rule on a case under the given readings."""
    trial = load_case(ROOT / CASES / f"{case}.json").trial
    [answers] = subject.implementation.answers([trial])
    read = Readings({**subject.evaluator.readings.choices, **dict(readings)})
    return subject.evaluator.under(read).judge(rule, trial, answers).violated


@pytest.fixture(scope="module", params=releases())
def subject(request):
    found = Implementation(f"pulsar:{request.param}", "documented-3.0", {})
    yield JudgedImplementation.before_asking(found)
    found.close()


def test_no_release_follows_the_other_readings(subject):
    assert all(broken(subject, rule, case, by) for rule, by, case in UNFOLLOWED_READINGS)
    assert not any(broken(subject, rule, case) for rule, _, case in UNFOLLOWED_READINGS[1:-1])


def test_even_the_oldest_has_what_no_document_of_its_own_speaks_of(subject):
    assert all(broken(subject, rule, case) for rule, case in SHARED_DEVIATIONS)


def test_little_traffic_stays_where_it_is(subject):
    assert broken(subject, *MINIMUM) or subject.implementation.name == "pulsar 2.4.2"


@pytest.mark.parametrize("version", releases())
def test_each_case_breaks_its_rule_as_the_file_says(version):
    implementation = Implementation(f"pulsar:{version}", releases()[version].documents, {})
    subject = JudgedImplementation.before_asking(implementation)
    try:
        for one in load_deviations(ROOT / "fixtures" / "deviations" / f"pulsar-{version}.yaml"):
            rule = specs.load().rules[one.rule]
            trials = [load_case(case).trial for case in one.cases]
            broken = own_faults(AppliedRule(rule, subject), trials)
            assert all(broken), one.rule
            assert broken[0].outcome.answered == one.answers
    finally:
        implementation.close()


@pytest.mark.parametrize("one_in", [42, pytest.param(1, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("version", releases())
def test_each_command_of_a_page_shows_its_deviation_again(version, one_in, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    listed = deviations_by_release()[f"pulsar-{version}"]
    commands = {replay.command: replay.rule for one in listed for replay in one.replays}
    assert len(commands) >= len(listed)
    for command, rule in list(commands.items())[::one_in]:
        words = [*shlex.split(command)[1:], "--out", str(tmp_path)]
        assert main(words) == 1, f"{rule}: {command}"
        lines = map(json.loads, (tmp_path / "verdicts.jsonl").read_text("utf-8").splitlines())
        assert rule in {one["rule"] for one in lines if one.get("verdict") == "fail"}, command
