"""Each known deviation of a release, asked again: it is there, and answers as the file says."""

import importlib.util
import shutil
from pathlib import Path

import pytest
from pulsar_conformance import specs
from pulsar_conformance.adapters.pulsar.versions import releases
from pulsar_conformance.conformance import checks
from pulsar_conformance.conformance.deviations import load
from pulsar_conformance.conformance.failing import violations
from pulsar_conformance.conformance.respondent import Respondent
from pulsar_conformance.conformance.saved import load as load_case

assert checks.__all__

ROOT = Path(__file__).parent.parent
HERE = all(map(shutil.which, ("java", "mvn"))) and importlib.util.find_spec("jpype") is not None
pytestmark = pytest.mark.skipif(not HERE, reason="needs Java, Maven and the extra pulsar")


@pytest.mark.parametrize("version", releases())
def test_each_case_breaks_its_rule_as_the_file_says(version):
    respondent = Respondent(f"pulsar:{version}", releases()[version].documents, {})
    try:
        for one in load(ROOT / "fixtures" / "deviations" / f"pulsar-{version}.yaml"):
            rule = specs.load().rules[one.rule]
            trials = [load_case(ROOT / case).trial for case in one.cases]
            broken = violations(rule, respondent, trials)
            assert all(broken), one.rule
            assert broken[0].answered == one.answers
    finally:
        respondent.close()
