"""The public names of the package, and the examples on the page about them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pulsar_conformance
import pytest
from pulsar_conformance import (
    IllegalAnswer,
    IllegalCase,
    Verdict,
    answer,
    cases,
    explain,
    judge,
)
from pulsar_conformance.conformance.cases.legality import case_flaw
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.fixtures import examples
from pulsar_conformance.specs import UnknownName, load

PAGE = Path(__file__).parent.parent / "reports/site/guides/python.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
CASE = {"settings": {}, "nics": [{"reportedGbps": 10}]}


def test_every_public_name_is_there_and_on_the_page():
    for name in pulsar_conformance.__all__:
        assert getattr(pulsar_conformance, name).__doc__
    described = set(re.findall(r"`(\w+)[(`]", PAGE.read_text("utf-8")))
    assert set(pulsar_conformance.__all__) - described == {"Verdict"}
    assert Verdict.__name__ == "Verdict"
    assert set(dir(pulsar_conformance)) >= set(pulsar_conformance.__all__)
    with pytest.raises(AttributeError, match="no attribute 'jugde'"):
        _ = pulsar_conformance.jugde


@pytest.mark.parametrize("place", range(len(EXAMPLES)))
def test_an_example_of_the_page_passes(place, tmp_path):
    file = tmp_path / "test_example.py"
    file.write_text(EXAMPLES[place])
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    no_tests = "def test" not in EXAMPLES[place]
    assert done.returncode == (5 if no_tests else 0), done.stdout + done.stderr


def test_a_wrong_answer_breaks_rules_that_say_why():
    assert judge("usage.nic", CASE, answer("usage.nic", CASE)) == []
    [violation] = judge("usage.nic", CASE, {"gbps": 3})
    assert (violation.rule, violation.allowed, violation.answered) == (
        "USAGE-06",
        "10 Gbit/s",
        "3 Gbit/s",
    )
    assert "reported  10 Gbit/s" in str(violation)
    assert "reported  10 Gbit/s" in explain("usage.nic", CASE)


def test_readings_decide_what_is_allowed():
    example = next(one for one in examples() if one.id == "overload-95-over-85")
    [(operation, case)] = example.questions
    one_bundle = {"unload": answer(operation, case)["unload"][:1]}
    assert judge(operation, case, one_bundle)
    assert judge(operation, case, one_bundle, readings={"overload-amount": "one"}) == []


@pytest.mark.parametrize(
    ("operation", "case", "error", "said"),
    [
        ("usage.nik", CASE, UnknownName, "did you mean usage.nic"),
        ("usage.nic", {"nics": CASE["nics"]}, IllegalCase, '"settings" is a required property'),
    ],
)
def test_what_cannot_be_asked_is_named(operation, case, error, said):
    for ask in (answer, explain, lambda *given: judge(*given, {})):
        with pytest.raises(error, match=re.escape(said)):
            ask(operation, case)
    if error is UnknownName:
        with pytest.raises(error, match=re.escape(said)):
            cases(operation)


def test_a_broken_rule_of_the_pages_test_is_printed_in_full(tmp_path):
    [example] = [one for one in EXAMPLES if "@given" in one]
    nothing = example.replace('return answer("shed.select", case)', 'return {"unload": []}')
    assert nothing != example
    file = tmp_path / "test_nothing.py"
    file.write_text(nothing)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    [told, *_] = re.findall(r"AssertionError: (.*?)\nE +assert not", done.stdout, re.DOTALL)
    assert re.match(r"[A-Z]+-\d+: ", told)
    for part in ("load-balance-3.0 § ", "usage ", "allowed   ", "answered  "):
        assert part in told


@pytest.mark.parametrize(
    ("operation", "wrong", "said"),
    [
        (
            "shed.select",
            {"unloads": []},
            "answer: Additional properties are not allowed ('unloads'",
        ),
        ("shed.select", {"unload": [{"broker": "b1"}]}, 'answer.unload[0]: "bundle" is a required'),
        ("shed.select", {"unload": None}, 'answer.unload: null is not of type "array"'),
        ("shed.select", [], 'answer: [] is not of type "object"'),
        ("usage.nic", {"gbps": float("nan")}, "answer.gbps: "),
        ("usage.nic", {"refused": "no", "failed": "yes"}, "answer: "),
        ("usage.nic", object(), "answer: isn't plain JSON"),
    ],
)
def test_an_answer_that_is_none_is_named(operation, wrong, said):
    with pytest.raises(IllegalAnswer, match=re.escape(f"{operation}: {said}")):
        judge(operation, FIRST[operation], wrong)


FIRST = {operation: case for one in reversed(examples()) for operation, case in one.questions}


@pytest.mark.parametrize("operation", sorted(FIRST))
def test_an_answer_without_its_fields_is_none(operation):
    """An answer without the fields of its operation is refused before any check gets it."""
    for wrong in ({}, {"why": "it's quiet"}, {"answer": 1}):
        with pytest.raises(IllegalAnswer):
            judge(operation, FIRST[operation], wrong, profile=profile_for(operation))


def profile_for(operation):
    """Return a profile under which the first example of an operation is legal."""
    case, known = FIRST[operation], load()
    return next(
        one for one in known.profiles if not case_flaw(operation, case, known.defaults(one))
    )


THRESHOLD = "loadBalancerBrokerThresholdShedderPercentage"


def without_threshold():
    """Return a case of ThresholdShedder without a setting on which its answer depends."""
    example = next(one for one in examples() if one.id == "threshold-40-10-10")
    [(operation, case)] = example.questions
    settings = {name: value for name, value in case["settings"].items() if name != THRESHOLD}
    return operation, {**case, "settings": settings}


def test_a_setting_without_a_documented_default_must_be_given(tmp_path, capsys):
    """By the protocol, every case whose answer depends on such a setting contains the setting."""
    told = f"case.settings: {THRESHOLD} has no documented default; the case must set it"
    operation, case = without_threshold()
    for ask in (answer, explain):
        with pytest.raises(IllegalCase, match=f"{operation}: {told}"):
            ask(operation, case)
    file = tmp_path / "case.json"
    file.write_text("\n" + json.dumps({"ask": operation, "case": case}))
    assert main(["ask", "reference", str(file)]) == 2
    said = capsys.readouterr()
    assert " ".join(said.err.split()) == f"{file}, line 2: {told}"
    assert json.loads(said.out)["failed"].startswith("MissingSetting")
    assert main(["run", "--adapter", "reference", "--replay", str(file)]) == 2
    assert f"{file}: {told}" in " ".join(capsys.readouterr().err.split())
    assert main(["explain", str(file)]) == 0
    told = f"{THRESHOLD} is not set: 10, the default of released-3.0, as the documents give none"
    assert told in " ".join(capsys.readouterr().out.split())


def test_importing_the_package_loads_nothing():
    program = "import sys, pulsar_conformance; print([one for one in sys.modules if 'hypo' in one])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_the_command_runs_as_a_module():
    words = [sys.executable, "-m", "pulsar_conformance", "--version"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert re.fullmatch(r"pulsar-conformance \d+\.\d+\.\d+\n", done.stdout)
