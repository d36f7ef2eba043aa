"""Kinds of adapters that other packages add, as entry points."""

import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from pulsar_conformance.adapters import AdapterError, bundled, names

INSTALLED = Path(__file__).parent / "plugged_kind"
"""A folder as if pip had installed a package there: a module and the package's metadata."""


def command(*words):
    """Run a command with the package installed."""
    entry = "from pulsar_conformance.conformance.__main__ import entry; entry()"
    path = os.pathsep.join(filter(None, (str(INSTALLED), os.environ.get("PYTHONPATH"))))
    return subprocess.run(
        [sys.executable, "-c", entry, *words],
        env={**os.environ, "PYTHONPATH": path},
        input='{"ask": "usage.max", "case": {"broker": {}, "weighted": false, "settings": {}}}\n',
        capture_output=True,
        text=True,
    )


def test_an_installed_package_adds_a_kind_of_adapter():
    asked = command("ask", 'constant:{"percent": 7, "resource": "cpu"}')
    assert (asked.stdout, asked.stderr) == ('{"percent":7,"resource":"cpu"}\n', "")


def test_a_kind_that_cannot_be_loaded_names_its_package():
    asked = command("ask", "broken:")
    assert asked.returncode == 2
    assert (
        "the adapter plugged_kind:gone of the package plugged-kind can't be loaded: "
        in " ".join(asked.stderr.split())
    )


def test_an_unknown_kind_is_compared_with_the_added_ones_too():
    asked = command("ask", "constnat:1")
    assert " ".join(asked.stderr.split()).endswith("did you mean constant:...?")


def test_a_kind_of_two_packages_is_refused(monkeypatch):
    twice = [
        EntryPoint("mine", f"{one}:connect", names.ENTRY_POINT_GROUP) for one in ("first", "second")
    ]
    monkeypatch.setattr(names, "entry_points", lambda group: twice)
    names._entry_points.cache_clear()
    with pytest.raises(AdapterError, match="uninstall one of them"):
        names.connect("mine:x", "documented-3.0", {})
    monkeypatch.undo()
    names._entry_points.cache_clear()


def test_our_own_kinds_are_all_described():
    assert set(names._entry_points()) == set(names.NAME_FORMS)
    assert names.NAME_FORMS["sample"] == f"sample:{'|'.join(bundled.BUNDLED_SAMPLES)}"
