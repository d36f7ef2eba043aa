"""The engine sends fewer messages to Java: it keeps constant columns, sends short lists in one
message, and frees objects late.
"""

from collections import deque
from types import SimpleNamespace

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.adapters.spark.messages import (
    MAX_REMEMBERED,
    MAX_SHORT_LIST,
    RememberedMembers,
    defer_freeing,
    in_one_message,
    remember_results,
)

pytestmark = pytest.mark.spark


def test_a_constant_column_is_requested_only_once():
    requests = []

    def create(*arguments):
        requests.append(arguments)
        return object()

    col = remember_results(create)
    assert col("broker") is col("broker")
    assert len({col(one) for one in (1, 1.0, True, "1", "True", 0.0, -0.0)}) == 7
    assert len(requests) == 8
    given = object()
    assert col(given) is not col(given)
    assert col("a", "b") is not col("a", "b")


def test_the_number_of_remembered_columns_is_limited():
    col = remember_results(lambda _name: object())
    first = col("0")
    for number in range(MAX_REMEMBERED + 1):
        col(str(number))
    assert col("0") is not first


def test_other_functions_are_called_each_time_but_looked_up_only_once():
    class Java:
        lookups = 0

        @property
        def coalesce(self):
            self.lookups += 1
            return lambda *_: object()

    java = Java()
    functions = RememberedMembers(java)
    assert functions.coalesce("a") is not functions.coalesce("a")
    assert java.lookups == 1


def test_a_short_list_is_one_message():
    created = []
    to_seq = in_one_message(list, lambda *elements: created.append(elements) or elements)
    assert to_seq(iter("ab")) == ["a", "b"]
    assert to_seq([]) == []
    assert to_seq(range(MAX_SHORT_LIST + 1)) == [*range(MAX_SHORT_LIST + 1)]
    assert to_seq(["a", None]) == ["a", None]
    assert created == [("a", "b"), ()]


def test_objects_are_freed_later_all_at_once():
    freed = deque(["earlier"])
    client = SimpleNamespace(finalizer_deque=freed)
    free = defer_freeing(SimpleNamespace(_gateway_client=client))
    client.finalizer_deque.appendleft("a")
    client.finalizer_deque.appendleft("b")
    assert list(freed) == ["earlier"]
    free()
    assert client.finalizer_deque is freed
    assert set(freed) == {"earlier", "a", "b"}
