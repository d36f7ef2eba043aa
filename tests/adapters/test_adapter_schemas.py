"""The schemas of the protocol: both validators accept the same messages, without network."""

import copy

import jsonschema
import pytest
from pulsar_conformance.adapters.protocol import NotJSON, hello_message, json_text, parse_line
from pulsar_conformance.adapters.validation import (
    InvalidAnswer,
    UnmodifiedCases,
    case_schema_error,
    check_answers,
    hello_schema_error,
)
from pulsar_conformance.specs import operations, schema
from referencing import Registry, Resource
from standins.examples import EXAMPLES

SHED = EXAMPLES["shed.select"][0]


def slowly_wrong(operation, part, value):
    """Return the errors that the reference validator of JSON Schema, which is slow, finds."""
    whole = schema(operation if operation == "message" else f"operations/{operation}")
    registry = Registry().with_resources(
        (one["$id"], Resource.from_contents(one)) for one in (schema("shapes"), whole)
    )
    wanted = {"$schema": whole["$schema"], "$ref": f"{whole['$id']}#/$defs/{part}"}
    jsonschema.Draft202012Validator.check_schema(whole)
    validator = jsonschema.Draft202012Validator(wanted, registry=registry)
    return [error.message for error in validator.iter_errors(value)]


@pytest.mark.parametrize("operation", EXAMPLES)
def test_every_example_is_legal(operation):
    assert operation in operations()
    for case in EXAMPLES[operation]:
        assert case_schema_error(operation, case) is None
        assert slowly_wrong(operation, "case", case) == []


@pytest.mark.parametrize("operation", EXAMPLES)
def test_a_case_is_closed_above_and_needs_each_of_its_keys(operation):
    case = EXAMPLES[operation][0]
    assert "'colour'" in case_schema_error(operation, {**case, "colour": 1})
    for key in case:
        short = {name: value for name, value in case.items() if name != key}
        assert f'"{key}" is a required property' in case_schema_error(operation, short)
        assert slowly_wrong(operation, "case", short)


def changed(path, value):
    case = copy.deepcopy(SHED)
    *outer, last = path
    place = case
    for step in outer:
        place = place[step]
    place[last] = value
    return case


BROKER = ["brokers", "broker-1"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ([*BROKER, "webServiceUrl"], "http://b1:8080"),
        ([*BROKER, "cpu"], {"usage": 150, "limit": 800, "percent": 18.75}),
        ([*BROKER, "bundles"], ["pulsar/local/b1:8080/0x00000000_0xffffffff"]),
        (["settings"], {"some.name": None, "other": 1.5, "third": "x", "fourth": True}),
        (["bundles"], {"t/ns/0x00000000_0xffffffff": {"topics": 3}}),
        (["brokers"], {"b": {}}),
    ],
)
def test_a_pasted_report_is_legal(path, value):
    assert case_schema_error("shed.select", changed(path, value)) is None


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ([*BROKER, "msgRateIn"], -1, "case.brokers['broker-1'].msgRateIn: -1"),
        ([*BROKER, "cpu"], {"usage": 1.0}, "'broker-1'].cpu: \"limit\" is a required property"),
        ([*BROKER, "msgRateIn"], 10**400, "msgRateIn"),
        ([*BROKER, "bundles"], ["t/ns/0x0_0x1"], "bundles[0]"),
        ([*BROKER, "bundles"], ["t/ns/0x00000000_0xFFFFFFFF"], "bundles[0]"),
        (["recentlyUnloaded"], {"t/ns/0x00000000_0xffffffff": -1}, "recentlyUnloaded["),
        (["settings", "x"], [1], "case.settings.x"),
        (["strategy"], 3, "case.strategy"),
    ],
)
def test_an_illegal_case_is_reported_with_its_place(path, value, told):
    case = changed(path, value)
    assert told in case_schema_error("shed.select", case)
    assert slowly_wrong("shed.select", "case", case)


@pytest.mark.parametrize("operation", EXAMPLES)
@pytest.mark.parametrize("word", ["refused", "unsupported", "failed"])
def test_any_answer_may_decline(operation, word):
    check_answers(operation, [{word: "because"}, {word: "because", "why": "as I said"}])
    for wrong in ({word: 1}, {word: "because", "split": []}, {"why": "only that"}, []):
        assert slowly_wrong(operation, "answer", wrong)
        with pytest.raises(InvalidAnswer, match=r"^answers\[0\]"):
            check_answers(operation, [wrong])


def test_a_refusal_is_either_or():
    with pytest.raises(InvalidAnswer):
        check_answers("usage.max", [{"refused": "a", "failed": "b"}])


@pytest.mark.parametrize("percent", [float("inf"), float("nan"), -1, True, "95", None])
def test_numbers_are_finite_and_not_negative(percent):
    answer = {"percent": percent, "resource": "cpu"}
    with pytest.raises(InvalidAnswer, match=r"answers\[1\]\.percent"):
        check_answers("usage.max", [{"percent": 0, "resource": None}, answer])


def test_hello_may_say_more_but_not_otherwise():
    told = {"protocol": 1, "name": "x", "operations": []}
    assert hello_schema_error({**told, "mood": "good"}) is None
    assert "answer.manager" in hello_schema_error({**told, "manager": "extra"})
    assert "answer.readings.a" in hello_schema_error({**told, "readings": {"a": 1}})
    assert "answer.operations" in hello_schema_error({**told, "operations": "usage.max"})


def test_the_suite_keeps_its_own_schema():
    for part, message in {
        "hello": hello_message(1, "documented-3.0", {"grace-of": "topic"}),
        "ask": {"id": 2, "ask": "usage.max", "cases": [{}]},
        "answers": {"id": 2, "answers": [{}]},
        "error": {"id": 2, "error": {"code": "internal", "message": "x"}},
        "bye": {"id": 3, "ask": "bye"},
    }.items():
        assert slowly_wrong("message", part, message) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "the key 'c' twice"),
        ("[-Infinity]", "-Infinity"),
        ("[1e999]", "1e999"),
        ("[1" + "0" * 5000 + "]", "a number that can't be read"),
        ("[" * 100_000, "nested too deeply"),
        ("{} {}", "Extra data"),
        ("", "isn't JSON"),
        (b"\xff", "isn't UTF-8"),
    ],
)
def test_reading_is_strict(text, told):
    with pytest.raises(NotJSON, match=told):
        parse_line(text)


def test_what_is_written_is_one_line_for_every_reader():
    awkward = {"a": "\u2028\u0085\n\U0001f600", "b": [1e-300, 0.1]}
    line = json_text(awkward)
    assert len(line.splitlines()) == 1
    assert parse_line(line) == awkward


def test_a_changed_case_is_restored_where_other_cases_share_parts_of_it():
    settings, bundles = {"limit": 1}, ["b", "a"]
    cases = [{"settings": settings, "bundles": bundles}, {"settings": settings}]
    untouched = UnmodifiedCases(cases)
    settings["added"] = 2
    del settings["limit"]
    bundles.sort()
    bundles.append("c")
    assert untouched.restore() == {0: "case.settings.limit"}
    assert (settings, bundles) == ({"limit": 1}, ["b", "a"])
    assert cases == [{"settings": settings, "bundles": bundles}, {"settings": settings}]
