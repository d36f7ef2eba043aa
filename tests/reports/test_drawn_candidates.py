"""The picture of a placement shows its candidates."""

from pulsar_conformance.fixtures import examples
from pulsar_conformance.reports.pages.making import ShownExample
from pulsar_conformance.reports.pages.outcomes import DerivedExample
from pulsar_conformance.reports.site.pictures import pictures

EXAMPLES = {one.id: one for one in examples()}


def drawn(name):
    return "".join(pictures(ShownExample(DerivedExample.of(EXAMPLES[name]))))


def test_the_candidates_of_a_placement_are_drawn_with_the_chosen_one():
    said = drawn("place-three-ways-weighted")
    assert "b1: 84 %, score 100; b2: 45 %, score 5, chosen; b3: 5 %, score 12.5" in said
    assert "threshold 85 %" in said
    assert (said.count('class="pc-bar"'), said.count('class="pc-other"')) == (1, 2)
    said = drawn("place-three-ways-plain")
    assert "b1: 84 %, 100 msg/s, chosen; b2: 45 %, 200 msg/s; b3: 5 %, 1000 msg/s" in said
    said = drawn("place-over-the-threshold")
    assert "b1: 95 %, left out; b2: 40 %, score 888.889, chosen" in said
    said = drawn("place-nobody-below-the-threshold")
    assert said.count("<figure>") == 1
    assert "each of those chosen is a right answer. b1: 75 %, left out, chosen; b2: 100 %" in said
    assert "b3: 25 %, score 83.3333, chosen" in drawn("anti-broker-with-the-fewest")


def test_no_placement_is_drawn_as_a_range():
    placed = [
        one for one in EXAMPLES.values() if one.questions[0][0] in ("place.select", "place.broker")
    ]
    pictured = [one.id for one in placed if drawn(one.id)]
    assert len(pictured) > len(placed) / 2
    assert not [one.id for one in placed if "before: " in drawn(one.id)]
