"""A bundle is among a broker's busiest if too few others have both more messages and more bytes."""

import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.drawing.loads import as_average
from pulsar_conformance.conformance.engine.draw import draw_trials
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator

PROFILE, RULE = "documented-5.0", "TRANSFER-17"
SAME, RISING = (lambda _place: 1000), (lambda place: 1000 * (place + 1))
"""Rates of a broker's bundles, by their place."""


def judged(messages, bytes_per_second, samples=lambda _place: 10):
    """Return the verdict if the first bundle of a broker with more than may be reported goes.

    The functions map the place of a bundle to its rates, and to its number of samples.
    """
    case = draw_trials(RULE, PROFILE, 0, 5)[0].questions[0].case
    source, target = list(case["brokers"])[:2]
    bundles = case["brokers"][source]["bundles"]
    measured = {
        bundle: {"msgRateIn": messages(place), "msgThroughputIn": bytes_per_second(place)}
        for place, bundle in enumerate(bundles)
    }
    averages = {
        bundle: {
            "shortTermData": as_average(load, samples(place), 10),
            "longTermData": as_average(load, samples(place), 1000),
        }
        for place, (bundle, load) in enumerate(measured.items())
    }
    changed = {**case, "bundles": {**case["bundles"], **averages}}
    answer = {"unload": [{"broker": source, "bundle": bundles[0], "to": target}]}
    known = specs.load()
    evaluator = RuleEvaluator(known.defaults(PROFILE), known.default_readings(PROFILE))
    return evaluator.judge(RULE, Trial.of("shed.select", changed), [answer]).word


@pytest.mark.parametrize(
    ("messages", "bytes_per_second", "word"),
    [(RISING, RISING, "violated"), (RISING, SAME, "allowed"), (SAME, RISING, "allowed")],
    ids=["less of both", "fewer messages", "fewer bytes"],
)
def test_only_a_bundle_with_less_of_both_is_not_among_the_busiest(messages, bytes_per_second, word):
    assert judged(messages, bytes_per_second) == word


def test_bundles_without_samples_are_not_among_the_busiest():
    """A small bundle may go beside bundles that were never measured, as no rates are assumed."""
    few = judged(lambda _place: 1, lambda _place: 1, lambda place: 0 if place else 10)
    assert few == "not_reached"
