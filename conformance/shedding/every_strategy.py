"""SHED: rules about every shedding strategy, within a cycle and across cycles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from random import Random
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.conformance.common.check import DerivedQuestions, Expect
from pulsar_conformance.conformance.common.clusters import is_excluded
from pulsar_conformance.conformance.common.trial import Asked, Json, Question, copied
from pulsar_conformance.conformance.drawing import names
from pulsar_conformance.conformance.shedding import draw_cycles as draws
from pulsar_conformance.conformance.shedding import draw_transfer, quantities
from pulsar_conformance.conformance.shedding.operations import CYCLES, SHED
from pulsar_conformance.conformance.shedding.view import (
    CyclesInARow,
    SheddingCycle,
    Unloading,
    UnloadingInARow,
)
from pulsar_conformance.reference import Readings
from pulsar_conformance.reference.numbers import exact, plain, quantity
from pulsar_conformance.reference.placement import AVERAGE_SHEDDER
from pulsar_conformance.reference.ranges import namespace_of
from pulsar_conformance.reference.shedding import ENABLED, EXCLUDED, STRATEGY, TRANSFER_SHEDDER
from pulsar_conformance.reference.uniform import (
    AVERAGE_HIGH,
    AVERAGE_HIGH_HITS,
    AVERAGE_LOW,
    AVERAGE_LOW_HITS,
    MAX_SHARE,
    MIN_BYTES,
    MIN_MESSAGES,
)


@SHED.check("SHED-01", draws=draws.cycle_trials(draws.switched_off))
def nothing_is_shed_when_switched_off(
    case: SheddingCycle, answer: Unloading, expect: Expect
) -> None:
    """With shedding disabled, nothing is unloaded."""
    if expect.reached(not case.settings.flag(ENABLED)):
        expect.nothing(answer, "shedding is switched off")


@SHED.check("SHED-02", draws=draws.cycle_trials(draws.any_strategy))
def only_owned_bundles_go(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """Brokers shed only bundles that they own."""
    expect.reached(case.enabled and any(one.bundles for one in case.brokers.values()))
    expect.nothing(_of_others(case, answer), "a broker sheds only its own bundles")


def _of_others(case: SheddingCycle, answer: Unloading) -> list[str]:
    """Return the unloads whose broker does not own the bundle, each with the bundle's owner."""
    owners: dict[str, list[str]] = {}
    for name, broker in case.brokers.items():
        for bundle in broker.bundles:
            owners.setdefault(bundle, []).append(name)
    return [
        f"{bundle} of {name}, owned by {' and '.join(owners.get(bundle, ['no broker']))}"
        for name, bundle in answer.pairs
        if name not in owners.get(bundle, ())
    ]


@SHED.check("SHED-03", draws=draws.cycle_trials(draws.any_strategy))
def each_bundle_goes_once(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """No bundle is unloaded twice in a cycle."""
    expect.reached(case.enabled and any(broker.bundles for broker in case.brokers.values()))
    counted = Counter(bundle for _, bundle in answer.pairs)
    expect.nothing((b for b, count in counted.items() if count > 1), "unloaded more than once")


def with_age(case: SheddingCycle, bundle: str, among: Container[str] | None = None) -> str:
    """Return a bundle that may not move, with the age in minutes of the last unload that blocks it.

    If `among` is given, only unloads of bundles in `among` are considered.
    """
    known = case.case["recentlyUnloaded"]
    counted = (one for one in case.moved_with(bundle) if among is None or one in among)
    ago, moved = min((exact(known[one]), one) for one in counted)
    what = "" if moved == bundle else f" as {moved}"
    return f"{bundle}, unloaded {quantity(ago, 'minute')} ago{what}"


@SHED.check("SHED-04", draws=draws.cycle_after_change(draws.after_splits, draws.recently_unloaded))
def recently_unloaded_bundles_stay(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """A bundle that was unloaded within the grace period is not unloaded again."""
    blocked = {b for broker in case.brokers.values() for b in broker.bundles if case.blocked(b)}
    expect.reached(case.enabled and bool(blocked))
    wrong = (with_age(case, bundle) for _, bundle in answer.pairs if bundle in blocked)
    expect.nothing(wrong, f"unloaded within the last {plain(case.grace)} minutes")


def _assume_same_cluster(
    exchanges: Sequence[Asked[SheddingCycle, Unloading]], expect: Expect
) -> None:
    """Assume that both questions have the same brokers, and that no tie leaves the answer open."""
    (case, _), (_, named) = exchanges
    expect.given(case.enabled and named.cycle.enabled, "shedding runs")
    expect.given(case.case["brokers"] == named.cycle.case["brokers"], "one cluster")
    tied = any(quantities.has_ties(case, broker) for broker in case.brokers.values())
    expect.given(not tied, "no two bundles of a broker have equal traffic")
    expect.given(quantities.busiest_is_certain(case), "one broker is the busiest")


def _expect_same_as_named(
    exchanges: Sequence[Asked[SheddingCycle, Unloading]], expect: Expect
) -> None:
    _assume_same_cluster(exchanges, expect)
    (_, answer), (_, named) = exchanges
    if expect.reached(bool(named.pairs)):
        allowed = f"as {named.cycle.strategy}: {quantities.determined_part(named)}"
        expect.that(quantities.agree(answer, named), allowed, answer)


@SHED.check_together(
    "SHED-05",
    draws=draws.before_and_after_change(draws.without_strategy, draws.threshold_without_ties),
)
def threshold_shedder_is_the_default(
    exchanges: Sequence[Asked[SheddingCycle, Unloading]], expect: Expect
) -> None:
    """Without a strategy, the same bundles are unloaded as under ThresholdShedder."""
    expect.given(len(exchanges) == 2, "a cycle with a strategy and one without")
    named, unnamed = exchanges
    nowhere = unnamed.case.case["strategy"] is None and STRATEGY not in unnamed.case.settings.given
    expect.given(nowhere, "no strategy is named")
    both = named.case.strategy == unnamed.case.strategy == "ThresholdShedder"
    expect.given(both, "against ThresholdShedder")
    _expect_same_as_named([unnamed, named], expect)


@SHED.check_together(
    "SHED-06", draws=draws.before_and_after_change(draws.strategy_in_settings, draws.without_ties)
)
def the_setting_selects_the_strategy(
    exchanges: Sequence[Asked[SheddingCycle, Unloading]], expect: Expect
) -> None:
    """A strategy named in the settings sheds the same bundles as if the case named it."""
    expect.given(
        len(exchanges) == 2, "a cycle whose case names the strategy, and one whose setting does"
    )
    named, by_setting = exchanges
    expect.given(named.case.case["strategy"] is not None, "the case names a strategy")
    expect.given(by_setting.case.case["strategy"] is None, "the setting names the strategy")
    expect.given(named.case.strategy == by_setting.case.strategy, "both name the same strategy")
    _expect_same_as_named([by_setting, named], expect)


@SHED.check("SHED-07", draws=draws.cycle_after_change(draws.with_another_long_term, draws.overload))
def bundles_with_more_traffic_go_first(
    case: SheddingCycle, answer: Unloading, expect: Expect
) -> None:
    """A broker sheds no bundle while it keeps one with more traffic that it may also shed."""
    expect.given(quantities.sheds_by(case, "OverloadShedder"), "OverloadShedder sheds")
    one = expect.readings["overload-amount"] == "one"
    expect.given(not one, "more than one bundle may go")
    for broker in case.brokers.values():
        quantities.expect_busiest_first(case, broker, answer, expect)


@SHED.check("SHED-08", draws=draws.cycle_trials(draws.overloaded_under_other_strategies))
def overloaded_brokers_shed_under_every_strategy(
    case: SheddingCycle, answer: Unloading, expect: Expect
) -> None:
    """An overloaded broker sheds its excess under any strategy but TransferShedder."""
    others = case.strategy not in ("OverloadShedder", TRANSFER_SHEDDER)
    expect.given(case.enabled and others, "a strategy other than TransferShedder is set")
    for broker in case.brokers.values():
        if not (quantities.is_overloaded(case, broker) and quantities.can_shed(case, broker)):
            continue
        if expect.reached(quantities.can_shed_by_any_measure(case, broker)):
            allowed = f"{broker.name}, which is overloaded, sheds"
            expect.that(bool(answer.of(broker)), allowed, answer)
        if expect.readings["overload-amount"] != "one":
            of = f"traffic shed by the overloaded {broker.name}"
            quantities.expect_overload_need(answer, broker, of, expect)


SINGLE_CYCLE: Mapping[str, Any] = {
    **{AVERAGE_LOW: 0, AVERAGE_HIGH: 50, AVERAGE_LOW_HITS: 1, AVERAGE_HIGH_HITS: 1},
    **{MAX_SHARE: 0.5, MIN_MESSAGES: 0, MIN_BYTES: 0},
}
"""Settings with which AvgShedder sheds in a single cycle."""

LIST_COMMAS = (",", ",", ", ", " , ")
"""Separators of the names in a list."""


def with_excluded_namespaces(random: Random, case: Json) -> Json:
    """Return the case with namespaces of its bundles excluded from shedding, often all but one.

    Some lists have spaces around the names. In some cases, AvgShedder sheds.
    """
    owned = (bundle for report in case["brokers"].values() for bundle in report["bundles"])
    spaces = sorted(set(map(namespace_of, owned)))
    count = random.choice((1, len(spaces) - 1, len(spaces)))
    listed = random.sample(spaces, min(max(1, count), len(spaces)))
    beginnings = [name[:-1] for name in spaces if name not in listed]
    listed += random.choice(([], [], ["pulsar/system"], beginnings[:1]))
    edge = random.choice(("", "", " "))
    text = edge + random.choice(LIST_COMMAS).join(random.sample(listed, len(listed))) + edge
    average = random.random() < 0.25
    strategy = {"strategy": AVERAGE_SHEDDER} if average else {}
    settings = {**case["settings"], **(SINGLE_CYCLE if average else {}), EXCLUDED: text}
    return {**case, **strategy, "settings": settings}


def with_similar_names_excluded(random: Random, case: Json) -> Json:
    """Return the case with namespaces excluded that have no bundles, and have similar names."""
    owned = (bundle for report in case["brokers"].values() for bundle in report["bundles"])
    listed = names.similar_namespaces(random, set(map(namespace_of, owned)))
    return {**case, "settings": {**case["settings"], EXCLUDED: ",".join(listed)}}


@SHED.check_together(
    "SHED-17",
    draws=(
        draws.before_and_after_change(with_similar_names_excluded, draws.without_ties),
        draws.cycle_after_change(with_excluded_namespaces, draws.any_strategy),
        draw_transfer.one_cycle(draw_transfer.excluded),
    ),
)
def bundles_of_excluded_namespaces_alone_stay(
    exchanges: Sequence[Asked[SheddingCycle, Unloading]], expect: Expect
) -> None:
    """No bundle of an excluded namespace is unloaded, whichever strategy sheds.

    If no broker has such a bundle, the same bundles are unloaded as without the list.
    """
    for case, answer in exchanges:
        excluded = _excluded_bundles(case)
        expect.reached(case.enabled and bool(excluded))
        gone = (bundle for _, bundle in answer.pairs if bundle in excluded)
        expect.nothing(gone, "its namespace is excluded from shedding")
    if len(exchanges) == 2 and _differ_in_list_alone(exchanges):
        (case, unlisted), (_, listed) = exchanges
        if expect.reached(SHED.determined(case, case.readings) and bool(unlisted.pairs)):
            allowed = "as without the list, which names no namespace of these bundles: "
            same = quantities.agree(listed, unlisted)
            expect.that(same, f"{allowed}{quantities.determined_part(unlisted)}", listed)


def _excluded_bundles(case: SheddingCycle) -> set[str]:
    """Return the bundles of brokers whose namespace is excluded from shedding."""
    owned = {bundle for broker in case.brokers.values() for bundle in broker.bundles}
    return {bundle for bundle in owned if is_excluded(bundle, case.settings)}


def _differ_in_list_alone(exchanges: Sequence[Asked[SheddingCycle, Unloading]]) -> bool:
    """True if the first of two cycles has no list of excluded namespaces, the second differs in
    nothing else, and no bundle of either is excluded.
    """
    (case, _), (listing, _) = exchanges
    unlisted = case.settings.given.get(EXCLUDED) is None
    return (
        unlisted
        and _without_list(case) == _without_list(listing)
        and not _excluded_bundles(listing)
    )


def _without_list(case: SheddingCycle) -> Json:
    given = {name: value for name, value in case.settings.given.items() if name != EXCLUDED}
    return {**case.case, "settings": given}


def _assume_one_strategy(cycles: CyclesInARow, expect: Expect) -> None:
    expect.given(len(cycles) > 1, "cycles in a row")


@CYCLES.check("SHED-15", draws=draws.any_sequence)
def later_cycles_shed_only_owned_bundles(
    cycles: CyclesInARow, answer: UnloadingInARow, expect: Expect
) -> None:
    """In every cycle, a broker sheds only bundles that it owns at that time, each only once."""
    _assume_one_strategy(cycles, expect)
    for index, one in enumerate(answer, 1):
        owned = any(broker.bundles for broker in one.cycle.brokers.values())
        expect.reached(index > 1 and one.cycle.enabled and owned)
        others = _of_others(one.cycle, one)
        expect.nothing(others, f"a broker sheds only its own bundles in cycle {index}")
        counted = Counter(bundle for _, bundle in one.pairs)
        twice = (bundle for bundle, count in counted.items() if count > 1)
        expect.nothing(twice, f"unloaded more than once in cycle {index}")


@CYCLES.check("SHED-16", draws=draws.any_sequence)
def bundles_stay_after_the_unload_of_a_cycle(
    cycles: CyclesInARow, answer: UnloadingInARow, expect: Expect
) -> None:
    """A bundle that an earlier cycle unloaded within the grace period is not unloaded again."""
    _assume_one_strategy(cycles, expect)
    for index, one in enumerate(answer, 1):
        cycle, before = one.cycle, list(answer)[: index - 1]
        earlier = {bundle for each in before for _, bundle in each.pairs}
        moved = {
            bundle
            for broker in cycle.brokers.values()
            for bundle in broker.bundles
            if earlier.intersection(cycle.moved_with(bundle))
        }
        if expect.reached(cycle.enabled and bool(moved)):
            again = (with_age(cycle, bundle, earlier) for _, bundle in one.pairs if bundle in moved)
            last = f"within the last {plain(cycle.grace)} minutes"
            expect.nothing(again, f"an earlier cycle unloaded them {last}; this is cycle {index}")


FRAMES = ("shortTermData", "longTermData")


def each_cycle_alone(
    rule: specs.Rule,
    question: Question,
    _answer: Json,
    _defaults: Mapping[str, Any],
    _readings: Readings,
) -> Iterator[Question]:
    """Yield a question about each cycle of a sequence as if there were no earlier cycles."""
    if SHED.id not in rule.operations:
        return
    shared = {name: question.case[name] for name in ("strategy", "settings")}
    for cycle in question.case["cycles"]:
        seen = {name: value for name, value in cycle.items() if name != "minutes"}
        yield Question(SHED.id, {**shared, **seen})


def bytes_against_messages(
    _rule: specs.Rule,
    question: Question,
    _answer: Json,
    _defaults: Mapping[str, Any],
    _readings: Readings,
) -> Iterator[Question]:
    """Yield the question with message rates that rank bundles in the reverse order of bytes."""
    case = copied(question.case)
    frames = [data[frame] for data in case["bundles"].values() for frame in FRAMES if frame in data]
    most = max(map(_bytes, frames), default=0)
    for frame in frames:
        frame |= {"msgRateIn": 1 + (most - _bytes(frame)) / 1000, "msgRateOut": 0}
    for broker in case["brokers"].values():
        data = (case["bundles"].get(bundle, {}) for bundle in broker.get("bundles", ()))
        rates = (one.get("shortTermData", {}).get("msgRateIn", 0) for one in data)
        broker |= {"msgRateIn": sum(rates), "msgRateOut": 0}
    yield Question(question.operation, case)


def _bytes(rates: Json) -> float:
    size: float = rates.get("msgThroughputIn", 0) + rates.get("msgThroughputOut", 0)
    return size


PRESUPPOSED = (
    DerivedQuestions(each_cycle_alone, operation=CYCLES.id),
    DerivedQuestions(bytes_against_messages, rule="SHED-07"),
)
