"""The GitHub Action: its steps, run here as a runner does."""

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

ROOT = Path(__file__).parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}


@pytest.fixture
def step(tmp_path):
    """Runs a step with inputs; the process, and the folder in which it ran."""
    tool = tmp_path / "temp" / "pulsar-conformance" / "bin" / "pulsar-conformance"
    tool.parent.mkdir(parents=True)
    tool.write_text(f'#!/bin/sh\nexec {sys.executable} -m pulsar_conformance.conformance "$@"\n')
    tool.chmod(0o755)

    def run(name, **inputs):
        env = {
            **os.environ,
            "RUNNER_TEMP": str(tmp_path / "temp"),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
            "GITHUB_OUTPUT": str(tmp_path / "output"),
            "GITHUB_REPOSITORY": "me/mine",
            "GITHUB_SERVER_URL": "https://example.org",
            **{name: str(value) for name, value in inputs.items()},
        }
        words = ["bash", "-eo", "pipefail", "-c", STEPS[name]["run"]]
        return subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True)

    return run


def test_every_input_reaches_a_step():
    text = json.dumps(ACTION["runs"])
    assert [name for name in ACTION["inputs"] if f"inputs.{name} " not in text] == []


def test_an_implementation_is_judged_and_told(step, tmp_path):
    inputs = {"PROFILE": "unwritten-3.0", "KNOWN": "", "EXAMPLES": 1, "OUT": "conformance"}
    judged = step("Judge", ADAPTER="reference", **inputs)
    assert judged.returncode == 0, judged.stdout + judged.stderr
    told = step("Tell", KNOWN="", OUT="conformance")
    assert told.returncode == 0, told.stdout + told.stderr
    [report] = (tmp_path / "conformance" / "report").glob("reference*-unwritten-3.0.json")
    assert json.loads(report.read_text("utf-8"))["project"]["name"] == "me/mine"
    assert " by unwritten-3.0" in (tmp_path / "summary.md").read_text("utf-8")
    assert ElementTree.parse(report.with_suffix(".xml")).find("testsuite/testcase") is not None
    assert (tmp_path / "output").read_text("utf-8").startswith("report=conformance/report/")


def test_what_could_not_be_judged_fails_and_is_told(step):
    inputs = {"PROFILE": "documented-3.0", "KNOWN": "", "EXAMPLES": 1, "OUT": "conformance"}
    assert step("Judge", ADAPTER="refrence", **inputs).returncode == 2
    told = step("Tell", KNOWN="", OUT="conformance")
    assert (told.returncode, told.stdout) == (0, "no verdicts were written\n")
