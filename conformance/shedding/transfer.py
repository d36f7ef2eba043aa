"""TRANSFER: TransferShedder, which moves bundles from the most to the least loaded brokers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pulsar_conformance.conformance.common.check import POINTS, SHARE, Expect
from pulsar_conformance.conformance.common.clusters import (
    keeps_bundles,
    namespaces_not_shed,
    namespaces_under_policies,
)
from pulsar_conformance.conformance.common.trial import Asked
from pulsar_conformance.conformance.drawing.loads import randoms
from pulsar_conformance.conformance.shedding import draw_transfer as draws
from pulsar_conformance.conformance.shedding.every_strategy import with_age
from pulsar_conformance.conformance.shedding.operations import CYCLES, SHED
from pulsar_conformance.conformance.shedding.quantities import sheds_by
from pulsar_conformance.conformance.shedding.view import (
    CyclesInARow,
    LoadsOfCycle,
    SheddingCycle,
    Unloading,
    UnloadingInARow,
    age_of,
)
from pulsar_conformance.reference.numbers import Fraction, exact, plain, total
from pulsar_conformance.reference.ranges import namespace_of
from pulsar_conformance.reference.shedding import (
    DELAY,
    HITS,
    MANAGER,
    MAX_REPORTED_BUNDLES,
    MAX_SHEDDING_BROKERS,
    STRATEGY,
    TRANSFER_ENABLED,
    TRANSFER_SHEDDER,
    TRANSFER_TARGET,
    WITH_POLICIES,
)
from pulsar_conformance.reference.threshold import HISTORY_SHARE

MINUTE = 60


def _loads(cycle: SheddingCycle, expect: Expect) -> LoadsOfCycle:
    """Return a cycle's loads, assuming that TransferShedder sheds and brokers have no history."""
    expect.given(sheds_by(cycle, TRANSFER_SHEDDER), "TransferShedder sheds")
    expect.given(
        TRANSFER_TARGET in cycle.settings.defaults, "the documents describe TransferShedder"
    )
    history = any(broker.history for broker in cycle.brokers.values())
    expect.given(not history, "no broker has a usage history")
    found = LoadsOfCycle(cycle)
    expect.given(bool(found.load), "some brokers have current load data")
    return found


def _loads_of_one(cycle: SheddingCycle, expect: Expect) -> LoadsOfCycle:
    """Return the loads in a cycle, assuming that a single cycle is enough to unload."""
    found = _loads(cycle, expect)
    expect.given(cycle.settings.number(HITS) == 0, "a single cycle is enough to unload")
    return found


def _is_restricted(cycle: SheddingCycle) -> bool:
    """True if policies, exclusions or missing data could keep bundles from moving."""
    restricted = keeps_bundles(cycle.case, cycle.settings)
    return restricted or bool(namespaces_under_policies(cycle.case))


def _must_unload(
    loads: LoadsOfCycle, holds: bool, why: str, answer: Unloading, expect: Expect
) -> None:
    if expect.reached(holds and loads.can_move):
        expect.that(bool(answer.pairs), f"some bundles are unloaded: {why}", answer)


@SHED.check("TRANSFER-01", draws=draws.one_cycle(draws.unbalanced))
def a_deviation_over_the_target_unloads(
    case: SheddingCycle, answer: Unloading, expect: Expect
) -> None:
    """Bundles are unloaded if the standard deviation exceeds its target."""
    found = _loads_of_one(case, expect)
    why = f"the standard deviation exceeds {plain(found.target)} points"
    _must_unload(found, found.deviates is True, why, answer, expect)


@SHED.check("TRANSFER-02", draws=draws.one_cycle(draws.even_loads))
def an_even_load_stays(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """Nothing is unloaded if no condition for unloading holds."""
    found = _loads(case, expect)
    expect.given(found.load.keys() == case.brokers.keys(), "no load data are outdated")
    if expect.reached(found.uneven is False):
        expect.nothing(answer, "no condition for unloading holds")


@SHED.check("TRANSFER-03", draws=draws.one_cycle(draws.without_traffic))
def a_broker_without_traffic_receives_some(
    case: SheddingCycle, answer: Unloading, expect: Expect
) -> None:
    """Bundles are unloaded if the least loaded broker has no traffic."""
    found = _loads_of_one(case, expect)
    rates = case.rates_of(case.brokers[min(found.load, key=lambda name: found.load[name])])
    idle = not rates.messages and not rates.throughput
    _must_unload(found, idle, "a broker has no traffic", answer, expect)


@SHED.check("TRANSFER-04", draws=draws.one_cycle(draws.underloaded))
def an_underloaded_broker_receives_some(
    case: SheddingCycle, answer: Unloading, expect: Expect
) -> None:
    """Bundles are unloaded if a broker's load is below the documented fraction of the mean."""
    found = _loads_of_one(case, expect)
    _must_unload(found, found.underloaded is True, "a broker is underloaded", answer, expect)


@SHED.check("TRANSFER-05", draws=draws.one_cycle(draws.overloaded_broker))
def an_overloaded_broker_unloads(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """Bundles are unloaded if a broker is above the threshold and far above the mean."""
    found = _loads_of_one(case, expect)
    _must_unload(found, found.overloaded is True, "a broker is overloaded", answer, expect)


@dataclass(frozen=True)
class _Course:
    """The cycles up to the first that unloads, this cycle included, and whether each is uneven."""

    cycles: Sequence[Unloading]
    uneven: Sequence[bool | None]
    needed: Fraction

    @classmethod
    def of(cls, cycles: CyclesInARow, answer: UnloadingInARow, expect: Expect) -> _Course:
        expect.given(sheds_by(cycles.alone(0), TRANSFER_SHEDDER), "TransferShedder sheds")
        now = cycles.settings.number(HISTORY_SHARE) == 0 or len(cycles) == 1
        expect.given(now, "earlier usage does not count")
        found = []
        for one in answer:
            found.append(one)
            if one.pairs:
                break
        uneven = [_loads(cycles.alone(index), expect).uneven for index in range(len(found))]
        expect.given(
            not any(_is_restricted(one.cycle) for one in found),
            "no policy, exclusion or missing data restricts unloads",
        )
        return cls(found, uneven, cycles.settings.number(HITS))

    def in_a_row(self, place: int, ending: tuple[bool | None, ...]) -> int:
        """Return the number of consecutive cycles, up to the index `place`, whose state is not in
        `ending`.
        """
        found = 0
        for one in reversed(self.uneven[: place + 1]):
            if one in ending:
                break
            found += 1
        return found


@CYCLES.check("TRANSFER-06", draws=randoms.map(draws.hits_in_a_row))
def too_few_cycles_unload_nothing(
    sequence: CyclesInARow, answer: UnloadingInARow, expect: Expect
) -> None:
    """Nothing is unloaded before a condition has held in enough consecutive cycles."""
    course = _Course.of(sequence, answer, expect)
    for index, one in enumerate(course.cycles):
        few = course.in_a_row(index, (False,)) <= course.needed
        if expect.reached(few and course.uneven[index] is True):
            expect.nothing(
                one, f"no condition has held in more than {plain(course.needed)} cycles in a row"
            )


@CYCLES.check("TRANSFER-07", draws=randoms.map(draws.hits_in_a_row))
def enough_cycles_unload(sequence: CyclesInARow, answer: UnloadingInARow, expect: Expect) -> None:
    """Bundles are unloaded once a condition has held in enough consecutive cycles."""
    course = _Course.of(sequence, answer, expect)
    for index, one in enumerate(course.cycles):
        enough = course.in_a_row(index, (False, None)) > course.needed
        why = f"a condition has held in more than {plain(course.needed)} cycles in a row"
        _must_unload(LoadsOfCycle(sequence.alone(index)), enough, why, one, expect)


@SHED.check("TRANSFER-08", draws=draws.one_cycle(draws.few_brokers))
def few_brokers_unload(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """At most the configured number of brokers unload bundles."""
    _loads(case, expect)
    most, sources = case.settings.number(MAX_SHEDDING_BROKERS), {one for one, _ in answer.pairs}
    if expect.reached(len(case.brokers) > most and bool(sources)):
        expect.that(
            len(sources) <= most, f"at most {plain(most)} brokers", ", ".join(sorted(sources))
        )


@SHED.check("TRANSFER-09", draws=draws.one_cycle(draws.one_condition))
def bundles_go_to_less_loaded_brokers(
    case: SheddingCycle, answer: Unloading, expect: Expect
) -> None:
    """Each unload names a less loaded broker as the destination."""
    found = _loads(case, expect)
    expect.given(case.settings.flag(TRANSFER_ENABLED), "transfers are switched on")
    expect.reached(bool(answer.pairs))
    for source, bundle in answer.pairs:
        to = answer.to.get(bundle)
        expect.that(to is not None, f"a destination of {bundle}", "none is named")
        if to in found.load and source in found.load:
            of, at = (f"{one}, at {plain(found.load[one])} %" for one in (source, to))
            less = found.load[to] <= found.load[source] + POINTS and to != source
            expect.that(
                less, f"{bundle} goes to a less loaded broker", f"{bundle} goes from {of}, to {at}"
            )
    sources = {source for source, _ in answer.pairs}
    if found.ends and len(sources) == 1 and found.can_move and not _is_restricted(case):
        low, high = found.ends
        expect.that(sources == {high.name}, f"{high.name} unloads", ", ".join(sorted(sources)))
        targets = set(answer.to.values())
        expect.that(targets == {low.name}, f"to {low.name}", ", ".join(sorted(targets)))


@SHED.check("TRANSFER-10", draws=draws.one_cycle(draws.without_transfers))
def no_destination_without_transfers(
    case: SheddingCycle, answer: Unloading, expect: Expect
) -> None:
    """With transfers disabled, no destination is named."""
    _loads(case, expect)
    if expect.reached(not case.settings.flag(TRANSFER_ENABLED) and bool(answer.pairs)):
        expect.nothing(answer.to.values(), "transfers are switched off")


def _seconds_since_unloads(
    answer: UnloadingInARow, sequence: CyclesInARow, place: int
) -> list[tuple[Fraction, set[str]]]:
    """Return the seconds since each earlier cycle with unloads, with the cycle's source brokers."""
    cycles, found = sequence.case["cycles"], []
    for earlier, one in enumerate(list(answer)[:place]):
        minutes = total(exact(each["minutes"]) for each in cycles[earlier + 1 : place + 1])
        if one.pairs:
            found.append((minutes * MINUTE, {source for source, _ in one.pairs}))
    return found


@CYCLES.check("TRANSFER-11", draws=randoms.map(draws.after_an_unload))
def nothing_goes_soon_after_an_unload(
    cycles: CyclesInARow, answer: UnloadingInARow, expect: Expect
) -> None:
    """Nothing is unloaded within the delay after an unload."""
    _loads(cycles.alone(0), expect)
    delay = cycles.settings.number(DELAY)
    for index, one in enumerate(answer):
        if expect.reached(
            any(ago < delay - 1 for ago, _ in _seconds_since_unloads(answer, cycles, index))
        ):
            expect.nothing(one, f"the delay is {plain(delay)} seconds")


@CYCLES.check("TRANSFER-19", draws=randoms.map(draws.after_an_unload))
def nothing_goes_by_data_from_the_delay(
    cycles: CyclesInARow, answer: UnloadingInARow, expect: Expect
) -> None:
    """Nothing is unloaded if a broker's load data are from within the delay after its unload."""
    _loads(cycles.alone(0), expect)
    delay = cycles.settings.number(DELAY)
    for index, one in enumerate(answer):
        early = [
            name
            for ago, sources in _seconds_since_unloads(answer, cycles, index)
            for name in sources.intersection(one.cycle.brokers)
            if ago - age_of(one.cycle, name) < delay - 1
            and not LoadsOfCycle(one.cycle).outdated(name)
        ]
        if expect.reached(bool(early)):
            expect.nothing(one, f"the load data of {early[0]} are from soon after its unload")


@SHED.check("TRANSFER-12", draws=draws.one_cycle(draws.outdated))
def outdated_data_do_not_count(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """Nothing is unloaded if brokers with current data are balanced; outdated data do not count."""
    found = _loads(case, expect)
    old = any(found.outdated(name) for name in case.brokers)
    if expect.reached(old and len(found.load) > 1 and found.uneven is False):
        expect.nothing(answer, "no condition for unloading holds among brokers with current data")


@SHED.check("TRANSFER-13", draws=draws.one_cycle(draws.without_data))
def a_broker_without_data_stops_the_cycle(
    case: SheddingCycle, answer: Unloading, expect: Expect
) -> None:
    """Nothing is unloaded if a registered broker has no load data."""
    _loads(case, expect)
    missing = case.case.get("withoutData", ())
    if expect.reached(bool(missing)):
        expect.nothing(answer, f"{', '.join(missing)} has no load data")


@SHED.check("TRANSFER-14", draws=draws.one_cycle(draws.under_policies))
def bundles_under_policies_stay(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """By default, no bundle of a namespace with a policy or an anti-affinity group is unloaded."""
    _loads(case, expect)
    kept = {*case.case.get("groups", {}), *_primary_brokers(case)}
    if expect.reached(bool(kept) and not case.settings.flag(WITH_POLICIES)):
        gone = (bundle for _, bundle in answer.pairs if namespace_of(bundle) in kept)
        expect.nothing(gone, "its namespace is under a policy")


def _primary_brokers(case: SheddingCycle) -> dict[str, set[str]]:
    """Return the primary brokers of each isolated namespace for which enough of them are up."""
    return {
        namespace: set(one["primary"])
        for one in case.case.get("isolation", ())
        for namespace in one["namespaces"]
        if len(case.brokers.keys() & set(one["primary"])) >= one["least"]
    }


@SHED.check("TRANSFER-15", draws=draws.one_cycle(draws.policy_excludes_least_loaded))
def isolated_bundles_go_where_they_may(
    case: SheddingCycle, answer: Unloading, expect: Expect
) -> None:
    """If an unload of an isolated bundle names a destination, the bundle's policy permits it."""
    _loads(case, expect)
    allowed = _primary_brokers(case)
    expect.reached(bool(allowed) and case.settings.flag(WITH_POLICIES))
    for _, bundle in answer.pairs:
        permitted, to = allowed.get(namespace_of(bundle)), answer.to.get(bundle)
        if permitted is not None and to is not None:
            expect.that(to in permitted, f"{bundle} goes to {', '.join(sorted(permitted))}", to)


@SHED.check("TRANSFER-16", draws=draws.one_cycle(draws.excluded))
def excluded_namespaces_stay(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """No bundle of an excluded namespace is unloaded, and other bundles are if none is excluded."""
    found = _loads(case, expect)
    names = namespaces_not_shed(case.settings)
    if expect.reached(bool(names)):
        gone = (bundle for _, bundle in answer.pairs if namespace_of(bundle) in names)
        expect.nothing(gone, "its namespace is excluded")
        if case.settings.number(HITS) == 0 and found.uneven and found.can_move:
            allowed = "some bundles are unloaded: their namespaces are not excluded"
            expect.that(bool(answer.pairs), allowed, answer)


@SHED.check("TRANSFER-17", draws=draws.one_cycle(draws.top_bundles))
def only_top_bundles_go(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """Only a broker's busiest bundles, up to the configured number, may be unloaded.

    Bundles without samples are not among the busiest: the rates assumed for them are those of the
    modular load manager.
    """
    _loads(case, expect)
    top = int(case.settings.number(MAX_REPORTED_BUNDLES))
    for name, broker in case.brokers.items():
        measured = [rates for one in broker.bundles if (rates := case.measured(one))]
        for bundle in answer.owned_and_shed(broker):
            own = case.rates(bundle)
            busier = [
                one
                for one in measured
                if one.messages > own.messages * (1 + SHARE)
                and one.throughput > own.throughput * (1 + SHARE)
            ]
            if expect.reached(len(measured) > top):
                expect.that(len(busier) < top, f"one of the top {top} of {name}", bundle)


@SHED.check("TRANSFER-20", draws=draws.one_cycle(draws.moved_before))
def recently_unloaded_bundles_are_not_transferred(
    case: SheddingCycle, answer: Unloading, expect: Expect
) -> None:
    """A bundle that was unloaded within the grace period is not unloaded again."""
    _loads(case, expect)
    blocked = {b for broker in case.brokers.values() for b in broker.bundles if case.blocked(b)}
    expect.reached(bool(blocked))
    gone = (with_age(case, bundle) for _, bundle in answer.pairs if bundle in blocked)
    expect.nothing(gone, f"unloaded within the last {plain(case.grace)} minutes")


@SHED.check_together("TRANSFER-18", draws=randoms.map(draws.with_and_without_strategy))
def transfer_shedder_is_the_default_of_the_extensible_manager(
    exchanges: Sequence[Asked[SheddingCycle, Unloading]], expect: Expect
) -> None:
    """Without a strategy, the extensible manager gives TransferShedder's answer."""
    expect.given(len(exchanges) == 2, "a cycle with a strategy and one without")
    (named, by_name), (unnamed, by_default) = exchanges
    _loads(named, expect)
    nowhere = unnamed.case["strategy"] is None and STRATEGY not in unnamed.settings.given
    expect.given(nowhere, "no strategy is named")
    manager = str(unnamed.settings.given.get(MANAGER)).rpartition(".")[2]
    extensible = manager == draws.EXTENSIBLE.rpartition(".")[2]
    expect.given(extensible, "the extensible load manager is set")
    if expect.reached(bool(by_name.pairs)):
        same = sorted(by_name.pairs) == sorted(by_default.pairs) and by_name.to == by_default.to
        expect.that(same, f"as TransferShedder: {by_name}", by_default)
