"""Fixtures and options that several test modules use."""

import gc
import json
import re
from importlib.util import find_spec

import pytest
from pulsar_conformance.adapters.pulsar import versions
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.specs import errors
from pulsar_conformance.specs.text import WIDTH

# Most objects that tests make are kept, and searching them for garbage takes long.
gc.set_threshold(200_000, 50, 1000)


@pytest.fixture
def explain(tmp_path, capsys):
    """Return a function that explains a file and returns the exit status and both outputs."""

    def explained(content, *options):
        file = tmp_path / "case.json"
        file.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        status = main(["explain", str(file), *options])
        said = capsys.readouterr()
        return status, said.out, said.err

    return explained


def pytest_addoption(parser):
    parser.addoption(
        "--releases", help="released Pulsars to start, with commas: 3.0.7,4.2.4 (all of them)"
    )


def pytest_collection_modifyitems(config, items):
    """Leave out the tests of releases that were not chosen."""
    chosen = config.getoption("--releases")
    if not chosen:
        return
    others = [version for version in versions.releases() if version not in chosen.split(",")]
    left = [item for item in items if _names(item, others)]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in left]


def _names(item, others):
    given = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return any(version in str(value) for value in given for version in others)


NEEDED = {"spark": "pyspark", "browser": "selenium", "pulsar": "jpype", "cluster": "jpype"}
"""The package that the tests of a marker need."""


def pytest_ignore_collect(collection_path, config):
    """Leave out test files with a marker whose package is not installed.

    Only the session of the marker installs the package. With `-m`, files without the selected
    marker are also left out, since collecting all files takes 12 more seconds of CPU time.
    """
    if not collection_path.name.startswith("test_"):
        return None
    source = collection_path.read_text("utf-8")
    asked = _marker_asked_for(config)
    if asked and f"mark.{asked}" not in source:
        return True
    missing = (marker for marker, package in NEEDED.items() if not find_spec(package))
    marked = (rf"^(pytestmark = .*|    )pytest\.mark\.{marker}\b" for marker in missing)
    return True if any(re.search(one, source, re.MULTILINE) for one in marked) else None


def _marker_asked_for(config):
    """Return the first marker of `-m`, such as `spark` in `spark and not thorough`, or ''."""
    first, *more = config.getoption("markexpr").split() or [""]
    return "" if "or" in more or not first.isidentifier() or first == "not" else first


@pytest.fixture(scope="session", autouse=True)
def unwrapped_messages():
    """Keep each message on standard error on one line, except for tests that use `wrapped`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(errors, "WIDTH", 100_000)
        yield


@pytest.fixture
def wrapped(monkeypatch):
    """Wrap messages on standard error as users see them."""
    monkeypatch.setattr(errors, "WIDTH", WIDTH)
