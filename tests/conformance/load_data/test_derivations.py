"""Calculations print as many decimal places as a verdict needs."""

from pulsar_conformance.conformance.common.check import SHARE
from pulsar_conformance.reference import Model
from pulsar_conformance.reference.cluster import RATE_FIELDS

PROFILE = "documented-3.0"


def texts(operation, case):
    return [step.text for step in Model(PROFILE).derive(operation, case).explain()]


def test_a_third_is_printed_so_that_0_333_can_be_distinguished_from_it():
    samples = [dict.fromkeys(RATE_FIELDS, rate) for rate in (1, 0, 0)]
    case = {"samples": samples, "shortSamples": 10, "longSamples": 1000}
    printed = next(one for one in texts("average.bundle", case) if "/ 3" in one)
    value = float(printed.rpartition("= ")[2])
    assert abs(value - 1 / 3) <= float(SHARE) / 3 < abs(0.333 - 1 / 3)


def test_a_usage_is_printed_to_a_thousandth_of_a_point():
    case = {"settings": {}, "weighted": False, "broker": {"cpu": {"usage": 1, "limit": 3}}}
    assert "33.3333 % of cpu" in texts("usage.max", case)
