"""A saved case that is replayed is judged only by the rules that it reaches."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pulsar_conformance import specs
from standins.examples import EXAMPLES

TESTS = Path(__file__).parents[2]
MAIN = "import sys; from pulsar_conformance.conformance.commands.main import main; sys.exit(main())"
BROKEN = f"exec:{sys.executable} {TESTS / 'standins' / 'broken.py'}"
STREAM = Path("reports/out/verdicts.jsonl")
SPLIT = {"ask": "bundles.split", "case": EXAMPLES["bundles.split"][0]}
QUIET = {
    "settings": {},
    "strategy": "OverloadShedder",
    "brokers": {"b1": {}, "b2": {}},
    "bundles": {},
    "recentlyUnloaded": {},
}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))


def replayed(question, *words):
    Path("case.json").write_text(json.dumps(question))
    command = [sys.executable, "-c", MAIN, "run", "--replay", "case.json", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert "Traceback" not in done.stdout + done.stderr
    _, *verdicts = map(json.loads, STREAM.read_text().splitlines())
    return done.returncode, done.stdout, verdicts


def test_only_rules_that_the_case_reaches_have_a_verdict():
    status, out, verdicts = replayed(SPLIT, "--adapter", "reference")
    assert status == 0
    assert {one["verdict"] for one in verdicts} == {"pass"}
    assert {one["rule"].split("-")[0] for one in verdicts} == {"SPLIT"}
    assert {one["reached"] for one in verdicts} == {1}
    assert "unexercised" not in out
    assert f"{len(verdicts)} verdicts: {len(verdicts)} pass; {len(verdicts)} cases judged" in out


def test_a_case_that_only_needs_an_answer_is_fixed_once_it_has_one():
    plain = {"brokers": {"b1": {}, "b2": {"cpu": {"usage": 1, "limit": 1}}}}
    question = {"ask": "shed.select", "case": {**QUIET, **plain, "strategy": "org.example.Mine"}}
    status, out, verdicts = replayed(question, "--adapter", "python:standins.nulls:Nothing")
    said = "it is answered now, and no rule of documented-3.0 demands more of this case"
    assert (status, verdicts) == (0, [])
    assert f"Nothing: {said}" in out
    Path("cases").mkdir()
    Path("case.json").rename("cases/case.json")
    done = replayed_folder("--adapter", "python:standins.nulls:Nothing")
    assert done.stdout.startswith("FIXED    cases/case.json\n")
    assert said in " ".join(done.stdout.split())
    chosen = replayed_folder("--adapter", "python:standins.nulls:Nothing", "--rules", "SHED-16")
    assert "UNJUDGED cases/case.json" in chosen.stdout
    raises = "def shed_select(self, case):\n        raise ValueError"
    Path("mine.py").write_text(
        f"from standins.nulls import Nothing\nclass Raises(Nothing):\n    {raises}\n"
    )
    failing = replayed_folder("--adapter", "python:mine:Raises")
    assert failing.stdout.startswith("FAILED   cases/case.json\n")
    assert failing.returncode == 1


@pytest.mark.parametrize("workers", [(), ("--", "-n", "2")])
def test_a_case_that_reaches_no_rule_is_reported_in_one_sentence(workers):
    question = {"ask": "shed.select", "case": QUIET}
    words = ("--adapter", "reference", "--rules", "THRESHOLD-*", *workers)
    status, out, verdicts = replayed(question, *words)
    assert (status, verdicts) == (0, [])
    [said] = [line for line in out.splitlines() if line.startswith("reference ")]
    assert " chosen rules of documented-3.0 applies to this case (" in said
    assert "Judged by" not in out


@pytest.mark.parametrize("workers", [(), ("--", "-n", "2")])
def test_rules_that_do_not_apply_to_a_case_are_listed_with_the_reason(workers):
    status, out, verdicts = replayed(SPLIT, "--adapter", "reference", *workers)
    said = " ".join(out.split())
    assert status == 0
    assert "these rules of documented-3.0 do not apply to this case:" in said
    judged = {one["rule"] for one in verdicts}
    about = [rule for rule in specs.load().rules_of("documented-3.0") if not rule.untestable]
    others = [one.id for one in about if "bundles.split" in one.operations if one.id not in judged]
    assert others
    listed = said.partition("to this case:")[2].partition("Judged by")[0]
    assert [one for one in others if one not in listed] == []
    assert "SPLIT-19: the rule's assumption does not hold: the broker splits" in listed
    assert [one for one in judged if one in listed] == []


def test_who_does_not_offer_the_operation_is_reported_beside_the_verdicts_of_others():
    words = ("--adapter", "reference", "--adapter", f"{BROKEN} works")
    status, out, verdicts = replayed(SPLIT, *words)
    assert status == 0
    assert {one["implementation"] for one in verdicts} == {"reference"}
    [said] = [line for line in out.splitlines() if line.startswith("broken: ")]
    assert " applies to this case (for " in said
    assert said.endswith(" of them: it does not offer bundles.split)")


def test_a_broken_rule_fails_and_one_that_holds_on_one_case_is_no_stale_deviation():
    known = [
        {"rule": rule, "reason": "Not yet.", "link": "https://example.org"}
        for rule in ("USAGE-01", "SPLIT-10", "SPLIT-01")
    ]
    Path("known.json").write_text(json.dumps(known))
    known = ("--known-deviations", "known.json")
    status, _, verdicts = replayed(SPLIT, "--adapter", "reference", *known)
    assert status == 0
    assert {one["verdict"] for one in verdicts} == {"pass"}
    usage = {"ask": "usage.max", "case": EXAMPLES["usage.max"][0]}
    null = ("--adapter", "python:standins.nulls:Nothing", "--rules", "USAGE-01")
    status, out, verdicts = replayed(usage, *null)
    assert (status, [one["verdict"] for one in verdicts]) == (1, ["fail"])
    assert "--replay" in out
    status, _, verdicts = replayed(usage, *null, *known)
    assert (status, [one["verdict"] for one in verdicts]) == (0, ["known_deviation"])


def test_an_adapter_that_cannot_be_asked_is_an_error():
    Path("case.json").write_text(json.dumps(SPLIT))
    words = ["run", "--replay", "case.json", "--adapter", "exec:no-such-program"]
    done = subprocess.run(
        [sys.executable, "-c", MAIN, *words], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout.strip()) == (2, "")
    said = " ".join(done.stderr.split())
    assert "exec:no-such-program: start: command not found: no-such-program" in said
    assert not STREAM.exists()


def test_nothing_is_judged_if_the_only_adapter_lacks_what_its_name_asks_for():
    words = ["run", "--adapter", "python:standins.nulls:Nothink", "--out", "nothing"]
    done = subprocess.run(
        [sys.executable, "-c", MAIN, *words], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 2
    assert "python:standins.nulls:Nothink: start: standins.nulls has no" in done.stderr
    assert "did you mean Nothing?" in done.stderr
    assert done.stdout.strip() == ""
    assert not Path("nothing/verdicts.jsonl").exists()


def replayed_folder(*words):
    command = [sys.executable, "-c", MAIN, "run", "--replay", "cases", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert "Traceback" not in done.stdout + done.stderr
    return done


def test_every_case_of_a_folder_is_reported_as_fixed_failed_or_unusable():
    nothing = "python:standins.nulls:Nothing"
    usage = {"ask": "usage.max", "case": EXAMPLES["usage.max"][0], "profile": "documented-2.10"}
    story = {"ask": "cluster.replay", "case": {"settings": {}, "events": []}}
    for name, content in {"a/usage": usage, "b/split": SPLIT, "c/story": story}.items():
        file = Path("cases", f"{name}.json")
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(content))
    Path("cases/cut.json").write_text("{")
    done = replayed_folder("--adapter", nothing, "--adapter", "reference")
    assert done.returncode == 2
    told = [
        json.loads(line) for line in Path("reports/out/replayed.jsonl").read_text().splitlines()
    ]
    assert [(Path(one["file"]).stem, one["outcome"]) for one in told] == [
        ("usage", "FAILED"),
        ("usage", "FIXED"),
        ("split", "FAILED"),
        ("split", "FIXED"),
        ("story", "FIXED"),
        ("story", "FIXED"),
        ("cut", "ERROR"),
    ]
    assert {one["profile"] for one in told[:2]} == {"documented-2.10"}
    assert "USAGE-01" in told[0]["rules"]
    assert "7 replayed: 4 FIXED, 2 FAILED, 1 ERROR\n" in done.stdout
    assert "ERROR    cases/cut.json\n" in done.stdout
    assert not STREAM.exists()


def test_a_folder_of_fixed_cases_passes_and_mistakes_are_reported_once():
    Path("cases").mkdir()
    done = replayed_folder("--adapter", "reference")
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert said.startswith("pulsar-conformance: --replay cases: there is no case in it")
    for name in ("one", "two"):
        Path("cases", f"{name}.json").write_text(json.dumps(SPLIT))
    assert replayed_folder("--adapter", "reference").returncode == 0
    done = replayed_folder("--adapter", "refrence")
    assert (done.returncode, done.stderr.count("pulsar-conformance: ")) == (2, 1)
    done = replayed_folder("--adapter", "reference", "--", "-n", "2")
    assert done.returncode == 2
    assert "takes no options for pytest" in " ".join(done.stderr.split())
