"""Cases that tell apart how what the pages leave open is taken: measures, windows and domains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.conformance.drawing import loads, names
from pulsar_conformance.conformance.drawing.aims import aim
from pulsar_conformance.conformance.shedding.draw_clusters import (
    LOWER_BOUNDARY,
    OVER_AVERAGE,
    OVERLOAD,
    UNIFORM_RATE,
    UNIFORM_THROUGHPUT,
    WEIGHTS,
)
from pulsar_conformance.conformance.shedding.operations import SHED
from pulsar_conformance.conformance.stories.draw_left_open import registered_twice, unloaded_by_hand
from pulsar_conformance.conformance.stories.draw_tales import CALM, SHEDDING, Tale

MB = loads.MEGABYTE
WINDOWS = {"shortTermData": 10, "longTermData": 1000}

Amount = tuple[float, float]
"""Messages, and bytes per second."""


def _rates(amount: Amount) -> Json:
    return {"msgRateIn": amount[0], "msgThroughputIn": amount[1]}


def _case(strategy: str, settings: Json, brokers: Sequence[tuple[float, Sequence[Amount]]]) -> Json:
    """Brokers by their CPU and what each of their bundles carries."""
    bundles = iter(names.bundles(Random(0), sum(len(loads_) for _, loads_ in brokers)))
    weights = dict.fromkeys(WEIGHTS, 1.0)
    case: Json = {
        "strategy": strategy, "settings": {**weights, **settings}, "brokers": {}, "bundles": {},
        "recentlyUnloaded": {},
    }  # fmt: skip
    for place, (usage, amounts) in enumerate(brokers, 1):
        owned = {next(bundles): amount for amount in amounts}
        messages, size = (sum(one[k] for one in amounts) for k in (0, 1))
        case["brokers"][f"broker-{place}"] = {
            "cpu": {"usage": usage, "limit": 100},
            "bundles": list(owned),
            **_rates((messages, size)),
        }
        for name, amount in owned.items():
            case["bundles"][name] = {
                window: loads.average(_rates(amount), samples, samples)
                for window, samples in WINDOWS.items()
            }
    return case


def _overloaded(amounts: Sequence[Amount], usage: float = 80) -> Json:
    """An overloaded broker beside an idle one; at 80 % it gives up a quarter of its traffic."""
    return _case("OverloadShedder", {OVERLOAD: 60}, [(usage, amounts), (5, [])])


def _sizes(random: Random, count: int) -> list[Amount]:
    """Bundles of which each carries more than the one before, in either measure."""
    start = random.randint(5, 20)
    return [(100.0 * (start + step), float((start + step) * MB)) for step in range(count)]


def busy_in_one_window(random: Random) -> Json:
    """Bundles that carried the more in the long term the less they carry now."""
    amounts = _sizes(random, 6)
    case = _overloaded(amounts)
    for bundle, amount in zip(case["bundles"].values(), reversed(amounts), strict=True):
        bundle["longTermData"] |= _rates(amount)
    return case


def reported_otherwise(random: Random) -> Json:
    """A broker that reports three times what its bundles carry, or a third of it."""
    case = _overloaded(_sizes(random, 12))
    factor = random.choice((3, 1 / 3))
    busy = case["brokers"]["broker-1"]
    busy |= {name: busy[name] * factor for name in ("msgRateIn", "msgThroughputIn")}
    return case


def expensive_by_messages(random: Random) -> Json:
    """Two bundles: one has more messages, the other one more bytes, and needs to go alone."""
    few, many = random.sample((100.0, 200.0, 500.0, 1000.0), 2)
    least, most = sorted((few, many))
    return _overloaded([(most, 10.0 * MB), (least, 40.0 * MB)], usage=61)


def enough_for_many(random: Random) -> Json:
    """A broker above the average, with bundles of different sizes, any of which may go first."""
    brokers = [(60, _sizes(random, 8)), (10, []), (5, [])]
    return _case("ThresholdShedder", {OVER_AVERAGE: 10}, brokers)


def one_idle_and_many_bundles(random: Random) -> Json:
    """Brokers at 60 % and an idle one; the busiest has twenty bundles."""
    settings = {OVER_AVERAGE: 20, LOWER_BOUNDARY: True}
    brokers = [(65, _sizes(random, 20)), *[(60, _sizes(random, 2))] * 4, (0, [])]
    return _case("ThresholdShedder", settings, brokers)


def between_ratio_and_difference(random: Random) -> Json:
    """Throughputs of 1 to 4.5 against a threshold of 4: 4.5 times as much, 3.5 times more."""
    size = random.choice((10, 40)) * MB
    heavy = [(1000.0, 4.5 * size / 9)] * 9
    brokers = [(40, heavy), (40, [(100.0, size / 2), (100.0, size / 2)])]
    return _case("UniformLoadShedder", {UNIFORM_RATE: 50, UNIFORM_THROUGHPUT: 4}, brokers)


def messages_differ_alone(random: Random) -> Json:
    """Message rates far apart, throughputs not, in every window and measured in every way."""
    size = random.choice((10, 40)) * MB
    brokers = [(40, [(1000.0, 1.5 * size)] * 8), (40, [(100.0, float(size))] * 8)]
    return _case("UniformLoadShedder", {UNIFORM_RATE: 50, UNIFORM_THROUGHPUT: 4}, brokers)


def differ_in_number_not_in_percent(random: Random) -> Json:
    """The same of 400 messages more, which are 40 %, against a threshold of 50."""
    size, ratio = random.choice((10, 40)) * MB, random.choice((1.2, 4))
    brokers = [(40, [(175.0, 1.5 * size)] * 8), (40, [(125.0, float(size))] * 8)]
    return _case("UniformLoadShedder", {UNIFORM_RATE: 50, UNIFORM_THROUGHPUT: ratio}, brokers)


def served_by_no_candidate(random: Random) -> Json:
    """One domain is empty but for a broker that is no candidate, and serves two of the group."""
    served = random.choice((2, 3))
    groups = {f"shop/app-{number}": "blue" for number in range(served + 2)}
    owned = {
        "east-1": [f"shop/app-{number}" for number in range(1, served + 1)],
        "west-1": [f"shop/app-{served + 1}"],
    }
    return {
        "settings": {},
        "domains": {"east": ["east-1", "east-2"], "west": ["west-1", "west-2"]},
        "groups": groups,
        "owned": owned,
        "candidates": random.sample(["east-2", "west-1", "west-2"], 3),
        "namespace": "shop/app-0",
    }


def _told(random: Random, settings: Mapping[str, Any]) -> Tale:
    return Tale(random, dict(settings), large=False)


def shed_although_unloaded_by_hand(random: Random) -> Json:
    """An overloaded broker whose one heavy bundle was unloaded by hand."""
    tale = _told(random, SHEDDING)
    unloaded_by_hand(tale)
    return tale.case()


def in_two_domains(random: Random) -> Json:
    """A broker is registered a second time."""
    tale = _told(random, CALM)
    registered_twice(tale)
    return tale.case()


AIMED = (
    aim("shed-window", SHED.id, busy_in_one_window),
    aim("broker-rates", SHED.id, reported_otherwise),
    aim("expensive-measure", SHED.id, expensive_by_messages),
    aim("threshold-order", SHED.id, enough_for_many),
    aim("lower-boundary-amount", SHED.id, one_idle_and_many_bundles),
    aim("uniform-multiplier", SHED.id, between_ratio_and_difference),
    aim("uniform-trigger", SHED.id, messages_differ_alone),
    aim("uniform-difference", SHED.id, differ_in_number_not_in_percent),
    aim("domain-counts", "place.anti_affinity", served_by_no_candidate),
    aim("grace-starts", "cluster.replay", shed_although_unloaded_by_hand),
    aim("second-domain", "cluster.replay", in_two_domains),
)
