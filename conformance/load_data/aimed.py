"""Samples and bundles that tell readings apart."""

from __future__ import annotations

from random import Random

from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.conformance.drawing.aims import aim
from pulsar_conformance.conformance.load_data import draw_averages as averages
from pulsar_conformance.reference.cluster import RATE_FIELDS


def full_of_old_samples(random: Random) -> Json:
    """A full short window of different samples, after many samples that are far from them."""
    before = dict.fromkeys(RATE_FIELDS, 1000 * random.randint(10, 20))
    after = [dict.fromkeys(RATE_FIELDS, 10 * random.randint(1, 9)) for _ in range(10)]
    return averages.averaging([before] * random.choice((10, 30)) + after, averages.USUAL)


def without_samples(_random: Random) -> Json:
    """A bundle that was never measured."""
    return averages.averaging([], averages.USUAL)


def owning_unmeasured(random: Random) -> Json:
    """A broker whose bundles were never measured."""
    return averages.owning(random, random.randint(1, 5), unmeasured=1)


AIMED = (
    aim("window", "average.bundle", full_of_old_samples),
    aim("kilobyte", "average.bundle", without_samples),
    aim("kilobyte", "average.broker", owning_unmeasured),
)
