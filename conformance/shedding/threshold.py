"""THRESHOLD: ThresholdShedder."""

from __future__ import annotations

from collections.abc import Iterator

from pulsar_conformance.conformance.common.check import POINTS, SHARE, Expect
from pulsar_conformance.conformance.shedding import draw_threshold as draws
from pulsar_conformance.conformance.shedding.draw_cycles import (
    cycle_trials,
)
from pulsar_conformance.conformance.shedding.operations import SHED
from pulsar_conformance.conformance.shedding.quantities import (
    FIVE_POINTS,
    UsageLevels,
    can_shed_by_any_measure,
    expect_busiest_first,
    expect_enough,
    has_movable_load,
    may_shed_for_overload,
    may_shed_its_most_expensive,
    sheds_by,
)
from pulsar_conformance.conformance.shedding.view import (
    SheddingCycle,
    Unloading,
    usage_of,
)
from pulsar_conformance.reference.cluster import Broker
from pulsar_conformance.reference.numbers import ZERO, Fraction, Rate, plain, throughput, total
from pulsar_conformance.reference.threshold import LOWER_BOUNDARY, MIN_THROUGHPUT


def levels_of(case: SheddingCycle, expect: Expect) -> UsageLevels:
    """Return a cycle's usage levels, assuming that ThresholdShedder sheds."""
    expect.given(sheds_by(case, "ThresholdShedder"), "ThresholdShedder sheds")
    return UsageLevels(case)


def levels_without_history(case: SheddingCycle, expect: Expect) -> UsageLevels:
    """Return a cycle's usage levels, assuming that brokers have no history.

    Only rules about history judge cycles with history: no document says whether the lower boundary
    is compared with the current usage or with usage that includes history.
    """
    levels = levels_of(case, expect)
    expect.given(not has_history(case), "no broker has a usage history")
    return levels


def has_history(case: SheddingCycle) -> bool:
    """True if a broker has a usage history."""
    return any(broker.history for broker in case.brokers.values())


def assume_no_lower_boundary(case: SheddingCycle, expect: Expect) -> None:
    """Assume that the lower boundary is disabled."""
    expect.given(not case.settings.flag(LOWER_BOUNDARY), "the lower boundary is switched off")


def brokers_above(levels: UsageLevels) -> Iterator[Broker]:
    """Yield the brokers that are certainly above the limit and would shed more than the minimum."""
    return (broker for broker in levels.cycle.brokers.values() if levels.over(broker))


def brokers_not_above(levels: UsageLevels) -> Iterator[Broker]:
    """Yield the brokers that are certainly neither above the limit nor overloaded.

    Overloaded brokers are left out because, under one reading, every strategy sheds from them.
    Brokers above the limit are left out even if they must keep all bundles because these carry too
    little: a broker that sheds them breaks only THRESHOLD-20.
    """
    for broker in levels.cycle.brokers.values():
        if levels.above(broker) is False and not may_shed_for_overload(levels.cycle, broker):
            yield broker


def must_shed(levels: UsageLevels, broker: Broker, answer: Unloading, expect: Expect) -> None:
    """Demand that a broker above the limit sheds something."""
    usage, limit = plain(levels.usage[broker.name]), plain(levels.limit)
    allowed = f"{broker.name} at {usage} % sheds: the limit is {limit} %"
    expect.that(bool(answer.of(broker)), allowed, answer)


def must_keep(levels: UsageLevels, broker: Broker, answer: Unloading, expect: Expect) -> None:
    """Demand that a broker that is not above the limit sheds nothing."""
    usage, limit = plain(levels.usage[broker.name]), plain(levels.limit)
    why = f"{broker.name} at {usage} % is not above the limit of {limit} %"
    expect.nothing(answer.of(broker), why)


def _enough(answer: Unloading, broker: Broker, need: Rate, expect: Expect) -> None:
    expect_enough(answer, broker, need, f"traffic shed by {broker.name}", expect)


def _no_more_than(answer: Unloading, broker: Broker, need: Rate, expect: Expect) -> None:
    """Demand that a broker sheds no more bundles once it has shed enough."""
    case = answer.cycle
    before_last = case.carried(answer.owned_and_shed(broker)[:-1])
    allowed = f"no more once {case.written(need)} are shed by {broker.name}"
    expect.that(before_last < need * (1 + SHARE) or not need, allowed, answer)


@SHED.check(
    "THRESHOLD-01",
    draws=(
        cycle_trials(draws.threshold, draws.near_the_limit),
        cycle_trials(draws.threshold, draws.single_bundles),
    ),
)
def a_broker_above_the_limit_sheds(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """A broker above the limit of average plus threshold sheds at least one bundle."""
    levels = levels_without_history(case, expect)
    for broker in brokers_above(levels):
        if expect.reached(has_movable_load(case, broker)):
            must_shed(levels, broker, answer, expect)


@SHED.check(
    "THRESHOLD-02",
    draws=(
        cycle_trials(draws.threshold, draws.near_the_limit),
        cycle_trials(draws.near_the_limit, draws.with_lower_boundary),
    ),
)
def the_others_keep_all(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """A broker not above the limit of average plus threshold sheds nothing."""
    levels = levels_without_history(case, expect)
    for broker in brokers_not_above(levels):
        keeps = not _may_relieve_idle_brokers(levels, broker)
        if expect.reached(keeps and bool(broker.bundles)):
            must_keep(levels, broker, answer, expect)


def _may_relieve_idle_brokers(levels: UsageLevels, broker: Broker) -> bool:
    """True if a broker may unload because another broker is below the lower boundary.

    Only a broker with the highest usage among those that can unload may do so.
    """
    case = levels.cycle
    if not case.settings.flag(LOWER_BOUNDARY):
        return False
    able = [
        one.name
        for one in case.brokers.values()
        if can_shed_by_any_measure(case, one) and levels.worthwhile(one)
    ]
    highest = max((levels.usage[name] for name in able), default=ZERO)
    return levels.usage[broker.name] >= highest - POINTS


@SHED.check("THRESHOLD-03", draws=cycle_trials(draws.threshold))
def sheds_enough_to_come_below_the_average(
    case: SheddingCycle, answer: Unloading, expect: Expect
) -> None:
    """A broker above the limit sheds enough to fall five points below the average."""
    levels = levels_without_history(case, expect)
    for broker in brokers_above(levels):
        if expect.reached(can_shed_by_any_measure(case, broker)):
            _enough(answer, broker, levels.need_of(broker), expect)


@SHED.check("THRESHOLD-04", draws=cycle_trials(draws.threshold))
def sheds_no_more_than_it_takes(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """A broker stops shedding once it has shed enough."""
    levels = levels_without_history(case, expect)
    for broker in brokers_above(levels):
        alone = not may_shed_for_overload(case, broker)
        if expect.reached(bool(answer.owned_and_shed(broker)) and alone):
            _no_more_than(answer, broker, levels.need_of(broker), expect)


@SHED.check("THRESHOLD-05", draws=cycle_trials(draws.with_idle_brokers))
def idle_brokers_count_in_the_average(
    case: SheddingCycle, answer: Unloading, expect: Expect
) -> None:
    """A broker sheds even if it exceeds the limit only because idle brokers lower the average."""
    levels = levels_without_history(case, expect)
    busy = [usage for usage in levels.usage.values() if usage]
    expect.given(0 < len(busy) < len(levels.usage), "some brokers are idle")
    without_idle = total(busy) / len(busy) + levels.threshold
    for broker in brokers_above(levels):
        only_so = levels.usage[broker.name] < without_idle - POINTS
        if only_so and expect.reached(can_shed_by_any_measure(case, broker)):
            must_shed(levels, broker, answer, expect)


@SHED.check("THRESHOLD-06", draws=cycle_trials(draws.with_weights))
def usage_is_weighted(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """Weighted usage decides which brokers are above the limit."""
    levels = levels_without_history(case, expect)
    assume_no_lower_boundary(case, expect)
    plainly = {name: usage_of(broker) for name, broker in case.brokers.items()}
    limit = total(plainly.values()) / len(plainly) + levels.threshold
    for broker in brokers_above(levels):
        only_so = plainly[broker.name] < limit - POINTS
        if only_so and expect.reached(can_shed_by_any_measure(case, broker)):
            must_shed(levels, broker, answer, expect)
    for broker in brokers_not_above(levels):
        only_so = plainly[broker.name] > limit + POINTS
        if only_so and expect.reached(can_shed_by_any_measure(case, broker)):
            must_keep(levels, broker, answer, expect)


@SHED.check("THRESHOLD-20", draws=cycle_trials(draws.near_the_minimum_throughput, draws.threshold))
def too_little_throughput_stays(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """A broker sheds no bundle if its throughput and its bundles' are at most the minimum."""
    levels = levels_of(case, expect)
    assume_no_lower_boundary(case, expect)
    expect.given(MIN_THROUGHPUT in case.settings.defaults, "a minimum throughput is documented")
    for broker in case.brokers.values():
        little = levels.worthwhile(broker, Fraction(1)) is False
        alone = not may_shed_for_overload(case, broker)
        if expect.reached(little and alone and bool(broker.bundles)):
            least = plain(case.settings.number(MIN_THROUGHPUT))
            movable = total(case.rates(one).throughput for one in case.movable(broker))
            most = throughput(max(case.rates_of(broker).throughput, movable))
            why = f"{broker.name} would shed at most {most}, not over {least} MB/s"
            expect.nothing(answer.of(broker), why)


def _assume_none_above(levels: UsageLevels, expect: Expect) -> None:
    brokers = levels.cycle.brokers.values()
    expect.given(all(levels.above(b) is False for b in brokers), "no broker is above the limit")
    alone = not any(may_shed_for_overload(levels.cycle, broker) for broker in brokers)
    expect.given(alone, "no broker is overloaded")


@SHED.check("THRESHOLD-08", draws=cycle_trials(draws.lower_boundary_off))
def idle_brokers_trigger_nothing_by_default(
    case: SheddingCycle, answer: Unloading, expect: Expect
) -> None:
    """With the lower boundary disabled, only a broker above the limit unloads."""
    levels = levels_without_history(case, expect)
    expect.given(not case.settings.flag(LOWER_BOUNDARY), "the lower boundary is switched off")
    _assume_none_above(levels, expect)
    far_below = min(levels.usage.values()) < levels.average - levels.threshold - POINTS
    if expect.reached(far_below):
        expect.nothing(answer, f"no broker is above {plain(levels.limit)} %")


def _busiest_beside_an_idle_broker(levels: UsageLevels, expect: Expect) -> list[Broker]:
    """Return the brokers with the highest usage, assuming that some broker is idle.

    Also assume that no broker is above the limit, and that the unloads exceed the minimum
    throughput.
    """
    brokers = levels.cycle.brokers.values()
    expect.given(levels.cycle.settings.flag(LOWER_BOUNDARY), "the lower boundary is switched on")
    _assume_none_above(levels, expect)
    idle = any(levels.idle(usage) for usage in levels.usage.values())
    expect.given(idle, "a broker is under the lower boundary")
    most = max(levels.usage.values())
    busiest = [one for one in brokers if levels.usage[one.name] >= most - POINTS]
    enough = all(levels.worthwhile(one) for one in busiest)
    expect.given(enough, "the unloads would exceed the minimum throughput")
    return busiest


@SHED.check("THRESHOLD-09", draws=cycle_trials(draws.lower_boundary_on))
def an_idle_broker_makes_the_busiest_unload(
    case: SheddingCycle, answer: Unloading, expect: Expect
) -> None:
    """If a broker is below the lower boundary, the broker with the highest usage unloads."""
    levels = levels_without_history(case, expect)
    busiest = _busiest_beside_an_idle_broker(levels, expect)
    if expect.reached(all(can_shed_by_any_measure(case, broker) for broker in busiest)):
        names = [broker.name for broker in busiest]
        allowed = f"{' or '.join(names)} unloads: a broker is below {plain(levels.bound)} %"
        owners = {broker for broker, _ in answer.pairs}
        expect.that(bool(owners) and owners <= set(names), allowed, answer)


@SHED.check(
    "THRESHOLD-10", draws=cycle_trials(draws.lower_boundary_on, draws.none_below_the_boundary)
)
def nothing_goes_while_nobody_is_idle(
    case: SheddingCycle, answer: Unloading, expect: Expect
) -> None:
    """If no broker is below the lower boundary or above the limit, no bundle is unloaded."""
    levels = levels_without_history(case, expect)
    expect.given(case.settings.flag(LOWER_BOUNDARY), "the lower boundary is switched on")
    _assume_none_above(levels, expect)
    idle = [levels.idle(usage) is not False for usage in levels.usage.values()]
    if expect.reached(not any(idle)):
        expect.nothing(answer, f"no broker is below {plain(levels.bound)} %")


@SHED.check("THRESHOLD-11", draws=cycle_trials(draws.threshold))
def sheds_the_excess_over_the_limit(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """A broker above the limit sheds its excess over the limit plus five points, and no more."""
    levels = levels_without_history(case, expect)
    for broker in brokers_above(levels):
        share = levels.usage[broker.name] - levels.limit + FIVE_POINTS
        need = share / 100 * case.traffic_of(broker)
        if expect.reached(can_shed_by_any_measure(case, broker)):
            _enough(answer, broker, need, expect)
            _no_more_than(answer, broker, need, expect)


@SHED.check("THRESHOLD-12", draws=cycle_trials(draws.threshold))
def bundles_with_more_traffic_go_first(
    case: SheddingCycle, answer: Unloading, expect: Expect
) -> None:
    """A broker sheds no bundle while it keeps one with more traffic that may also move."""
    levels_of(case, expect)
    for broker in case.brokers.values():
        if not may_shed_its_most_expensive(case, broker):
            expect_busiest_first(case, broker, answer, expect)


@SHED.check(
    "THRESHOLD-13",
    draws=cycle_trials(draws.lower_boundary_on, draws.lower_boundary_with_small_bundles),
)
def the_busiest_comes_below_the_average(
    case: SheddingCycle, answer: Unloading, expect: Expect
) -> None:
    """If the busiest broker unloads for an idle one, it sheds down to five points below average."""
    levels = levels_without_history(case, expect)
    for broker in _busiest_beside_an_idle_broker(levels, expect):
        need = levels.need_of(broker)
        sheds = bool(answer.owned_and_shed(broker))
        if not sheds or not expect.reached(can_shed_by_any_measure(case, broker)):
            continue
        _enough(answer, broker, need, expect)
        _no_more_than(answer, broker, need, expect)
