"""Changes between two observations of a cluster are found while locks and ranges change singly."""

from types import SimpleNamespace

import pytest
from pulsar_conformance.adapters.admin_api.observed import ObservedBundles, ObservedStep

SPACE = "shop/eu"
WHOLE = "0x00000000_0xffffffff"
LEFT, RIGHT = "0x00000000_0x7fffffff", "0x7fffffff_0xffffffff"


class Written:
    """Metadata whose bundle ranges and locks a test sets for successive moments."""

    def __init__(self):
        self.brokers = {"b1": None, "b2": None}
        self.metadata = SimpleNamespace(ranges=self.ranges)
        self.moments = []

    def ranges(self, space):
        assert space == SPACE
        return list(self.moments[0][0])

    def owned_bundles(self, spaces):
        assert list(spaces) == [SPACE]
        locks = dict(self.moments[0][1])
        if len(self.moments) > 1:
            del self.moments[0]
        return {f"{SPACE}/{part}": owner for part, owner in locks.items()}


@pytest.fixture
def written():
    return Written()


def look(observed, written, *moments):
    written.moments = list(moments)
    step = ObservedStep("admin")
    observed.observe([SPACE], step, lambda _: None)
    return step


def released(step):
    return [(one["bundle"].rpartition("/")[2], one["reason"]) for one in step.unloaded]


def assigned(step):
    return [one["bundle"].rpartition("/")[2] for one in step.assigned]


OWNED = ([WHOLE], {WHOLE: ("b1", 1)})
PARTS = {LEFT: ("b1", 2), RIGHT: ("b1", 3)}


def test_parts_are_no_bundles_before_the_namespace_is_divided(written):
    observed = ObservedBundles(written)
    look(observed, written, OWNED)
    step = look(observed, written, ([WHOLE], {**OWNED[1], **PARTS}))
    assert (step.split, step.unloaded, step.assigned) == ([], [], [])


def test_a_whole_that_is_still_locked_is_no_bundle(written):
    observed = ObservedBundles(written)
    look(observed, written, OWNED)
    step = look(observed, written, ([LEFT, RIGHT], {**OWNED[1], **PARTS}))
    assert [one["into"] for one in step.split] == [[f"{SPACE}/{LEFT}", f"{SPACE}/{RIGHT}"]]
    assert (step.unloaded, step.assigned) == ([], [])
    assert released(look(observed, written, ([LEFT, RIGHT], PARTS))) == []


def test_parts_that_are_released_are_released_by_the_split(written):
    observed = ObservedBundles(written)
    look(observed, written, OWNED)
    step = look(observed, written, ([LEFT, RIGHT], OWNED[1]))
    assert released(step) == [(LEFT, "split"), (RIGHT, "split")]


def test_a_namespace_that_is_divided_between_two_readings_is_read_again(written):
    observed = ObservedBundles(written)
    look(observed, written, OWNED)
    step = look(observed, written, OWNED, ([LEFT, RIGHT], PARTS))
    assert len(step.split) == 1
    assert (released(step), assigned(step)) == ([], [])


def test_a_bundle_that_moves_is_released_and_assigned(written):
    observed = ObservedBundles(written)
    assert assigned(look(observed, written, OWNED)) == [WHOLE]
    step = look(observed, written, ([WHOLE], {WHOLE: ("b2", 2)}))
    assert released(step) == [(WHOLE, "admin")]
    assert step.assigned == [{"bundle": f"{SPACE}/{WHOLE}", "to": "b2"}]


def test_what_a_broker_had_that_goes_down_is_lost_and_not_unloaded(written):
    observed = ObservedBundles(written)
    look(observed, written, OWNED)
    del written.brokers["b1"]
    assert look(observed, written, ([WHOLE], {})).unloaded == []


@pytest.mark.parametrize(
    ("step", "unloaded"),
    [
        pytest.param(ObservedStep("stop", stopping="b1"), [(WHOLE, "stop")], id="it_stops"),
        pytest.param(ObservedStep("shed", leaving="b1"), [], id="it_crashes"),
    ],
)
def test_a_broker_unloads_its_bundles_only_if_it_stops(written, step, unloaded):
    observed = ObservedBundles(written)
    look(observed, written, OWNED)
    del written.brokers["b1"]
    written.moments = [([WHOLE], {WHOLE: ("b2", 4)})]
    observed.observe([SPACE], step, lambda _: None)
    assert released(step) == unloaded
    assert assigned(step) == [WHOLE]
