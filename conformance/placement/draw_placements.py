"""Draws clusters with a bundle to place, near the conditions of the placement rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Self

from hypothesis import strategies as st
from pulsar_conformance.conformance.common.trial import Json, Trial, copied
from pulsar_conformance.conformance.drawing import composite, loads, names
from pulsar_conformance.conformance.drawing.loads import Size, draw_weights, randoms
from pulsar_conformance.reference.cluster import RESOURCES
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.reference.placement import LEAST_RATE, PLACEMENT_STRATEGY
from pulsar_conformance.reference.shedding import PACKAGE

LEAST_RATE_CLASS = PACKAGE + LEAST_RATE
RATES = ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")


@dataclass
class Outline:
    """The values from which a cluster's case is built, such as each broker's usage and rate."""

    random: Random
    levels: Sequence[float]
    """Usage of each broker in percent."""
    rates: Sequence[int]
    """Long-term messages per second of each broker."""
    bundles: int
    """Number of bundles in the cluster."""
    settings: dict[str, Any] = field(default_factory=dict)
    exact: bool = False
    others: float = 0.8
    """Maximum usage of a broker's other resources, as a share of its busiest resource's usage."""
    alike: bool = False
    """True if two resources are equally busy, so that ignoring one of them changes nothing."""
    ranks_differ: bool = True
    """True if long-term messages rank the brokers differently from other measures of traffic."""
    preallocated: float = 0.2
    """Share of the bundles that are assigned but not reported yet."""
    unmeasured: float = 0.0
    """Share of the bundles that were never measured."""
    candidates: int | None = None
    """Number of brokers that may take the bundle; None for all."""
    bundle_rate: int | None = None
    """Messages per second of the bundle to place; None to draw them or leave them unknown."""

    def plainly(self) -> Self:
        """Turn off all variations except those of usage and message rates; return the outline."""
        self.alike, self.ranks_differ = True, False
        self.preallocated, self.others = 0, 0.1
        return self

    def case(self) -> Json:
        """Build the case in the protocol's format."""
        random, brokers = self.random, [f"broker-{n + 1}" for n in range(len(self.levels))]
        counts = [
            max(1, count) for count in loads.bundles_per_broker(random, len(brokers), self.bundles)
        ]
        bundle, *rest = names.bundles(random, sum(counts) + 1)
        waiting = iter(rest)
        case: Json = {"settings": self.settings, "bundle": bundle}
        case["candidates"] = random.sample(brokers, self.candidates or len(brokers))
        case |= {"brokers": {}, "bundles": {}, "preallocated": {}}
        for name, level, rate, count in zip(brokers, self.levels, self.rates, counts, strict=True):
            mine = [next(waiting) for _ in range(count)]
            late = [one for one in mine if random.random() < self.preallocated]
            data = self._data(mine, rate)
            reported = [one for one in mine if one not in late]
            case["brokers"][name] = {**self._report(level, data, mine), "bundles": reported}
            case["bundles"] |= data
            if late:
                case["preallocated"][name] = late
        rate = random.choice((0, 10, 100)) if self.bundle_rate is None else self.bundle_rate
        if self.bundle_rate is not None or random.random() < 0.8:
            case["bundles"] |= self._data([bundle], rate)
        if random.random() < 0.5:
            case["settings"] = {**self.settings, PLACEMENT_STRATEGY: LEAST_RATE_CLASS}
        return case

    def _report(self, level: float, data: Json, mine: Sequence[str]) -> Json:
        """Return a broker's report: its usage and latest rates."""
        random = self.random
        report = loads.draw_usages(random, level, self.exact, self.others)
        if self.alike:
            busiest = max(report, key=lambda one: report[one]["usage"] / report[one]["limit"])
            second = random.choice([one for one in RESOURCES if one != busiest])
            report[second] = dict(report[busiest])
        if self.ranks_differ:
            return report | self._load(random.choice((0, 100, 1000)))
        known = [data.get(one, {}).get("longTermData", {}) for one in mine]
        assumed: Json = {name: 50 if name in RATES[:2] else 50_000 for name in RATES}
        measured = [load if load.get("numSamples") else assumed for load in known]
        return report | loads.total_traffic(measured)

    def _data(self, bundles: Sequence[str], rate: int) -> Json:
        """Return bundle data; the long-term rates add up to `rate` if all bundles have samples."""
        random = self.random
        data: Json = {}
        for bundle, part in zip(bundles, _random_parts(random, rate, len(bundles)), strict=True):
            if random.random() < self.unmeasured:
                stale = loads.as_average(self._load(random.choice((0, 1000))), 0, 1000)
                data |= random.choice(({}, {bundle: {}}, {bundle: {"longTermData": stale}}))
                continue
            long_term = self._load(part)
            other = self._load(random.choice((part, 0, 10 * part, random.randrange(1000))))
            short_term = other if self.ranks_differ else long_term
            data[bundle] = {
                "shortTermData": loads.as_average(short_term, random.randint(1, 10), 10),
                "longTermData": loads.as_average(long_term, random.randint(1, 1000), 1000),
            }
        return data

    def _load(self, messages: int) -> dict[str, float]:
        """Return rates in both directions.

        With `ranks_differ`, bytes are not proportional to messages.
        """
        random = self.random
        if not self.ranks_differ:
            return dict(zip(RATES, [messages / 2] * 2 + [messages * 500] * 2, strict=True))
        came, size = random.choice((0, messages, messages // 2)), random.choice((10, 1000, 10**5))
        rates = (came, messages - came, came * size, random.randrange(size))
        return dict(zip(RATES, rates, strict=True))


def _random_parts(random: Random, whole: int, count: int) -> list[int]:
    """Return `count` numbers that add up to `whole`."""
    cuts = sorted(random.randint(0, whole) for _ in range(count - 1))
    return [high - low for low, high in zip([0, *cuts], [*cuts, whole], strict=True)]


OPERATION = "place.select"
REPETITIONS = 60
"""Number of times that a question with a random answer is repeated."""

REPEATED_CLUSTERS = 16
"""Number of different clusters for the questions that are repeated."""

Clusters = Callable[[int], st.SearchStrategy[Outline]]
"""Function that takes a minimum number of brokers, and returns a strategy for clusters."""

exact_or_not = st.sampled_from((False, True, False))
thresholds = st.sampled_from((85, 60, 90.5) * 3 + (0,))
exact_thresholds = st.sampled_from((25, 50, 75))
other_thresholds = st.sampled_from((30, 50, 70, 95, 99))
usage_levels = st.sampled_from((0, 30, 50, 80))
message_rates = st.sampled_from((100, 1000))
threshold_offsets = st.sampled_from((0.25, -0.25, 0.4, -0.4, 0.25, 0.4, 1, -3))
score_levels = st.sampled_from((0, 1, 20, 100))
near_or_not = st.booleans()


def placing(*clusters: Clusters, fewest: int = 2) -> st.SearchStrategy[Trial]:
    """Return a strategy for trials that place a bundle in one of these kinds of clusters."""
    return cases(*clusters, fewest=fewest).map(lambda case: Trial.of(OPERATION, case))


def cases(*clusters: Clusters, fewest: int = 2) -> st.SearchStrategy[Json]:
    """Return a strategy for the cases of `placing`, as JSON."""
    return st.one_of([made(fewest) for made in clusters]).map(Outline.case)


@composite
def balanced(draw: st.DrawFn, fewest: int = 2) -> Outline:
    """Draw brokers with close scores, some of them equal."""
    size, score, exactly = draw(loads.sizes(fewest)), draw(score_levels), draw(exact_or_not)
    random = draw(randoms)
    threshold: float = random.choice((75, 100)) if exactly else random.choice((85, 85, 60, 92.5))
    below = [level for level in loads.EXACT_PERCENTS if level < threshold]
    levels = [
        random.choice(below) if exactly else round(random.random() * threshold * 0.99, 1)
        for _ in range(size.brokers)
    ]
    rates = [
        round(score * (threshold - level) * random.choice((1, 1, 0.9, 1.01, 2, 5)))
        for level in levels
    ]
    return Outline(random, levels, rates, size.bundles, {OVERLOAD_THRESHOLD: threshold}, exactly)


@composite
def with_weights(draw: st.DrawFn, fewest: int = 2) -> Outline:
    """Draw clusters from `balanced`, and add resource weights, which placement must ignore."""
    outline = draw(balanced(fewest))
    outline.settings |= draw_weights(outline.random)
    return outline


@composite
def around_the_threshold(draw: st.DrawFn, fewest: int = 2) -> Outline:
    """Draw brokers on both sides of the threshold, exactly at it, or very close to it.

    A broker very close to the threshold has almost no load: if it is eligible, it is by far the
    best choice.
    """
    size, exactly = draw(loads.sizes(fewest)), draw(exact_or_not)
    threshold = draw(exact_thresholds if exactly else thresholds)
    off = None if exactly or draw(near_or_not) else draw(threshold_offsets)
    random = draw(randoms)
    if off is not None:
        at = max(0, threshold + off)
        levels = [random.choice((5, 40, at)) for _ in range(size.brokers)]
        levels[: size.brokers : 2] = [at] * len(levels[: size.brokers : 2])
        return _with_tempting_broker(random, size, levels, at, {OVERLOAD_THRESHOLD: threshold})
    levels = [
        random.choice((threshold, *loads.EXACT_PERCENTS))
        if exactly
        else loads.draw_near(random, threshold)
        for _ in range(size.brokers)
    ]
    rates = [random.choice((0, 100, 100, random.randrange(5000))) for _ in levels]
    return Outline(random, levels, rates, size.bundles, {OVERLOAD_THRESHOLD: threshold}, exactly)


@composite
def one_worse_than_another(draw: st.DrawFn, fewest: int = 2) -> Outline:
    """Draw brokers on both sides of the threshold, of which some have twice the rate of others."""
    outline, rate = draw(around_the_threshold(fewest)), draw(message_rates)
    outline.rates = [rate * outline.random.choice((1, 1, 2)) for _ in outline.rates]
    return outline


@composite
def with_equal_usage(draw: st.DrawFn, fewest: int = 2) -> Outline:
    """Draw brokers with equal usage; every measure of traffic ranks them in the same order."""
    size, level = draw(loads.sizes(fewest)), draw(usage_levels)
    random = draw(randoms)
    rates = random.sample(range(100, 100 * (size.brokers + 1)), size.brokers)
    bundles = max(size.bundles, size.brokers * 2)
    return Outline(
        random, [level] * size.brokers, rates, bundles, {OVERLOAD_THRESHOLD: 85}
    ).plainly()


@composite
def with_other_measures(draw: st.DrawFn, fewest: int = 2) -> Outline:
    """Draw brokers with equal usage; different measures of traffic rank them differently."""
    outline = draw(with_equal_usage(fewest))
    outline.ranks_differ = True
    return outline


@composite
def with_preallocated(draw: st.DrawFn, fewest: int = 2) -> Outline:
    """Draw clusters with many bundles that are assigned but not reported yet."""
    outline = draw(with_equal_usage(fewest))
    outline.preallocated = outline.random.choice((0.3, 0.5))
    return outline


@composite
def never_measured(draw: st.DrawFn, fewest: int = 2) -> Outline:
    """Draw many bundles without samples, and some with samples near the assumed load."""
    outline = draw(with_equal_usage(fewest))
    random = outline.random
    outline.rates = [random.randrange(400) for _ in outline.rates]
    outline.unmeasured = random.choice((0.3, 0.6))
    return outline


@composite
def with_another_threshold(draw: st.DrawFn, fewest: int = 2) -> Outline:
    """Draw a threshold other than 85 %.

    Brokers with usage near the threshold, or between it and 85 %, have few messages.
    """
    size, threshold, near = draw(loads.sizes(fewest)), draw(other_thresholds), draw(near_or_not)
    between = threshold + draw(threshold_offsets) if near else (threshold + 85) / 2
    random = draw(randoms)
    levels = [random.choice((5, between)) for _ in range(size.brokers)]
    levels[:3] = random.sample((5, between, 100), min(3, size.brokers))
    return _with_tempting_broker(random, size, levels, between, {OVERLOAD_THRESHOLD: threshold})


@composite
def around_the_default_threshold(draw: st.DrawFn, fewest: int = 2) -> Outline:
    """Draw brokers with few messages slightly above and below 85 %, with no threshold set."""
    size, near = draw(loads.sizes(fewest)), 85 + draw(threshold_offsets)
    random = draw(randoms)
    levels = [random.choice((20, near)) for _ in range(size.brokers)]
    levels[:3] = random.sample((20, near, 100), min(3, size.brokers))
    return _with_tempting_broker(random, size, levels, near, {})


def _with_tempting_broker(
    random: Random, size: Size, levels: Sequence[float], at: float, settings: dict[str, Any]
) -> Outline:
    """Return brokers whose rate is low at the usage `at`, 0 at 100 % usage, and high otherwise."""
    rates = [
        0 if level == 100 else random.randint(0, 2) if level == at else random.randint(5000, 9000)
        for level in levels
    ]
    outline = Outline(random, list(levels), rates, size.bundles, settings).plainly()
    outline.bundle_rate = 0
    return outline


@composite
def one_resource_each(draw: st.DrawFn, fewest: int = 2) -> Outline:
    """Draw brokers that each use one resource heavily; some are overloaded."""
    size = draw(loads.sizes(fewest))
    random = draw(randoms)
    levels = [random.choice((20, 60, 80, 84, 95)) for _ in range(size.brokers)]
    rates = [
        random.randint(0, 20) if level == 95 else random.randint(1000, 2000) for level in levels
    ]
    outline = Outline(random, levels, rates, size.bundles, {OVERLOAD_THRESHOLD: 85}).plainly()
    outline.alike = False
    return outline


@composite
def overloaded_with_few_messages(draw: st.DrawFn, fewest: int = 2) -> Outline:
    """Draw overloaded brokers with few messages, and other brokers with many."""
    size = draw(loads.sizes(fewest))
    random = draw(randoms)
    levels = [random.choice((30, 70, 80, 88, 95)) for _ in range(size.brokers)]
    levels[0], levels[-1] = 95, 40
    rates = [random.randrange(100) if level > 85 else 5000 for level in levels]
    return Outline(random, levels, rates, size.bundles, {OVERLOAD_THRESHOLD: 85})


def all_overloaded(random: Random, size: Size) -> Outline:
    """Return brokers above the threshold, two to four of which are candidates."""
    levels = [random.choice((86, 90, 100)) for _ in range(size.brokers)]
    rates = [random.randrange(2000) for _ in levels]
    outline = Outline(random, levels, rates, size.bundles, {OVERLOAD_THRESHOLD: 85})
    outline.candidates = random.choice([few for few in (2, 2, 3, 4) if few <= size.brokers])
    return outline


@composite
def none_eligible(draw: st.DrawFn, fewest: int = 2) -> Outline:
    """Draw brokers that are all above the threshold."""
    return all_overloaded(draw(randoms), draw(loads.sizes(max(fewest, 2))))


def asked_repeatedly() -> st.SearchStrategy[Trial]:
    """Return a strategy for trials that ask a question 60 times; all candidates are overloaded."""

    def cluster(number: int) -> Trial:
        random = Random(number)
        size = Size(random.randint(5, 8), 20) if number % 2 else Size(random.randint(2, 4), 3)
        case = all_overloaded(random, size).case()
        return Trial.of(OPERATION, *[case] * REPETITIONS)

    return st.integers(0, REPEATED_CLUSTERS - 1).map(cluster)


def before_and_after_load_change() -> st.SearchStrategy[Trial]:
    """Return a strategy for trials that place a bundle before and after a change of load."""
    return st.builds(
        lambda case, random: Trial.of(OPERATION, case, _move_load(random, copied(case))),
        cases(balanced, with_equal_usage),
        randoms,
    )


def _move_load(random: Random, case: Json) -> Json:
    """Give bundles of half of the brokers much more load, and overload some of these brokers."""
    for name in random.sample(list(case["brokers"]), len(case["brokers"]) // 2 or 1):
        broker = case["brokers"][name]
        if random.random() < 0.5:
            full = {"usage": 99.5, "limit": 100}
            broker |= {"cpu": full, "memory": full}
        load = {"msgRateIn": 50_000, "msgRateOut": 50_000}
        data = {
            "shortTermData": loads.as_average(load, 10, 10),
            "longTermData": loads.as_average(load, 1000, 1000),
        }
        case["bundles"] |= dict.fromkeys(broker["bundles"], data)
    return case
