"""The workflows in the guide and the container file: their steps, run here as a build server runs
them.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from pulsar_conformance.conformance.commands.main import main

ROOT = Path(__file__).parent.parent
GUIDE = (ROOT / "reports/site/guides/gate-a-plug-in.md").read_text("utf-8")
FENCES = re.findall(r"^```(\w+)\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
YAML = [yaml.safe_load(text) for language, text in FENCES if language.startswith("yaml")]
PIPELINES = [
    re.findall(r"^ *sh '(.*)'$", text, re.MULTILINE)
    for language, text in FENCES
    if language == "groovy"
]
PLUG_IN = "pulsar:4.0.7,strategy=org.example.MyShedder,as=OverloadShedder,classpath=target/classes"
BALANCER = "python:my_balancer:MyBalancer"
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
CONTAINER = (ROOT / "Dockerfile").read_text("utf-8")
SHIM = f"""#!/bin/sh
first=$1; shift
if [ "$first" = run ]; then set -- --examples 1 "$@"; fi
exec {sys.executable} -m pulsar_conformance.conformance "$first" "$@"
"""


def workflow(job):
    """Return a workflow of the guide, by the name of a job."""
    return next(one for one in YAML if isinstance(one, dict) and job(one))


def program(file, script):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(script)
    file.chmod(0o755)


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """Return a function that runs lines in a folder with a balancer.

    Commands that would download or install anything are only recorded.
    """
    monkeypatch.chdir(tmp_path)
    assert main(["new-adapter", "--lang", "python"]) == 0
    programs = tmp_path / "programs"
    for name in ("git", "python3", "apt-get", "pip", "rm", "mvn"):
        program(programs / name, f'#!/bin/sh\necho {name} "$@" >> {tmp_path}/noted\n')
    for folder in (programs, tmp_path / "suite" / ".venv" / "bin"):
        program(folder / "pulsar-conformance", SHIM)
    program(tmp_path / "suite" / ".venv" / "bin" / "pip", (programs / "pip").read_text())

    def run(lines):
        variables = ("SUITE", "CI_PROJECT_PATH", "CI_PROJECT_URL", "JOB_NAME", "BUILD_URL")
        path = f"{programs}:{os.environ['PATH']}"
        environment = {**os.environ, **{one: f"my-{one}" for one in variables}, "PATH": path}
        done = subprocess.run(
            ["sh", "-e"], input="\n".join(lines), env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return (tmp_path / "noted").read_text().splitlines()

    return run


def junit_of(folder):
    [file] = folder.glob("*.xml")
    assert ElementTree.parse(file).find("testsuite/testcase") is not None


def test_the_action_takes_what_the_workflow_of_github_gives_it():
    jobs = workflow(lambda one: "jobs" in one)["jobs"]
    [compiles, judges] = next(one for one in YAML if isinstance(one, list))
    assert compiles["run"] == "mvn -q compile"
    assert judges["with"]["adapter"] == PLUG_IN
    [step] = [one for one in jobs["conformance"]["steps"] if one["uses"] == "./suite"]
    assert {*step["with"], *judges["with"]} <= set(ACTION["inputs"])
    assert judges["uses"] == step["uses"]
    named = re.search(r"`adapter`, `lib`.*? and `out` replace", GUIDE, re.DOTALL)[0]
    assert set(re.findall(r"`([a-z-]+)`", named)) == set(ACTION["inputs"]) - {"comment", "token"}


def test_the_steps_of_gitlab_leave_a_report(shell, tmp_path):
    job = workflow(lambda one: "conformance" in one)["conformance"]
    noted = shell([*job["script"], *job["after_script"]])
    assert noted[0] == "git clone --quiet --depth 1 my-SUITE suite"
    assert noted[-1] == "pip install -q -c suite/constraints.txt ./suite"
    [report] = (tmp_path / "conformance").glob("*.json")
    assert json.loads(report.read_text())["project"]["name"] == "my-CI_PROJECT_PATH"
    junit_of(tmp_path / job["artifacts"]["reports"]["junit"].partition("/")[0])


def test_the_steps_of_gitlab_compile_a_plug_in_and_install_what_it_needs(shell, tmp_path):
    whole, parts = (one["conformance"] for one in YAML if "conformance" in one)
    job = {**whole, **parts}
    assert [PLUG_IN in line for line in job["script"]] == [False, False, False, True]
    script = [line.replace(PLUG_IN, BALANCER) for line in job["script"]]
    noted = shell([*job["before_script"], *script, *job["after_script"]])
    assert "apt-get install -q -y --no-install-recommends maven openjdk-17-jdk-headless" in noted
    assert "mvn -q compile" in noted
    assert noted[-1] == "pip install -q -c suite/constraints.txt ./suite[pulsar]"
    junit_of(tmp_path / "conformance")


def test_the_steps_of_jenkins_leave_a_report(shell, tmp_path):
    whole, _ = PIPELINES
    (tmp_path / "noted").touch()
    shell(whole)
    junit_of(tmp_path / "conformance")


def test_the_steps_of_jenkins_compile_a_plug_in(shell, tmp_path):
    [judges, *reports], [compiles, judges_plug_in] = PIPELINES
    assert "run --adapter" in judges
    assert PLUG_IN in judges_plug_in
    noted = shell([compiles, judges_plug_in.replace(PLUG_IN, BALANCER), *reports])
    assert noted == ["mvn -q compile"]
    junit_of(tmp_path / "conformance")


def test_the_steps_of_the_container_install_what_is_there(shell):
    steps = re.findall(r"^RUN (.*)$", CONTAINER, re.MULTILINE)
    noted = shell(steps)
    assert "apt-get install -q -y --no-install-recommends git maven" in noted
    [installed] = [line for line in noted if line.startswith("pip ")]
    extra = re.search(r"/suite\[(\w+)\]", installed)[1]
    assert f"\n{extra} = [" in (ROOT / "pyproject.toml").read_text("utf-8")
    [command] = re.findall(r"^ENTRYPOINT (.*)$", CONTAINER, re.MULTILINE)
    assert json.loads(command) == ["pulsar-conformance"]


def test_what_a_container_is_built_from_is_not_what_was_built():
    ignored = (ROOT / ".dockerignore").read_text("utf-8").split()
    assert {".git", ".nox", ".venv", "reports/out"} <= set(ignored)


def test_the_guide_and_the_kit_link_the_steps_that_install_the_kit():
    """The steps are in the guide, as they are a part of a workflow."""
    section = GUIDE.partition("\n## In a build\n")[2].partition("\n## ")[0]
    readme = (ROOT / "adapters" / "junit" / "README.md").read_text("utf-8")
    assert "(#steps-of-a-build)" in section
    assert "gate-a-plug-in.md#steps-of-a-build)" in readme
    steps = GUIDE.partition("\n### Steps of a build\n")[2].partition("\n### ")[0]
    assert "- run: mvn -q -f suite/adapters/junit/pom.xml install -DskipTests" in steps
