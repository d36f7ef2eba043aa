"""The GitHub Action: its steps, run here as a runner runs them."""

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
    """Return a function that runs a step with inputs and returns the completed process."""
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


NONE = ("ADAPTER", "LIB", "PROFILE", "KNOWN", "SETTINGS", "RULES", "SEED", "EXAMPLES", "ARGUMENTS")
INPUTS = {**dict.fromkeys(NONE, ""), "OUT": "conformance"}


def program(folder, name, script):
    """Write a script that replaces the program `name`, and return its folder."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return folder


def test_an_implementation_is_judged_and_reported(step, tmp_path):
    given = {"ADAPTER": "reference", "PROFILE": "unwritten-3.0", "EXAMPLES": 1}
    judged = step("Judge", **{**INPUTS, **given})
    assert judged.returncode == 0, judged.stdout + judged.stderr
    told = step("Tell", KNOWN="", OUT="conformance")
    assert told.returncode == 0, told.stdout + told.stderr
    [report] = (tmp_path / "conformance" / "report").glob("reference*-unwritten-3.0.json")
    assert json.loads(report.read_text("utf-8"))["project"]["name"] == "me/mine"
    summary = (tmp_path / "summary.md").read_text("utf-8")
    assert summary.startswith("reference 0.1.0 breaks 0 of 11 rules that apply to it\n## reference")
    assert ElementTree.parse(report.with_suffix(".xml")).find("testsuite/testcase") is not None
    assert (tmp_path / "output").read_text("utf-8").startswith("report=conformance/report/")
    log = tmp_path / "gh.log"
    programs = program(tmp_path / "programs", "gh", f'echo "$@" > {log}')
    path = f"{programs}:{os.environ['PATH']}"
    assert step("Comment", GH_TOKEN="", NUMBER=7, OUT="conformance", PATH=path).returncode == 0
    assert log.read_text().startswith("pr comment 7 --repo me/mine --body-file conformance/report/")


def test_each_input_becomes_an_option(step, tmp_path):
    tool = tmp_path / "temp" / "pulsar-conformance" / "bin"
    program(tool, "pulsar-conformance", 'printf "%s\\n" "$@"')
    given = {
        "LIB": "build/lib",
        "PROFILE": "released-4.2",
        "KNOWN": "known.yaml",
        "SETTINGS": "a=1\nb=two words\n",
        "RULES": "SHED-* OVERLOAD-*",
        "SEED": 7,
        "EXAMPLES": 5,
        "ARGUMENTS": "--time-limit\n60",
    }
    assert step("Judge", **{**INPUTS, **given}).stdout.splitlines() == [
        "run",
        "--out",
        "conformance",
        "--adapter=pulsar:build/lib",
        "--judge-by=released-4.2",
        "--known-deviations=known.yaml",
        "--setting=a=1",
        "--setting=b=two words",
        "--rules=SHED-*",
        "--rules=OVERLOAD-*",
        "--seed=7",
        "--examples=5",
        "--time-limit",
        "60",
    ]


@pytest.mark.parametrize(
    ("given", "extras"),
    [
        ({"ADAPTER": "exec:java Main.java"}, ""),
        ({"ADAPTER": "pulsar:3.0.7,strategy=com.acme.Shedder,classpath=classes"}, "[pulsar]"),
        ({"LIB": "build/lib"}, "[pulsar]"),
        ({"ADAPTER": "cluster:4.0.7"}, "[cluster]"),
        ({"ADAPTER": "spark"}, "[spark]"),
    ],
    ids=str,
)
def test_what_an_adapter_needs_is_installed(step, tmp_path, given, extras):
    action = {"GITHUB_ACTION_PATH": ROOT}
    chosen = step("Choose", **{"ADAPTER": "", "LIB": "", **action, **given})
    assert chosen.returncode == 0, chosen.stderr
    lines = (tmp_path / "output").read_text("utf-8").splitlines()
    found = dict(line.split("=", 1) for line in lines)
    assert found["extras"] == extras
    log = tmp_path / "pip.log"
    program(tmp_path / "temp" / "pulsar-conformance" / "bin", "pip", f'echo "$@" > {log}')
    programs = program(tmp_path / "programs", "python3", "exit 0")
    path = f"{programs}:{os.environ['PATH']}"
    installed = step("Install the suite", EXTRAS=extras, PATH=path, **action)
    assert installed.returncode == 0, installed.stderr
    assert log.read_text().split() == [
        *("install", "-q", "-c"),
        f"{ROOT}/constraints.txt",
        f"{ROOT}{extras}",
    ]


def test_an_adapter_may_be_named_in_a_project_file(step, tmp_path):
    nothing = {"ADAPTER": "", "LIB": "", "GITHUB_ACTION_PATH": ROOT}
    assert step("Choose", **nothing).returncode == 2
    (tmp_path / "pulsar-conformance.toml").write_text('adapter = "pulsar:3.0.7"\n')
    assert step("Choose", **nothing).returncode == 0
    assert "extras=[pulsar]" in (tmp_path / "output").read_text("utf-8")


def test_of_some_rules_there_is_a_result_and_no_report(step, tmp_path):
    given = {"ADAPTER": "reference", "RULES": "OVERLOAD-02", "EXAMPLES": 1}
    assert step("Judge", **{**INPUTS, **given}).returncode == 0
    told = step("Tell", KNOWN="", OUT="conformance")
    assert (told.returncode, "there is no report" in told.stdout) == (0, True)
    expected = "reference 0.1.0 breaks 0 of 1 rule that applies to it\n"
    assert (tmp_path / "summary.md").read_text("utf-8") == expected


def test_what_could_not_be_judged_fails_and_is_reported(step):
    assert step("Judge", **{**INPUTS, "ADAPTER": "refrence", "EXAMPLES": 1}).returncode == 2
    told = step("Tell", KNOWN="", OUT="conformance")
    assert (told.returncode, told.stdout) == (0, "no verdicts were written\n")
