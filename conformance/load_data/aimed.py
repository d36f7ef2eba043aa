"""Samples and bundles that tell readings apart."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from hypothesis import strategies as st
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.drawing.aimed_trials import made
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


AIMED: Mapping[str, st.SearchStrategy[Trial]] = {
    "window": made("average.bundle", full_of_old_samples),
    "kilobyte": st.one_of(
        made("average.bundle", without_samples),
        made("average.broker", owning_unmeasured),
    ),
}
