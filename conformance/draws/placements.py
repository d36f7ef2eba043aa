"""Bundles to place, aimed at the rules of placement."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import strategies as st
from pulsar_conformance.conformance.draws import loads, names
from pulsar_conformance.conformance.draws.clusters import owned
from pulsar_conformance.conformance.draws.loads import Size
from pulsar_conformance.conformance.trial import Json, Trial
from pulsar_conformance.reference.cluster import RESOURCES
from pulsar_conformance.reference.placement import THRESHOLD

OPERATION = "place.select"
ASKS = 60
"""How often the same question is asked where chance decides."""

WORLDS = 16
"""Clusters that are asked about so often: enough to see chance at work."""

Outliner = Callable[[Random, Size], "Outline"]


@dataclass
class Outline:
    """A cluster to be: each broker's usage and long-term message rate."""

    random: Random
    levels: Sequence[float]
    rates: Sequence[int]
    bundles: int
    exact: bool = False
    settings: dict[str, Any] = field(default_factory=dict)
    others: float = 0.8
    """How much the other resources are used, as a share of the busiest."""
    preallocated: float = 0.2
    """Share of the bundles that no report has yet."""
    unmeasured: float = 0.0
    """Share of the bundles that were never measured."""
    candidates: int | None = None
    """How many of the brokers may take the bundle; all, if none."""

    def case(self) -> Json:
        """The case in the shapes of the protocol."""
        random, brokers = self.random, [f"broker-{n + 1}" for n in range(len(self.levels))]
        counts = [max(1, count) for count in owned(random, len(brokers), self.bundles)]
        bundle, *rest = names.bundles(random, sum(counts) + 1)
        waiting = iter(rest)
        case: Json = {"settings": self.settings, "bundle": bundle}
        case["candidates"] = random.sample(brokers, self.candidates or len(brokers))
        case |= {"brokers": {}, "bundles": {}, "preallocated": {}}
        for name, level, rate, count in zip(brokers, self.levels, self.rates, counts, strict=True):
            mine = [next(waiting) for _ in range(count)]
            late = [one for one in mine if random.random() < self.preallocated]
            report = loads.usages(random, level, self.exact, self.others)
            report |= _load(random, random.choice((0, 100, 1000)))
            report["bundles"] = [one for one in mine if one not in late]
            case["brokers"][name] = report
            if late:
                case["preallocated"][name] = late
            case["bundles"] |= self._data(mine, rate)
        if random.random() < 0.8:
            case["bundles"] |= self._data([bundle], random.choice((0, 10, 100, 5000)))
        return case

    def _data(self, bundles: Sequence[str], rate: int) -> Json:
        """Bundle data that adds up to a long-term rate, where all were measured."""
        random, data = self.random, {}
        for bundle, part in zip(bundles, parts(random, rate, len(bundles)), strict=True):
            if random.random() < self.unmeasured:
                stale = loads.average(_load(random, random.choice((0, 1000))), 0, 1000)
                data |= random.choice(({}, {bundle: {}}, {bundle: {"longTermData": stale}}))
                continue
            other = random.choice((part, 0, 10 * part, random.randrange(1000)))
            data[bundle] = {
                "shortTermData": loads.average(_load(random, other), random.randint(1, 10), 10),
                "longTermData": loads.average(_load(random, part), random.randint(1, 1000), 1000),
            }
        return data


def _load(random: Random, messages: int) -> dict[str, float]:
    """A message rate, in and out, and bytes that need not fit it."""
    came, size = random.choice((0, messages, messages // 2)), random.choice((10, 1000, 100_000))
    load = {"msgRateIn": came, "msgRateOut": messages - came}
    return load | {"msgThroughputIn": came * size, "msgThroughputOut": random.randrange(size)}


def parts(random: Random, whole: int, count: int) -> list[int]:
    """A number as a sum of so many."""
    cuts = sorted(random.randint(0, whole) for _ in range(count - 1))
    return [high - low for low, high in zip([0, *cuts], [*cuts, whole], strict=True)]


def placing(*outliners: Outliner, fewest: int = 2) -> st.SearchStrategy[Trial]:
    """A bundle to place in a cluster that one of the outliners makes."""
    return cases(*outliners, fewest=fewest).map(lambda case: Trial.of(OPERATION, case))


def cases(*outliners: Outliner, fewest: int = 2) -> st.SearchStrategy[Json]:
    """The same without a trial around it."""
    return st.builds(
        lambda outliner, size, random: outliner(random, size).case(),
        st.sampled_from(outliners),
        loads.sizes(fewest),
        st.randoms(use_true_random=True),
    )


def balanced(random: Random, size: Size) -> Outline:
    """Brokers whose scores lie close together, some equal."""
    exact = random.random() < 0.3
    threshold: float = random.choice((75, 100)) if exact else random.choice((85, 85, 60, 92.5))
    below = [level for level in loads.EXACT if level < threshold]
    levels = [
        random.choice(below) if exact else round(random.random() * threshold * 0.99, 1)
        for _ in range(size.brokers)
    ]
    score = random.choice((0, 1, 20, 100))
    rates = [
        round(score * (threshold - level) * random.choice((1, 1, 0.9, 1.01, 2, 5)))
        for level in levels
    ]
    return Outline(random, levels, rates, size.bundles, exact, {THRESHOLD: threshold})


def around_the_threshold(random: Random, size: Size) -> Outline:
    """Brokers on both sides of the threshold, some exactly at it."""
    exact = random.random() < 0.4
    threshold = random.choice((25, 50, 75)) if exact else random.choice((85, 60, 90.5))
    levels = [
        random.choice((threshold, *loads.EXACT)) if exact else loads.near(random, threshold)
        for _ in range(size.brokers)
    ]
    rates = [random.choice((0, 100, 100, random.randrange(5000))) for _ in levels]
    return Outline(random, levels, rates, size.bundles, exact, {THRESHOLD: threshold})


def with_other_measures(random: Random, size: Size) -> Outline:
    """Brokers used alike, with rates that differ by every measure."""
    level = random.choice((0, 30, 50))
    levels = [level + random.random() for _ in range(size.brokers)]
    rates = random.sample(range(100, 100 * (size.brokers + 1)), size.brokers)
    return Outline(random, levels, rates, max(size.bundles, size.brokers * 2), settings=_usual())


def _usual() -> dict[str, Any]:
    return {THRESHOLD: 85}


def one_worse_than_another(random: Random, size: Size) -> Outline:
    """Brokers of which some are used more than others with the same rate, or a lower one."""
    outline = around_the_threshold(random, size)
    rate = random.choice((100, 1000))
    outline.rates = [rate * random.choice((1, 1, 2)) for _ in outline.rates]
    return outline


def with_preallocated(random: Random, size: Size) -> Outline:
    """Many bundles that no report has yet."""
    outline = with_other_measures(random, size)
    outline.preallocated = random.choice((0.5, 0.9))
    return outline


def never_measured(random: Random, size: Size) -> Outline:
    """Many bundles that were never measured, beside some that carry about as much."""
    outline = with_other_measures(random, size)
    outline.rates = [random.randrange(400) for _ in outline.rates]
    outline.unmeasured = random.choice((0.3, 0.6))
    return outline


def with_another_threshold(random: Random, size: Size) -> Outline:
    """Brokers on both sides of 85 % and of another threshold."""
    threshold = random.choice((30, 50, 70, 95, 99))
    between = sorted((threshold, 85))
    levels = [
        random.choice((5, threshold - 4, between[0] + 2, between[1] - 2))
        for _ in range(size.brokers)
    ]
    rates = [
        random.randrange(100) if between[0] < level < between[1] else random.randrange(5000)
        for level in levels
    ]
    return Outline(random, levels, rates, size.bundles, settings={THRESHOLD: threshold})


def by_default(random: Random, size: Size) -> Outline:
    """Brokers around 85 %, with nothing set."""
    levels = [random.choice((70, 79, 83, 84.5, 85.5, 86, 91)) for _ in range(size.brokers)]
    rates = [random.randrange(2000) for _ in levels]
    return Outline(random, levels, rates, size.bundles)


def one_resource_each(random: Random, size: Size) -> Outline:
    """Brokers that use one resource much and the others little."""
    levels = [random.choice((20, 60, 80, 84, 95)) for _ in range(size.brokers)]
    rates = [random.randint(1000, 2000) for _ in levels]
    return Outline(random, levels, rates, size.bundles, settings=_usual(), others=0.2)


def shed_before(random: Random, size: Size) -> Outline:
    """Overloaded brokers that carry few messages now, beside others that carry many."""
    levels = [random.choice((30, 70, 80, 88, 95)) for _ in range(size.brokers)]
    levels[0], levels[-1] = 95, 40
    rates = [random.randrange(100) if level > 85 else 5000 for level in levels]
    return Outline(random, levels, rates, size.bundles, settings=_usual())


def all_overloaded(random: Random, size: Size) -> Outline:
    """Brokers over the threshold, few of which may take the bundle."""
    levels = [random.choice((86, 90, 100)) for _ in range(size.brokers)]
    rates = [random.randrange(2000) for _ in levels]
    outline = Outline(random, levels, rates, size.bundles, settings=_usual())
    outline.candidates = random.choice([few for few in (2, 2, 3, 4) if few <= size.brokers])
    return outline


def asked_again() -> st.SearchStrategy[Trial]:
    """The same question 60 times, all candidates being overloaded."""

    def world(number: int) -> Trial:
        random = Random(number)
        size = Size(random.randint(5, 8), 20) if number % 2 else Size(random.randint(2, 4), 3)
        case = all_overloaded(random, size).case()
        return Trial.of(OPERATION, *[case] * ASKS)

    return st.integers(0, WORLDS - 1).map(world)


def before_and_after() -> st.SearchStrategy[Trial]:
    """A cluster, and the same after the load of some brokers has changed."""
    return st.builds(
        lambda case, random: Trial.of(OPERATION, case, _moved(random, copy.deepcopy(case))),
        cases(balanced, with_other_measures),
        st.randoms(use_true_random=True),
    )


def _moved(random: Random, case: Json) -> Json:
    """Half of the brokers become overloaded in one resource, or carry much more."""
    brokers: Mapping[str, Json] = case["brokers"]
    for name in random.sample(list(brokers), len(brokers) // 2 or 1):
        if random.random() < 0.5:
            brokers[name][random.choice(RESOURCES)] = {"usage": 99, "limit": 100}
        for bundle in brokers[name]["bundles"]:
            load = {"msgRateIn": 100_000, "msgRateOut": 0}
            case["bundles"][bundle] = {"longTermData": loads.average(load, 1000, 1000)}
    return case
