"""Commands load only what they need: no adapter that is not named, and little for a look-up."""

import subprocess
import sys

import pytest

LOADED = """
import contextlib, io, sys
from pulsar_conformance.conformance.__main__ import entry
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    entry()
print(*(name for name in sys.modules if name.startswith("pulsar_conformance")))
"""
TRANSPORTS = ("admin_api", "cluster", "operated", "pulsar", "spark")


def loaded(folder, *words):
    """The modules of the project that a command run in a folder has imported by its end."""
    command = [sys.executable, "-c", LOADED, *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].split()


@pytest.mark.parametrize("words", [["--help"], ["rules"]])
def test_looking_something_up_loads_little(tmp_path, words):
    assert len(loaded(tmp_path, *words)) <= 30


def test_a_run_loads_no_transport_but_the_one_it_names(tmp_path):
    """With every rule of the profile, so that all subjects are loaded, and no saved case."""
    run = ("run", "--adapter", "reference", "--examples", "1")
    modules = loaded(tmp_path, *run, "--out", str(tmp_path / "out"))
    assert len(modules) <= 150
    assert "pulsar_conformance.adapters.reference" in modules
    named = [f"pulsar_conformance.adapters.{transport}" for transport in TRANSPORTS]
    assert [one for one in modules if one.startswith(tuple(named))] == []
