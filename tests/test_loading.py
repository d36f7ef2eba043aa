"""Commands load only the modules that they need, such as those of the named adapter."""

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
    """Run a command in a folder; return the project's modules that it has imported."""
    command = [sys.executable, "-c", LOADED, *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].split()


@pytest.mark.parametrize("words", [["--help"], ["rules"]])
def test_looking_something_up_loads_little(tmp_path, words):
    assert len(loaded(tmp_path, *words)) <= 30


def test_a_run_loads_no_transport_but_the_one_it_names(tmp_path):
    """A run of every rule, without saved cases, loads all subjects, but no unused adapter."""
    run = ("run", "--adapter", "reference", "--examples", "1")
    modules = loaded(tmp_path, *run, "--out", str(tmp_path / "out"))
    assert len(modules) <= 150
    assert "pulsar_conformance.adapters.reference" in modules
    named = [f"pulsar_conformance.adapters.{transport}" for transport in TRANSPORTS]
    assert [one for one in modules if one.startswith(tuple(named))] == []
