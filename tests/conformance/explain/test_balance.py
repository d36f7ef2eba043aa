"""Explanations of load data of the extensible load manager by TransferShedder's conditions."""

import json

import pytest
from pulsar_conformance.conformance.commands.main import main

TARGET = "loadBalancerBrokerLoadTargetStd"


@pytest.fixture
def explained(tmp_path, capsys):
    def explain(loads, *options, traffic=1e7, top=None):
        for name, load in loads.items():
            data = {
                "weightedMaxEMA": load,
                "msgThroughputEMA": traffic if isinstance(traffic, float) else traffic[name],
                "bundleCount": 4,
            }
            (tmp_path / f"{name}.json").write_text(json.dumps(data))
        if top:
            rates = top if isinstance(top, dict) else {name: {} for name in top}
            listed = [{"bundleName": name, "stats": stats} for name, stats in rates.items()]
            bundles = {"topBundlesLoadData": listed}
            (tmp_path / "a-top-bundles.json").write_text(json.dumps(bundles))
        assert main(["explain", str(tmp_path), *options]) == 0
        return " ".join(capsys.readouterr().out.split())

    return explain


@pytest.mark.parametrize(
    ("loads", "reason"),
    [
        ({"a": 0.8, "b": 0.16}, "the deviation 0.32 is over"),
        ({"a": 0.12, "b": 0.02, "c": 0.01, "d": 0.01}, None),
        ({"a": 0.5, "b": 0.5, "c": 0.5, "d": 0.5, "e": 0.5, "f": 0.0}, "f is underloaded: 0 %"),
        ({"a": 0.9, "b": 0.6, "c": 0.55, "d": 0.5}, "a is overloaded: 90 % is over 85 %"),
        ({"a": 0.9, "b": 0.8, "c": 0.8}, None),
        ({"a": 0.75, "b": 0.25}, None),
    ],
)
def test_each_condition_has_its_figures(explained, loads, reason):
    out = explained(loads)
    assert (reason or "no condition to shed holds") in out
    assert ("answer: unload nothing" in out) is (reason is None)
    if reason:
        most, least = (pick(loads, key=lambda one: (loads[one], one)) for pick in (max, min))
        assert f"answer: from {most} to {least} first" in out
        assert "more than 3 cycles in a row" in out


def test_traffic_far_below_that_of_the_busiest_broker_is_a_condition(explained):
    """Little traffic makes a broker underloaded, however busy its CPU is (apache/pulsar#22416)."""
    out = explained({"a": 0.5, "b": 0.4}, traffic={"a": 1e7, "b": 1e6})
    assert "b is underloaded: its 1 MB/s are under 0.125 of the 10 MB/s of a" in out


NAMES = {
    30: "t/n/0x00000000_0x40000000",
    10: "t/n/0x40000000_0x80000000",
    20: "t/n/0x80000000_0xc0000000",
    5: "t/n/0xc0000000_0xffffffff",
}
"""Bundles by their throughput in MB/s."""

AFTER = "listed after one that does not fit"


# Brokers list their top bundles from the smallest to the largest; load data may be in any order.
@pytest.mark.parametrize(
    ("order", "rows"),
    [
        (
            (30, 10, 20, 5),
            ["goes 30 leaves 10 MB/s", "goes 10 leaves 0 B/s", "stays 20 more", f"stays 5 {AFTER}"],
        ),
        (
            (5, 10, 20, 30),
            [
                "goes 5 leaves 35 MB/s",
                "goes 10 leaves 25 MB/s",
                "goes 20 leaves 5 MB/s",
                "stays 30 the last of the top bundles",
            ],
        ),
        ((30, 20, 10), ["goes 30 leaves 10 MB/s", "stays 20 more", f"stays 10 {AFTER}"]),
        ((30,), ["stays 30 the last of the top bundles"]),
    ],
)
def test_the_amount_and_the_bundles_that_fit_into_it_are_shown(explained, order, rows):
    """40 MB/s have to move: the fraction (90 - 10) / 2 / 90 of 90 MB/s."""
    top = {NAMES[rate]: {"msgThroughputIn": rate * 1e6} for rate in order}
    out = explained({"a": 0.9, "b": 0.1}, traffic=9e7, top=top)
    assert "to move: (90 % - 10 %) / 2 / 90 % of 90 MB/s = 40 MB/s" in out
    for row in rows:
        becomes, rate, why = row.split(" ", 2)
        exchange = " than is left; goes only in exchange for bundles of b" if why == "more" else ""
        assert f"{becomes} {NAMES[int(rate)]} {rate} MB/s {why}{exchange}" in out


def test_without_transfers_nothing_is_exchanged(explained):
    top = {NAMES[rate]: {"msgThroughputIn": rate * 1e6} for rate in (30, 20, 10)}
    words = ("--setting", "loadBalancerTransferEnabled=false")
    out = explained({"a": 0.9, "b": 0.1}, *words, traffic=9e7, top=top)
    assert f"stays {NAMES[20]} 20 MB/s more than is left stays" in out


def test_settings_and_top_bundles_are_used(explained):
    out = explained({"a": 0.8, "b": 0.16}, "--setting", f"{TARGET}=0.4")
    assert "no condition to shed holds" in out
    out = explained({"a": 0.8, "b": 0.16}, top=["t/n/0x00000000_0x80000000"])
    assert "only the broker's top bundles can go: t/n/0x00000000_0x80000000" in out
    out = explained({"a": 0.8, "b": 0.16}, "--setting", "loadBalancerSheddingEnabled=false")
    assert "answer: unload nothing, since loadBalancerSheddingEnabled is false" in out


def test_without_transfers_bundles_have_no_destination(explained):
    """TransferShedder.findBundlesForUnloading then sets no destination, and swaps no bundles."""
    out = explained({"a": 0.8, "b": 0.16}, "--setting", "loadBalancerTransferEnabled=false")
    assert "answer: from a first, at most 3 brokers per cycle" in out
    assert "bundles are unloaded without a destination, and none are swapped" in out
    out = explained({"a": 0.8, "b": 0.16}, "--setting", "loadBalancerTransferEnabled=true")
    assert "answer: from a to b first" in out


def test_without_a_broker_per_cycle_nothing_goes(explained):
    """With a limit of 0 brokers, LoadStats.hasTransferableBrokers is false from the start."""
    most = "loadBalancerMaxNumberOfBrokerSheddingPerCycle"
    out = explained({"a": 0.8, "b": 0.16}, "--setting", f"{most}=0")
    assert f"answer: unload nothing, since {most} is 0" in out
    assert "goes" not in out
    out = explained({"a": 0.8, "b": 0.16}, "--setting", f"{most}=")
    assert "at most 3 brokers per cycle" in out


def test_outdated_load_data_do_not_count_in_the_mean(tmp_path, capsys):
    def save(name, load, age):
        data = {"weightedMaxEMA": load, "msgThroughputEMA": 1e7, "updatedAt": (10**9 - age) * 1000}
        (tmp_path / f"{name}.json").write_text(json.dumps(data))

    def explain(*options):
        assert main(["explain", str(tmp_path), *options]) == 0
        return " ".join(capsys.readouterr().out.split())

    for name, load, age in (("a", 0.8, 0), ("b", 0.2, 1800), ("c", 0.1, 1801)):
        save(name, load, age)
    out = explain()
    assert "mean 50 %, standard deviation 0.3" in out
    assert "without c: its data are 1801 s older than the newest" in out
    assert "answer: from a to c first" in out
    assert "without b" not in out
    out = explain("--setting", "loadBalancerBrokerLoadDataTTLInSeconds=3600")
    assert "mean 36.67 %" in out
    assert "without c" not in out


def test_load_data_are_read_whatever_the_forms_of_their_names(tmp_path, capsys):
    for name, load in (("a.json", 0.8), ("b:8080", 0.2), ("c.txt", 0.2)):
        data = {"weightedMaxEMA": load, "msgThroughputEMA": 1e7}
        (tmp_path / name).write_text(json.dumps(data))
    (tmp_path / "notes.txt").write_text("saved on Friday")
    assert main(["explain", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert "mean 40 %" in said.out
    assert f"{tmp_path / 'notes.txt'} is not read: it isn't JSON" in said.err
