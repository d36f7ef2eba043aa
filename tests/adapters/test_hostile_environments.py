"""In an unusable environment, a run says what is wrong or continues, and no file is half
written.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

MAIN = "import sys; from pulsar_conformance.conformance.commands.main import main; sys.exit(main())"
TESTS = Path(__file__).parents[1]
RUN = ("run", "--adapter", "python:standins.nulls:Nothing", "--rules", "USAGE-01")
RUN += ("--examples", "2")
STREAM = Path("reports/out/verdicts.jsonl")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))


def command(*words, **given):
    done = subprocess.run([sys.executable, "-c", MAIN, *words], check=False, **given)
    assert b"Traceback" not in (done.stdout or b"") + (done.stderr or b"")
    assert list(Path().rglob("*.partial")) == []
    return done


ENVIRONMENTS = {
    "another language": {
        "LC_ALL": "C",
        "LANG": "C",
        "PYTHONUTF8": "0",
        "PYTHONIOENCODING": "ascii",
    },
    "no home": {"HOME": "/no/such/home", "USER": "", "TMPDIR": "/no/such/tmp"},
    "a terminal of one column": {"COLUMNS": "1", "LINES": "1", "TERM": "dumb"},
    "options of pytest": {"PYTEST_ADDOPTS": "", "PYTHONDONTWRITEBYTECODE": "1"},
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_it_judges_all_the_same(name):
    done = command(*RUN, env={**os.environ, **ENVIRONMENTS[name]}, capture_output=True)
    assert done.returncode == 1, done.stdout + done.stderr
    lines = STREAM.read_text("utf-8").splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["run", "verdict"]


TAKEN = {
    "a file for the saved cases": ".conformance",
    "a file for one operation's": ".conformance/cases/usage.max",
    "a file for the results": "reports",
}


@pytest.mark.parametrize("name", TAKEN)
def test_a_file_where_a_folder_belongs_is_reported(name):
    file = Path(TAKEN[name])
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("mine", "utf-8")
    done = command(*RUN, capture_output=True)
    assert done.returncode == 2, done.stdout + done.stderr
    said = (done.stdout + done.stderr).decode()
    assert f"{file}" in said
    assert "file" in said
    assert file.read_text("utf-8") == "mine"


def test_a_reader_that_leaves_and_a_full_disk_are_no_traceback():
    question = json.dumps(
        {"ask": "usage.max", "case": {"settings": {}, "weighted": False, "broker": {}}}
    )
    Path("case.json").write_text(question, "utf-8")
    with Path("/dev/full").open("wb") as full:
        done = command("explain", "case.json", stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert b"No space left on device" in done.stderr


def test_an_interrupt_before_all_is_loaded_is_one_line():
    stopped = """
import sys
class Stopping:
    def find_spec(self, name, *given):
        if name == "yaml":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Stopping())
from pulsar_conformance.conformance.__main__ import entry
entry()
"""
    done = subprocess.run(
        [sys.executable, "-c", stopped, "rules"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "pulsar-conformance: interrupted\n"
