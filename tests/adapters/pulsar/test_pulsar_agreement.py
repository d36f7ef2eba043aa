"""The model decides as each release's own classes do, on cases for the branches of their code."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pulsar_conformance.adapters.pulsar.versions import releases

pytestmark = pytest.mark.pulsar

TESTS = Path(__file__).parents[2]
CASES = os.environ.get("RELEASE_CASES", "300")
"""Cases of each release; 3000 take some minutes each."""

LEAST = 99.0
"""Percent of the cases that the model decides as the release; of 3000 it is 99.5 or more."""


@pytest.mark.parametrize("version", releases())
def test_the_model_foresees_the_branches_of_a_release(version):
    command = [sys.executable, "-m", "release_cases.agreement", version, CASES, "1"]
    path = os.pathsep.join((str(TESTS), *sys.path))
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    found = re.search(r"([0-9.]+) % of", done.stdout)
    assert found, done.stderr[-2000:]
    assert float(found[1]) >= LEAST, done.stdout
