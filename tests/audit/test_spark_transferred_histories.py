"""In recorded clusters of 4.2.4 with the extensible manager, causes are found, but no violation.

`standins/recorded_transfers.py` recorded them. `moves`: one of three brokers with a capacity of 100
MB/s each carries 91 MB/s. TransferShedder transfers four bundles; an unload by hand, a split, a
change of leader and a graceful stop follow. `crash`: two brokers carry 81 and 10 MB/s. The third is
killed while bundles are in transfer to it, and the leader then stops.
"""

import json
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.conformance.commands.main import main
from standins.sparks import CORES, spark

pytestmark = pytest.mark.spark

assert spark
FOLDER = Path(__file__).parents[2] / "fixtures" / "histories"
NAMES = ("moves", "crash")
WRONG = ("violated", "not done though due")
BY_LOADS = ("TRANSFER-02", "TRANSFER-09", "TRANSFER-17")
WHOLE = "0x00000000_0xffffffff"


@pytest.fixture(scope="module")
def audited(spark, tmp_path_factory):
    """Audit both histories together; return the command's arguments, status and findings."""
    folder = tmp_path_factory.mktemp("audit")
    history = folder / "history"
    history.mkdir()
    for name in NAMES:
        file = FOLDER / f"cluster-4.2.4-{name}.json.gz"
        (history / file.name).write_bytes(file.read_bytes())
    words = ["audit", "--input", str(history), "--output", str(folder / "out"), "--spark", CORES]
    status = main([*words, "--json", str(folder / "found.json")])
    return words, status, json.loads((folder / "found.json").read_text())


def test_nobody_is_accused_and_loads_decide_what_they_can(audited):
    _words, status, found = audited
    assert status == 0
    assert found["profile"] == "documented-4.2"
    assert sum(found["lines"]["quarantined"].values()) == 0
    assert not any(one[verdict] for one in found["rules"].values() for verdict in WRONG)
    assert found["unloads"]["open"] == found["unloads"]["in_violation"] == 0
    for rule in BY_LOADS:
        assert found["rules"][rule]["allowed"], rule
    assert found["rules"]["TRANSFER-06"]["undecided"] == len(NAMES)


def test_each_event_is_named_with_its_cause_and_destination(audited):
    found = audited[2]
    assert found["unloads"]["causes"] == {"admin": 2, "shedding": 7, "shutdown": 12}
    assert found["splits"] == 1
    told = [one["told"] for one in found["leaders"]["first"]]
    assert told == [
        "127.0.0.1:34755 leads in place of 127.0.0.1:37595, which shut down",
        "127.0.0.1:32835 leads in place of 127.0.0.1:39379, which keeps running",
    ]


@pytest.mark.parametrize(
    ("bundle", "events", "arithmetic"),
    [
        (
            f"shop/ns-3/{WHOLE}, crash",
            [
                "unloaded by 127.0.0.1:37595, shedding: recorded",
                "assigned to 127.0.0.1:34755",
            ],
            "to move: (81 % - 0 %) / 2 / 81 % of 81 MB/s = 40.5 MB/s",
        ),
        (
            f"shop/ns-6/{WHOLE}, moves",
            [
                "unloaded by 127.0.0.1:39379, shedding: recorded",
                "assigned to 127.0.0.1:45645",
                "unloaded by 127.0.0.1:45645, admin: recorded",
                "assigned to 127.0.0.1:32835",
            ],
            "to move: (91 % - 0 %) / 2 / 91 % of 91 MB/s = 45.5 MB/s",
        ),
    ],
)
def test_a_transfer_is_explained(audited, capsys, bundle, events, arithmetic):
    capsys.readouterr()
    assert main([*audited[0], "--why", bundle.partition(",")[0]]) == 0
    told = capsys.readouterr().out
    told = told[told.index(bundle) :]
    places = [told.index(event) for event in events]
    assert places == sorted(places)
    assert arithmetic in " ".join(told.split())


@pytest.mark.parametrize(
    ("bundle", "verdict", "evidence"),
    [
        ("shop/ns-3", "CHANNEL-01 allowed", "had no other owner when it was assigned"),
        ("shop/ns-1", "OWN-04 allowed", "has another owner after"),
    ],
)
def test_verdicts_on_the_owners_of_a_bundle_are_shown(audited, capsys, bundle, verdict, evidence):
    capsys.readouterr()
    assert main([*audited[0], "--why", f"{bundle}/{WHOLE}"]) == 0
    told = capsys.readouterr().out
    _, *found = " ".join(told.split()).split(f" {verdict}: ")
    assert "its owners" in told.splitlines()
    assert found
    assert [one for one in found if not one.startswith(f"{bundle}/{WHOLE} {evidence}")] == []


def test_an_undecided_transfer_is_explained_by_the_options_of_the_report(audited, capsys):
    words, _status, found = audited
    (one,) = (one for one in found["undecided"] if one["rule"] == "TRANSFER-12")
    capsys.readouterr()
    assert main([*words, *one["explained_by"].split()]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert f"TRANSFER-12 undecided: {one['open_point']}" in told
