"""OVERLOAD: OverloadShedder."""

from __future__ import annotations

from collections.abc import Sequence

from pulsar_conformance.conformance.common.expect import SHARE, Expect
from pulsar_conformance.conformance.common.trial import Asked
from pulsar_conformance.conformance.shedding import draw_cycles as draws
from pulsar_conformance.conformance.shedding import quantities as facts
from pulsar_conformance.conformance.shedding.operations import CYCLES, SHED
from pulsar_conformance.conformance.shedding.view import Unloading, Unloadings
from pulsar_conformance.reference.cluster import Broker
from pulsar_conformance.reference.numbers import plain
from pulsar_conformance.reference.overload import (
    FEWEST_BUNDLES,
    OVERLOAD_THRESHOLD,
    expense,
    expense_written,
    need_of,
    threshold_of,
)
from pulsar_conformance.reference.sequences import CycleSequence
from pulsar_conformance.reference.shedding import Cycle
from pulsar_conformance.reference.usage import maximum


def _given(case: Cycle, expect: Expect) -> None:
    expect.given(facts.strategy_is(case, "OverloadShedder"), "OverloadShedder sheds")


def _must_shed(case: Cycle, broker: Broker, answer: Unloading, expect: Expect) -> None:
    usage, threshold = maximum(broker).percent, threshold_of(case)
    allowed = f"{broker.name} at {plain(usage)} % (threshold {plain(threshold)} %) sheds"
    expect.that(bool(answer.of(broker)), allowed, answer)


def _must_keep(case: Cycle, broker: Broker, answer: Unloading, expect: Expect) -> None:
    usage, threshold = maximum(broker).percent, threshold_of(case)
    why = f"{broker.name} at {plain(usage)} % is not overloaded (threshold {plain(threshold)} %)"
    expect.nothing(answer.of(broker), why)


@SHED.check("OVERLOAD-01", draws=draws.cycles(draws.overload))
def an_overloaded_broker_sheds(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """A broker over the threshold gives up something."""
    _given(case, expect)
    for broker in case.brokers.values():
        sure = facts.overloaded(case, broker) and facts.loaded(case, broker)
        if expect.reached(bool(sure)):
            _must_shed(case, broker, answer, expect)


@SHED.check("OVERLOAD-02", draws=draws.cycles(draws.overload))
def sheds_its_excess_plus_margin(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """A broker gives up at least its excess and five points of its traffic, where it can."""
    _given(case, expect)
    for broker in case.brokers.values():
        need = need_of(case, broker)
        sure = facts.overloaded(case, broker) and facts.able(case, broker)
        if sure and expect.reached(facts.carried(case, case.movable(broker)) >= need):
            of = f"traffic shed by {broker.name}"
            expect.at_least(facts.shed(answer, broker), need, of, case.written)


@SHED.check("OVERLOAD-03", draws=draws.cycles(draws.overload))
def sheds_no_more_than_it_takes(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """Without the last bundle, which is that with the least traffic, it would fall short."""
    _given(case, expect)
    for broker in case.brokers.values():
        given = sorted(facts.own(answer, broker), key=case.traffic, reverse=True)
        need = need_of(case, broker)
        if facts.overloaded(case, broker) and expect.reached(bool(given)):
            enough = facts.carried(case, given[:-1])
            allowed = f"no more once {case.written(need)} are shed by {broker.name}"
            expect.that(enough < need * (1 + SHARE) or not need, allowed, answer)


@SHED.check("OVERLOAD-04", draws=draws.cycles(draws.overload))
def other_brokers_keep_all(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """A broker that is not overloaded gives up nothing."""
    _given(case, expect)
    for broker in case.brokers.values():
        if expect.reached(facts.overloaded(case, broker) is False and bool(broker.bundles)):
            _must_keep(case, broker, answer, expect)


@SHED.check("OVERLOAD-05", draws=draws.cycles(draws.overload))
def sheds_exactly_one_bundle(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """An overloaded broker that sheds gives up one bundle."""
    _given(case, expect)
    for broker in case.brokers.values():
        if facts.overloaded(case, broker) and expect.reached(facts.able(case, broker)):
            given = len(answer.of(broker))
            expect.that(given <= 1, f"one bundle of {broker.name}", f"{given} bundles: {answer}")


@SHED.check("OVERLOAD-06", draws=draws.cycles(draws.overload))
def the_one_is_the_most_expensive(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """The bundle that goes first is the most expensive of those that may go."""
    _given(case, expect)
    for broker in case.brokers.values():
        given = [bundle for bundle in facts.own(answer, broker) if not case.blocked(bundle)][:1]
        for bundle in given:
            movable = case.movable(broker)
            expect.reached(len(movable) > 1)
            dearest = max(movable, key=lambda one: expense(case, one))
            enough = expense(case, bundle) >= expense(case, dearest) * (1 - SHARE)
            expect.that(enough, _priced(case, dearest), _priced(case, bundle))


def _priced(case: Cycle, bundle: str) -> str:
    return f"{bundle} = {expense_written(case, bundle)}"


@SHED.check("OVERLOAD-07", draws=draws.cycles(draws.overload_with_few_bundles))
def a_single_bundle_stays(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """A broker with fewer than two bundles gives up none."""
    _given(case, expect)
    for broker in case.brokers.values():
        few = len(broker.bundles) < FEWEST_BUNDLES and bool(case.movable(broker))
        if expect.reached(few and facts.overloaded(case, broker) is not False):
            expect.nothing(answer.of(broker), f"{broker.name} has a single bundle")


@SHED.check_together(
    "OVERLOAD-08", draws=draws.pairs(draws.with_other_brokers_changed, draws.overload)
)
def other_brokers_do_not_matter(asked: Sequence[Asked[Cycle, Unloading]], expect: Expect) -> None:
    """What a broker gives up does not change with the usage of the others."""
    expect.given(len(asked) == 2, "a cluster before and after")
    (before, first), (after, second) = asked
    _given(before, expect)
    _given(after, expect)
    kept = ("settings", "bundles", "recentlyUnloaded")
    expect.given(all(before.case[key] == after.case[key] for key in kept), "only usages change")
    for name, report in before.case["brokers"].items():
        broker = before.brokers[name]
        alike = after.case["brokers"].get(name) == report and not facts.tied(before, broker)
        if alike and expect.reached(facts.able(before, broker)):
            allowed = f"of {name} as before: {', '.join(first.of(name)) or 'nothing'}"
            expect.that(set(first.of(name)) == set(second.of(name)), allowed, second)


@SHED.check("OVERLOAD-09", draws=draws.cycles(draws.overload))
def any_one_resource_suffices(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """One resource over the threshold overloads a broker, whatever the others are."""
    _given(case, expect)
    for broker in case.brokers.values():
        threshold = threshold_of(case)
        hot = [percent for percent in broker.percent.values() if percent >= threshold]
        sure = facts.overloaded(case, broker) and facts.loaded(case, broker)
        if expect.reached(len(hot) == 1 and bool(sure)):
            _must_shed(case, broker, answer, expect)


@SHED.check("OVERLOAD-10", draws=draws.cycles(draws.overload_by_default))
def the_threshold_is_85_by_default(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """Where no threshold is set, a broker sheds over 85 % and keeps all below."""
    _given(case, expect)
    expect.given(OVERLOAD_THRESHOLD not in case.settings.given, "no threshold is set")
    for broker in case.brokers.values():
        sheds = facts.overloaded(case, broker)
        if sheds and expect.reached(facts.loaded(case, broker)):
            _must_shed(case, broker, answer, expect)
        if sheds is False and expect.reached(bool(broker.bundles)):
            _must_keep(case, broker, answer, expect)


@SHED.check_together(
    "OVERLOAD-11",
    draws=draws.pairs(draws.with_another_overload_threshold, draws.others_without_ties),
)
def other_strategies_ignore_the_threshold(
    asked: Sequence[Asked[Cycle, Unloading]], expect: Expect
) -> None:
    """The other strategies shed the same, whatever the overload threshold is."""
    expect.given(len(asked) == 2, "a cycle with one threshold and with another")
    (before, first), (after, second) = asked
    others = before.strategy == after.strategy and before.strategy != "OverloadShedder"
    expect.given(before.enabled and others, "another strategy sheds")
    rest = ({**cycle.settings.given, OVERLOAD_THRESHOLD: None} for cycle in (before, after))
    expect.given(next(rest) == next(rest), "only the threshold changes")
    expect.given(before.case["brokers"] == after.case["brokers"], "one cluster")
    tied = any(facts.tied(before, broker) for broker in before.brokers.values())
    expect.given(not tied, "no two bundles of a broker carry alike")
    expect.given(facts.one_busiest(before), "one broker is the busiest")
    between = sorted((threshold_of(before), threshold_of(after)))
    moved = (between[0] <= maximum(b).percent <= between[1] for b in before.brokers.values())
    if expect.reached(any(moved)):
        allowed = f"as before: {facts.as_far_as_settled(first)}"
        expect.that(facts.alike(first, second), allowed, second)


@CYCLES.check("OVERLOAD-12", draws=draws.overload_row)
def each_cycle_sheds_by_its_own_usage(
    row: CycleSequence, answer: Unloadings, expect: Expect
) -> None:
    """In every cycle a broker over the threshold gives up something, and another one nothing."""
    expect.given(len(row) > 1, "cycles in a row")
    expect.given(facts.strategy_is(row.alone(0), "OverloadShedder"), "OverloadShedder sheds")
    for one in answer:
        an_overloaded_broker_sheds(one.cycle, one, expect)
        other_brokers_keep_all(one.cycle, one, expect)
