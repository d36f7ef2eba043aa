"""Equal values are kept only once, whether they are hashable or not."""

from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.drawing.drawing import MAX_COMPARED, Distinct, content_hash


class Compared:
    """A value that is not hashable, and that counts its comparisons."""

    __hash__ = None
    count = 0

    def __eq__(self, other):
        Compared.count += 1
        return self is other


def case(number):
    return {"settings": {"threshold": number}, "bundles": ["a", "b"]}


def test_equal_values_have_the_same_hash():
    for one, other in (
        ({"a": 1, "b": [True, None]}, {"b": [1.0, None], "a": 1.0}),
        ((1, [0.0]), (1.0, [-0.0])),
        (Trial.of("usage.max", case(1)), Trial.of("usage.max", case(1.0))),
    ):
        assert one == other
        assert content_hash(one) == content_hash(other)


def test_trials_that_differ_differ_in_their_hash():
    hashes = {content_hash(Trial.of("usage.max", case(number))) for number in range(1000)}
    assert len(hashes) == 1000


def test_the_first_of_equal_values_is_kept_in_order():
    found = Distinct()
    for value in (3, {"b": 1, "a": 2}, [1], 3.0, {"a": 2, "b": 1}, (1,), [True], 2):
        found.add(value)
    assert found.values == [3, {"b": 1, "a": 2}, [1], (1,), 2]


def test_values_of_other_kinds_are_compared_with_one_another():
    found = Distinct()
    first, second = Compared(), Compared()
    for value in (first, second, first):
        found.add(value)
    assert found.values == [first, second]


def test_many_values_are_not_compared_with_those_that_differ_in_hash(monkeypatch):
    found = Distinct()
    for number in range(MAX_COMPARED + 1):
        found.add([number, Compared()])
    monkeypatch.setattr(Compared, "count", 0)
    for number in range(MAX_COMPARED + 1, 1000):
        found.add([number, Compared()])
    assert len(found.values) == 1000
    assert Compared.count == 0


def test_equal_values_are_kept_once_among_many():
    found = Distinct()
    for number in (*range(MAX_COMPARED + 50), *range(MAX_COMPARED + 100)):
        found.add(case(number))
    assert found.values == [case(number) for number in range(MAX_COMPARED + 100)]
