"""Names of adapters: the reference in this process, and Python objects in another process."""

from pathlib import Path

import pytest
from pulsar_conformance.adapters import AdapterError, Connection
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.specs import UnknownName
from standins.examples import EXAMPLES

PROFILE = "documented-3.0"
STANDINS = Path(__file__).parents[1] / "standins"


@pytest.mark.parametrize(
    "name", ["", "sparks", "pulsr:3.0.7", "pulsar-live:3.0.7", "executable:./x", "Reference"]
)
def test_an_unknown_kind_lists_those_that_there_are(name):
    with pytest.raises(AdapterError) as caught:
        connect(name, PROFILE, {})
    text = str(caught.value)
    assert f"{name!r} is not an adapter" in text
    assert "reference, python:MODULE:NAME, exec:COMMAND ARG ..." in text


def test_a_misspelt_kind_is_recognised():
    with pytest.raises(AdapterError, match="did you mean python:MODULE:NAME"):
        connect("pyhton:a:b", PROFILE, {})


@pytest.mark.parametrize("name", ["reference:x", "python:", "python:module", "python::name"])
def test_a_name_with_too_much_or_too_little_is_reported(name):
    with pytest.raises(AdapterError, match="next: write "):
        connect(name, PROFILE, {})


def test_the_reference_says_hello_and_answers_every_example():
    with connect("reference", PROFILE, {"overload-amount": "one"}) as connection:
        assert isinstance(connection, Connection)
        assert connection.hello.name == "reference"
        assert connection.hello.readings["overload-amount"] == "one"
        assert set(connection.hello.operations) == set(EXAMPLES)
        for operation, cases in EXAMPLES.items():
            answers = connection.ask(operation, cases)
            assert not any("failed" in answer or "unsupported" in answer for answer in answers)


def test_the_reference_fails_on_the_case_that_breaks_it_alone():
    with connect("reference", PROFILE, {}) as connection:
        bad, good = connection.ask("bundles.create", [{}, {"bundles": 2, "settings": {}}])
        assert bad["failed"].startswith("KeyError: 'bundles'")
        assert good == {"boundaries": ["0x00000000", "0x80000000", "0xffffffff"]}
        with pytest.raises(AdapterError) as caught:
            connection.ask("bundles.sing", [{}])
        assert caught.value.code == "unknown-operation"


def test_the_reference_knows_its_profiles():
    with pytest.raises(UnknownName, match=r"documented-9\.9"):
        connect("reference", "documented-9.9", {})


@pytest.fixture
def _in_standins(monkeypatch):
    monkeypatch.chdir(STANDINS)


@pytest.mark.usefixtures("_in_standins")
@pytest.mark.parametrize("name", ["Good", "factory", "ready", "Chatty"])
def test_a_class_a_function_and_an_instance_can_answer(name):
    with connect(f"python:objects:{name}", PROFILE, {"grace-of": "topic"}) as connection:
        assert connection.hello.name == "good"
        assert connection.hello.readings == {"grace-of": "topic"}
        answers = connection.ask("settings.defaults", [{}, {}])
        assert answers == [{"settings": {"profile": PROFILE}}] * 2
        if name == "Chatty":
            told = connection.stderr_tail()
            assert "a word from Python" in told
            assert "a word from below" in told
        with pytest.raises(AdapterError, match=r"unknown-operation: usage\.max is not offered"):
            connection.ask("usage.max", [{}])
        connection.bye()


@pytest.mark.usefixtures("_in_standins")
def test_an_exception_is_the_failure_of_its_case_alone():
    with connect("python:objects:Raises", PROFILE, {}) as connection:
        answers = connection.ask("settings.defaults", [{}] * 3)
        assert answers[1] == {"failed": "KeyError: 'no such broker'"}
        assert [list(answer) for answer in answers] == [["settings"], ["failed"], ["settings"]]
        assert 'raise KeyError("no such broker")' in connection.stderr_tail()


@pytest.mark.usefixtures("_in_standins")
@pytest.mark.parametrize(
    ("name", "why"),
    [("AnswersWithASet", "TypeError: Object of type set"), ("AnswersWithNaN", "ValueError: Out")],
)
def test_an_answer_that_is_no_json_is_a_failure(name, why):
    with connect(f"python:objects:{name}", PROFILE, {}) as connection:
        assert connection.ask("settings.defaults", [{}])[0]["failed"].startswith(why)


@pytest.mark.usefixtures("_in_standins")
@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("objects:Goood", "import: objects has no Goood; did you mean Good?"),
        ("nowhere:Good", "import: can't import nowhere: ModuleNotFoundError"),
        ("objects:CannotBeMade", "internal: TypeError: "),
    ],
)
def test_an_object_that_cannot_be_had_is_reported(spec, told):
    with pytest.raises(AdapterError) as caught:
        connect(f"python:{spec}", PROFILE, {})
    assert caught.value.phase == "hello"
    assert told in str(caught.value)
    assert "the implementation wrote this message" not in str(caught.value)
    assert ("its traceback follows" in caught.value.hint) == told.startswith("internal")
