"""The Allure results of a run, and the report that is made from them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from pulsar_conformance import fixtures, specs
from pulsar_conformance.conformance.common.events import Failure, Verdict
from pulsar_conformance.conformance.common.trial import Question, Trial
from pulsar_conformance.conformance.engine.draw import SourcedTrial
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.judge import AppliedRule, JudgedImplementation
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.report import example_failure
from pulsar_conformance.conformance.reporters import allure_results
from pulsar_conformance.reports import allure

STANDIN = '''
from pulsar_conformance.reference import Model


class Forgetful:
    """Sheds one bundle less than it should, far more in large clusters, and fails at splitting."""

    def __init__(self, profile, readings):
        self.model = Model(profile, readings)

    def hello(self, profile, readings):
        offered = ["shed.select", "bundles.create", "bundles.split"]
        return {"name": "forgetful", "version": "1", "operations": offered, "readings": readings,
                "strategies": ["OverloadShedder"], "algorithms": ["range_equally_divide"]}

    def answer(self, operation, case):
        if operation == "bundles.split":
            return {"nonsense": True}
        if operation == "shed.select" and len(case["brokers"]) > 4:
            settings = {**case["settings"], "loadBalancerBrokerOverloadedThresholdPercentage": 5}
            return self.model.answer(operation, {**case, "settings": settings})
        answer = self.model.answer(operation, case)
        return {"unload": answer["unload"][:-1]} if "unload" in answer else answer
'''
KNOWN = """
- {rule: OVERLOAD-02, reason: it keeps one back, link: "https://example.org/1"}
- {rule: BUNDLE-01, reason: long mended, link: "https://example.org/2"}
"""
RULES = (
    *(f"OVERLOAD-0{number}" for number in (1, 2, 3, 5)),
    *("BUNDLE-01", "BUNDLE-03", "SPLIT-10"),
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Judge a stand-in; return the folder of the run."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "standin.py").write_text(STANDIN)
    (folder / "known.yaml").write_text(KNOWN)
    words = ["run", "--adapter", "python:standin:Forgetful", "--known-deviations", "known.yaml"]
    words += ["--examples", "10", *(word for rule in RULES for word in ("--rules", rule))]
    words = ["-m", "pulsar_conformance.conformance", *words]
    done = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 2, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def results(run):
    """Return the Allure result of each rule."""
    files = (run / "reports" / "out" / "allure").glob("*-result.json")
    found = [json.loads(file.read_text()) for file in files]
    return {result["name"].split()[0]: result for result in found}


def labels(result):
    return {label["name"]: label["value"] for label in result["labels"]}


def message(result):
    return result.get("statusDetails", {}).get("message", "")


def test_each_rule_has_a_result(results):
    assert sorted(results) == sorted(RULES)


@pytest.mark.parametrize(
    ("rule", "status", "said"),
    [
        ("OVERLOAD-01", "failed", "OVERLOAD-01 violated by forgetful 1"),
        ("OVERLOAD-02", "skipped", "known deviation: it keeps one back (https://example.org/1)"),
        ("OVERLOAD-03", "failed", "OVERLOAD-03 violated by forgetful 1"),
        ("BUNDLE-01", "failed", "unexpected pass: listed as a known deviation, but pass"),
        ("BUNDLE-03", "passed", ""),
        ("OVERLOAD-05", "skipped", "not applicable: it follows overload-amount=margin, not one"),
        ("SPLIT-10", "broken", "nonsense"),
    ],
)
def test_a_verdict_has_its_status(results, rule, status, said):
    assert results[rule]["status"] == status
    assert said in message(results[rule])


def test_a_rule_belongs_to_its_area(results):
    found = labels(results["OVERLOAD-01"])
    assert found["epic"] == "Shedding"
    assert "OverloadShedder" in found["feature"]
    assert found["severity"] == "critical"
    assert labels(results["OVERLOAD-05"])["severity"] == "normal"


def test_a_result_names_rule_implementation_and_profile(results):
    result = results["OVERLOAD-01"]
    title = specs.load().rules["OVERLOAD-01"].title
    assert result["name"] == f"OVERLOAD-01 {title} (forgetful 1, documented-3.0)"
    found = labels(result)
    assert found["story"] == f"OVERLOAD-01 {title}"
    suites = [found[name] for name in ("parentSuite", "suite", "subSuite")]
    assert suites == ["forgetful 1", "documented-3.0", "OVERLOAD"]
    parameters = {one["name"]: one["value"] for one in result["parameters"]}
    told = {
        "implementation": "forgetful 1",
        "adapter": "python:standin:Forgetful",
        "profile": "documented-3.0",
    }
    assert parameters.items() >= told.items()


def test_the_settings_that_decide_a_case_are_reported_with_it(results):
    parameters = {one["name"]: one for one in results["OVERLOAD-01"]["parameters"]}
    decides = parameters["loadBalancerBrokerOverloadedThresholdPercentage"]
    assert float(decides["value"].split()[0]) >= 0
    assert decides["excluded"], "or a rule would be another one in the history after each case"
    passed = {one["name"] for one in results["BUNDLE-03"]["parameters"]}
    assert passed == {"implementation", "adapter", "profile"}


def test_a_result_is_the_same_wherever_the_suite_is_installed(results):
    assert results["OVERLOAD-01"]["fullName"] == "rules.overload#OVERLOAD-01"
    assert len({result["historyId"] for result in results.values()}) == len(RULES)


def test_a_result_links_once_to_each_section_of_its_profile(results):
    address = specs.load().documents["load-balance-3.0"].url
    page = "Load balance across brokers, Pulsar 3.0"
    assert address.startswith("https://pulsar.apache.org/docs/3.0")
    assert {link["url"]: link["name"] for link in results["OVERLOAD-02"]["links"]} == {
        f"{address}#shed-load-automatically": f"Shed load automatically: {page}"
    }
    for result in results.values():
        links = [link["url"] for link in result["links"]]
        assert len(set(links)) == len(links) > 0


@pytest.mark.parametrize("rule", RULES)
def test_a_result_has_its_rule_as_it_stands_in_its_file(results, run, rule):
    attached = {one["name"]: one["source"] for one in results[rule]["attachments"]}
    text = (run / "reports" / "out" / "allure" / attached[f"rule {rule}"]).read_text()
    [entry] = yaml.safe_load(text)
    assert (entry["id"], entry["title"]) == (rule, specs.load().rules[rule].title)


def test_the_entry_of_a_rule_is_its_own():
    for rule in specs.load().rules.values():
        entry = yaml.safe_load(allure_results.entry_of(rule))
        if rule.file == "annotations.yaml":
            assert list(entry) == list(rule.settings)
        else:
            assert [one["id"] for one in entry] == [rule.id]


@pytest.mark.parametrize(
    ("rule", "tag"),
    [
        ("OVERLOAD-01", None),
        ("OVERLOAD-02", "known deviation"),
        ("OVERLOAD-03", None),
        ("OVERLOAD-05", "not applicable"),
        ("BUNDLE-01", "unexpected pass"),
        ("BUNDLE-03", None),
        ("SPLIT-10", "error"),
    ],
)
def test_a_verdict_that_allure_has_no_word_for_is_a_tag(results, rule, tag):
    assert labels(results[rule]).get("tag") == tag
    assert f"**{tag.capitalize() if tag else ''}" in results[rule]["description"]


def test_what_the_documents_do_not_demand_is_a_warning():
    rule = specs.load().rules["OVERLOAD-05"]
    failure = Failure("case.json", "2 brokers", (), "one bundle", "two bundles", "again")
    verdict = Verdict(rule.id, "mine", "documented-3.0", rule.level, "fail", failure=failure)
    first, *rest = allure_results.message_of(verdict, "mine 1").splitlines()
    assert first == "warning only, since the rule is not a must: OVERLOAD-05 violated by mine 1"
    assert rest == ["allowed: one bundle", "answered: two bundles"]
    assert verdict.exit_status(enough=True) == 0


@pytest.mark.parametrize(
    ("rule", "answered", "first"),
    [
        ("SHED-02", "failed: KeyError", "mine 1 failed on a case, which counts against SHED-02"),
        ("SHED-02", "refused: no", "mine 1 refused a case, which counts against SHED-02"),
        ("ANSWER-05", "failed: KeyError", "ANSWER-05 violated by mine 1"),
    ],
)
def test_a_case_without_an_answer_is_not_called_a_breach_of_a_rule(rule, answered, first):
    failure = Failure("case.json", "2 brokers", (), "an answer", answered, "again")
    verdict = Verdict(rule, "mine", "documented-3.0", "must", "fail", failure=failure)
    assert allure_results.message_of(verdict, "mine 1").splitlines()[0] == first


def test_what_was_not_exercised_says_so():
    rule = specs.load().rules["OVERLOAD-01"]
    verdict = Verdict(rule.id, "mine", "documented-3.0", "must", "unexercised", "no such case")
    assert allure_results.message_of(verdict, "mine 1") == "unexercised: no such case"


def test_no_message_is_an_exception_of_the_suites_own(results):
    for result in results.values():
        assert "pulsar_conformance.conformance" not in message(result)
        assert "Skipped" not in message(result)


def test_a_failure_has_its_case_its_derivation_and_its_text(results, run):
    attached = {one["name"]: one["source"] for one in results["OVERLOAD-01"]["attachments"]}
    assert {"case", "derivation", "failure"} <= set(attached)
    folder = run / "reports" / "out" / "allure"
    assert json.loads((folder / attached["case"]).read_text())["ask"] == "shed.select"
    assert "threshold" in (folder / attached["derivation"]).read_text()


def test_a_worked_example_answered_otherwise_has_its_case():
    plan = Plan(("reference",), ("documented-3.0",))
    subject = JudgedImplementation.before_asking(
        Implementation("reference", "documented-3.0", plan.readings)
    )
    example = next(one for one in fixtures.examples() if one.rules[0] == "OVERLOAD-03")
    rule = specs.load().rules["OVERLOAD-03"]
    trial = Trial(tuple(Question(*question) for question in example.questions))
    answered = SourcedTrial("example", trial, example), [{"unload": []}]
    failure = example_failure(AppliedRule(rule, subject), plan, answered)
    [question] = allure_results.saved_case(plan, failure)
    assert question == {"ask": "shed.select", "case": example.questions[0][1]}


def test_every_status_but_passed_has_a_category(results):
    names = {status: [] for _, status, _ in allure.CATEGORIES}
    for result in results.values():
        if result["status"] != "passed":
            fitting = [
                name
                for name, status, said in allure.CATEGORIES
                if status == result["status"] and (said == ".*" or said in message(result))
            ]
            names[result["status"]].append(fitting[0])
    assert sorted(names["failed"]) == [
        "Passes, though listed as a known deviation",
        "Rules violated",
        "Rules violated",
    ]
    assert sorted(names["skipped"]) == ["Known deviations", "Not applicable"]
    assert names["broken"] == ["Could not be judged"]


def report(folder, monkeypatch, path=None, cache=None):
    """Make the report in a folder, with only `path` on the PATH; return the exit status."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache or folder / "cache"))
    if path is not None:
        monkeypatch.setenv("PATH", str(path))
    return allure.main([])


def program(folder, name, script):
    """Write a script that replaces a program."""
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return folder


def test_without_results_the_report_says_how_to_get_them(tmp_path, monkeypatch, capsys):
    assert report(tmp_path, monkeypatch) == 2
    said = capsys.readouterr().err
    assert said == (
        "pulsar-conformance: "
        f"no Allure results in {Path('reports/out/allure')}; nox -s conformance creates them\n"
    )


NEEDS_NODE = "the Allure report needs Node 20 or newer"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (None, "the Allure report needs Node 20, which is not on PATH\n"),
        ("echo v18.1.0", f"{NEEDS_NODE}; the installed version is v18.1.0\n"),
        ("exit 1", f"{NEEDS_NODE}; the installed version is unknown\n"),
        ("echo v20.0.0", "the Allure report needs npm, which is not on PATH\n"),
    ],
)
def test_a_missing_tool_is_named(run, tmp_path, monkeypatch, capsys, script, said):
    path = tmp_path / "bin"
    path.mkdir()
    if script:
        program(path, "node", script)
    assert report(run, monkeypatch, path, tmp_path) == 2
    assert capsys.readouterr().err == f"pulsar-conformance: {said}"


INSTALLS = """
while [ "$1" != --prefix ]; do shift; done
/bin/mkdir -p "$2/node_modules/allure"; : > "$2/node_modules/allure/cli.js"
"""
MAKES = """
[ "$1" = --version ] && echo v20.1.0 && exit
while [ "$1" != --config ]; do shift; done
/bin/cp "$2" "${0%/*}/../seen.json"
while [ "$1" != --output ]; do shift; done
/bin/mkdir -p "$2"
tag='<script async src="https://www.googletagmanager.com/gtag/js?id=G"></script>'
echo "${tag}report" > "$2/index.html"
"""


@pytest.mark.skipif(os.name == "nt", reason="the stand-ins are shell scripts")
def test_the_tool_is_installed_once_and_the_report_calls_nobody(run, tmp_path, monkeypatch, capsys):
    path = program(tmp_path / "bin", "npm", INSTALLS)
    program(path, "node", MAKES)
    index = run / "reports" / "out" / "report" / "index.html"
    assert report(run, monkeypatch, path, tmp_path) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"installing allure {allure.ALLURE} with npm into ")
    assert said.endswith(f"open {index.as_uri()}\n")
    asked = json.loads((tmp_path / "seen.json").read_text())
    assert asked["plugins"]["awesome"]["options"]["groupBy"][:2] == ["parentSuite", "suite"]
    assert asked["historyPath"] == str(index.parent.parent / "allure-history.jsonl")
    assert index.read_text() == "report\n"
    (path / "npm").unlink()
    assert report(run, monkeypatch, path, tmp_path) == 0
    assert "installing" not in capsys.readouterr().out


@pytest.mark.skipif(os.name == "nt", reason="the stand-ins are shell scripts")
def test_an_installation_that_fails_leaves_nothing(run, tmp_path, monkeypatch, capsys):
    path = program(tmp_path / "bin", "npm", f"{INSTALLS}\nexit 7")
    program(path, "node", MAKES)
    assert report(run, monkeypatch, path, tmp_path) == 2
    problem = f"npm could not install allure {allure.ALLURE} (exit status 7); see above\n"
    assert capsys.readouterr().err == f"pulsar-conformance: {problem}"
    assert list((tmp_path / "pulsar-conformance").iterdir()) == []


def test_the_report_says_what_the_run_was(run):
    said = allure._run_description([run / "reports" / "out" / "allure"])
    assert (said["seed"], said["examples"], said["readings"]) == ("0", "10", "of the profile")
    assert (said["implementations"], said["judged by"]) == ("forgetful 1", "documented-3.0")
    shutil.copytree(run / "reports" / "out" / "allure", run / "alone", dirs_exist_ok=True)
    assert allure._run_description([run / "alone"]) == {}


def test_the_matrix_has_a_row_for_each_rule(run, tmp_path):
    rows = allure.rule_matrix([run / "reports" / "out" / "allure"]).splitlines()
    assert rows[0] == 'rule,"forgetful 1, documented-3.0"'
    assert set(rows[1:]) >= {"OVERLOAD-01,FAIL", "BUNDLE-03,pass", "OVERLOAD-05,-"}
    assert len(rows) == 1 + len(RULES)
    assert allure.rule_matrix([tmp_path / "allure"]) == "rule\n"
