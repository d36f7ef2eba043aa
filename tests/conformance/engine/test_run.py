"""A complete run: the stream, the exit status, saved cases, known deviations and mistakes."""

import json
import os
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest
from pulsar_conformance import specs
from pulsar_conformance.adapters import Limits
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.conformance.common.events import Verdict
from pulsar_conformance.conformance.engine.attribute import Findings
from pulsar_conformance.conformance.engine.evaluate import Outcome
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.judge import AppliedRule, JudgedImplementation
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.report import verdict_if_unreached
from pulsar_conformance.conformance.engine.run import Run
from sampling import one_in

TESTS = Path(__file__).parents[2]
MAIN = "import sys; from pulsar_conformance.conformance.commands.main import main; sys.exit(main())"
NULL = "python:standins.nulls:RandomLegal"
BROKEN = f"exec:{sys.executable} {TESTS / 'standins' / 'broken.py'}"
STREAM = Path("reports") / "out" / "verdicts.jsonl"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))


def run(*words, cwd=".", before=""):
    Path(cwd).mkdir(exist_ok=True)
    command = [sys.executable, "-c", before + MAIN, "run", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)


def stream(cwd="."):
    first, *verdicts = map(json.loads, (Path(cwd) / STREAM).read_text("utf-8").splitlines())
    return first, {verdict["rule"]: verdict for verdict in verdicts}


def judged(adapter, *words, cwd="."):
    done = run("--adapter", adapter, "--examples", "3", *words, cwd=cwd)
    assert "Traceback" not in done.stdout + done.stderr
    return done.returncode, *stream(cwd)


@pytest.mark.parametrize(("adapter", "areas"), one_in(2, [(NULL, "US*"), ("reference", "[A-OU]*")]))
def test_workers_change_nothing(adapter, areas):
    for name, words in {"one": (), "four": ("--", "-n", "4")}.items():
        run("--adapter", adapter, "--examples", "3", "--rules", areas, *words, cwd=name)
    one, four = (Path(name, STREAM).read_text("utf-8") for name in ("one", "four"))
    assert one == four
    validator = jsonschema.Draft202012Validator(specs.schema("verdicts"))
    for line in one.splitlines():
        validator.validate(json.loads(line))
    chosen = [rule for rule in specs.load().rules_of("documented-3.0") if not rule.untestable]
    assert list(stream("one")[1]) == [rule.id for rule in chosen if fnmatchcase(rule.id, areas)]
    saved = [sorted(Path(name).glob(".conformance/cases/*/*.json")) for name in ("one", "four")]
    assert [one.name for one in saved[0]] == [one.name for one in saved[1]]


def test_nothing_is_written_but_verdicts_and_what_is_for_another_run():
    judged(NULL, "--rules", "USAGE-*")
    assert sorted(path.name for path in Path().iterdir()) == [".conformance", "reports"]


def test_a_failing_case_is_saved_judged_first_and_replayed_on_another():
    status, first, found = judged(NULL, "--rules", "USAGE-*")
    assert status == 1
    assert first["saved_cases"] == []
    file = found["USAGE-01"]["failure"]["case_file"]
    assert json.loads(Path(file).read_text("utf-8"))["ask"] == "usage.max"
    assert f"--replay {file}" in found["USAGE-01"]["failure"]["again"]

    status, first, found = judged("reference", "--rules", "USAGE-*")
    assert status == 0
    assert len(first["saved_cases"]) == len(list(Path(".conformance/cases").glob("*/*.json"))) > 0
    assert any(one.startswith(Path(file).stem) for one in first["saved_cases"])
    assert found["USAGE-01"]["saved"] > 0
    assert found["USAGE-01"]["drawn"] == 3

    status, first, found = judged("reference", "--replay", file)
    assert status == 0
    assert len(first["saved_cases"]) == 1
    assert found["USAGE-01"]["verdict"] == "pass"
    assert {(one["saved"], one["drawn"], one["reached"]) for one in found.values()} == {(1, 0, 1)}


def test_a_saved_case_of_any_operation_disturbs_no_rule():
    status, _, _ = judged("python:standins.nulls:Nothing", "--rules", "BUNDLE-0[1-5]")
    assert status == 1
    judged("python:standins.nulls:Nothing", "--rules", "SPLIT-*")
    status, _, found = judged("reference", "--rules", "BUNDLE-*", "--rules", "SPLIT-*")
    assert status == 0
    rules = specs.load().rules_of("documented-3.0")
    judged_by = [rule.id for rule in rules if rule.area in ("BUNDLE", "SPLIT")]
    assert [rule for rule in judged_by if rule not in found] == []


def test_a_saved_failure_is_held_against_the_rules_that_speak_of_it_alone():
    """A run that draws a case and a run that has it saved find the same broken rules."""
    words = ("python:standins.variants:Speechless", "--rules", "BUNDLE-*")
    for saved in (0, 1):
        status, _, found = judged(*words)
        assert status == 1
        assert [one for one, line in found.items() if line["verdict"] == "fail"] == ["BUNDLE-04"]
        assert {line["saved"] for rule, line in found.items() if rule == "BUNDLE-04"} == {saved}


def test_a_check_that_breaks_is_no_pass():
    broken = """
from dataclasses import replace
from pulsar_conformance.conformance.catalogue import checks
checks()["USAGE-02"] = replace(checks()["USAGE-02"], predicate=None)
"""
    done = run("--adapter", "reference", "--examples", "3", "--rules", "USAGE-*", before=broken)
    assert done.returncode == 2
    assert "USAGE-02" in done.stdout


@pytest.mark.parametrize(
    ("adapters", "said"),
    [
        (["exec:./nowhere"], ["exec:./nowhere: start: command not found: ./nowhere"]),
        (
            ["exec:./nowhere", "python:nowhere:Good"],
            ["command not found", "python:nowhere:Good: start: can't import nowhere"],
        ),
    ],
)
def test_if_no_implementation_starts_only_the_reasons_are_printed(adapters, said):
    done = run(*(word for name in adapters for word in ("--adapter", name)))
    assert done.returncode == 2
    assert not done.stdout.strip()
    assert "Traceback" not in done.stderr
    shown = " ".join(done.stderr.split())
    assert [shown.count(one) for one in said] == [1] * len(said)


def test_an_implementation_that_does_not_start_hinders_no_other():
    words = ("--adapter", "exec:./nowhere", "--adapter", "reference", "--rules", "USAGE-01")
    done = run(*words, "--examples", "2")
    assert done.returncode == 2
    assert "command not found" in done.stdout
    verdicts = [json.loads(line) for line in STREAM.read_text("utf-8").splitlines()[1:]]
    assert sorted(one["verdict"] for one in verdicts) == ["error", "pass"]


def test_a_run_that_is_stopped_says_so():
    stopping = """
from pulsar_conformance.conformance.engine.evaluate import Outcome
from pulsar_conformance.conformance.engine.run import Run
from pulsar_conformance.conformance.common.events import Verdict
judge, judged = Run.verdict, []
def verdict(self, rule):
    if judged:
        raise KeyboardInterrupt
    judged.append(rule)
    return judge(self, rule)
Run.verdict = verdict
"""
    done = run(
        "--adapter", "reference", "--rules", "USAGE-0[12]", "--examples", "2", before=stopping
    )
    assert done.returncode == 130
    saved = Path("reports", "out", "verdicts.jsonl")
    said = f"pulsar-conformance: interrupted after 1 verdict, saved in {saved}"
    assert " ".join(done.stderr.split()) == said
    assert "KeyboardInterrupt" not in done.stdout
    assert len(saved.read_text("utf-8").splitlines()) == 2


RARE = """
from pulsar_conformance.reference import Model

class Rare(Model):
    def hello(self, profile, readings):
        return {"name": "rare", "version": "1", "batch": 100, "operations": ["usage.max"]}

    def answer(self, operation, case):
        if case["broker"].get("cpu", {}).get("usage") == 77.125:
            return {"percent": 0, "resource": None}
        return super().answer(operation, case)
"""


def test_a_known_deviation_is_not_stale_where_its_own_case_shows_it():
    Path("rare_balancer.py").write_text(RARE, "utf-8")
    case = {"settings": {}, "weighted": False, "broker": {"cpu": {"usage": 77.125, "limit": 100}}}
    Path("rare.json").write_text(json.dumps({"ask": "usage.max", "case": case}), "utf-8")
    entry = {"rule": "USAGE-01", "reason": "It guesses.", "link": "https://example.org/1"}
    words = ("--known-deviations", "known.json", "--rules", "USAGE-01", "--examples", "1")
    for more, status, word in (
        ({}, 1, "unexpected_pass"),
        ({"cases": ["rare.json"]}, 0, "known_deviation"),
    ):
        Path("known.json").write_text(json.dumps([{**entry, **more}]), "utf-8")
        ended, _, found = judged("python:rare_balancer:Rare", *words)
        assert (ended, found["USAGE-01"]["verdict"]) == (status, word)


@pytest.mark.parametrize(
    ("answers", "status", "word"),
    [
        ("0 %", 0, "known_deviation"),
        # It is broken in another way than that version is.
        ("1 %", 0, "pass"),
    ],
)
def test_a_known_deviation_of_another_version_applies_where_its_case_shows_it(
    answers, status, word
):
    Path("rare_balancer.py").write_text(RARE, "utf-8")
    case = {"settings": {}, "weighted": False, "broker": {"cpu": {"usage": 77.125, "limit": 100}}}
    Path("rare.json").write_text(json.dumps({"ask": "usage.max", "case": case}), "utf-8")
    entry = {"rule": "USAGE-01", "reason": "It guesses.", "link": "https://example.org/1"}
    entry |= {"implementation": "rare 0.9", "cases": ["rare.json"], "answers": answers}
    Path("known").mkdir()
    Path("known", "rare.yaml").write_text(json.dumps([entry]), "utf-8")
    words = ("--known-deviations", "known", "--rules", "USAGE-01", "--examples", "1")
    ended, _, found = judged("python:rare_balancer:Rare", *words)
    assert (ended, found["USAGE-01"]["verdict"]) == (status, word)
    shown = "known from rare 0.9, and its case fails here as well: It guesses."
    assert found["USAGE-01"].get("why", "").startswith(shown) == (word == "known_deviation")


def test_known_deviations_are_strict():
    listed = [{"rule": "USAGE-01", "reason": "It guesses.", "link": "https://example.org/1"}]
    Path("known.json").write_text(json.dumps(listed), "utf-8")
    known = ("--known-deviations", "known.json", "--rules", "USAGE-01")
    status, first, found = judged(NULL, *known)
    assert (status, found["USAGE-01"]["verdict"]) == (0, "known_deviation")
    assert "It guesses." in found["USAGE-01"]["why"]
    assert first["known_deviations"] == ["USAGE-01 *"]
    done = run("--adapter", "reference", "--examples", "3", *known)
    assert (done.returncode, stream()[1]["USAGE-01"]["verdict"]) == (1, "unexpected_pass")
    assert "\n1 unexpected pass in " in done.stdout


FILES = {
    "usage.json": '{"ask": "usage.max", "case": {"settings": {}, "weighted": false, "broker": {}}}',
    "illegal.json": '{"ask": "usage.nic", "case": {"settings": {}, "nics": []}}',
    "twice.yaml": "- {rule: USAGE-01, reason: r, link: l}\n" * 2,
    "unknown.yaml": "- {rule: USAGE-99, reason: r, link: l}\n",
    "broken.yaml": "- {rule: USAGE-01, reason\n",
}
MISTAKES = {
    "no such profile": (["--judge-by", "documented-9.9"], "documented-9.9 is not a profile"),
    "no such reading": (["--reading", "no-such=one"], "no-such is not a reading"),
    "no such value": (["--reading", "overload-amount=two"], "overload-amount"),
    "no such rule": (["--rules", "OVERLAOD-*"], "OVERLAOD-* is not a rule"),
    "no such kind": (["--adapter", "pyhton:a:b"], "did you mean python"),
    "no examples": (["--examples", "0"], "--examples 0"),
    "no such file": (["--replay", "absent.json"], "absent.json"),
    "an illegal case": (["--replay", "illegal.json"], "illegal.json: case.nics"),
    "a case that no rule concerns": (
        ["--rules", "OVERLOAD-*", "--replay", "usage.json"],
        "the case is about usage.max, which no selected rule judges",
    ),
    "a file where the products go": (["--out", "broken.yaml/out"], "broken.yaml is a file"),
    "no such deviations": (["--known-deviations", "no.yaml"], "no.yaml:1: cannot be read: No such"),
    "a deviation listed twice": (["--known-deviations", "twice.yaml"], "twice.yaml:2"),
    "a deviation of no rule": (["--known-deviations", "unknown.yaml"], "unknown.yaml:1"),
    "deviations that are no YAML": (["--known-deviations", "broken.yaml"], "broken.yaml:"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_clear_message(mistake, capfd):
    for name, text in FILES.items():
        Path(name).write_text(text, "utf-8")
    words, told = MISTAKES[mistake]
    adapter = [] if "--adapter" in words else ["--adapter", "reference"]
    assert main(["run", *adapter, *words]) == 2
    out, said = capfd.readouterr()
    assert told in said
    assert (said.startswith("pulsar-conformance: "), len(said.splitlines()), out) == (True, 1, "")


def test_a_damaged_saved_case_is_named(capfd):
    file = Path(".conformance/cases/usage.max/ab.json")
    file.parent.mkdir(parents=True)
    file.write_text('{"ask": "usage.max", "cas', "utf-8")
    assert main(["run", "--adapter", "reference"]) == 2
    said = capfd.readouterr().err
    assert said.startswith(f"pulsar-conformance: {file}: ")
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(
    "adapter",
    [
        f"{BROKEN} exits_at_once",
        f"{BROKEN} answers_with_text",
        f"{BROKEN} answers_too_few",
    ],
)
def test_an_unusable_adapter_is_an_error_and_no_failure(adapter):
    status, _, found = judged(adapter, "--rules", "USAGE-0[1-4]", "--rules", "SHED-0[1-4]")
    assert status == 2
    assert {one["verdict"] for one in found.values()} == {"error"}
    assert all(one["why"] and one["failure"] is None for one in found.values())


@pytest.mark.parametrize(
    "bug", ["hangs_in_a_batch", "floods_stdout", "exits_in_mid_batch", "answers_outside_the_schema"]
)
def test_an_adapter_that_breaks_later_is_an_error(bug):
    short = Limits(start=20, base=0.5, per_case=0, output_bytes=1 << 20)
    adapter = f"{BROKEN} {bug}"
    rules = ["OVERLOAD-0[1-4]"]
    plan = Plan.make([adapter], ["documented-3.0"], rules=rules, examples=2, limits=short)
    made = Run(plan, adapter, "documented-3.0")
    verdicts = [made.verdict(rule) for rule in plan.rules_of("documented-3.0")]
    made.close()
    assert {one.verdict for one in verdicts} == {"error"}
    assert {one.exit_status(2) for one in verdicts} == {2}


@pytest.mark.parametrize("rules", ["SHED-01", "SHED-0*"])
def test_answering_twice_is_an_error_of_the_protocol_whatever_rules_are_chosen(rules, tmp_path):
    adapter = f"{BROKEN} answers_after_the_line_end"
    plan = Plan.make([adapter], ["documented-3.0"], rules=[rules], examples=12, root=tmp_path)
    made = Run(plan, adapter, "documented-3.0")
    verdicts = [made.verdict(rule) for rule in made.rules]
    made.close()
    asked = [one for one in verdicts if one.verdict != "not_applicable"]
    assert {one.verdict for one in asked} == {"error"}
    assert all("answer each message once" in one.why for one in asked)


def test_saved_cases_of_other_rules_do_not_make_a_rule_applicable():
    verdict = Verdict("SPLIT-13", "mine", "documented-2.10", "must", "pass")
    origins = ("saved", "example", "drawn")
    tried = [(SimpleNamespace(origin=origin), []) for origin in origins]
    subject = JudgedImplementation.before_asking(Implementation("reference", "documented-2.10", {}))
    hearing = AppliedRule(specs.load().rules[verdict.rule], subject)
    declined = Outcome("unsupported", why="no such algorithm")
    outcomes = [Outcome("not_reached", why="not given"), declined, declined]
    found = verdict_if_unreached(verdict, Findings(hearing, tried, outcomes))
    assert (found.verdict, found.why) == ("not_applicable", "no such algorithm")
    assert (
        verdict_if_unreached(verdict, Findings(hearing, tried[:1], outcomes[:1])).verdict
        == "unexercised"
    )


def test_chosen_rules_that_judge_nothing_do_not_hold_a_gate(tmp_path, capsys):
    words = ["run", "--adapter", "sample:java", "--rules", "OWN-*", "--out", str(tmp_path)]
    assert main(words) == 1
    assert (
        "nothing was judged: the chosen rules apply to no implementation" in capsys.readouterr().out
    )
