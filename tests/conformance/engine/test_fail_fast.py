"""`run --fail-fast` ends at the first broken rule."""

import json
import os
from pathlib import Path

import pytest
from pulsar_conformance import fixtures
from pulsar_conformance.conformance.commands.main import main
from standins.variants import Same

TESTS = Path(__file__).parents[2]

RULES = ("--rules", "OVERLOAD-*", "--examples", "20")
ENDED = "the run ended at the first broken rule, and says nothing about the others"
WORKED = [question for one in fixtures.examples() for question in one.questions]


class Idle(Same):
    """Sheds nothing, and answers all other questions as the model does."""

    def answer(self, operation, case):
        return {"unload": []} if operation == "shed.select" else super().answer(operation, case)


class Memorizing(Idle):
    """Answers as the model does in a case that a worked example has."""

    def answer(self, operation, case):
        known = (operation, case) in WORKED
        return self.model.answer(operation, case) if known else super().answer(operation, case)


@pytest.fixture
def verdicts(tmp_path, monkeypatch):
    """Judge an implementation; return the exit status and the lines of the verdict stream."""
    monkeypatch.chdir(tmp_path)
    paths = [str(TESTS), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))

    def judge(adapter, *options):
        status = main(["run", "--adapter", adapter, *RULES, *options])
        stream = (tmp_path / "reports" / "out" / "verdicts.jsonl").read_text("utf-8")
        return status, [json.loads(line) for line in stream.splitlines()[1:]]

    return judge


def test_examples_show_a_fault_before_cases_are_drawn(verdicts, capsys):
    status, [verdict] = verdicts(f"python:{__name__}:Idle", "--fail-fast")
    assert (status, verdict["verdict"], verdict.get("drawn", 0)) == (1, "fail", 0)
    assert verdict["failure"]
    assert ENDED in capsys.readouterr().out


def test_some_cases_are_drawn_if_the_examples_show_no_fault(verdicts):
    status, [verdict] = verdicts(f"python:{__name__}:Memorizing", "--fail-fast")
    assert (status, verdict["verdict"]) == (1, "fail")
    assert 0 < verdict["drawn"] <= 15


def test_a_run_without_a_fault_has_the_usual_verdicts(verdicts):
    assert verdicts("reference", "--fail-fast") == verdicts("reference")
