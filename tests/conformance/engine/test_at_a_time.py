"""No implementation is asked more questions at a time than it accepts."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier, BrokenBarrierError, Event, Lock

import pytest
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.adapters.reference import ReferenceConnection
from pulsar_conformance.conformance.catalogue import OPERATIONS
from pulsar_conformance.conformance.common.events import ignore_event
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.engine import implementation as implementations
from pulsar_conformance.conformance.engine.ask import Dispatcher
from pulsar_conformance.conformance.engine.draw import SourcedTrial
from pulsar_conformance.conformance.engine.implementation import Implementation

PROFILE = "documented-3.0"
ASKED = ("bundles.locate", "manager.choose", "settings.defaults", "usage.max")
SOON = 0.2
"""Seconds to wait for a concurrent question that may not come."""

LATE = 30
"""Maximum seconds to wait for a concurrent question that must come."""


class Elsewhere(ReferenceConnection):
    """The model, treated as another process; `most` is the highest number of open questions."""

    def __init__(self, concurrency, patience):
        super().__init__("elsewhere", PROFILE, {})
        self.hello = replace(self.hello, name="elsewhere")
        self._concurrency = concurrency
        self._together = Barrier(2)
        self._patience = patience
        self._turn = Lock()
        self._inside = 0
        self.most = 0

    @property
    def in_process(self):
        return False

    @property
    def concurrency(self):
        return self._concurrency

    def exchange(self, operation, batch):
        with self._turn:
            self._inside += 1
            self.most = max(self.most, self._inside)
        try:
            self._together.wait(self._patience)
        except BrokenBarrierError:
            self._together.reset()
        finally:
            with self._turn:
                self._inside -= 1
        return super().exchange(operation, batch)


def asked_of(connection, monkeypatch):
    """Return the answers to an example of each operation in `ASKED`, asked by four threads."""
    monkeypatch.setattr(implementations, "connect", lambda *_: connection)
    one = Implementation("elsewhere", PROFILE, {})
    tried = [SourcedTrial("drawn", Trial.of(name, OPERATIONS[name].examples[0])) for name in ASKED]
    with ThreadPoolExecutor(4) as aside:
        asker = Dispatcher(one, aside.submit, ignore_event)
        asker.ask(tried)
        return [asker.answers(each) for each in tried]


def test_two_operations_meet_where_two_may_be_asked_at_a_time(monkeypatch):
    connection = Elsewhere(2, LATE)
    answers = asked_of(connection, monkeypatch)
    assert connection.most == 2
    assert all("failed" not in answer for row in answers for answer in row)


def test_nothing_is_asked_beside_a_question_where_one_may_be_asked(monkeypatch):
    connection = Elsewhere(1, SOON)
    alone = asked_of(connection, monkeypatch)
    assert connection.most == 1
    assert alone == asked_of(Elsewhere(2, LATE), monkeypatch)


class Ended(Elsewhere):
    """Fails on `usage.max`; the first connection fails on a concurrent question as well."""

    def __init__(self, at_work):
        super().__init__(2, SOON)
        self.ended = Event()
        self._at_work = at_work
        self._first = not at_work.is_set()

    def ask(self, operation, cases):
        if operation == "usage.max":
            assert self._at_work.wait(LATE)
            raise AdapterError("ask", "no usage", "", "", "elsewhere")
        self._at_work.set()
        if self._first and self.ended.wait(LATE):
            raise AdapterError("ask", "it has ended", "", "", "elsewhere")
        return super().ask(operation, cases)

    def close(self):
        self.ended.set()


def test_what_another_question_ends_is_asked_again(monkeypatch):
    at_work, started = Event(), []

    def connect(*_):
        started.append(Ended(at_work))
        return started[-1]

    monkeypatch.setattr(implementations, "connect", connect)
    one = Implementation("elsewhere", PROFILE, {})
    names = ("bundles.locate", "usage.max")
    tried = [SourcedTrial("drawn", Trial.of(name, OPERATIONS[name].examples[0])) for name in names]
    with ThreadPoolExecutor(2) as aside:
        asker = Dispatcher(one, aside.submit, ignore_event)
        asker.ask(tried)
        by_name = {each.trial.operation: each for each in tried}
        with pytest.raises(AdapterError, match="no usage"):
            asker.answers(by_name["usage.max"])
        [answer] = asker.answers(by_name["bundles.locate"])
    assert "failed" not in answer
    assert [one.ended.is_set() for one in started] == [True, False]


class AlwaysEnded(Elsewhere):
    """A connection that another question always ends before this one is answered."""

    def __init__(self):
        super().__init__(2, SOON)

    def ask(self, operation, cases):
        raise AdapterError("ask", "it has ended", "", "", "elsewhere")


def test_a_question_whose_connection_is_always_ended_by_others_is_given_up(monkeypatch):
    monkeypatch.setattr(implementations, "connect", lambda *_: AlwaysEnded())
    monkeypatch.setattr(Implementation, "_close_broken", lambda *_: False)
    one = Implementation("elsewhere", PROFILE, {})
    with pytest.raises(AdapterError, match="it has ended"):
        one.answers([Trial.of("usage.max", OPERATIONS["usage.max"].examples[0])])


class Restarted(Elsewhere):
    """Fails on the very first question, as if another question had ended the process."""

    restarts = True
    failed = False

    def __init__(self):
        super().__init__(2, SOON)

    def ask(self, operation, cases):
        if not Restarted.failed:
            Restarted.failed = True
            raise AdapterError("ask", "it has ended", "", "", "elsewhere")
        return super().ask(operation, cases)


def test_a_question_counts_as_asked_where_it_was_answered(monkeypatch):
    monkeypatch.setattr(implementations, "connect", lambda *_: Restarted())
    one = Implementation("elsewhere", PROFILE, {})
    ends = one._close_broken
    monkeypatch.setattr(one, "_close_broken", lambda connection: ends(connection) and False)
    first, second = (Trial.of(name, OPERATIONS[name].examples[0]) for name in ASKED[:2])
    one.answers([first])
    one.answers([second])
    assert one.questions_before(first) == []
    assert one.questions_before(second) == list(first.questions)


def test_each_trial_is_asked_also_where_nothing_else_keeps_it(monkeypatch):
    asked = []

    class Counted(ReferenceConnection):
        def exchange(self, operation, batch):
            asked.extend(batch)
            return super().exchange(operation, batch)

    monkeypatch.setattr(implementations, "connect", lambda *_: Counted("elsewhere", PROFILE, {}))
    one = Implementation("elsewhere", PROFILE, {})
    dispatcher = Dispatcher(one, lambda work, *given: work(*given), ignore_event)
    example = OPERATIONS["usage.max"].examples[0]
    for _ in range(20):
        dispatcher.ask(SourcedTrial("drawn", Trial.of("usage.max", example)) for _ in range(1))
    assert len(asked) == 20
