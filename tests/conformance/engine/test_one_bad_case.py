"""One case makes an implementation crash, hang, refuse, or give an unusable answer."""

import copy
import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.conformance.cases.saved import case_file_path, load_saved, save
from pulsar_conformance.conformance.catalogue import OPERATIONS
from pulsar_conformance.conformance.common.trial import CRASHED_ON_CASE, Trial, canonical
from pulsar_conformance.conformance.engine import implementation as implementations
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.isolate import MAX_CRASHES
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.reduce import MAX_MESSAGES
from pulsar_conformance.conformance.engine.run import Run
from pulsar_conformance.reference import Model
from sampling import one_in
from standins.breaking import SAID, breaking

PROFILE = "unwritten-3.0"
CASES, BAD, MOST = 900, 613, 26
TESTS = Path(__file__).parents[2]
MAIN = "import sys; from pulsar_conformance.conformance.commands.main import main; sys.exit(main())"


def implementation(monkeypatch, how, bad):
    connected, asked = breaking(how, bad)
    monkeypatch.setattr(implementations, "connect", connected)
    return Implementation("reference", PROFILE, {}, patient=True), asked


def answers(one, operation, cases):
    return [row[0] for row in one.answers([Trial.of(operation, case) for case in cases])]


@pytest.mark.parametrize("how", SAID)
@pytest.mark.parametrize("operation", one_in(4, OPERATIONS))
def test_the_case_is_distinguished_from_900_and_all_others_are_answered(
    operation, how, monkeypatch
):
    example = OPERATIONS[operation].examples[0]
    cases = [{**copy.deepcopy(example), "number": n} for n in range(CASES)]
    one, asked = implementation(monkeypatch, how, lambda _, case: case is cases[BAD])
    found = answers(one, operation, cases)
    right = Model(PROFILE).answer(operation, example)
    assert [place for place, answer in enumerate(found) if answer != right] == [BAD]
    assert SAID[how] in found[BAD]["failed"]
    assert not found[BAD]["failed"].startswith(operation)
    assert len(asked) - 1 == found[BAD][CRASHED_ON_CASE] <= MOST


def test_it_is_not_asked_again(monkeypatch):
    example = OPERATIONS["shed.select"].examples[0]
    cases = [{**copy.deepcopy(example), "settings": {"number": n}} for n in range(20)]
    bad = canonical(cases[3])
    one, asked = implementation(monkeypatch, "crashes", lambda _, case: canonical(case) == bad)
    first = answers(one, "shed.select", cases)
    asked.clear()
    assert answers(one, "shed.select", cases) == first
    assert asked == [len(cases) - 1]


def test_several_bad_cases_are_distinguished(monkeypatch):
    cases = [{**OPERATIONS["usage.max"].examples[0], "number": n} for n in range(100)]
    places = [0, 50, 99]
    bad = {id(cases[place]) for place in places}
    one, asked = implementation(monkeypatch, "crashes", lambda _, case: id(case) in bad)
    with pytest.raises(AdapterError):  # Each of the cases that are asked first.
        answers(one, "usage.max", cases)
    assert len(asked) == 4
    bad.remove(id(cases[50]))
    found = answers(one, "usage.max", cases)
    assert [place for place, answer in enumerate(found) if "failed" in answer] == [0, 99]


@pytest.mark.parametrize("how", SAID)
def test_who_breaks_on_every_case_is_asked_little_more(how, monkeypatch):
    cases = [{**OPERATIONS["usage.max"].examples[0], "number": n} for n in range(CASES)]
    one, asked = implementation(monkeypatch, how, lambda *_: True)
    with pytest.raises(AdapterError, match=r"^reference: "):
        answers(one, "usage.max", cases)
    assert len(asked) <= MAX_CRASHES + 1


UNIFORM = "UniformLoadShedder"


@pytest.mark.parametrize("how", SAID)
def test_who_breaks_on_every_case_of_a_strategy_is_judged_by_the_others(how, monkeypatch, tmp_path):
    rules = ["SHED-0*", "UNIFORM-*", "OVERLOAD-*"]
    plain = verdicts(tmp_path / "without", "documented-3.0", rules)
    connected, asked = breaking(how, lambda _, case: str(case.get("strategy")).endswith(UNIFORM))
    monkeypatch.setattr(implementations, "connect", connected)
    found = verdicts(tmp_path / "with", "documented-3.0", rules)
    [broken] = [rule for rule, one in found.items() if one.verdict == "fail"]
    assert SAID[how] in found[broken].failure.answered
    others = [rule for rule in plain if not rule.startswith("UNIFORM") and rule != broken]
    assert [found[rule].verdict for rule in others] == [plain[rule].verdict for rule in others]
    silent = {one.verdict for rule, one in found.items() if rule not in (broken, *others)}
    assert silent <= {"not_applicable", "unexercised"}
    assert len(cases_in(tmp_path / "with")) == 1
    assert len(asked) <= MAX_MESSAGES + 8, "those that find and reduce it, and the others' own"


def test_what_breaks_on_no_single_case_is_said_so(monkeypatch):
    cases = [{**OPERATIONS["usage.max"].examples[0], "number": n} for n in range(9)]
    one, asked = implementation(monkeypatch, "crashes", lambda *_: len(asked) == 1)
    with pytest.raises(AdapterError, match="exited with status 7; asked separately, each of these"):
        answers(one, "usage.max", cases)


def test_who_is_not_patient_raises_at_once(monkeypatch):
    connected, asked = breaking("crashes", lambda *_: True)
    monkeypatch.setattr(implementations, "connect", connected)
    one = Implementation("reference", PROFILE, {})
    with pytest.raises(AdapterError):
        answers(one, "usage.max", [OPERATIONS["usage.max"].examples[0]] * 5)
    assert len(asked) == 1


def verdicts(tmp_path, profile, rules):
    plan = Plan.make(["reference"], [profile], rules=rules, examples=6, root=tmp_path)
    run = Run(plan, "reference", profile)
    try:
        return {rule.id: run.verdict(rule) for rule in plan.rules_of(profile)}
    finally:
        run.close()


def told(found):
    return {rule: (one.verdict, one.drawn, one.why) for rule, one in found.items()}


MARK = "77.125"
"""A number that occurs only in the bad case."""

HOT = {"cpu": {"usage": 77.125, "limit": 100}, "memory": {"usage": 5, "limit": 8}}


def with_mark(operation):
    """Return a legal case with the number that no other case has."""
    case = copy.deepcopy(OPERATIONS[operation].examples[0])
    if operation == "usage.max":
        return {**case, "broker": HOT}
    return {**case, "brokers": {**case["brokers"], "hot": HOT}}


def cases_in(root):
    return {file.relative_to(root).as_posix() for file in root.glob(".conformance/cases/*/*.json")}


RUNS = (
    ("unwritten-3.0", ["ANSWER-*"], "shed.select", "ANSWER-05"),
    ("unwritten-3.0", ["ANSWER-*"], "place.select", "ANSWER-05"),
    ("documented-3.0", ["USAGE-*"], "usage.max", "USAGE-01"),
)


def each_way():
    """Return each run combined with each way to break; usual tests try one in eight."""
    return one_in(8, [(*run, how) for run, how in product(RUNS, SAID)])


@pytest.mark.parametrize(("profile", "rules", "operation", "broken", "how"), each_way())
def test_one_verdict_tells_it_and_all_others_stand(
    profile, rules, operation, broken, how, monkeypatch, tmp_path
):
    trial = Trial.of(operation, with_mark(operation))
    found = []
    for name, bad in (("without", lambda *_: False), ("with", lambda _, c: MARK in canonical(c))):
        save(trial, tmp_path / name, {})
        connected, asked = breaking(how, bad)
        monkeypatch.setattr(implementations, "connect", connected)
        found.append(verdicts(tmp_path / name, profile, rules))
    without, found = found
    others = {rule: one for rule, one in told(found).items() if rule != broken}
    assert others == {rule: one for rule, one in told(without).items() if rule != broken}
    assert {one.verdict for one in without.values()} <= {"pass", "not_applicable", "unexercised"}
    failure = found[broken].failure
    assert failure.allowed == "an answer"
    assert SAID[how] in failure.answered
    assert cases_in(tmp_path / "with") == {failure.case_file, case_file_path(trial).as_posix()}
    small = load_saved(tmp_path / "with" / failure.case_file).trial
    assert MARK in canonical(small.as_json())
    assert len(canonical(small.as_json())) < len(canonical(trial.as_json()))
    assert len(asked) <= len(OPERATIONS) * 2 + 40


SCRIPT = """
import os, sys, time
from pulsar_conformance.reference import Model

class OnOne(Model):
    def hello(self, profile, readings):
        return {"name": "on one", "operations": ["usage.max"], "batch": 200}

    def answer(self, operation, case):
        if case["broker"].get("cpu", {}).get("usage") == 77.125:
            BREAKS
        return super().answer(operation, case)
"""
WAYS = {
    "os._exit(7)": "exited with status 7",
    "time.sleep(60)": "wrote nothing for",
    "return {'percent': 'much'}": '"much" is not of type',
    "raise KeyError('oh')": "KeyError: 'oh'",
}


OUTSIDE = ("os._exit(7)", "time.sleep(60)")
"""Ways to break that need another process; the tests above cover those in this process."""


@pytest.mark.parametrize(
    "way",
    [one if one == OUTSIDE[0] else pytest.param(one, marks=pytest.mark.thorough) for one in WAYS],
)
def test_a_program_that_breaks_on_one_case_is_run_again(way, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    Path("balancer.py").write_text(SCRIPT.replace("BREAKS", way), "utf-8")
    case = {"settings": {}, "weighted": False, "broker": {"cpu": {"usage": 77.125, "limit": 100}}}
    file = Path(".conformance/cases/usage.max/abc.json")
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"ask": "usage.max", "case": case}), "utf-8")
    words = ["run", "--adapter", "python:balancer:OnOne", "--rules", "USAGE-0[13]"]
    words += ["--examples", "5", "--time-limit", "4"]
    done = subprocess.run([sys.executable, "-c", MAIN, *words], capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    lines = Path("reports/out/verdicts.jsonl").read_text("utf-8").splitlines()[1:]
    found = {one["rule"]: one for one in map(json.loads, lines)}
    assert {rule: one["verdict"] for rule, one in found.items()} == {
        "USAGE-01": "fail",
        "USAGE-03": "pass",
    }
    assert WAYS[way] in found["USAGE-01"]["failure"]["answered"]
    again = ["run", "--adapter", "python:balancer:OnOne", "--replay"]
    again += [found["USAGE-01"]["failure"]["case_file"], "--time-limit", "4"]
    done = subprocess.run([sys.executable, "-c", MAIN, *again], capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.count(" failed on a case, which counts against USAGE-01") == 1
    assert "violated by" not in done.stdout
