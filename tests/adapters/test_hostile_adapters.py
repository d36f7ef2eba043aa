"""Malicious adapters give one clear error without escape codes and exit status 2, and leave no
process.
"""

import io
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from pulsar_conformance.adapters import child, descendants
from pulsar_conformance.conformance.commands.main import main
from standins import hostile_traits
from standins.examples import EXAMPLES

HOSTILE = Path(__file__).parents[1] / "standins" / "hostile.py"
QUESTION = json.dumps({"ask": "usage.max", "case": EXAMPLES["usage.max"][0]})
UNSHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]")
SOON = 25.0
"""Maximum seconds until a malicious adapter is reported, on a busy machine."""


@pytest.fixture
def marks(tmp_path, monkeypatch):
    """Provide the marks of the children that a test starts; check that no child is left."""
    given = []
    new = descendants.new_mark

    def noted():
        given.append(new())
        return given[-1]

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(descendants, "new_mark", noted)
    monkeypatch.setattr(child, "TERMINATE_SECONDS", 0.2)
    yield given
    assert given
    assert [descendants.processes_with_mark(mark) for mark in given] == [[]] * len(given)
    assert list(tmp_path.rglob("*.partial")) == []


@pytest.mark.parametrize("trait", hostile_traits.TRAITS)
def test_it_is_reported_in_one_error(trait, marks, monkeypatch, capfd):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(QUESTION.encode())))
    adapter = f"exec:{sys.executable} {HOSTILE} {trait!r}"
    began = time.monotonic()
    assert main(["ask", adapter, "--time-limit", "1"]) == 2
    assert time.monotonic() - began < SOON
    out, err = capfd.readouterr()
    assert out == ""
    assert re.match(r"pulsar-conformance: (exec:|lines 1 to 1: )", err), err
    assert "Traceback" not in err
    assert UNSHOWN.search(err) is None
    assert len(re.findall("^pulsar-conformance:", err, re.MULTILINE)) == 1
    assert any(one in err for one in hostile_traits.TRAITS[trait].split("|"))


def test_silence_from_the_start_ends_with_the_time_limit(marks, capfd):
    adapter = f"exec:{sys.executable} {HOSTILE} 'silence from the start'"
    began = time.monotonic()
    assert main(["check", adapter, "--time-limit", "1"]) == 2
    assert time.monotonic() - began < SOON
    assert "wrote nothing for 5 s" in capfd.readouterr().out


def test_what_cleared_its_mark_is_found_by_its_parent(marks):
    script = "import os, subprocess, sys, time; subprocess.Popen([sys.executable, '-c', "
    script += "'import time; time.sleep(120)'], env={}, start_new_session=True); time.sleep(120)"
    one = child.Child([sys.executable, "-c", script], 1 << 20)
    deadline = time.monotonic() + SOON
    while not descendants.descendants_of(one.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    [left] = descendants.descendants_of(one.pid)
    one.close()
    assert psutil.wait_procs([left], SOON)[1] == []


def test_a_stranger_with_the_process_id_of_one_that_ended_is_left_alone():
    with subprocess.Popen(["sleep", "60"]) as stranger:
        process = psutil.Process(stranger.pid)
        # The time of the start is that of another process.
        process._ident = (process.pid, 1.0)
        descendants.kill_descendants("no such mark", [process])
        assert stranger.poll() is None
        stranger.kill()
