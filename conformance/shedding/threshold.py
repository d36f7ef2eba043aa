"""THRESHOLD: ThresholdShedder."""

from __future__ import annotations

from pulsar_conformance.conformance.common.expect import POINTS, SHARE, Expect
from pulsar_conformance.conformance.shedding import draw_threshold as draws
from pulsar_conformance.conformance.shedding import quantities as facts
from pulsar_conformance.conformance.shedding.draw_cycles import cycles, threshold_row
from pulsar_conformance.conformance.shedding.operations import CYCLES, SHED
from pulsar_conformance.conformance.shedding.view import Unloading, Unloadings
from pulsar_conformance.reference.cluster import Broker
from pulsar_conformance.reference.numbers import Fraction, Percent, plain
from pulsar_conformance.reference.sequences import CycleSequence
from pulsar_conformance.reference.shedding import Cycle
from pulsar_conformance.reference.threshold import BELOW_AVERAGE, LOWER_BOUNDARY, Levels
from pulsar_conformance.reference.usage import maximum


def _levels(case: Cycle, expect: Expect, at_first_sight: bool = True) -> Levels:
    expect.given(facts.strategy_is(case, "ThresholdShedder"), "ThresholdShedder sheds")
    seen = any(broker.history for broker in case.brokers.values())
    expect.given(not (seen and at_first_sight), "no broker was observed before")
    return Levels(case)


def _able(levels: Levels, broker: Broker) -> bool:
    return facts.loaded(levels.cycle, broker)


def _must_shed(levels: Levels, broker: Broker, answer: Unloading, expect: Expect) -> None:
    usage, limit = plain(levels.usage[broker.name]), plain(levels.limit)
    allowed = f"{broker.name} at {usage} % sheds: the limit is {limit} %"
    expect.that(bool(answer.of(broker)), allowed, answer)


def _must_keep(levels: Levels, broker: Broker, answer: Unloading, expect: Expect) -> None:
    usage, limit = plain(levels.usage[broker.name]), plain(levels.limit)
    why = f"{broker.name} at {usage} % is not above the limit of {limit} %"
    expect.nothing(answer.of(broker), why)


def _may_relieve_idle_brokers(levels: Levels, broker: Broker) -> bool:
    """Whether a broker may unload because another is under the lower boundary."""
    if not levels.cycle.settings.flag(LOWER_BOUNDARY):
        return False
    most = max(levels.usage.values())
    return levels.usage[broker.name] >= most - POINTS or not levels.cycle.movable(broker)


@SHED.check(
    "THRESHOLD-01",
    draws=(
        cycles(draws.threshold, draws.near_the_limit),
        cycles(draws.threshold, draws.single_bundles),
    ),
)
def a_broker_above_the_limit_sheds(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """A broker above average and threshold together gives up something."""
    levels = _levels(case, expect)
    for broker in case.brokers.values():
        if facts.over(levels, broker) and expect.reached(facts.laden(case, broker)):
            _must_shed(levels, broker, answer, expect)


@SHED.check("THRESHOLD-02", draws=cycles(draws.threshold, draws.near_the_limit))
def the_others_keep_all(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """A broker that is not above average and threshold gives up nothing."""
    levels = _levels(case, expect)
    expect.given(not case.settings.flag(LOWER_BOUNDARY), "nobody unloads for idle brokers")
    for broker in case.brokers.values():
        keeps = facts.over(levels, broker) is False and not facts.sheds_under_85(case, broker)
        if expect.reached(keeps and bool(broker.bundles)):
            _must_keep(levels, broker, answer, expect)


@SHED.check("THRESHOLD-03", draws=cycles(draws.threshold))
def sheds_enough_to_come_below_the_average(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """A broker above the limit gives up what brings it five below the average, where it can."""
    levels = _levels(case, expect)
    for broker in case.brokers.values():
        if not facts.over(levels, broker):
            continue
        need = levels.need_of(broker)
        if expect.reached(_able(levels, broker) and _movable(case, broker) >= need):
            of = f"traffic shed by {broker.name}"
            expect.at_least(facts.shed(answer, broker), need, of, case.written)


def _movable(case: Cycle, broker: Broker) -> Fraction:
    return facts.carried(case, case.movable(broker))


@SHED.check("THRESHOLD-04", draws=cycles(draws.threshold))
def sheds_no_more_than_it_takes(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """Without the last bundle it would fall short."""
    levels = _levels(case, expect)
    for broker in case.brokers.values():
        given = facts.own(answer, broker)
        apart = not facts.sheds_under_85(case, broker)
        if facts.over(levels, broker) and expect.reached(bool(given) and apart):
            enough, need = facts.carried(case, given[:-1]), levels.need_of(broker)
            allowed = f"no more once {case.written(need)} are shed by {broker.name}"
            expect.that(enough < need * (1 + SHARE) or not need, allowed, answer)


@SHED.check("THRESHOLD-05", draws=cycles(draws.with_idle_brokers))
def idle_brokers_count_in_the_average(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """A broker sheds that is above the limit only because idle ones lower the average."""
    levels = _levels(case, expect)
    busy = [usage for usage in levels.usage.values() if usage]
    expect.given(0 < len(busy) < len(levels.usage), "some brokers are idle")
    without_idle = sum(busy, Fraction(0)) / len(busy) + levels.threshold
    for broker in case.brokers.values():
        only_so = levels.usage[broker.name] < without_idle - POINTS
        if only_so and facts.over(levels, broker) and expect.reached(_able(levels, broker)):
            _must_shed(levels, broker, answer, expect)


@SHED.check("THRESHOLD-06", draws=cycles(draws.weighted))
def usage_is_weighted(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """Where weights decide who is above the limit, they do."""
    levels = _levels(case, expect)
    expect.given(not case.settings.flag(LOWER_BOUNDARY), "nobody unloads for idle brokers")
    plainly = {name: maximum(broker).percent for name, broker in case.brokers.items()}
    limit = sum(plainly.values(), Fraction(0)) / len(plainly) + levels.threshold
    for name, broker in case.brokers.items():
        over, unweighted = facts.over(levels, broker), plainly[name] - limit
        if over and unweighted < -POINTS and expect.reached(_able(levels, broker)):
            _must_shed(levels, broker, answer, expect)
        keeps = over is False and not facts.sheds_under_85(case, broker)
        if keeps and unweighted > POINTS and expect.reached(_able(levels, broker)):
            _must_keep(levels, broker, answer, expect)


def _distance(levels: Levels, broker: Broker) -> tuple[Percent, Percent]:
    """How far above the average a broker is, at least and at most, whatever of its and the
    others' observations counts."""
    seen = {
        name: (*other.history, levels.present[name]) for name, other in levels.cycle.brokers.items()
    }
    count = len(seen)
    others = [observed for name, observed in seen.items() if name != broker.name]
    own = 1 - Fraction(1, count)
    most = max(seen[broker.name]) * own - sum(map(min, others), Fraction(0)) / count
    least = min(seen[broker.name]) * own - sum(map(max, others), Fraction(0)) / count
    return least, most


@SHED.check("THRESHOLD-07", draws=cycles(draws.with_history))
def history_lies_between(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """The usage compared is none beyond what was observed of the broker, now or before."""
    levels = _levels(case, expect, at_first_sight=False)
    expect.given(any(broker.history for broker in case.brokers.values()), "brokers have a history")
    expect.given(not case.settings.flag(LOWER_BOUNDARY), "nobody unloads for idle brokers")
    for broker in case.brokers.values():
        least, most = _distance(levels, broker)
        if least > levels.threshold + POINTS and expect.reached(_able(levels, broker)):
            allowed = f"{broker.name} sheds: at least {plain(least)} points above the average"
            expect.that(bool(answer.of(broker)), allowed, answer)
        keeps = most < levels.threshold - POINTS and not facts.sheds_under_85(case, broker)
        if keeps and expect.reached(bool(broker.bundles)):
            why = f"{broker.name} is at most {plain(most)} points above the average"
            expect.nothing(answer.of(broker), why)


def _nobody_over(levels: Levels, expect: Expect) -> None:
    brokers = levels.cycle.brokers.values()
    expect.given(all(facts.over(levels, b) is False for b in brokers), "nobody is above the limit")
    alone = not any(facts.sheds_under_85(levels.cycle, broker) for broker in brokers)
    expect.given(alone, "nobody is overloaded")


@SHED.check("THRESHOLD-08", draws=cycles(draws.lower_boundary_off))
def idle_brokers_trigger_nothing_by_default(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """Without the lower boundary, nothing is unloaded while nobody is above the limit."""
    levels = _levels(case, expect)
    expect.given(not case.settings.flag(LOWER_BOUNDARY), "the lower boundary is switched off")
    _nobody_over(levels, expect)
    far_below = min(levels.usage.values()) < levels.average - levels.threshold - POINTS
    if expect.reached(far_below):
        expect.nothing(answer, f"nobody is above {plain(levels.limit)} %")


def _busiest_of_idle(levels: Levels, expect: Expect) -> list[Broker]:
    """The brokers with the highest usage, where one is under the lower boundary."""
    brokers = levels.cycle.brokers.values()
    expect.given(levels.cycle.settings.flag(LOWER_BOUNDARY), "the lower boundary is switched on")
    _nobody_over(levels, expect)
    idle = any(facts.under(levels, usage) for usage in levels.usage.values())
    expect.given(idle, "a broker is under the lower boundary")
    most = max(levels.usage.values())
    return [one for one in brokers if levels.usage[one.name] >= most - POINTS]


@SHED.check("THRESHOLD-09", draws=cycles(draws.lower_boundary_on))
def an_idle_broker_makes_the_busiest_unload(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """With a broker under the lower boundary, the broker with the highest usage unloads."""
    levels = _levels(case, expect)
    busiest = _busiest_of_idle(levels, expect)
    if expect.reached(all(_able(levels, broker) for broker in busiest)):
        names = [broker.name for broker in busiest]
        allowed = f"{' or '.join(names)} unloads: one is under {plain(levels.bound)} %"
        owners = {broker for broker, _ in answer.pairs}
        expect.that(bool(owners) and owners <= set(names), allowed, answer)


@SHED.check("THRESHOLD-10", draws=cycles(draws.lower_boundary_on, draws.level_cluster))
def nothing_goes_while_nobody_is_idle(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """With nobody under the lower boundary and nobody above the limit, nothing is unloaded."""
    levels = _levels(case, expect)
    expect.given(case.settings.flag(LOWER_BOUNDARY), "the lower boundary is switched on")
    _nobody_over(levels, expect)
    idle = [facts.under(levels, usage) is not False for usage in levels.usage.values()]
    if expect.reached(not any(idle)):
        expect.nothing(answer, f"nobody is under {plain(levels.bound)} %")


@SHED.check("THRESHOLD-12", draws=cycles(draws.threshold))
def bundles_with_more_traffic_go_first(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """No bundle goes instead of one of its broker's that carries more."""
    _levels(case, expect, at_first_sight=False)
    for broker in case.brokers.values():
        if not facts.sheds_its_dearest(case, broker):
            facts.the_busiest_go_first(case, broker, answer, expect)


@SHED.check("THRESHOLD-13", draws=cycles(draws.lower_boundary_on))
def the_busiest_comes_below_the_average(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """What the busiest gives up for an idle one brings it five below the average, and no more."""
    levels = _levels(case, expect)
    for broker in _busiest_of_idle(levels, expect):
        given, need = facts.own(answer, broker), levels.need_of(broker)
        if not given or not expect.reached(_able(levels, broker)):
            continue
        if _movable(case, broker) >= need:
            of = f"traffic shed by {broker.name}"
            expect.at_least(facts.shed(answer, broker), need, of, case.written)
        allowed = f"no more once {case.written(need)} are shed by {broker.name}"
        before_last = facts.carried(case, given[:-1])
        expect.that(before_last < need * (1 + SHARE) or not need, allowed, answer)


@SHED.check("THRESHOLD-14", draws=cycles(draws.forgotten_history))
def history_of_nothing_counts_nothing(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """With a share of 0, the usage now decides, whatever was observed before."""
    levels = _levels(case, expect, at_first_sight=False)
    expect.given(any(broker.history for broker in case.brokers.values()), "brokers have a history")
    expect.given(levels.kept == 0, "it does not count")
    expect.given(not case.settings.flag(LOWER_BOUNDARY), "nobody unloads for idle brokers")
    for broker in case.brokers.values():
        over = facts.over(levels, broker)
        if over and expect.reached(_able(levels, broker)):
            _must_shed(levels, broker, answer, expect)
        keeps = over is False and not facts.sheds_under_85(case, broker)
        if keeps and expect.reached(bool(broker.bundles)):
            _must_keep(levels, broker, answer, expect)


@SHED.check("THRESHOLD-11", draws=cycles(draws.threshold))
def sheds_the_excess_over_the_limit(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """A broker above the limit gives up its excess over the limit and five points, no more."""
    expect.given(facts.strategy_is(case, "ThresholdShedder"), "ThresholdShedder sheds")
    expect.given(not any(one.history for one in case.brokers.values()), "there is no history")
    levels = Levels(case)
    for broker in case.brokers.values():
        movable = facts.carried(case, case.movable(broker))
        share = levels.usage[broker.name] - levels.limit + BELOW_AVERAGE
        need = share / 100 * case.traffic_of(broker)
        over = facts.over(levels, broker) and facts.loaded(case, broker)
        if expect.reached(bool(over) and movable >= need):
            of = f"traffic shed by {broker.name}"
            expect.at_least(facts.shed(answer, broker), need, of, case.written)
            before = facts.carried(case, facts.own(answer, broker)[:-1])
            allowed = f"no more once {case.written(need)} are shed by {broker.name}"
            expect.that(before < need * (1 + SHARE) or not need, allowed, answer)


@CYCLES.check("THRESHOLD-15", draws=threshold_row)
def usage_lies_between_what_cycles_saw(
    row: CycleSequence, answer: Unloadings, expect: Expect
) -> None:
    """In later cycles the usage compared is none beyond what this and earlier ones saw."""
    expect.given(len(row) > 1, "cycles in a row")
    first = row.alone(0)
    expect.given(facts.strategy_is(first, "ThresholdShedder"), "ThresholdShedder sheds")
    expect.given(not first.settings.flag(LOWER_BOUNDARY), "nobody unloads for idle brokers")
    for one in list(answer)[1:]:
        history_lies_between(one.cycle, one, expect)
