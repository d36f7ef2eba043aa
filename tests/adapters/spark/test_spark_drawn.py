"""Spark and the model agree on drawn questions of every operation, except for ties."""

import re
from collections import Counter
from math import isclose

import pytest
from pulsar_conformance.adapters.names import connect
from standins.drawn_questions import Questions
from standins.sparks import NAME, spark

assert spark
pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

PROFILE = "documented-3.0"
DECLINED = ("refused", "failed", "unsupported")
REPEATS = 8
"""Number of times that the model is asked, since it chooses equal brokers in turn."""

RANGE = re.compile("0x[0-9a-f]{8}(_0x[0-9a-f]{8})?")
MAX_BUNDLES = "loadBalancerNamespaceMaximumBundles"
SAMPLE, EACH = 5, 400
"""Number of questions of each of the 13 operations, in usual and in thorough tests."""


def close(one, other):
    """True if two answers are equal within the precision of floating point."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(close(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(close, one, other))
    if isinstance(one, float | int) and isinstance(other, float | int):
        return isclose(one, other, rel_tol=1e-9)
    return one == other


def agree(one, other):
    """True if two answers are equal, or decline in the same way."""
    declined = [name for name in DECLINED if name in other]
    if declined:
        return all(name in one for name in declined)
    return close(settled(one), settled(other))


def settled(answer):
    """Return an answer with sorted lists where order has no meaning, such as bundles to split."""
    return {name: sorted(value) if is_unordered(value) else value for name, value in answer.items()}


def is_unordered(value):
    names = isinstance(value, list) and all(isinstance(one, str) for one in value)
    return names and not any(RANGE.fullmatch(one) for one in value)


def same_room(operation, case, one, other):
    """True if two answers differ only in which bundles are split until a namespace is full."""
    if operation != "bundles.split_candidates" or "split" not in one or "split" not in other:
        return False
    most = int(float(case["settings"].get(MAX_BUNDLES) or 128))
    spaces = [Counter(name.rpartition("/")[0] for name in told["split"]) for told in (one, other)]
    names = (set(one["split"]) ^ set(other["split"])) or {""}
    full = all(
        case["namespaceBundles"].get(space, 0) + spaces[0][space] >= most
        for space in (name.rpartition("/")[0] for name in names)
    )
    return spaces[0] == spaces[1] and full


def differences(count):
    with connect("reference", PROFILE, {}) as model, connect(NAME, PROFILE, {}) as engine:
        for operation in engine.hello.operations:
            questions = Questions(f"drawn/{operation}")
            cases = [questions.draw(operation) for _ in range(count)]
            answers = engine.ask(operation, cases)
            expected = model.ask(operation, cases)
            for case, one, other in zip(cases, answers, expected, strict=True):
                if not agree(one, other) and not same_room(operation, case, one, other):
                    others = model.ask(operation, [case] * REPEATS)
                    if not any(agree(one, another) for another in others):
                        yield operation, case, one, other


def test_a_sample_of_drawn_questions_is_answered_alike():
    assert list(differences(SAMPLE)) == []


@pytest.mark.thorough
def test_five_thousand_drawn_questions_are_answered_alike():
    assert list(differences(EACH)) == []
