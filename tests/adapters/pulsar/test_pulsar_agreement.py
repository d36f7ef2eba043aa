"""The model decides like the classes of each release, in cases that reach the branches of their
code.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pulsar_conformance.adapters.pulsar.versions import releases
from sampling import ordinarily

pytestmark = pytest.mark.pulsar

TESTS = Path(__file__).parents[2]
CASES = os.environ.get("RELEASE_CASES", "300")
"""Number of cases for each release. 3000 cases take some minutes per release."""

LEAST = 99.5
"""Minimum percentage of the cases in which the model decides like the release."""

OPERATORS = os.environ.get("RELEASE_OPERATORS", "40")
"""Number of operators' files for each release. 500 files take a minute per release."""


def asked(*words):
    """Run a module that uses a release's classes, with arguments; return its output, and the end
    of its errors.
    """
    command = [sys.executable, "-m", *words]
    path = os.pathsep.join((str(TESTS), *sys.path))
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    return done.stdout, done.stderr[-2000:]


@pytest.mark.parametrize("version", ordinarily("4.2.4", releases()))
def test_the_model_foresees_the_branches_of_a_release(version):
    out, err = asked("release_cases.agreement", version, CASES, "1")
    found = re.search(r"([0-9.]+) % of", out)
    assert found, err
    assert float(found[1]) >= LEAST, out


@pytest.mark.parametrize("version", ordinarily("4.2.4", ["3.0.7", "4.2.4"]))
def test_explain_places_bundles_where_the_release_does_by_the_same_policies(version):
    out, err = asked("release_cases.operators_places", version, OPERATORS, "3")
    assert f"{version}: {OPERATORS} of {OPERATORS} the same" in out, err


@pytest.mark.parametrize("version", ordinarily("4.2.4", ["3.0.7", "4.2.4"]))
def test_explain_decides_as_the_release_about_the_same_reports_and_settings(version, tmp_path):
    out, err = asked("release_cases.operators_sheds", version, OPERATORS, "5", str(tmp_path))
    assert f"{version}: {OPERATORS} of {OPERATORS} the same" in out, err
