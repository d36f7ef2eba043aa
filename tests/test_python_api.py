"""The public names of the package, and the examples of their page."""

import re
import subprocess
import sys
from pathlib import Path

import pulsar_conformance
import pytest
from pulsar_conformance import IllegalCase, Verdict, answer, cases, explain, judge
from pulsar_conformance.fixtures import examples
from pulsar_conformance.specs import UnknownName

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


def test_importing_the_package_loads_nothing():
    program = "import sys, pulsar_conformance; print([one for one in sys.modules if 'hypo' in one])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_the_command_runs_as_a_module():
    words = [sys.executable, "-m", "pulsar_conformance", "--version"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert re.fullmatch(r"pulsar-conformance \d+\.\d+\.\d+\n", done.stdout)
