"""SHED, OVERLOAD, THRESHOLD: what holds from cycle to cycle."""

from __future__ import annotations

from collections import Counter

from pulsar_conformance.conformance.common.expect import Expect
from pulsar_conformance.conformance.shedding import overload, threshold
from pulsar_conformance.conformance.shedding import quantities as facts
from pulsar_conformance.conformance.shedding.draws import rows as draws
from pulsar_conformance.conformance.shedding.operations import CYCLES
from pulsar_conformance.conformance.shedding.view import Unloadings
from pulsar_conformance.reference.rows import Row
from pulsar_conformance.reference.threshold import LOWER_BOUNDARY


def _in_a_row(row: Row, expect: Expect) -> None:
    expect.given(len(row) > 1, "cycles in a row")


@CYCLES.check("SHED-15", draws=draws.any_row)
def later_cycles_shed_what_is_owned_now(row: Row, answer: Unloadings, expect: Expect) -> None:
    """Every cycle gives up bundles that their brokers own in it, each once."""
    _in_a_row(row, expect)
    for place, one in enumerate(answer, 1):
        brokers = one.cycle.brokers.items()
        owned = {(name, bundle) for name, broker in brokers for bundle in broker.bundles}
        expect.reached(place > 1 and one.cycle.enabled and bool(owned))
        strange = (
            f"{bundle} of {name}" for name, bundle in one.pairs if (name, bundle) not in owned
        )
        expect.nothing(strange, f"the broker does not own it in cycle {place}")
        counted = Counter(bundle for _, bundle in one.pairs)
        twice = (bundle for bundle, count in counted.items() if count > 1)
        expect.nothing(twice, f"unloaded more than once in cycle {place}")


@CYCLES.check("SHED-16", draws=draws.any_row)
def what_a_cycle_unloaded_stays_for_a_while(row: Row, answer: Unloadings, expect: Expect) -> None:
    """What an earlier cycle unloaded within the grace period is left where it is."""
    _in_a_row(row, expect)
    for place, one in enumerate(answer, 1):
        cycle, before = one.cycle, list(answer)[: place - 1]
        earlier = {bundle for each in before for _, bundle in each.pairs}
        moved = {
            bundle
            for broker in cycle.brokers.values()
            for bundle in broker.bundles
            if earlier.intersection(cycle.moved_with(bundle))
        }
        if expect.reached(cycle.enabled and bool(moved)):
            again = (bundle for _, bundle in one.pairs if bundle in moved)
            expect.nothing(again, f"a cycle within {cycle.grace} minutes before unloaded it")


@CYCLES.check("OVERLOAD-12", draws=draws.overload_row)
def each_cycle_sheds_by_its_own_usage(row: Row, answer: Unloadings, expect: Expect) -> None:
    """In every cycle a broker over the threshold gives up something, and another one nothing."""
    _in_a_row(row, expect)
    expect.given(facts.strategy_is(row.alone(0), "OverloadShedder"), "OverloadShedder sheds")
    for one in answer:
        overload.an_overloaded_broker_sheds(one.cycle, one, expect)
        overload.other_brokers_keep_all(one.cycle, one, expect)


@CYCLES.check("THRESHOLD-15", draws=draws.threshold_row)
def usage_lies_between_what_cycles_saw(row: Row, answer: Unloadings, expect: Expect) -> None:
    """In later cycles the usage compared is none beyond what this and earlier ones saw."""
    _in_a_row(row, expect)
    first = row.alone(0)
    expect.given(facts.strategy_is(first, "ThresholdShedder"), "ThresholdShedder sheds")
    expect.given(not first.settings.flag(LOWER_BOUNDARY), "nobody unloads for idle brokers")
    for one in list(answer)[1:]:
        threshold.history_lies_between(one.cycle, one, expect)
