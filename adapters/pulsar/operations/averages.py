"""Answers to average.bundle and average.broker by the leader's own classes, given all samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pulsar_conformance.adapters.pulsar.jvm import Java, call, capitalized
from pulsar_conformance.adapters.pulsar.loads import RATES, WINDOWS
from pulsar_conformance.adapters.pulsar.manager import Manager, default_stats
from pulsar_conformance.adapters.pulsar.release import Answer, Case, Release
from pulsar_conformance.adapters.pulsar.service import Service

BUNDLE = "t/ns/0x00000000_0xffffffff"
FRAMES = {"shortTermData": "shortSamples", "longTermData": "longSamples"}
"""For each average, the field of a case with its maximum number of samples."""


def bundle(release: Release, case: Case) -> Answer:
    """Return the averages of a bundle, which starts with default data and gets every sample."""
    with Manager(Service(release.configuration({}))) as manager:
        known = call(manager.java, "getBundleDataOrDefault", BUNDLE)
    for frame, window in FRAMES.items():
        _averages_of_frame(known, frame).setMaxSamples(case[window])
    for sample in release.loads.parse_stats(case["samples"]):
        known.update(sample)
    return {frame: _average(_averages_of_frame(known, frame)) for frame in FRAMES}


def broker(release: Release, case: Case) -> Answer:
    """Return the sums over a broker's bundles, which the load manager computes at each report."""
    known = release.loads.averages_of_measured(case["bundles"])
    sums = release.loads.broker_sums(case["owned"], known, default_stats())
    return {frame: _rates(sums, frame.removesuffix("Data")) for frame in WINDOWS}


def _averages_of_frame(known: Java, name: str) -> Java:
    return known.getShortTermData() if name == "shortTermData" else known.getLongTermData()


def _average(average: Java) -> Mapping[str, Any]:
    counts = {
        "numSamples": int(average.getNumSamples()),
        "maxSamples": int(average.getMaxSamples()),
    }
    return {**_rates(average), **counts}


def _rates(java: Java, prefix: str = "") -> Mapping[str, float]:
    """Return the four rates that the getters of a Java object return."""
    return {
        name: float(getattr(java, f"get{capitalized(prefix + capitalized(name))}")())
        for name in RATES
    }
