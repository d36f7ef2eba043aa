"""Cycles that tell readings of shedding apart."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.conformance.drawing import loads
from pulsar_conformance.conformance.drawing.aims import aim
from pulsar_conformance.conformance.shedding.draw_clusters import (
    LOWER_BOUNDARY,
    NEEDED,
    OVER_AVERAGE,
    OVERLOAD,
    UNIFORM_RATE,
    UNIFORM_THROUGHPUT,
    Sketch,
)
from pulsar_conformance.conformance.shedding.operations import SHED
from pulsar_conformance.reference.ranges import FULL_UPPER, HashRange, namespace_of


def _sketch(
    random: Random,
    strategy: str,
    levels: list[float],
    settings: Mapping[str, Any],
    each: int = 4,
    exact: bool = False,
    awry: bool = False,
) -> Json:
    """A cluster without ties, history or immovable bundles."""
    sketch = Sketch(
        random, strategy, levels, [each] * len(levels), exact, dict(settings),
        recent=0, awry=awry, traffic="different",
    )  # fmt: skip
    return sketch.case()


def at_the_overload_threshold(random: Random) -> Json:
    """A broker exactly at the threshold."""
    level = random.choice((50, 75))
    return _sketch(random, "OverloadShedder", [level, 25], {OVERLOAD: level}, exact=True)


def far_over(random: Random) -> Json:
    """A broker whose excess is as large as several bundles."""
    return _sketch(random, "OverloadShedder", [99, 10], {OVERLOAD: 60}, each=12)


def all_overloaded_alike(random: Random) -> Json:
    """Every broker overloaded, and none above the average."""
    settings = {**NEEDED, OVERLOAD: 60}
    return _sketch(random, "ThresholdShedder", [80.0] * random.randint(2, 4), settings)


def at_the_threshold(random: Random) -> Json:
    """A broker exactly 25 points above the average."""
    levels: list[float] = [75, 25]
    random.shuffle(levels)
    return _sketch(random, "ThresholdShedder", levels, {OVER_AVERAGE: 25}, exact=True)


def well_above_the_average(random: Random) -> Json:
    """Usages of 40, 10 and 10, with forty bundles of about 2.5 percent each on the busy broker.

    What brings it to its target is 25, 21, 62.5 or 52.5 percent: 10, 9, 25 or 21 bundles.
    """
    case = _sketch(random, "ThresholdShedder", [40, 10, 10], {OVER_AVERAGE: 10}, each=40)
    [busy, *_] = case["brokers"].values()
    for place, bundle in enumerate(busy["bundles"]):
        size, messages = loads.MEGABYTE + place * 1000, 100 + place / 10
        load = {"msgRateIn": messages, "msgThroughputIn": size}
        case["bundles"][bundle] = {"shortTermData": loads.average(load, 10, 10)}
    data = [case["bundles"][bundle]["shortTermData"] for bundle in busy["bundles"]]
    busy |= {"msgRateOut": 0, "msgThroughputOut": 0}
    for rate in ("msgRateIn", "msgThroughputIn"):
        busy[rate] = sum(load[rate] for load in data)
    return case


def _busy_but_one(random: Random, below: float, settings: Mapping[str, Any]) -> Json:
    """Ten brokers with equal usage, and one `below` points below the average of all."""
    levels = [60.0] * 10 + [60 - below * 1.1]
    settings = {LOWER_BOUNDARY: True, **settings}
    return _sketch(random, "ThresholdShedder", levels, settings, each=2)


def a_little_below_the_average(random: Random) -> Json:
    """A broker 5 points below the average, with a threshold of 10."""
    return _busy_but_one(random, 5, {OVER_AVERAGE: 10})


def between_ten_and_the_threshold(random: Random) -> Json:
    """A broker 15 points below the average, with a threshold of 20."""
    return _busy_but_one(random, 15, {OVER_AVERAGE: 20})


def _two_brokers(random: Random, factor: float, messages: float, settings: Json) -> Json:
    """Two brokers, one with `factor` times the bytes and `messages` more messages."""
    case = _sketch(random, "UniformLoadShedder", [40, 40], settings, each=8)
    for broker, more in zip(case["brokers"].values(), (messages, 0), strict=True):
        size = 100 * loads.MEGABYTE * (factor if more else 1)
        broker |= {"msgRateIn": 1000 + more, "msgRateOut": 0}
        broker |= {"msgThroughputIn": size, "msgThroughputOut": 0}
        for bundle in broker["bundles"]:
            load = {"msgRateIn": (1000 + more) / 8, "msgThroughputIn": size / 8}
            case["bundles"][bundle] = {"shortTermData": loads.average(load, 10, 10)}
    return case


def messages_differ_alone(random: Random) -> Json:
    """Message rates that are far apart, and throughputs that are not."""
    return _two_brokers(random, 1.5, 4000, {UNIFORM_RATE: 50, UNIFORM_THROUGHPUT: 4})


def differ_in_number_not_in_percent(random: Random) -> Json:
    """A difference of 400 messages, which is 40 %, with a threshold of 50."""
    ratio = random.choice((1.2, 4))
    return _two_brokers(random, 1.5, 400, {UNIFORM_RATE: 50, UNIFORM_THROUGHPUT: ratio})


def _one_busy(random: Random, each: int, awry: bool = False) -> Json:
    """A broker from which OverloadShedder or ThresholdShedder sheds, and an idle one."""
    strategy, settings = random.choice(
        (("OverloadShedder", {OVERLOAD: 60}), ("ThresholdShedder", {OVER_AVERAGE: 10}))
    )
    return _sketch(random, strategy, [80, 10], settings, each=each, awry=awry)


def bytes_against_messages(random: Random) -> Json:
    """Bundles that carry fewer messages the more bytes they carry."""
    return _one_busy(random, each=8, awry=True)


def unloaded_before_the_split(random: Random) -> Json:
    """A broker that should shed, with the halves of bundles that were unloaded ten minutes ago."""
    case = _one_busy(random, each=4)
    for report in case["brokers"].values():
        for bundle in report["bundles"]:
            part = HashRange.parse(bundle)
            whole = HashRange(part.lower, min(part.upper + part.width, FULL_UPPER))
            case["recentlyUnloaded"][f"{namespace_of(bundle)}/{whole.name}"] = 10
    return case


def unloaded_just_so_long_ago(random: Random) -> Json:
    """A broker that should shed; all its bundles were unloaded exactly a grace period ago."""
    case = _one_busy(random, each=4)
    owned = [bundle for report in case["brokers"].values() for bundle in report["bundles"]]
    case["recentlyUnloaded"] = dict.fromkeys(owned, 30)
    return case


def never_measured_beside_measured(random: Random) -> Json:
    """Bundles without data, beside some that carry 101,000 bytes per second."""
    case = _one_busy(random, each=6)
    [busy, *_] = case["brokers"].values()
    load = {"msgRateIn": 100, "msgThroughputIn": 101_000}
    for place, bundle in enumerate(busy["bundles"]):
        data = {"shortTermData": loads.average(load, 10, 10)}
        case["bundles"] = {**case["bundles"], bundle: data if place % 2 else {}}
    busy |= {"msgRateIn": 600, "msgRateOut": 0, "msgThroughputOut": 0, "msgThroughputIn": 603_000}
    return case


AIMED = (
    aim("overload-trigger", SHED.id, at_the_overload_threshold),
    aim("overload-amount", SHED.id, far_over),
    aim("overload-scope", SHED.id, all_overloaded_alike),
    aim("shed-measure", SHED.id, bytes_against_messages),
    aim("threshold-trigger", SHED.id, at_the_threshold),
    aim("threshold-target", SHED.id, well_above_the_average),
    aim("threshold-released", SHED.id, well_above_the_average),
    aim("lower-boundary", SHED.id, a_little_below_the_average, between_ten_and_the_threshold),
    aim("uniform-trigger", SHED.id, messages_differ_alone),
    aim("uniform-difference", SHED.id, differ_in_number_not_in_percent),
    aim("grace-of", SHED.id, unloaded_before_the_split),
    aim("grace-edge", SHED.id, unloaded_just_so_long_ago),
    aim("kilobyte", SHED.id, never_measured_beside_measured),
)
