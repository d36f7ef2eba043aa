"""A failure prints commands that can be pasted, and values as JSON instead of Python."""

import json
import re
import shlex
import sys
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path

import pytest
from pulsar_conformance import fixtures, specs
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.conformance.common.check import Expect, Violated, readable
from pulsar_conformance.conformance.common.events import Failure, Verdict, ignore_event
from pulsar_conformance.conformance.common.trial import Question, Trial
from pulsar_conformance.conformance.engine.confirm import Confirmer
from pulsar_conformance.conformance.engine.draw import SourcedTrial
from pulsar_conformance.conformance.engine.evaluate import Fault, Outcome
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.judge import AppliedRule, JudgedImplementation
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.report import example_failure
from pulsar_conformance.conformance.engine.report import failure_of as failure_of_case
from pulsar_conformance.conformance.reporters.terminal import MAX_LINES, format_failure
from pulsar_conformance.reference import Readings

PROFILE = "documented-3.0"


def failure_of(example, answers):
    plan = Plan(("reference",), (PROFILE,), {"overload-trigger": "reaches"})
    subject = JudgedImplementation.before_asking(
        Implementation("reference", PROFILE, plan.readings)
    )
    trial = Trial(tuple(Question(*question) for question in example.questions))
    applied = AppliedRule(specs.load().rules[example.rules[-1]], subject)
    return example_failure(applied, plan, (SourcedTrial("example", trial, example), answers))


WRITTEN = [one for one in fixtures.examples() if one.allowed is not None]
WIDEST = max(WRITTEN, key=lambda one: len(one.allowed) if len(one.questions) == 1 else 0)
JUDGED = {rule.id for rule in specs.load().rules_of(PROFILE)}
TOGETHER = next(one for one in WRITTEN if len(one.questions) > 1 and JUDGED.issuperset(one.rules))


@pytest.mark.parametrize("example", [WIDEST, TOGETHER], ids=lambda one: one.id)
def test_an_example_answered_otherwise_is_reported_in_json_and_can_be_run_again(example):
    answers = [{"unload": [], "why": "it's quiet"} for _ in example.questions]
    failure = failure_of(example, answers)
    assert failure.case_file == f"fixtures/{example.file}:{example.line}"
    assert failure.derivation[: len(example.arithmetic)] == example.arithmetic
    alone = len(example.questions) == 1
    assert json.loads(failure.answered) == (answers[0] if alone else answers)
    allowed = [json.loads(one) for one in failure.allowed.split(" or ")]
    assert allowed == [list(one) if not alone else one[0] for one in example.allowed]
    python, _, module, run, *words = shlex.split(failure.again)
    assert (python, module, run) == ("python", "pulsar_conformance.conformance", "run")
    given = dict(zip(words[::2], words[1::2], strict=True))
    assert given["--reading"] == "overload-trigger=reaches"
    assert given["--rules"] == example.rules[-1]
    assert main(["run", *words, "--examples", "1", "--out", "out"]) == 0


@pytest.mark.parametrize("example", [WIDEST, TOGETHER], ids=lambda one: one.id)
def test_an_example_answered_otherwise_names_commands_that_explain_it_anywhere(
    example, tmp_path, monkeypatch, capsys
):
    failure = failure_of(example, [{"unload": []} for _ in example.questions])
    rule = specs.load().rules[example.rules[-1]]
    verdict = Verdict(rule.id, "mine", PROFILE, "must", "fail", failure=failure)
    [command] = re.findall(r"^  explained by +(.*)$", format_failure(rule, verdict, "mine 1"), re.M)
    *_, explain, name, by, profile = shlex.split(command)
    assert (explain, name, by, profile) == ("explain", example.id, "--judge-by", PROFILE)
    monkeypatch.chdir(tmp_path)
    shown = set()
    for one in (name, failure.case_file, f"/suite/{failure.case_file}"):
        assert main(["explain", one, by, profile]) == 0
        shown.add(capsys.readouterr().out)
    assert len(shown) == 1


def test_every_example_is_found_by_its_place():
    for example in fixtures.examples():
        assert fixtures.example_named(example.id) is example
        assert fixtures.example_named(f"fixtures/{example.file}:{example.line}") is example
        assert fixtures.example_named(f"fixtures/{example.file}:{example.line + 1}") is example


def test_a_file_of_examples_and_a_bundled_case(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["explain", "fixtures/examples/split.yaml"]) == 2
    assert "it contains worked examples; give the ID of one" in capsys.readouterr().err
    assert main(["explain", "fixtures/examples/split.yaml:1"]) == 2
    [case] = (Path(fixtures.__file__).parent / "cases/bundles.split").glob("64267d313c69.json")
    assert main(["explain", f"fixtures/cases/bundles.split/{case.name}"]) == 0


def test_an_example_answered_otherwise_is_not_said_to_violate_its_rule():
    failure = failure_of(WIDEST, [{"unload": []}])
    rule = specs.load().rules[WIDEST.rules[-1]]
    told = format_failure(
        rule, Verdict(rule.id, "mine", PROFILE, "must", "fail", failure=failure), "mine 1"
    )
    first, *rest = told.splitlines()
    example = f"worked example {WIDEST.id}"
    assert (
        first
        == f"mine 1 does not give the expected answer to {example}, which counts against {rule.id}"
    )
    assert "No rule's check rejects the answer" in " ".join(" ".join(rest).split())
    assert "violated" not in told


@pytest.mark.parametrize(
    ("started", "session", "begins"),
    [
        ("/venv/bin/pulsar-conformance", None, "pulsar-conformance run --adapter"),
        ("/venv/bin/pulsar-conformance", "conformance", "nox -s conformance -- --adapter"),
        ("/lib/__main__.py", None, "python -m pulsar_conformance.conformance run --adapter"),
    ],
)
def test_a_failure_is_seen_again_the_way_it_was_seen(started, session, begins, monkeypatch):
    monkeypatch.setattr(sys, "argv", [started])
    monkeypatch.delenv("NOX_CURRENT_SESSION", raising=False)
    if session:
        monkeypatch.setenv("NOX_CURRENT_SESSION", session)
    assert failure_of(WIDEST, [{"unload": []}]).again.startswith(begins)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NOX_CURRENT_SESSION", raising=False)


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
def test_values_are_printed_as_json(value, text):
    assert readable(value) == text


def test_a_value_other_than_demanded_is_printed_as_json():
    with pytest.raises(Violated) as violated:
        Expect(Readings({})).equal(None, ["cpu"], "resource")
    assert (violated.value.allowed, violated.value.answered) == ('resource: ["cpu"]', "null")


def test_known_deviations_are_reported_in_a_line_each_and_the_stream_keeps_the_text(capfd):
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


def test_a_derivation_of_a_thousand_lines_is_shortened():
    rule, many = specs.load().rules["BUNDLE-10"], tuple(f"line {n}" for n in range(1000))
    short = Failure("case.json", "1000 topics", many[:MAX_LINES], "a", "b", "again")
    for failure, shown in ((short, MAX_LINES), (replace(short, derivation=many), MAX_LINES)):
        verdict = Verdict(rule.id, "it", PROFILE, rule.level, "fail", failure=failure)
        written = format_failure(rule, verdict, "it")
        lines = [line.strip() for line in written.splitlines() if line.startswith("    line ")]
        assert len(lines) == shown
        assert lines[0] == failure.derivation[0]
        assert lines[-1] == failure.derivation[-1]
        left_out = len(failure.derivation) - shown
        assert (f"… {left_out} more lines, which the command explain shows" in written) is (
            left_out > 0
        )


def test_a_long_line_of_a_derivation_continues_below_its_text():
    rule = specs.load().rules["OVERLOAD-02"]
    bundles = "bank/core/0x00000000_0x1c71c71c = 500 MB/s, together 1.5 GB/s, by two"
    derivation = ("b1", f"  goes       {bundles}", " ".join(["by hand"] * 15))
    failure = Failure("case.json", "2 brokers", derivation, "a", "b", "again")
    verdict = Verdict(rule.id, "it", PROFILE, rule.level, "fail", failure=failure)
    lines = format_failure(rule, verdict, "it").splitlines()
    place = lines.index("    b1") + 1
    assert lines[place : place + 2] == [
        "      goes       bank/core/0x00000000_0x1c71c71c = 500 MB/s, together 1.5 GB/s,",
        "                 by two",
    ]
    assert lines[place + 2].startswith("    by hand")
    assert lines[place + 3].startswith("    hand by")
    assert max(map(len, lines)) <= 80


def test_a_fault_that_does_not_show_again_says_what_was_allowed(tmp_path):
    [example] = [one for one in WRITTEN if one.id == "overload-at-75-keeps"]
    [(operation, case)] = example.questions
    shed = {"unload": [{"broker": "b1", "bundle": next(iter(case["bundles"]))}]}
    plan = Plan(("reference",), (PROFILE,), {"overload-trigger": "exceeds"}, root=tmp_path)
    subject = JudgedImplementation.before_asking(
        Implementation("reference", PROFILE, plan.readings)
    )
    outcome = Outcome("violated", "nothing: b1 is not overloaded", "a bundle of b1")
    fault = Fault(Trial((Question(operation, case),)), [shed], outcome)
    rule = specs.load().rules["OVERLOAD-04"]
    applied = AppliedRule(rule, subject)
    failure = failure_of_case(
        applied, Confirmer(plan, ignore_event).with_smallest_case(applied, fault), plan
    )
    assert failure.allowed == outcome.allowed
    assert failure.answered == "a bundle of b1; asked alone, the case gets an allowed answer"
