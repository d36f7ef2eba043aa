"""OVERLOAD: OverloadShedder."""

from __future__ import annotations

from collections.abc import Sequence

from pulsar_conformance.conformance.common.check import SHARE, Expect
from pulsar_conformance.conformance.common.trial import Asked
from pulsar_conformance.conformance.shedding import draw_cycles as draws
from pulsar_conformance.conformance.shedding import quantities
from pulsar_conformance.conformance.shedding.operations import CYCLES, SHED
from pulsar_conformance.conformance.shedding.quantities import (
    FEWEST_BUNDLES,
    is_overloaded,
    overload_need,
    overload_threshold,
)
from pulsar_conformance.conformance.shedding.view import (
    CyclesInARow,
    SheddingCycle,
    Unloading,
    UnloadingInARow,
    usage_of,
)
from pulsar_conformance.reference.cluster import Broker
from pulsar_conformance.reference.numbers import Rate, messages, plain, throughput
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD


def _assume_overload_shedder(case: SheddingCycle, expect: Expect) -> None:
    expect.given(quantities.sheds_by(case, "OverloadShedder"), "OverloadShedder sheds")


def _must_shed(case: SheddingCycle, broker: Broker, answer: Unloading, expect: Expect) -> None:
    usage, threshold = usage_of(broker), overload_threshold(case)
    allowed = f"{broker.name} at {plain(usage)} % (threshold {plain(threshold)} %) sheds"
    expect.that(bool(answer.of(broker)), allowed, answer)


def _must_keep(case: SheddingCycle, broker: Broker, answer: Unloading, expect: Expect) -> None:
    usage, threshold = usage_of(broker), overload_threshold(case)
    why = f"{broker.name} at {plain(usage)} % is not overloaded (threshold {plain(threshold)} %)"
    expect.nothing(answer.of(broker), why)


@SHED.check("OVERLOAD-01", draws=draws.cycle_trials(draws.overload))
def an_overloaded_broker_sheds(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """A broker above the threshold sheds at least one bundle."""
    _assume_overload_shedder(case, expect)
    for broker in case.brokers.values():
        sheds = is_overloaded(case, broker) and quantities.can_shed_by_any_measure(case, broker)
        if expect.reached(bool(sheds)):
            _must_shed(case, broker, answer, expect)


@SHED.check("OVERLOAD-02", draws=draws.cycle_trials(draws.overload))
def sheds_its_excess_plus_margin(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """A broker sheds at least its excess plus five points of its traffic, if it can."""
    _assume_overload_shedder(case, expect)
    for broker in case.brokers.values():
        if is_overloaded(case, broker) and expect.reached(quantities.can_shed(case, broker)):
            of = f"traffic shed by {broker.name}"
            quantities.expect_overload_need(answer, broker, of, expect)


@SHED.check("OVERLOAD-03", draws=draws.cycle_trials(draws.overload))
def sheds_no_more_than_it_takes(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """A broker stops shedding once it has shed enough."""
    _assume_overload_shedder(case, expect)
    for broker in case.brokers.values():
        given = sorted(answer.owned_and_shed(broker), key=case.traffic, reverse=True)
        need = overload_need(case, broker)
        if is_overloaded(case, broker) and expect.reached(bool(given)):
            before_last = case.carried(given[:-1])
            allowed = f"no more once {case.written(need)} are shed by {broker.name}"
            expect.that(before_last < need * (1 + SHARE) or not need, allowed, answer)


@SHED.check("OVERLOAD-04", draws=draws.cycle_trials(draws.overload))
def other_brokers_keep_all(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """A broker that is not overloaded sheds nothing."""
    _assume_overload_shedder(case, expect)
    for broker in case.brokers.values():
        if expect.reached(is_overloaded(case, broker) is False and bool(broker.bundles)):
            _must_keep(case, broker, answer, expect)


@SHED.check("OVERLOAD-05", draws=draws.cycle_trials(draws.overload))
def sheds_at_most_one_bundle(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """An overloaded broker sheds at most one bundle."""
    _assume_overload_shedder(case, expect)
    for broker in case.brokers.values():
        if is_overloaded(case, broker) and expect.reached(quantities.can_shed(case, broker)):
            given = len(answer.of(broker))
            expect.that(given <= 1, f"one bundle of {broker.name}", f"{given} bundles: {answer}")


@SHED.check("OVERLOAD-06", draws=draws.cycle_trials(draws.overload))
def the_one_is_the_most_expensive(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """The first bundle to be shed is the most expensive bundle that may move."""
    _assume_overload_shedder(case, expect)
    for broker in case.brokers.values():
        given = [bundle for bundle in answer.owned_and_shed(broker) if not case.blocked(bundle)][:1]
        for bundle in given:
            movable = case.movable(broker)
            expect.reached(len(movable) > 1)
            most = max(movable, key=lambda one: _expense(case, one))
            enough = _expense(case, bundle) >= _expense(case, most) * (1 - SHARE)
            expect.that(enough, _expense_text(case, most), _expense_text(case, bundle))


def _compares_bytes(case: SheddingCycle) -> bool:
    return case.readings["expensive-measure"] == "throughput"


def _expense(case: SheddingCycle, bundle: str) -> Rate:
    """Return the traffic that makes a bundle expensive, under the reading `expensive-measure`."""
    rates = case.rates(bundle)
    return rates.throughput if _compares_bytes(case) else rates.messages


def _expense_text(case: SheddingCycle, bundle: str) -> str:
    written = throughput if _compares_bytes(case) else messages
    return f"{bundle} = {written(_expense(case, bundle))}"


@SHED.check("OVERLOAD-07", draws=draws.cycle_trials(draws.overload_with_few_bundles))
def a_single_bundle_stays(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """A broker with a single bundle keeps it."""
    _assume_overload_shedder(case, expect)
    for broker in case.brokers.values():
        single = len(broker.bundles) < FEWEST_BUNDLES and bool(case.movable(broker))
        if expect.reached(single and is_overloaded(case, broker) is not False):
            expect.nothing(answer.of(broker), f"{broker.name} has a single bundle")


@SHED.check("OVERLOAD-13", draws=draws.cycle_trials(draws.overload))
def sheds_every_bundle_that_it_may(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """An overloaded broker keeps no bundle that may move and has messages and bytes."""
    _assume_overload_shedder(case, expect)
    for broker in case.brokers.values():
        rates = {bundle: case.rates(bundle) for bundle in case.movable(broker)}
        loaded = [name for name, one in rates.items() if one.messages and one.throughput]
        sheds = is_overloaded(case, broker) and len(broker.bundles) >= FEWEST_BUNDLES
        if expect.reached(bool(sheds) and bool(loaded)):
            kept = [bundle for bundle in loaded if bundle not in answer.of(broker)]
            expect.nothing(
                kept, f"{broker.name}, which is overloaded, keeps no bundle that may move"
            )


@SHED.check_together(
    "OVERLOAD-08",
    draws=draws.before_and_after_change(draws.with_other_brokers_changed, draws.overload),
)
def other_brokers_do_not_matter(
    exchanges: Sequence[Asked[SheddingCycle, Unloading]], expect: Expect
) -> None:
    """The bundles that a broker sheds do not depend on other brokers' usage."""
    expect.given(len(exchanges) == 2, "a cluster before and after a change")
    (before, first), (after, second) = exchanges
    _assume_overload_shedder(before, expect)
    _assume_overload_shedder(after, expect)
    kept = ("settings", "bundles", "recentlyUnloaded")
    expect.given(all(before.case[key] == after.case[key] for key in kept), "only usage changes")
    for name, report in before.case["brokers"].items():
        broker = before.brokers[name]
        same = after.case["brokers"].get(name) == report
        if not same or quantities.has_ties(before, broker):
            continue
        if expect.reached(quantities.can_shed(before, broker)):
            allowed = f"from {name} as before: {', '.join(first.of(name)) or 'nothing'}"
            expect.that(set(first.of(name)) == set(second.of(name)), allowed, second)


@SHED.check("OVERLOAD-09", draws=draws.cycle_trials(draws.overload))
def any_one_resource_suffices(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """A single resource above the threshold overloads a broker, even if the other four are idle."""
    _assume_overload_shedder(case, expect)
    for broker in case.brokers.values():
        threshold = overload_threshold(case)
        hot = [percent for percent in broker.percent.values() if percent >= threshold]
        sheds = is_overloaded(case, broker) and quantities.can_shed_by_any_measure(case, broker)
        if expect.reached(len(hot) == 1 and bool(sheds)):
            _must_shed(case, broker, answer, expect)


@SHED.check("OVERLOAD-10", draws=draws.cycle_trials(draws.near_default_overload_threshold))
def the_threshold_is_85_by_default(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """If no threshold is set, a broker above 85 % sheds, and other brokers keep all bundles."""
    _assume_overload_shedder(case, expect)
    expect.given(OVERLOAD_THRESHOLD not in case.settings.given, "no threshold is set")
    for broker in case.brokers.values():
        over = is_overloaded(case, broker)
        if over and expect.reached(quantities.can_shed_by_any_measure(case, broker)):
            _must_shed(case, broker, answer, expect)
        if over is False and expect.reached(bool(broker.bundles)):
            _must_keep(case, broker, answer, expect)


@SHED.check_together(
    "OVERLOAD-11",
    draws=draws.before_and_after_change(
        draws.with_another_overload_threshold, draws.other_strategies_without_ties
    ),
)
def other_strategies_ignore_the_threshold(
    exchanges: Sequence[Asked[SheddingCycle, Unloading]], expect: Expect
) -> None:
    """Other strategies shed the same bundles under every overload threshold."""
    expect.given(len(exchanges) == 2, "a cycle with two different thresholds")
    (before, first), (after, second) = exchanges
    others = before.strategy == after.strategy and before.strategy != "OverloadShedder"
    expect.given(before.enabled and others, "a strategy other than OverloadShedder sheds")
    rest = ({**cycle.settings.given, OVERLOAD_THRESHOLD: None} for cycle in (before, after))
    expect.given(next(rest) == next(rest), "only the threshold changes")
    expect.given(before.case["brokers"] == after.case["brokers"], "one cluster")
    tied = any(quantities.has_ties(before, broker) for broker in before.brokers.values())
    expect.given(not tied, "no two bundles of a broker have equal traffic")
    expect.given(quantities.busiest_is_certain(before), "one broker is the busiest")
    low, high = sorted((overload_threshold(before), overload_threshold(after)))
    between = (low <= usage_of(broker) <= high for broker in before.brokers.values())
    if expect.reached(any(between)):
        allowed = f"as before: {quantities.determined_part(first)}"
        expect.that(quantities.agree(first, second), allowed, second)


@CYCLES.check("OVERLOAD-12", draws=draws.overload_sequence)
def each_cycle_sheds_by_its_own_usage(
    cycles: CyclesInARow, answer: UnloadingInARow, expect: Expect
) -> None:
    """In every cycle, exactly the brokers above the threshold shed."""
    expect.given(len(cycles) > 1, "cycles in a row")
    expect.given(quantities.sheds_by(cycles.alone(0), "OverloadShedder"), "OverloadShedder sheds")
    for one in answer:
        an_overloaded_broker_sheds(one.cycle, one, expect)
        other_brokers_keep_all(one.cycle, one, expect)
