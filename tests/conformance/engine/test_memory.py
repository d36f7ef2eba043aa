"""If an answer depends on earlier questions, the failure says so and can be replayed."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from pulsar_conformance.adapters.reference import ReferenceConnection
from pulsar_conformance.conformance.cases.saved import case_content, load_saved, trial_of
from pulsar_conformance.conformance.common.trial import Question, Trial
from pulsar_conformance.conformance.engine import confirm
from pulsar_conformance.conformance.engine import implementation as implementations
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.run import Run
from sampling import one_in
from standins.rememberers import REMEMBERING, EachThird, StaleUsage

PROFILE = "documented-3.0"
TESTS = Path(__file__).parents[2]
MAIN = "import sys; from pulsar_conformance.conformance.commands.main import main; sys.exit(main())"
FEW = 4
"""The fault of each stand-in shows after fewer than this number of earlier questions."""


@pytest.fixture
def connected(monkeypatch):
    """Return a function that replaces `reference` by another implementation in this process."""

    def connect(kind):
        def made(name, profile, readings, *_limits):
            return kind(name, profile, readings)

        monkeypatch.setattr(implementations, "connect", made)

    return connect


def verdicts(root, rules, replay=None):
    plan = Plan.make(["reference"], [PROFILE], rules=[rules], examples=20, root=root, replay=replay)
    run = Run(plan, "reference", PROFILE)
    try:
        return {rule.id: run.verdict(rule) for rule in run.rules}
    finally:
        run.close()


def _is_worked_example(failure):
    """True if the failing case is a worked example, whose file exists already."""
    return failure.size.startswith("worked example")


@pytest.mark.parametrize("kind", one_in(3, REMEMBERING), ids=lambda kind: kind.__name__)
def test_a_failure_of_memory_is_a_row_that_fails_when_it_is_replayed(kind, connected, tmp_path):
    connected(kind)
    found = verdicts(tmp_path, REMEMBERING[kind])
    failed = [
        one
        for one in found.values()
        if one.verdict == "fail" and not _is_worked_example(one.failure)
    ]
    rows = [one for one in failed if load_saved(tmp_path / one.failure.case_file).trial.before]
    assert rows, {rule: one.verdict for rule, one in found.items()}
    for one in rows:
        alone, after = one.failure.answers
        assert alone.startswith("asked alone: ")
        assert after.startswith("asked after ")
        assert alone.partition(": ")[2] != after.partition(": ")[2]
        file = tmp_path / one.failure.case_file
        assert len(load_saved(file).trial.before) < FEW
        again = verdicts(tmp_path / "again", one.rule, str(file))
        assert again[one.rule].verdict == "fail"
        assert again[one.rule].failure.answers == one.failure.answers
    connected(ReferenceConnection)
    for one in rows:
        again = verdicts(tmp_path / "model", one.rule, str(tmp_path / one.failure.case_file))
        assert again[one.rule].verdict == "pass"


def test_what_fails_alone_is_no_failure_of_memory(connected, tmp_path):
    class Low(ReferenceConnection):
        def _answer(self, operation, case):
            answer = super()._answer(operation, case)
            return {**answer, "percent": 0} if operation == "usage.max" else answer

    connected(Low)
    found = verdicts(tmp_path, "USAGE-*")
    failed = [one for one in found.values() if one.verdict == "fail"]
    assert failed
    for one in failed:
        assert all(not line.startswith("asked") for line in one.failure.answers)
        assert not load_saved(tmp_path / one.failure.case_file).trial.before


def test_a_row_is_asked_in_its_order_after_a_start(connected):
    connected(EachThird)
    one = Implementation("reference", PROFILE, {})
    case = {"settings": {}, "weighted": False, "broker": {"cpu": {"usage": 50, "limit": 100}}}
    trial = Trial.of("usage.max", case)
    question = Question("usage.max", case)
    [[first], [third], [again]] = one.answers(
        [trial, trial.after([question, question]), trial.after([question] * 3)]
    )
    assert [answer["percent"] for answer in (first, third, again)] == [50, 0, 50]


def test_a_row_is_a_file_of_its_own():
    case = {"settings": {}, "weighted": False, "broker": {}}
    trial = Trial.of("usage.max", case)
    row = trial.after(trial.questions)
    assert row.fingerprint != trial.fingerprint
    assert trial_of(json.loads(json.dumps(case_content(row)))) == row
    assert row.size.startswith("2 cases")


def test_no_more_rows_are_looked_for_than_tell_something(connected, tmp_path, monkeypatch):
    monkeypatch.setattr(confirm, "MAX_SEQUENCES", 1)
    connected(StaleUsage)
    found = verdicts(tmp_path, "USAGE-*")
    failed = [one.failure for one in found.values() if one.verdict == "fail"]
    others = [one for one in failed if not load_saved(tmp_path / one.case_file).trial.before]
    assert len(others) == len(failed) - 1 > 0
    for one in others:
        assert one.answered.endswith("asked alone, the case gets an allowed answer")


class Random50(ReferenceConnection):
    """Answers `usage.max` with 0 % at random, in one of 50 questions on average."""

    def __init__(self, *given):
        super().__init__(*given)
        self.chance = random.Random(len(STARTED))
        STARTED.append(self)

    def _answer(self, operation, case):
        answer = super()._answer(operation, case)
        low = operation == "usage.max" and self.chance.random() < 1 / 50
        return {**answer, "percent": 0} if low else answer


STARTED = []


def test_an_implementation_that_answers_at_random_is_restarted_few_times(connected, tmp_path):
    """The number of restarts is limited, although an implementation answers at random.

    A restart may take a second, and all earlier questions are asked again afterwards.
    """
    STARTED.clear()
    connected(Random50)
    plan = Plan.make(["reference"], [PROFILE], rules=["USAGE-*"], examples=100, root=tmp_path)
    run = Run(plan, "reference", PROFILE)
    failed = [one for one in map(run.verdict, run.rules) if one.verdict == "fail"]
    run.close()
    assert failed
    few = (
        confirm.TRIED_AT_EVERY_LENGTH + 4
    )  # The last few questions, then all of them, then the case alone.
    assert len(STARTED) <= 1 + few * confirm.MAX_RANDOM


SCRIPT = """
from pulsar_conformance.reference import Model

class Shares(Model):
    settings = {}

    def hello(self, profile, readings):
        return {"name": "shares", "operations": ["usage.max"]}

    def answer(self, operation, case):
        self.settings.update(case["settings"])
        return super().answer(operation, {**case, "settings": self.settings})
"""


def test_a_program_is_started_again_for_each_row(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("balancer.py").write_text(SCRIPT, "utf-8")
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))

    def run(*words):
        words = ["run", "--adapter", "python:balancer:Shares", "--rules", "USAGE-02", *words]
        done = subprocess.run([sys.executable, "-c", MAIN, *words], capture_output=True, text=True)
        assert done.returncode == 1, done.stdout + done.stderr
        lines = Path("reports/out/verdicts.jsonl").read_text("utf-8").splitlines()[1:]
        return done.stdout, [one for one in map(json.loads, lines) if one["failure"]]

    out, failed = run("--examples", "5")
    assert "asked alone: " in out
    file = next(one["failure"]["case_file"] for one in failed if one["failure"]["answers"])
    assert json.loads(Path(file).read_text("utf-8"))["after"]
    out, failed = run("--replay", file)
    assert failed
    assert "asked alone: " in out
