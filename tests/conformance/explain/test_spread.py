"""The number of topics in each bundle, and the probability of such an uneven distribution."""

import random
from collections import Counter
from itertools import pairwise
from math import factorial

import pytest
from pulsar_conformance.conformance.explain.spread import probability_of_at_most, spread_lines


@pytest.mark.parametrize(("most", "chance"), [(0, 0), (1, 0.5), (2, 1)])
def test_two_topics_in_two_bundles_share_one_in_half_of_the_draws(most, chance):
    assert probability_of_at_most(most, 2, [0.5, 0.5]) == pytest.approx(chance)


def test_the_chance_is_that_of_drawn_names():
    shares, topics, most = [0.5, 0.25, 0.125, 0.125], 20, 11
    draw = random.Random(7)
    draws = 5000
    within = sum(
        max(Counter(draw.choices(range(4), shares, k=topics)).values()) <= most
        for _ in range(draws)
    )
    assert probability_of_at_most(most, topics, shares) == pytest.approx(within / draws, abs=0.03)


def test_topics_are_counted_by_bundle(explain):
    topics = [f"persistent://a/b/t-partition-{number}" for number in range(6)]
    case = {"boundaries": ["0x00000000", "0x80000000", "0xffffffff"], "topics": topics}
    status, out, _ = explain({"ask": "bundles.locate", "case": case})
    assert status == 0
    assert "topics in each bundle" in out
    assert "hashed at random, the probability of" in " ".join(out.split())


@pytest.mark.parametrize(("topics", "told"), [(100, "over 99.9 %"), (2, "50.0 %")])
def test_a_probability_is_not_rounded_to_certainty(topics, told):
    """The printed probability is never rounded to 100 %.

    Two names fall into the same half with probability 1/2. Of 100 names, two almost certainly fall
    into the same one of 100 bundles.
    """
    edges = [f"0x{one:08x}" for one in (*range(0, 2**32, 2**32 // topics), 2**32 - 1)]
    case = {"boundaries": edges, "topics": [""] * topics}
    placed = [f"{low}_{high}" for low, high in pairwise(edges[: topics + 1])]
    lines = spread_lines("bundles.locate", case, {"bundles": [placed[0], *placed[:-1]]})
    assert told in " ".join(lines)


def test_a_spread_as_even_as_can_be_is_called_so(explain):
    topics = ["persistent://a/b/t-1", "persistent://a/b/t-2"]
    edges = ["0x00000000", "0x80000000", "0xffffffff"]
    for number in range(50):
        topics = [f"persistent://a/b/t-{number}", f"persistent://a/b/u-{number}"]
        case = {"boundaries": edges, "topics": topics}
        _, out, _ = explain({"ask": "bundles.locate", "case": case})
        if out.count("  1 topic") == 2:
            break
    assert "No distribution has fewer topics in the fullest bundle." in out
    assert "hashed at random" not in out


def test_topics_of_bundles_without_an_owner_are_on_no_broker():
    """With 5/16 on each of three brokers, the probability is that of a multinomial distribution."""
    at_most_two = sum(
        factorial(6)
        / (factorial(a) * factorial(b) * factorial(c) * factorial(6 - a - b - c))
        * (5 / 16) ** (a + b + c)
        * (1 / 16) ** (6 - a - b - c)
        for a in range(3)
        for b in range(3)
        for c in range(3)
    )
    found = probability_of_at_most(2, 6, [5 / 16] * 3, 1 / 16)
    assert found == pytest.approx(at_most_two)
    assert 1 - found == pytest.approx(0.78164, abs=1e-5)
