"""Builds shedding cycles whose answers distinguish the alternatives of a reading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.conformance.drawing import aim, control_aims, loads, names
from pulsar_conformance.conformance.shedding.draw_clusters import NO_DEFAULT, WEIGHTS, Sketch
from pulsar_conformance.conformance.shedding.operations import SHED
from pulsar_conformance.reference.averages import WINDOWS
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.reference.ranges import FULL_UPPER, HashRange, namespace_of
from pulsar_conformance.reference.threshold import LOWER_BOUNDARY, SHEDDER_THRESHOLD
from pulsar_conformance.reference.uniform import RATE_THRESHOLD, THROUGHPUT_THRESHOLD


def _sketch(
    random: Random,
    strategy: str,
    levels: Sequence[float],
    settings: Mapping[str, Any],
    each: int = 4,
    exact: bool = False,
    ranks_differ: bool = False,
) -> Json:
    """Return a case without ties, usage history or recently unloaded bundles.

    `levels` has the usage of each broker in percent; `each` is the number of bundles per broker.
    """
    sketch = Sketch(
        random, strategy, levels, [each] * len(levels), exact, dict(settings),
        recent=0, ranks_differ=ranks_differ, traffic="different",
    )  # fmt: skip
    return sketch.case()


def _averages(load: Mapping[str, float]) -> Json:
    """Return bundle data with the same traffic in the short and the long term."""
    return {window: loads.as_average(load, samples, samples) for window, samples in WINDOWS.items()}


def _with_cpu(levels: Sequence[float], case: Json) -> Json:
    """Set each broker's CPU usage to its level; under some readings, memory does not count."""
    for broker, level in zip(case["brokers"].values(), levels, strict=True):
        broker["cpu"] = {"usage": level, "limit": 100}
    return case


def at_the_overload_threshold(random: Random) -> Json:
    """Return a case with a broker whose usage is exactly the overload threshold."""
    level = random.choice((50, 75))
    settings = {OVERLOAD_THRESHOLD: level}
    return _with_cpu(
        [level, 25], _sketch(random, "OverloadShedder", [level, 25], settings, exact=True)
    )


def must_shed_several_bundles(random: Random) -> Json:
    """Return a case with a broker that must shed several bundles to get below the threshold."""
    return _sketch(random, "OverloadShedder", [99, 10], {OVERLOAD_THRESHOLD: 60}, each=12)


def all_overloaded_alike(random: Random) -> Json:
    """Return a case of equally overloaded brokers, none of which is above the average."""
    settings = {**NO_DEFAULT, OVERLOAD_THRESHOLD: 60}
    return _sketch(random, "ThresholdShedder", [80.0] * random.randint(2, 4), settings)


def at_the_threshold(random: Random) -> Json:
    """Return a case with a broker exactly 25 points above the average, with a threshold of 25."""
    levels: list[float] = [75, 25]
    random.shuffle(levels)
    settings = {SHEDDER_THRESHOLD: 25}
    return _with_cpu(levels, _sketch(random, "ThresholdShedder", levels, settings, exact=True))


def well_above_the_average(random: Random) -> Json:
    """Return a case of brokers at 40, 10 and 10 %; the busiest has 40 almost equal bundles.

    Depending on the alternative, the busiest broker must shed 25, 21, 62.5 or 52.5 percent of its
    traffic, which are 10, 9, 25 or 21 bundles.
    """
    case = _sketch(random, "ThresholdShedder", [40, 10, 10], {SHEDDER_THRESHOLD: 10}, each=40)
    [busy, *_] = case["brokers"].values()
    for index, bundle in enumerate(busy["bundles"]):
        size, messages = 10 * loads.MEGABYTE + index * 10_000, 100 + index / 10
        load = {"msgRateIn": messages, "msgThroughputIn": size}
        case["bundles"][bundle] = _averages(load)
    data = [case["bundles"][bundle]["shortTermData"] for bundle in busy["bundles"]]
    busy |= {"msgRateOut": 0, "msgThroughputOut": 0}
    for rate in ("msgRateIn", "msgThroughputIn"):
        busy[rate] = sum(load[rate] for load in data)
    return case


def _busy_but_one(random: Random, below: float, settings: Mapping[str, Any]) -> Json:
    """Return a case of eleven brokers, one of which is `below` points below their average."""
    levels = [60.0] * 10 + [60 - below * 1.1]
    settings = {LOWER_BOUNDARY: True, **settings}
    return _sketch(random, "ThresholdShedder", levels, settings, each=2)


def a_little_below_the_average(random: Random) -> Json:
    """Return a case with a broker 5 points below the average, with a threshold of 10."""
    return _busy_but_one(random, 5, {SHEDDER_THRESHOLD: 10})


def between_ten_and_the_threshold(random: Random) -> Json:
    """Return a case with a broker 15 points below the average, with a threshold of 20."""
    return _busy_but_one(random, 15, {SHEDDER_THRESHOLD: 20})


def _two_brokers(random: Random, factor: float, messages: float, settings: Json) -> Json:
    """Return two brokers; one has `factor` times the bytes and `messages` more messages/s."""
    case = _sketch(random, "UniformLoadShedder", [40, 40], settings, each=8)
    for broker, more in zip(case["brokers"].values(), (messages, 0), strict=True):
        size = 100 * loads.MEGABYTE * (factor if more else 1)
        broker |= {"msgRateIn": 1000 + more, "msgRateOut": 0}
        broker |= {"msgThroughputIn": size, "msgThroughputOut": 0}
        for bundle in broker["bundles"]:
            load = {"msgRateIn": (1000 + more) / 8, "msgThroughputIn": size / 8}
            case["bundles"][bundle] = _averages(load)
    return case


def messages_differ_alone(random: Random) -> Json:
    """Return a case of two brokers with very different message rates but similar throughput."""
    return _two_brokers(random, 1.5, 4000, {RATE_THRESHOLD: 50, THROUGHPUT_THRESHOLD: 4})


def differ_in_number_not_in_percent(random: Random) -> Json:
    """Return a case of two brokers that differ by 400 msg/s, or 40 %, with a threshold of 50."""
    ratio = random.choice((1.2, 4))
    return _two_brokers(random, 3, 400, {RATE_THRESHOLD: 50, THROUGHPUT_THRESHOLD: ratio})


def _one_busy(random: Random, each: int, ranks_differ: bool = False) -> Json:
    """Return a case of OverloadShedder or ThresholdShedder: an idle broker, and one that sheds."""
    strategy, settings = random.choice(
        (
            ("OverloadShedder", {OVERLOAD_THRESHOLD: 60}),
            ("ThresholdShedder", {SHEDDER_THRESHOLD: 10}),
        )
    )
    return _sketch(random, strategy, [80, 10], settings, each=each, ranks_differ=ranks_differ)


def bytes_against_messages(random: Random) -> Json:
    """Return a case with bundles that rank differently by bytes and by messages."""
    return _one_busy(random, each=8, ranks_differ=True)


def unloaded_before_the_split(random: Random) -> Json:
    """Return a case of a broker that should shed bundles whose parents were recently unloaded."""
    case = _one_busy(random, each=4)
    for report in case["brokers"].values():
        for bundle in report["bundles"]:
            part = HashRange.parse(bundle)
            whole = HashRange(part.lower, min(part.upper + part.width, FULL_UPPER))
            case["recentlyUnloaded"][f"{namespace_of(bundle)}/{whole.name}"] = 10
    return case


def unloaded_one_grace_period_ago(random: Random) -> Json:
    """Return a case of a broker that should shed bundles unloaded exactly a grace period ago."""
    case = _one_busy(random, each=4)
    owned = [bundle for report in case["brokers"].values() for bundle in report["bundles"]]
    case["recentlyUnloaded"] = dict.fromkeys(owned, 30)
    return case


def never_measured_beside_measured(random: Random) -> Json:
    """Return a case of bundles without data, and bundles that carry 101,000 bytes per second.

    A bundle without data counts as 100 kB/s, where a kilobyte is 1000 or 1024 bytes, depending on
    the alternative.
    """
    case = _one_busy(random, each=6)
    [busy, *_] = case["brokers"].values()
    load = {"msgRateIn": 100, "msgThroughputIn": 101_000}
    for index, bundle in enumerate(busy["bundles"]):
        case["bundles"][bundle] = _averages(load) if index % 2 else {}
    busy |= {"msgRateIn": 600, "msgRateOut": 0, "msgThroughputOut": 0, "msgThroughputIn": 603_000}
    return case


MB = loads.MEGABYTE

Amount = tuple[float, float]
"""Messages per second, and bytes per second."""


def _rates(amount: Amount) -> Json:
    return {"msgRateIn": amount[0], "msgThroughputIn": amount[1]}


def _case(strategy: str, settings: Json, brokers: Sequence[tuple[float, Sequence[Amount]]]) -> Json:
    """Return a case; `brokers` has each broker's CPU usage, and the traffic of each bundle."""
    bundles = iter(names.bundles(Random(0), sum(len(loads_) for _, loads_ in brokers)))
    weights = dict.fromkeys(WEIGHTS, 1.0)
    case: Json = {
        "strategy": strategy, "settings": {**weights, **settings}, "brokers": {}, "bundles": {},
        "recentlyUnloaded": {},
    }  # fmt: skip
    for index, (usage, amounts) in enumerate(brokers, 1):
        owned = {next(bundles): amount for amount in amounts}
        messages, size = (sum(one[k] for one in amounts) for k in (0, 1))
        case["brokers"][f"broker-{index}"] = {
            "cpu": {"usage": usage, "limit": 100},
            "bundles": list(owned),
            **_rates((messages, size)),
        }
        for name, amount in owned.items():
            case["bundles"][name] = _averages(_rates(amount))
    return case


def _overloaded(amounts: Sequence[Amount], usage: float = 80) -> Json:
    """Return an idle broker and an overloaded one, which at 80 % sheds a quarter of its traffic."""
    return _case("OverloadShedder", {OVERLOAD_THRESHOLD: 60}, [(usage, amounts), (5, [])])


def _sizes(random: Random, count: int) -> list[Amount]:
    """Return the traffic of bundles, each with more messages and bytes than the one before."""
    start = random.randint(5, 20)
    return [(100.0 * (start + step), float((start + step) * MB)) for step in range(count)]


def busy_in_one_window(random: Random) -> Json:
    """Return a case of bundles that rank differently by long-term and by short-term traffic."""
    amounts = _sizes(random, 6)
    case = _overloaded(amounts)
    for bundle, amount in zip(case["bundles"].values(), reversed(amounts), strict=True):
        bundle["longTermData"] |= _rates(amount)
    return case


def report_differs_from_bundles(random: Random) -> Json:
    """Return a case of an overloaded broker that reports three times, or a third of, its bundles'
    total traffic.
    """
    return _with_changed_report(random, _overloaded(_sizes(random, 12)))


def report_differs_above_the_average(random: Random) -> Json:
    """Return a case of a broker above the average that reports three times, or a third of, its
    bundles' total traffic.

    Depending on the readings `threshold-target` and `threshold-released`, it must shed 36 to 67
    percent of its traffic.
    """
    brokers = [(60, _sizes(random, 12)), (10, []), (5, [])]
    return _with_changed_report(random, _case("ThresholdShedder", {SHEDDER_THRESHOLD: 10}, brokers))


def _with_changed_report(random: Random, case: Json) -> Json:
    factor = random.choice((3, 1 / 3))
    busy = case["brokers"]["broker-1"]
    busy |= {name: busy[name] * factor for name in ("msgRateIn", "msgThroughputIn")}
    return case


def expensive_by_messages(random: Random) -> Json:
    """Return a case of a broker with two bundles: one with more messages, one with more bytes.

    Shedding either of them is enough.
    """
    few, many = random.sample((100.0, 200.0, 500.0, 1000.0), 2)
    least, most = sorted((few, many))
    return _overloaded([(most, 10.0 * MB), (least, 40.0 * MB)], usage=61)


def above_the_average_with_many_bundles(random: Random) -> Json:
    """Return a case of a broker above the average, whose bundles differ in size."""
    brokers = [(60, _sizes(random, 8)), (10, []), (5, [])]
    return _case("ThresholdShedder", {SHEDDER_THRESHOLD: 10}, brokers)


def one_idle_and_many_bundles(random: Random) -> Json:
    """Return a case of an idle broker, brokers at 60 %, and one at 65 % with twenty bundles."""
    settings = {SHEDDER_THRESHOLD: 20, LOWER_BOUNDARY: True}
    brokers = [(65, _sizes(random, 20)), *[(60, _sizes(random, 2))] * 4, (0, [])]
    return _case("ThresholdShedder", settings, brokers)


def between_ratio_and_difference(random: Random) -> Json:
    """Return a case of two brokers whose throughputs have a ratio of 4.5, with a threshold of 4.

    Their difference is only 3.5 times the lower throughput.
    """
    return _between_ratio_and_difference(random, 1000.0)


def between_ratio_and_difference_alone(random: Random) -> Json:
    """Return the case `between_ratio_and_difference` with message rates within their threshold."""
    return _between_ratio_and_difference(random, 30.0)


def _between_ratio_and_difference(random: Random, messages: float) -> Json:
    size = random.choice((10, 40)) * MB
    heavy = [(messages, 4.5 * size / 9)] * 9
    brokers = [(50, heavy), (40, [(100.0, size / 2), (100.0, size / 2)])]
    return _case("UniformLoadShedder", {RATE_THRESHOLD: 100, THROUGHPUT_THRESHOLD: 4}, brokers)


def message_rates_alone_differ(random: Random) -> Json:
    """Return a case of two brokers with very different message rates but similar throughputs.

    That holds in every window and by every measure. Each bundle carries less than a fifth of the
    difference between the brokers, because Pulsar 4.x moves at most a fifth.
    """
    size = random.choice((10, 40)) * MB
    brokers = [(50, [(200.0, 0.3 * size)] * 40), (40, [(100.0, float(size))] * 8)]
    return _case("UniformLoadShedder", {RATE_THRESHOLD: 50, THROUGHPUT_THRESHOLD: 4}, brokers)


def numbers_differ_and_percentages_do_not(random: Random) -> Json:
    """Return a case of two brokers that differ by 400 msg/s, or 40 %, in any window and measure."""
    size, ratio = random.choice((10, 40)) * MB, random.choice((1.2, 4))
    brokers = [(50, [(175.0, 3.0 * size)] * 8), (40, [(125.0, float(size))] * 8)]
    return _case("UniformLoadShedder", {RATE_THRESHOLD: 50, THROUGHPUT_THRESHOLD: ratio}, brokers)


def must_shed_by_overload(random: Random) -> Json:
    """Return a case of an idle broker and a broker that is overloaded far beyond rounding."""
    return _must_shed(random, "OverloadShedder", {OVERLOAD_THRESHOLD: 60})


def must_shed_by_threshold(random: Random) -> Json:
    """Return a case of an idle broker and a broker far above the average."""
    return _must_shed(random, "ThresholdShedder", {SHEDDER_THRESHOLD: 10})


def _must_shed(random: Random, strategy: str, settings: Mapping[str, Any]) -> Json:
    levels = [random.choice((70, 80, 90)), 10]
    return _with_cpu(levels, _sketch(random, strategy, levels, settings, each=8))


def busy_beside_an_idle_broker(random: Random) -> Json:
    """Return a case of eleven brokers: one is idle, and none is far above the average."""
    return _busy_but_one(random, 50, {SHEDDER_THRESHOLD: random.choice((10, 20))})


def nearly_equal_traffic(random: Random) -> Json:
    """Return a case of two brokers whose message rates and throughputs differ by about 5 %."""
    return _two_brokers(random, 1.05, 40, {RATE_THRESHOLD: 50, THROUGHPUT_THRESHOLD: 4})


def very_different_traffic(random: Random) -> Json:
    """Return a case of two brokers, one with twenty times the messages and bytes of the other."""
    return _two_brokers(random, 20, 19_000, {RATE_THRESHOLD: 50, THROUGHPUT_THRESHOLD: 4})


BY_OVERLOAD = ("overload-trigger", "overload-amount", "overload-scope")
BY_THRESHOLD = ("threshold-trigger", "threshold-target", "threshold-released", "threshold-order")
BY_EITHER = (
    "grace-of",
    "grace-edge",
    "kilobyte",
    "shed-measure",
    "shed-window",
    "broker-rates",
    "expensive-measure",
)
BY_TRAFFIC = ("uniform-trigger", "uniform-difference", "uniform-multiplier")

AIMED = (
    *control_aims(SHED.id, (*BY_OVERLOAD, *BY_EITHER), must_shed_by_overload),
    *control_aims(SHED.id, (*BY_THRESHOLD, *BY_EITHER), must_shed_by_threshold),
    *control_aims(SHED.id, ("lower-boundary", "lower-boundary-amount"), busy_beside_an_idle_broker),
    *control_aims(SHED.id, BY_TRAFFIC, nearly_equal_traffic, very_different_traffic),
    aim("overload-trigger", SHED.id, at_the_overload_threshold),
    aim("overload-amount", SHED.id, must_shed_several_bundles),
    aim("overload-scope", SHED.id, all_overloaded_alike),
    aim("shed-measure", SHED.id, bytes_against_messages),
    aim("threshold-trigger", SHED.id, at_the_threshold),
    aim("threshold-target", SHED.id, well_above_the_average),
    aim("threshold-released", SHED.id, well_above_the_average),
    aim("lower-boundary", SHED.id, a_little_below_the_average, between_ten_and_the_threshold),
    aim("uniform-trigger", SHED.id, messages_differ_alone),
    aim("uniform-difference", SHED.id, differ_in_number_not_in_percent),
    aim("grace-of", SHED.id, unloaded_before_the_split),
    aim("grace-edge", SHED.id, unloaded_one_grace_period_ago),
    aim("kilobyte", SHED.id, never_measured_beside_measured),
    aim("shed-window", SHED.id, busy_in_one_window),
    aim("broker-rates", SHED.id, report_differs_from_bundles),
    aim("broker-rates", SHED.id, report_differs_above_the_average),
    aim("expensive-measure", SHED.id, expensive_by_messages),
    aim("threshold-order", SHED.id, above_the_average_with_many_bundles),
    aim("lower-boundary-amount", SHED.id, one_idle_and_many_bundles),
    aim("uniform-multiplier", SHED.id, between_ratio_and_difference),
    aim("uniform-multiplier", SHED.id, between_ratio_and_difference_alone),
    aim("uniform-trigger", SHED.id, message_rates_alone_differ),
    aim("uniform-difference", SHED.id, numbers_differ_and_percentages_do_not),
)
