"""What a failure says: commands that can be pasted, JSON and no Python."""

import json
import shlex
from collections import OrderedDict
from pathlib import Path

import pytest
from pulsar_conformance import fixtures, specs
from pulsar_conformance.conformance.cli import main
from pulsar_conformance.conformance.expect import Expect, Violated, as_text
from pulsar_conformance.conformance.plan import Plan
from pulsar_conformance.conformance.respondent import Respondent
from pulsar_conformance.conformance.trial import Question, Trial
from pulsar_conformance.conformance.unlike import unlike
from pulsar_conformance.reference import Readings

PROFILE = "documented-3.0"


def failure_of(example, answers):
    plan = Plan(("reference",), (PROFILE,), {"overload-trigger": "reaches"})
    respondent = Respondent("reference", PROFILE, plan.readings)
    return unlike(specs.load().rules[example.rules[-1]], example, respondent, plan, answers)


WRITTEN = [one for one in fixtures.examples() if one.allowed is not None]
WIDEST = max(WRITTEN, key=lambda one: len(one.allowed) if len(one.questions) == 1 else 0)
TOGETHER = next(one for one in WRITTEN if len(one.questions) > 1)


@pytest.mark.parametrize("example", [WIDEST, TOGETHER], ids=lambda one: one.id)
def test_an_example_answered_otherwise_is_told_in_json_and_can_be_run_again(example):
    answers = [{"unload": [], "why": "it's quiet"} for _ in example.questions]
    failure = failure_of(example, answers)
    assert failure.case_file == f"fixtures/{example.file}:{example.line}"
    assert failure.derivation[: len(example.arithmetic)] == example.arithmetic
    alone = len(example.questions) == 1
    assert json.loads(failure.answered) == (answers[0] if alone else answers)
    allowed = [json.loads(one) for one in failure.allowed.split(" or ")]
    assert allowed == [list(one) if not alone else one[0] for one in example.allowed]
    nox, _, session, dashes, *words = shlex.split(failure.again)
    assert (nox, session, dashes) == ("nox", "conformance", "--")
    given = dict(zip(words[::2], words[1::2], strict=True))
    assert given["--reading"] == "overload-trigger=reaches"
    assert given["--rules"] == example.rules[-1]
    assert main(["run", *words, "--examples", "1", "--out", "out"]) == 0


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("broker-1", "broker-1"),
        (None, "null"),
        (True, "true"),
        (3, "3"),
        (["a", 'b"'], '["a", "b\\""]'),
        (("a", {"b": None}), '["a", {"b": null}]'),
        (OrderedDict(a=1), '{"a": 1}'),
        (Trial((Question("usage.nic", {}),)).size, "1 case"),
    ],
)
def test_values_are_told_as_json(value, text):
    assert as_text(value) == text


def test_a_value_other_than_demanded_is_told_as_json():
    with pytest.raises(Violated) as violated:
        Expect(Readings({})).equal(None, ["cpu"], "resource")
    assert (violated.value.allowed, violated.value.answered) == ('resource: ["cpu"]', "null")


def test_known_deviations_are_told_in_a_line_each_and_the_stream_keeps_the_text(capfd):
    mistaken = """
class Idle:
    def __init__(self, profile, readings):
        pass

    def hello(self, profile, readings):
        return {"name": "idle", "version": "1", "operations": ["usage.max"], "readings": readings}

    def answer(self, operation, case):
        return {"percent": 0, "resource": None}
"""
    Path("idle.py").write_text(mistaken)
    known = [
        {"rule": f"USAGE-0{number}", "reason": "Not yet.", "link": "https://example.org"}
        for number in (1, 2)
    ]
    Path("known.json").write_text(json.dumps(known))
    words = ["run", "--adapter", "python:idle:Idle", "--rules", "USAGE-0[12]", "--examples", "3"]
    assert main([*words, "--known-deviations", "known.json"]) == 0
    said = capfd.readouterr().out
    assert "violated" not in said
    assert "smallest case" not in said
    for number in (1, 2):
        assert f"  deviation: USAGE-0{number} (idle 1): Not yet. (https://example.org)\n" in said
    _, *verdicts = map(json.loads, Path("reports/out/verdicts.jsonl").read_text().splitlines())
    assert all(one["failure"]["answered"] for one in verdicts)
