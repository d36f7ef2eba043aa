"""Histories that `collect` recorded of running clusters contain each event that took place."""

import gzip
import json
from datetime import datetime
from pathlib import Path

import pytest
from pulsar_conformance.audit.collect.changes import state_after
from pulsar_conformance.reference import Model

FOLDER = Path(__file__).parents[2] / "fixtures" / "histories"


def recorded(name):
    with gzip.open(FOLDER / f"cluster-{name}.json.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


@pytest.fixture(params=["3.0.7", "4.2.4"])
def history(request):
    return recorded(request.param)


def of_users(history, kind):
    """Return the lines of a kind, without those about brokers' heartbeat namespaces."""
    return [
        one for one in history if one["kind"] == kind and "pulsar/" not in one.get("bundle", "")
    ]


def test_an_unload_by_shedding_and_one_by_hand(history):
    by_cause = {one["bundle"]: one["cause"] for one in of_users(history, "unloaded")[:2]}
    assert by_cause == {
        "shop/ns-1/0x00000000_0xffffffff": "shedding",
        "shop/ns-2/0x00000000_0xffffffff": "admin",
    }


def test_a_split_whose_parts_are_released_at_its_time(history):
    [split] = of_users(history, "split")
    assert split["bundle"] == "shop/ns-3/0x00000000_0xffffffff"
    released = [one for one in of_users(history, "unloaded") if one["cause"] == "split"]
    assert {one["bundle"] for one in released} == set(split["into"])
    assert {one["at"] for one in released} == {split["at"]}


def test_a_crash_takes_all_that_the_broker_had(history):
    lost = [one for one in of_users(history, "unloaded") if one["cause"] == "shutdown"]
    [gone] = {one["broker"] for one in lost}
    before = [one for one in history if one["at"] < lost[0]["at"]]
    had = {bundle for bundle in state_after(iter(before)).owners[gone] if "pulsar/" not in bundle}
    assert {one["bundle"] for one in lost} == had != set()
    assert gone not in {
        one["broker"]
        for one in history
        if one["kind"] == "load_report" and one["at"] >= lost[0]["at"]
    }


def test_a_change_of_leader(history):
    assert len({one["broker"] for one in of_users(history, "leader")}) >= 2


def test_a_broker_that_releases_a_bundle_had_it(history):
    holder = {}
    for one in history:
        if one["kind"] == "owners":
            holder = {bundle: broker for broker, held in one["owners"].items() for bundle in held}
        elif one["kind"] == "split" and one["bundle"] in holder:
            holder |= dict.fromkeys(one["into"], holder.pop(one["bundle"]))
        elif one["kind"] == "unloaded":
            assert holder.pop(one["bundle"]) == one["broker"]
        elif one["kind"] == "assigned":
            assert one["bundle"] not in holder
            holder[one["bundle"]] = one["broker"]


def test_times_ascend_and_no_line_stands_twice(history):
    times = [one["at"] for one in history]
    assert times == sorted(times)
    texts = {json.dumps(one, sort_keys=True) for one in history}
    assert len(texts) == len(history)


class Transferred:
    """The events of users' bundles in a history of the extensible load manager."""

    def __init__(self, name):
        self.lines = recorded(f"4.2.4-{name}")
        self.leaders = [one["broker"] for one in of_users(self.lines, "leader")]

    def unloads(self, cause):
        known = [one for one in self.lines if one["kind"] == "unloaded" and one["cause"] == cause]
        return [one for one in known if one["bundle"].startswith("shop/")]

    def next_owners(self, cause):
        """Return the broker that each bundle left for this cause, and the bundle's next owner."""
        taken = of_users(self.lines, "assigned")
        return {
            one["bundle"]: (
                one["broker"],
                next(
                    other["broker"]
                    for other in taken
                    if other["bundle"] == one["bundle"] and other["at"] >= one["at"]
                ),
            )
            for one in self.unloads(cause)
        }


@pytest.mark.parametrize("name", ["moves", "crash"])
def test_whatever_an_extensible_broker_gave_up_has_its_cause(name):
    history = Transferred(name)
    assert not history.unloads("unknown")
    assert len(history.unloads("admin")) == 1
    assert len(set(history.leaders)) == 2
    [stopped] = {one["broker"] for one in history.unloads("shutdown")}
    assert (stopped == history.leaders[0]) == (name == "crash")
    test_a_broker_that_releases_a_bundle_had_it(history.lines)
    test_times_ascend_and_no_line_stands_twice(history.lines)


def test_transferred_bundles_go_from_the_most_to_the_least_loaded_broker():
    history = Transferred("moves")
    moved = history.next_owners("shedding")
    assert len(moved) == 4
    assert {one for one, _ in moved.values()} == {history.leaders[0]}
    assert len({to for _, to in moved.values()}) == 1
    assert of_users(history.lines, "split")


def test_bundles_on_their_way_to_a_killed_broker_go_to_another_at_once():
    history = Transferred("crash")
    moved = history.next_owners("shedding")
    assert len(moved) == 3
    [(source, target)] = set(moved.values())
    by_hand = history.next_owners("admin")
    assert [*by_hand.values()] == [(source, target)], "the destination was killed"
    later = [
        datetime.fromisoformat(one["at"])
        for one in history.lines
        if one["kind"] in ("unloaded", "assigned") and one["bundle"] in moved
    ]
    assert 2 < (later[len(moved)] - later[0]).total_seconds() < 5


class Kept:
    """The last cycle of a history, in which the leader of 4.2.4 chose a bundle but did not move it.

    The leader's `selectBroker`, called right afterwards, named the bundle's owner. In the cycle
    before, the leader unloaded another bundle.
    """

    def __init__(self):
        lines = recorded("4.2.4-kept")
        self.first, self.last = (one["at"] for one in lines if one["kind"] == "cycle")
        [self.unload] = (one for one in lines if one["kind"] == "unloaded")
        model = Model("released-4.2")
        self.brokers = {
            one["broker"]: model.answer("report.read", {"report": one["report"]})["broker"]
            for one in lines
            if one["kind"] == "load_report" and one["at"] <= self.last
        }

    @property
    def busiest(self):
        return max(self.brokers, key=lambda name: self.brokers[name]["cpu"]["usage"])

    @property
    def chosen(self):
        """Return the bundle with the most bytes on the busiest broker."""
        stats = self.brokers[self.busiest]["lastStats"]
        return max(stats, key=lambda name: stats[name]["msgThroughputIn"])

    def destination(self):
        """Return the broker that the release chooses by the lowest message rate."""
        bundles = {
            name: {"longTermData": {**rates, "numSamples": 1, "maxSamples": 1000}}
            for broker in self.brokers.values()
            for name, rates in broker["lastStats"].items()
        }
        empty = {"settings": {}, "preallocated": {}, "domains": {}, "groups": {}, "versions": {}}
        case = {"bundle": self.chosen, "brokers": self.brokers, "bundles": bundles, **empty}
        return Model("released-4.2").answer("place.broker", {**case, "isolation": []})["broker"]


def test_the_leader_leaves_a_bundle_whose_destination_is_its_owner():
    kept = Kept()
    assert kept.first < kept.unload["at"] < kept.last
    assert kept.unload["cause"] == "shedding"
    assert kept.unload["broker"] == kept.busiest == kept.destination()
    assert kept.chosen != kept.unload["bundle"]
