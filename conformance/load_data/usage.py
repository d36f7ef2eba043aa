"""USAGE: a broker's usage, and the speed of its network interface."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain
from random import Random
from typing import Any

from hypothesis import strategies as st
from pulsar_conformance import specs
from pulsar_conformance.conformance.common.check import POINTS, SHARE, DerivedQuestions, Expect
from pulsar_conformance.conformance.common.operation import FlatCase
from pulsar_conformance.conformance.common.trial import Json, Question, Trial
from pulsar_conformance.conformance.drawing import composite, loads
from pulsar_conformance.conformance.drawing.loads import draw_weights, randoms, sometimes_as_text
from pulsar_conformance.conformance.load_data.operations import (
    NIC,
    USAGE,
    MeasuredUsage,
    usage_percents,
)
from pulsar_conformance.reference import Readings
from pulsar_conformance.reference.cluster import RESOURCES, Broker
from pulsar_conformance.reference.numbers import Fraction, Percent, exact, plain
from pulsar_conformance.reference.usage import (
    NIC_SPEED,
    UNWEIGHTED,
    WEIGHT_SETTINGS,
    weights,
)


def usage_case(broker: Json, weighted: bool, settings: Json) -> Json:
    """Return a `usage.max` case."""
    return {"settings": settings, "weighted": weighted, "broker": broker}


def _broker(random: Random) -> Json:
    kind = random.choice(("busiest", "busiest", "idle", "alike", "over", "even"))
    if kind == "idle":
        return {name: {"usage": 0, "limit": limit} for name, limit in loads.REAL_LIMITS.items()}
    if kind == "alike":
        level = random.choice(loads.EXACT_PERCENTS)
        return {name: {"usage": level, "limit": 100} for name in RESOURCES}
    if kind == "even":
        return {name: {"usage": random.randrange(101), "limit": 100} for name in RESOURCES}
    percent = random.choice((random.randint(1, 100), round(random.uniform(0.1, 100), 2)))
    return loads.draw_usages(random, 130 if kind == "over" else percent, exact=False)


@composite
def brokers(draw: st.DrawFn, weighted: bool) -> Trial:
    """Draw a question about a broker's busiest resource."""
    random = draw(randoms)
    settings = draw_weights(random) if weighted and random.random() < 0.8 else {}
    if not weighted and draw(st.booleans()):
        settings = draw_weights(random)
    written = _sometimes_incomplete(random, sometimes_as_text(random, settings))
    return Trial.of(USAGE.id, usage_case(_broker(random), weighted, written))


INCOMPLETE_SHARE = 0.4
"""Share of the questions in which some weights are absent or null, and thus have their defaults."""


def _sometimes_incomplete(random: Random, settings: Json) -> Json:
    """Return the settings, in some cases without some of the weights, or with null for them."""
    if random.random() >= INCOMPLETE_SHARE:
        return settings
    left_out = random.sample([*WEIGHT_SETTINGS.values()], random.randint(1, len(WEIGHT_SETTINGS)))
    if random.random() < 1 / 2:
        return {**settings, **dict.fromkeys(left_out)}
    return {name: value for name, value in settings.items() if name not in left_out}


@composite
def any_broker(draw: st.DrawFn) -> Trial:
    """Draw a question about a broker's busiest resource, weighted or not."""
    return draw(brokers(draw(st.booleans())))


@composite
def one_resource(draw: st.DrawFn) -> Trial:
    """Draw a broker that uses one of five resources, each of which has a different weight."""
    random, resource = draw(randoms), draw(st.sampled_from(RESOURCES))
    used = {"usage": random.randint(1, 100), "limit": 100}
    return Trial.of(USAGE.id, usage_case({resource: used}, True, draw_weights(random)))


PRESENT_NAMES = {
    f"loadBalancerBandwith{way}ResourceWeight": f"loadBalancerBandwidth{way}ResourceWeight"
    for way in ("In", "Out")
}
"""The names since 4.0 of settings whose names were misspelt, by former name."""


@composite
def weighted_by_either_name(draw: st.DrawFn) -> Trial:
    """Draw a question about weighted usage whose bandwidth weights have former or present names."""
    [(operation, case)] = draw(brokers(weighted=True)).questions
    names = PRESENT_NAMES if draw(st.booleans()) else {}
    settings = {names.get(name, name): value for name, value in case["settings"].items()}
    return Trial.of(operation, {**case, "settings": settings})


def _expect_percent(expect: Expect, answer: MeasuredUsage, percent: Percent) -> None:
    close = abs(answer.percent - percent) <= POINTS
    expect.that(close, f"{plain(percent, 4)} %", f"{plain(answer.percent, 4)} %")


@USAGE.check("USAGE-01", draws=brokers(weighted=False))
def is_the_maximum_over_the_resources(
    case: FlatCase, answer: MeasuredUsage, expect: Expect
) -> None:
    """A broker's usage is the usage of the busiest of its five resources."""
    expect.given(not case["weighted"], "the question is about unweighted usage")
    expect.reached()
    _expect_percent(expect, answer, max(usage_percents(case).values()))


@USAGE.check("USAGE-02", draws=brokers(weighted=True))
def is_the_weighted_maximum(case: FlatCase, answer: MeasuredUsage, expect: Expect) -> None:
    """A broker's weighted usage is the largest product of a resource's usage and weight."""
    expect.given(case["weighted"], "the question is about weighted usage")
    expect.reached()
    _expect_percent(expect, answer, max(usage_percents(case).values()))


@USAGE.check("USAGE-03", draws=any_broker())
def names_a_resource_that_has_the_maximum(
    case: FlatCase, answer: MeasuredUsage, expect: Expect
) -> None:
    """The resource named in the answer has the largest usage, unless no resource is used."""
    percent = usage_percents(case)
    most = max(percent.values())
    if expect.reached(most > 0):
        busiest = [name for name in percent if most - percent[name] <= POINTS]
        named = answer.resource in busiest
        expect.that(named, f"resource: {' or '.join(busiest)}", answer.resource)


@USAGE.check("USAGE-04", draws=one_resource())
def each_weight_counts_for_its_own_resource(
    case: FlatCase, answer: MeasuredUsage, expect: Expect
) -> None:
    """If a single resource is used, the weighted usage is its usage times its weight."""
    expect.given(case["weighted"], "the question is about weighted usage")
    used = Broker.read("broker", case["broker"]).percent
    busy = [name for name in used if used[name]]
    expect.given(len(busy) == 1, "one resource is used")
    expect.reached()
    _expect_percent(expect, answer, usage_percents(case)[busy[0]])


def usage_leaves_heap_memory_out(
    asked_weighted: bool, weighted: bool, case: FlatCase, answer: MeasuredUsage, expect: Expect
) -> None:
    """A broker's usage is the largest usage of its resources other than heap memory.

    `asked_weighted` says whether the question asks for weighted usage; `weighted` says whether this
    check applies the weights.
    """
    asked = f"the question is about {'weighted' if asked_weighted else 'unweighted'} usage"
    expect.given(case["weighted"] is asked_weighted, asked)
    weight = weights(case.settings) if weighted else UNWEIGHTED
    used = Broker.read("broker", case["broker"]).percent
    expect.reached()
    most = max(used[name] * weight[name] for name in used if name != "memory")
    _expect_percent(expect, answer, most)


for rule, asked_weighted, weighted, drawn in (
    ("USAGE-08", False, False, brokers(weighted=False)),
    ("USAGE-09", True, True, weighted_by_either_name()),
    ("USAGE-10", False, True, brokers(weighted=False)),
):
    USAGE.check(rule, draws=drawn)(partial(usage_leaves_heap_memory_out, asked_weighted, weighted))


def nics(*overrides: Json) -> st.SearchStrategy[Trial]:
    """Return a strategy for trials of a network interface with a reported speed and an override."""
    return st.builds(
        lambda speed, settings: Trial.of(
            NIC.id, {"settings": settings, "nics": [{"reportedGbps": speed}]}
        ),
        st.sampled_from([0.5, 1, 10, 25, 100]),
        st.sampled_from(overrides),
    )


OVERRIDES = [{NIC_SPEED: speed} for speed in (1, 2, 10, 40, 100)]
FRACTIONAL_OVERRIDES = [{NIC_SPEED: speed} for speed in (0.1, 0.5, 0.8, 1.5, 2.5)]
NO_OVERRIDE: list[Json] = [{}, {NIC_SPEED: ""}, {NIC_SPEED: None}]
"""Settings without an override of the interface's speed."""


def _expect_speed(expect: Expect, answer: Fraction, speed: Fraction) -> None:
    close = abs(answer - speed) <= speed * SHARE
    expect.that(close, f"{plain(speed)} Gbit/s", f"{plain(answer)} Gbit/s")


def _override(case: FlatCase) -> Fraction | None:
    given = case.settings.given.get(NIC_SPEED)
    return exact(given) if isinstance(given, int | float) else None


@NIC.check("USAGE-05", draws=nics(*OVERRIDES))
def the_override_replaces_the_reported_speed(
    case: FlatCase, answer: Fraction, expect: Expect
) -> None:
    """A speed in the settings overrides the reported speed."""
    override = _override(case)
    if override is not None and expect.reached():
        _expect_speed(expect, answer, override)


@NIC.check("USAGE-06", draws=nics(*NO_OVERRIDE))
def an_empty_override_leaves_the_reported_speed(
    case: FlatCase, answer: Fraction, expect: Expect
) -> None:
    """Without a speed in the settings, the reported speed is used."""
    reported = case["nics"][0].get("reportedGbps")
    if _override(case) is None and expect.reached(reported is not None):
        _expect_speed(expect, answer, exact(reported))


@NIC.check("USAGE-07", draws=nics(*FRACTIONAL_OVERRIDES))
def the_override_may_be_a_fraction(case: FlatCase, answer: Fraction, expect: Expect) -> None:
    """A fractional speed, such as 0.8 Gbit/s, is used without rounding."""
    override = _override(case)
    if override is not None and expect.reached(override.denominator > 1):
        _expect_speed(expect, answer, override)


def usage_questions(
    rule: specs.Rule,
    question: Question,
    _answer: Json,
    _defaults: Mapping[str, Any],
    _readings: Readings,
) -> Iterator[Question]:
    """Yield questions about the usage of each broker in a case or in its cycles."""
    case, weighted = question.case, rule.id == "USAGE-02"
    reports = [one.get("brokers", {}).values() for one in (case, *case.get("cycles", ()))]
    for broker in chain.from_iterable(reports):
        measured = {"settings": case["settings"], "weighted": weighted, "broker": broker}
        yield Question(USAGE.id, measured)


PRESUPPOSED = tuple(
    DerivedQuestions(usage_questions, rule=rule) for rule in ("USAGE-01", "USAGE-02")
)
