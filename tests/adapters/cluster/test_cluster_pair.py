"""Two clusters of one kind divide the questions between them, and both are stopped."""

import threading
from types import SimpleNamespace

import pytest
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.adapters.cluster.pair import BATCH, MIN_SHARED_CASES, ClusterPair
from pulsar_conformance.adapters.protocol import Hello

HELLO = Hello.of({"protocol": 1, "name": "cluster", "version": "1", "batch": 1, "operations": []})


class Alone:
    """A cluster that adds its own number to each answer, and breaks on some cases."""

    adapter, hello, restarts, pid = "cluster:1", HELLO, True, 1

    def __init__(self, number, breaks_on=()):
        self.number, self.breaks_on = number, breaks_on
        self.asked, self.ended, self.closed = [], [], False
        self.go_on = threading.Event()
        self.go_on.set()

    def exchange(self, operation, batch):
        [case] = batch
        self.asked.append(case)
        assert self.go_on.wait(30)
        if self.closed or case in self.breaks_on:
            raise AdapterError("ask", f"{self.number} broke", "", "", self.adapter)
        return [{"case": case, "by": self.number}]

    def remarks(self):
        return [f"{self.number} was started anew"]

    def kill(self):
        self.closed = True
        self.go_on.set()

    def bye(self):
        self.ended.append("bye")

    def close(self):
        self.ended.append("close")


@pytest.fixture
def made():
    """Return a pair, and the list of the clusters that it starts."""
    started = []

    def start():
        started.append(Alone(len(started)))
        return started[-1]

    return SimpleNamespace(pair=ClusterPair(start), started=started)


def test_answers_are_in_order_and_half_of_them_of_the_second(made):
    cases = list(range(BATCH + 9))
    answers = made.pair.exchange("place.select", cases)
    assert [one["case"] for one in answers] == cases
    assert {one["by"] for one in answers} == {0, 1}
    again = made.pair.exchange("place.select", cases)
    assert again == answers
    assert len(made.started) == 2


def test_few_cases_are_asked_of_one(made):
    made.pair.exchange("place.select", list(range(MIN_SHARED_CASES - 1)))
    assert len(made.started) == 1
    assert made.pair.hello.batch == BATCH


@pytest.mark.parametrize("number", [0, 1])
def test_what_breaks_one_of_them_breaks_the_batch(made, number):
    made.pair.exchange("place.select", list(range(MIN_SHARED_CASES)))
    made.started[number].breaks_on = (2, 3)
    with pytest.raises(AdapterError, match=f"{number} broke"):
        made.pair.exchange("place.select", list(range(MIN_SHARED_CASES)))


def test_the_second_ends_at_once_where_the_first_breaks(made):
    made.pair.exchange("place.select", list(range(MIN_SHARED_CASES)))
    first, second = made.started
    first.breaks_on = (0,)
    second.go_on.clear()
    with pytest.raises(AdapterError, match="0 broke"):
        made.pair.exchange("place.select", list(range(MIN_SHARED_CASES)))
    assert second.closed
    assert made.pair.closed


def test_both_are_ended_and_tell_what_happened(made):
    made.pair.exchange("place.select", list(range(MIN_SHARED_CASES)))
    assert made.pair.remarks() == ["0 was started anew", "1 was started anew"]
    made.pair.bye()
    made.pair.close()
    assert [one.ended for one in made.started] == [["bye", "close"]] * 2
