"""UNIFORM: UniformLoadShedder."""

from __future__ import annotations

from typing import NamedTuple

from pulsar_conformance.conformance.common.expect import SHARE, Expect
from pulsar_conformance.conformance.shedding import quantities as facts
from pulsar_conformance.conformance.shedding.draw_clusters import uniform
from pulsar_conformance.conformance.shedding.draw_cycles import cycles
from pulsar_conformance.conformance.shedding.operations import SHED
from pulsar_conformance.conformance.shedding.view import Unloading
from pulsar_conformance.reference.averages import together
from pulsar_conformance.reference.cluster import Broker
from pulsar_conformance.reference.numbers import Fraction
from pulsar_conformance.reference.shedding import Cycle
from pulsar_conformance.reference.uniform import RATE_THRESHOLD, THROUGHPUT_THRESHOLD, Imbalance

TRIGGERS = {"both": all, "either": any}


class Ends(NamedTuple):
    """The most and the least loaded broker, by messages and by bytes alike."""

    most: Broker
    least: Broker


def _spread(case: Cycle, expect: Expect) -> Imbalance:
    expect.given(facts.strategy_is(case, "UniformLoadShedder"), "UniformLoadShedder sheds")
    return Imbalance(case)


def _ends(case: Cycle, expect: Expect) -> Ends:
    carries = {name: case.rates_of(broker) for name, broker in case.brokers.items()}
    by_rate = sorted(case.brokers.values(), key=lambda broker: carries[broker.name].messages)
    by_size = sorted(case.brokers.values(), key=lambda broker: carries[broker.name].throughput)
    alike = by_rate[0] is by_size[0] and by_rate[-1] is by_size[-1]
    expect.given(alike, "messages and bytes agree on who is most and least loaded")
    most, seconds = (
        carries[by_rate[-1].name],
        (carries[by_rate[-2].name], carries[by_size[-2].name]),
    )
    alone = most.messages > seconds[0].messages and most.throughput > seconds[1].throughput
    expect.given(alone, "one broker is the most loaded")
    return Ends(by_rate[-1], by_rate[0])


def _clearly(most: Fraction, bound: Fraction) -> bool | None:
    """Whether an amount is higher than a bound; none where floats might decide."""
    if abs(most - bound) <= SHARE * max(most, bound):
        return None
    return most > bound


def _differs(spread: Imbalance) -> tuple[bool | None, bool | None]:
    """Whether rates and throughputs differ by more than their thresholds."""
    settings = spread.cycle.settings
    least, most = spread.messages
    threshold = settings.number(RATE_THRESHOLD)
    percent = spread.cycle.readings["uniform-difference"] == "percent"
    rate = _clearly(most, least * (100 + threshold) / 100 if percent else least + threshold)
    least, most = spread.throughput
    multiple = settings.number(THROUGHPUT_THRESHOLD)
    multiple += spread.cycle.readings["uniform-multiplier"] == "difference"
    return rate, _clearly(most, least * multiple)


def _triggered(spread: Imbalance, expect: Expect) -> bool | None:
    """Whether the thresholds are passed, by the reading `uniform-trigger`."""
    rate, throughput = _differs(spread)
    triggers = TRIGGERS[expect.readings["uniform-trigger"]]
    possible = triggers(differs is not False for differs in (rate, throughput))
    return bool(possible) if possible == triggers((bool(rate), bool(throughput))) else None


def _fits(case: Cycle, bundle: str, ends: Ends) -> bool:
    """Whether moving a bundle from the most to the least loaded narrows both gaps."""
    rates = case.rates(bundle)
    most, least = case.rates_of(ends.most), case.rates_of(ends.least)
    messages, size = most.messages - least.messages, most.throughput - least.throughput
    return 0 < rates.messages <= messages / 2 and 0 < rates.throughput <= size / 2


@SHED.check("UNIFORM-01", draws=cycles(uniform))
def the_most_loaded_broker_unloads(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """Where the difference is higher than the thresholds, the most loaded broker gives up some."""
    spread = _spread(case, expect)
    ends = _ends(case, expect)
    least = case.rates_of(ends.least)
    loaded = least.messages >= 1 and least.throughput >= 1
    expect.given(loaded, "a multiple of nothing is undefined")
    movable = case.movable(ends.most)
    fitting = len(ends.most.bundles) > 1 and any(_fits(case, b, ends) for b in movable)
    if _triggered(spread, expect) and expect.reached(fitting):
        allowed = f"{ends.most.name}, the most loaded, unloads"
        expect.that(bool(answer.of(ends.most)), allowed, answer)


@SHED.check("UNIFORM-02", draws=cycles(uniform))
def nothing_goes_within_the_thresholds(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """Where the difference is within the thresholds, nothing is unloaded."""
    spread = _spread(case, expect)
    expect.given(min(*spread.messages, *spread.throughput) >= 1, "nothing has no multiple")
    alone = not any(facts.sheds_under_85(case, broker) for broker in case.brokers.values())
    expect.given(alone, "nobody is overloaded")
    if expect.reached(_triggered(spread, expect) is False):
        expect.nothing(answer, "the difference is within the thresholds")


@SHED.check("UNIFORM-03", draws=cycles(uniform))
def nothing_goes_from_the_least_loaded(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """The least loaded broker keeps what it has: less there would not even the load."""
    _spread(case, expect)
    ends = _ends(case, expect)
    expect.given(not facts.sheds_under_85(case, ends.least), "it is not overloaded")
    apart = case.rates_of(ends.least).messages < case.rates_of(ends.most).messages
    if expect.reached(apart and bool(case.movable(ends.least))):
        expect.nothing(answer.of(ends.least), f"{ends.least.name} is the least loaded")


@SHED.check("UNIFORM-04", draws=cycles(uniform))
def the_two_do_not_change_places(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """What goes is less than the gap between the most and the least loaded, by some measure."""
    _spread(case, expect)
    ends = _ends(case, expect)
    expect.given(not facts.sheds_under_85(case, ends.most), "it is not overloaded")
    most, least = case.rates_of(ends.most), case.rates_of(ends.least)
    whole = together(map(case.rates, ends.most.bundles))
    known = all(map(case.measured, ends.most.bundles))
    fits = whole.messages <= most.messages * (1 + SHARE)
    fits = fits and whole.throughput <= most.throughput * (1 + SHARE)
    expect.given(known and fits, "a broker carries no less than its bundles")
    gone = together(map(case.rates, facts.own(answer, ends.most)))
    if expect.reached(gone.messages > 0 and gone.throughput > 0):
        messages, size = most.messages - least.messages, most.throughput - least.throughput
        less = gone.messages < messages * (1 + SHARE) or gone.throughput < size * (1 + SHARE)
        allowed = f"less than {ends.most.name} carries more than {ends.least.name}"
        expect.that(less, allowed, answer)
