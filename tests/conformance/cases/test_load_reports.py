"""Load reports are read as brokers write them; for any other file, a message says what is wrong."""

import json
import shutil
from pathlib import Path

import pytest
from pulsar_conformance import fixtures, specs
from pulsar_conformance.adapters.validation import check_answers
from pulsar_conformance.conformance.cases.legality import case_flaw
from pulsar_conformance.conformance.drawing.drawing import draw
from pulsar_conformance.conformance.load_data import reports as draws
from pulsar_conformance.reference import Model
from pulsar_conformance.reference.reports import Unreadable, read
from pulsar_conformance.specs import SpecError

REPORTS = {
    file.stem: json.loads(file.read_text("utf-8"))
    for file in sorted((Path(fixtures.__file__).parent / "reports").glob("*.json"))
}
WHOLE = "a/b/0x00000000_0xffffffff"


@pytest.mark.parametrize("name", REPORTS)
def test_a_saved_report_is_read(name):
    report = read(REPORTS[name])
    assert report.manager == name.partition("-")[0]
    check_answers("report.read", [{"manager": report.manager, "broker": report.broker}])


@pytest.mark.parametrize("name", REPORTS)
def test_a_broker_that_was_read_is_a_broker_of_the_protocol(name):
    broker = read(REPORTS[name]).broker
    case = {"settings": {}, "weighted": False, "broker": broker}
    assert case_flaw("usage.max", case, Model("documented-3.0").defaults) is None


def test_the_simple_report_names_its_bundles_by_their_statistics():
    broker = read(REPORTS["simple-whole"]).broker
    assert len(broker["bundles"]) == broker["numBundles"] == len(broker["lastStats"]) == 4
    assert broker["memory"] == {"usage": 3927.0, "limit": 8192.0}
    assert broker["lastBundleGains"] == broker["lastBundleLosses"] == []


def test_what_was_not_measured_is_left_out():
    broker = read(REPORTS["modular-whole"]).broker
    assert "bandwidthIn" not in broker
    assert "webServiceUrl" not in broker
    assert broker["lastStats"]["shop/eu/0x40000000_0x80000000"]["topics"] == 3


def test_whose_report_it_is_does_not_depend_on_what_else_is_in_it():
    assert read({"systemResourceUsage": {}}).manager == "simple"
    assert read({"systemResourceUsage": None, "bundles": []}).manager == "modular"


UNREADABLE = {
    "nothing": ({}, "it has neither systemResourceUsage nor cpu"),
    "something else": ({"name": "x"}, "it has neither systemResourceUsage nor cpu"),
    "no object": ([{"cpu": {}}], "a load report must be a JSON object"),
    "no text": ("{}", "a load report must be a JSON object"),
    "a percentage": ({"cpu": 95}, "cpu: 95 is not a JSON object"),
    "no limit": ({"cpu": {"usage": 1}}, "cpu.limit: is missing"),
    "no number": ({"memory": {"usage": "NaN", "limit": 1}}, "memory.usage: 'NaN' is not a number"),
    "a truth": ({"msgRateIn": True}, "msgRateIn: True is not a number"),
    "below 0": ({"msgRateIn": -1}, "msgRateIn: -1 is below 0"),
    "too large": ({"msgRateIn": float("inf")}, "msgRateIn: inf is too large"),
    "half a topic": ({"numTopics": 0.5}, "numTopics: 0.5 is not a count"),
    "bundles by count": ({"bundles": 4}, "bundles: 4 is not a list of bundles"),
    "no bundle": ({"bundles": ["x"]}, "bundles: 'x' is not a bundle"),
    "upside down": ({"bundles": ["a/b/0xffffffff_0x00000000"]}, "is not a hash range"),
    "nested": ({"systemResourceUsage": {"cpu": []}}, "systemResourceUsage.cpu: [] is no"),
    "by its own name": (
        {"systemResourceUsage": {}, "bundleStats": {WHOLE: {"topics": -1}}},
        f"bundleStats['{WHOLE}'].topics: -1 is below 0",
    ),
}


@pytest.mark.parametrize(("report", "says"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_is_no_report_is_reported(report, says):
    with pytest.raises(Unreadable) as told:
        read(report)
    assert says in str(told.value)
    assert len(str(told.value)) < 200


def test_the_model_refuses_what_is_no_report():
    model = Model("documented-3.0")
    for report, says in UNREADABLE.values():
        if isinstance(report, dict):
            assert says in model.answer("report.read", {"report": report})["refused"]


ROWS = {
    "SYSTEM": "0.00 48.33 0.01",
    "SHORT": "0.00 200.00",
    "RAW SYSTEM": "0.25 47.94 47.64 0.01 0.00",
    "ALLOC SYSTEM": "0.20 1.89 1.27 3.21",
    "RAW MSG": "0.00 0.01",
    "ALLOC MSG": "54.84 134.48 189.32 189.31 126.54 320.96 447.50",
}
"""The figures of the monitor's tables, and figures that follow from other figures in them."""


@pytest.mark.parametrize("cells", ROWS.values(), ids=ROWS)
def test_each_number_of_the_monitor_is_worked_out(cells):
    about = [one for one in fixtures.examples() if one.section.startswith(("Method", "Verif"))]
    for cell in cells.split():
        assert any(cell in line for one in about for line in one.arithmetic), cell


def test_an_example_names_a_saved_report(tmp_path):
    shutil.copytree(Path(fixtures.__file__).parent / "examples", tmp_path / "examples")
    path = tmp_path / "examples" / "report.yaml"
    text = path.read_text("utf-8").replace(
        "expand: {report: simple}", "expand: {report: sample}", 1
    )
    path.write_text(text, "utf-8")
    with pytest.raises(SpecError, match=r"report\.yaml:\d+: unknown report 'sample';"):
        fixtures.load_examples_from(tmp_path, specs.load())


@pytest.mark.parametrize("strategy", [draws.modular_reports(), draws.simple_reports()])
def test_what_is_drawn_is_whole_in_part_and_strange(strategy):
    drawn = [trial.questions[0].case["report"] for trial in draw(strategy, 200, "reports")]
    wanted = {
        "unknown fields": lambda one: "webServiceUrl" in one,
        "no bundles": lambda one: not one.get("bundles", one.get("bundleStats")),
        "bundles": lambda one: len(one.get("bundles", one.get("bundleStats", ()))) >= 20,
        "a limit of 0": lambda one: '"limit": 0.0' in json.dumps(one),
        "unmeasured": lambda one: '"limit": -1.0' in json.dumps(one),
        "a missing resource": lambda one: '"memory"' not in json.dumps(one),
    }
    for what, holds in wanted.items():
        assert any(map(holds, drawn)), what
        assert not all(map(holds, drawn)), what
