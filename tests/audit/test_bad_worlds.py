"""Worlds that cannot be simulated are refused with the place of the mistake; nothing is guessed."""

import inspect
import json
import shutil
from pathlib import Path

import pytest
from pulsar_conformance import specs
from pulsar_conformance.audit.simulation.cluster.shapes import SHAPES
from pulsar_conformance.audit.simulation.worlds import named_world, world_titles
from pulsar_conformance.conformance.commands.main import main

BROKER = {"bundles": 4, "usage": 40}
NO_OPTIONS = ("seed", "bundle", "cycle")
"""Parameters of load functions that are not options of a world."""


def run(capsys, *words):
    status = main(["simulate", *words])
    said = capsys.readouterr()
    return status, said.out, said.err


def of_file(capsys, tmp_path, data, *words):
    file = tmp_path / "own.yaml"
    file.write_text(data if isinstance(data, str) else json.dumps(data), "utf-8")
    return run(capsys, "--world", str(file), *words)


def with_broker(**fields):
    return {"brokers": [BROKER, {**BROKER, **fields}]}


def with_load(**load):
    return {"brokers": [BROKER], "load": load}


def with_event(**fields):
    return {
        "brokers": [BROKER, BROKER],
        "events": [{"cycle": 1, "broker": 1, "up": False, **fields}],
    }


UNUSABLE = [
    ([], "the top level: [] is not of type object; it should be: an object with a list of brokers"),
    ({"brokers": []}, "brokers: at least 1 must be given"),
    (
        {"brokers": [BROKER], "colour": 1},
        "colour: unknown key 'colour'; choose from title, brokers",
    ),
    ({"brokers": [{"bundles": 1}]}, "brokers[0]: usage is missing"),
    (with_broker(skw=2), "brokers[1].skw: unknown key 'skw'; choose from count, bundles, usage"),
    (with_broker(capacity=0), "brokers[1].capacity: 0 is less than or equal to the minimum of 0"),
    (with_broker(capacity=-5), "brokers[1].capacity: -5 is less"),
    (with_broker(usage=-1), "brokers[1].usage: -1 is less than the minimum of 0"),
    (
        with_broker(usage="10"),
        'brokers[1].usage: "10" is not of type number; it should be: a perce',
    ),
    (with_broker(count=0), "brokers[1].count: 0 is less than the minimum of 1"),
    (with_broker(bundles=2.5), "brokers[1].bundles: 2.5 is not of type integer"),
    (with_broker(bundles=-2), "brokers[1].bundles: -2 is less than the minimum of 0"),
    (with_broker(bundles=10**30), "is greater than the maximum of 100000"),
    (with_broker(skew=0), "brokers[1].skew: 0 is less than the minimum of 0.1"),
    (with_broker(up="no"), 'brokers[1].up: "no" is not of type boolean'),
    (with_broker(idle=50), "brokers[1]: usage (40 %) is below idle (50 %); raise usage"),
    (with_broker(bundles=0), "brokers[1]: usage (40 %) is above idle (0 %), but there are no"),
    ("brokers: [{bundles: 1, usage: 1, capacity: 1.0e+308}]", "own: a number cannot be used"),
    (with_load(shape="round"), 'load.shape: "round" is not one of constant, daily, bursty'),
    (with_load(swing=0.5), "load: shape is missing"),
    (with_load(shape="constant", swing=0.5), "load.swing: unknown key 'swing'; choose from shape"),
    (with_load(shape="daily", by=2), "load.by: unknown key 'by'; choose from shape, swing, zones"),
    (with_load(shape="daily", swing=1.5), "load.swing: 1.5 is greater than the maximum of 1"),
    (with_load(shape="daily", minutes=0), "load.minutes: 0 is less than or equal to"),
    (with_load(shape="daily", zones=0), "load.zones: 0 is less than the minimum of 1"),
    (with_load(shape="bursty", cycles=0), "load.cycles: 0 is less than the minimum of 1"),
    (with_load(shape="drifting", cycles=0), "load.cycles: 0 is less than the minimum of 1"),
    (with_load(shape="hot", number=4), "load.number: there is no bundle 4; the world has 4, numbe"),
    (with_load(shape="hot", number=-1), "load.number: -1 is less than the minimum of 0"),
    (with_event(broker=0), "events[0].broker: 0 is less than the minimum of 1"),
    (with_event(broker=3), "events[0].broker: there is no broker 3; the world has 2 brokers"),
    (with_event(cycle=-1), "events[0].cycle: -1 is less than the minimum of 0"),
    (with_event(up=None), "events[0].up: null is not of type boolean"),
    (with_event(when=1), "events[0].when: unknown key 'when'; choose from cycle, broker, up"),
    ({"brokers": [BROKER], "topics": {"first": -1}}, "topics.first: -1 is less than"),
    ({"brokers": [BROKER], "topics": {"each_cycle": 1.5}}, "topics.each_cycle: 1.5 is not of type"),
    ({"brokers": [BROKER], "topics": {"last": 1}}, "topics.last: unknown key 'last'"),
    (
        "title: 2026-01-01\nbrokers: []\n",
        "a value cannot be written as JSON: Unsupported type: 'date'",
    ),
]


@pytest.mark.parametrize(("data", "problem"), UNUSABLE)
def test_an_unusable_world_is_refused_with_its_place(capsys, tmp_path, data, problem):
    status, out, err = of_file(capsys, tmp_path, data)
    assert (status, out) == (2, "")
    assert problem in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("name", world_titles())
def test_a_world_of_the_project_can_be_used(name):
    assert named_world(name).brokers


def test_a_broker_may_be_asked_for_more_than_it_can_carry(capsys, tmp_path):
    status, out, err = of_file(capsys, tmp_path, with_broker(usage=140), "--cycles", "2", "--json")
    assert (status, err) == (0, "")
    assert json.loads(out)[0]["usage_first"]["broker-2"] == 100


def test_the_schema_of_worlds_has_the_options_of_each_shape():
    load = specs.schema("world")["properties"]["load"]
    options = {
        one["if"]["properties"]["shape"]["const"]: set(one["then"]["properties"])
        for one in load["allOf"]
    }
    taken = {
        "constant": set(),
        **{shape: set(inspect.signature(kind).parameters) for shape, kind in SHAPES.items()},
    }
    assert list(options) == load["properties"]["shape"]["enum"] == list(taken)
    assert {one: names - {"shape"} for one, names in options.items()} == {
        one: names - set(NO_OPTIONS) for one, names in taken.items()
    }


@pytest.mark.parametrize("cycles", [(0, 0), (2, 3)])
def test_a_world_may_lose_all_its_brokers(capsys, tmp_path, cycles):
    events = [{"cycle": at, "broker": one, "up": False} for one, at in enumerate(cycles, 1)]
    data = {"brokers": [BROKER, BROKER], "events": events}
    status, out, err = of_file(capsys, tmp_path, data, "--cycles", "6", "--json")
    assert (status, err) == (0, "")
    assert json.loads(out)[0]["usage_last"] == {}


REPORTS = Path(__file__).parents[2] / "fixtures/reports/three-brokers/modular"
INTERVAL = "loadBalancerSheddingIntervalMinutes"


@pytest.mark.parametrize("minutes", ["0", "-5"])
@pytest.mark.parametrize(
    "words",
    [
        ("--world", "crash", "--setting", "{0}"),
        ("--world", "crash", "--compare", "{0}"),
        ("--world", "crash", "--sweep", "{0}..1"),
        ("--smallest", "--setting", "{0}"),
        ("--reports", str(REPORTS), "--setting", "{0}"),
        ("--reports", str(REPORTS), "--conf", "{1}"),
        ("--world", "{2}"),
    ],
)
def test_a_cycle_takes_time(capsys, tmp_path, words, minutes):
    setting = f"{INTERVAL}={minutes}"
    conf, world = tmp_path / "broker.conf", tmp_path / "own.yaml"
    conf.write_text(f"{setting}\n", "utf-8")
    world.write_text(json.dumps({"brokers": [BROKER], "settings": {INTERVAL: int(minutes)}}))
    given = [word.format(setting, conf, world) for word in words]
    status, out, err = run(capsys, *given, "--cycles", "2")
    assert (status, out) == (2, "")
    assert f"{setting} is not the length of a cycle; give a number of minutes above 0" in err


HOT = {"load": {"shape": "hot", "begin": 20}}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (with_event(cycle=500), "before 1 event in cycle 500; give --cycles 501 to include"),
        ({**with_event(cycle=5), **HOT}, "before 2 events in cycles 5 to 20; give --cycles 21 to"),
    ],
)
def test_an_event_after_the_last_cycle_is_named(capsys, tmp_path, data, said):
    status, out, err = of_file(capsys, tmp_path, data, "--cycles", "5", "--json")
    assert status == 0
    assert json.loads(out)
    assert err.startswith(f"pulsar-conformance: own: --cycles 5 ends {said}")
    assert of_file(capsys, tmp_path, data, "--cycles", "501", "--json")[2] == ""


def test_reports_with_two_owners_of_a_bundle_are_refused(capsys, tmp_path):
    shutil.copytree(REPORTS, tmp_path, dirs_exist_ok=True)
    report = (tmp_path / "broker-1.json").read_text("utf-8")
    (tmp_path / "broker-4.json").write_text(report.replace("broker-1", "broker-4"), "utf-8")
    status, out, err = run(capsys, "--reports", str(tmp_path), "--cycles", "2")
    assert (status, out) == (2, "")
    assert "brokers.broker-4: shop/eu/0x00000000_0x40000000 is also owned by broker-1; save" in err
    assert err.endswith("save all reports again at about the same time\n")
