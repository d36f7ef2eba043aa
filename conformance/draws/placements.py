"""Bundles to place, aimed at the rules of placement."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from hypothesis import strategies as st
from pulsar_conformance.conformance.draws import loads
from pulsar_conformance.conformance.draws.loads import Size
from pulsar_conformance.conformance.draws.outlines import Outline
from pulsar_conformance.conformance.trial import Json, Trial
from pulsar_conformance.reference.placement import THRESHOLD

OPERATION = "place.select"
ASKS = 60
"""How often the same question is asked where chance decides."""

WORLDS = 16
"""Clusters that are asked about so often: enough to see chance at work."""

Outliner = Callable[[Random, Size], Outline]


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
    return Outline(random, levels, rates, size.bundles, {THRESHOLD: threshold}, exact)


def around_the_threshold(random: Random, size: Size) -> Outline:
    """Brokers on both sides of the threshold, some exactly at it."""
    exact = random.random() < 0.4
    threshold = random.choice((25, 50, 75)) if exact else random.choice((85, 60, 90.5))
    levels = [
        random.choice((threshold, *loads.EXACT)) if exact else loads.near(random, threshold)
        for _ in range(size.brokers)
    ]
    rates = [random.choice((0, 100, 100, random.randrange(5000))) for _ in levels]
    return Outline(random, levels, rates, size.bundles, {THRESHOLD: threshold}, exact)


def one_worse_than_another(random: Random, size: Size) -> Outline:
    """Brokers of which some are used more than others with the same rate, or a lower one."""
    outline = around_the_threshold(random, size)
    rate = random.choice((100, 1000))
    outline.rates = [rate * random.choice((1, 1, 2)) for _ in outline.rates]
    return outline


def used_alike(random: Random, size: Size) -> Outline:
    """Brokers used alike, each carrying more than the one before by every measure."""
    level = random.choice((0, 30, 50, 80))
    rates = random.sample(range(100, 100 * (size.brokers + 1)), size.brokers)
    bundles = max(size.bundles, size.brokers * 2)
    return Outline(random, [level] * size.brokers, rates, bundles, {THRESHOLD: 85}).plainly()


def with_other_measures(random: Random, size: Size) -> Outline:
    """Brokers used alike, whose order by every other measure is another one."""
    outline = used_alike(random, size)
    outline.awry = True
    return outline


def with_preallocated(random: Random, size: Size) -> Outline:
    """Many bundles that no report has yet."""
    outline = used_alike(random, size)
    outline.preallocated = random.choice((0.3, 0.5))
    return outline


def never_measured(random: Random, size: Size) -> Outline:
    """Many bundles that were never measured, beside some that carry about as much."""
    outline = used_alike(random, size)
    outline.rates = [random.randrange(400) for _ in outline.rates]
    outline.unmeasured = random.choice((0.3, 0.6))
    return outline


def with_another_threshold(random: Random, size: Size) -> Outline:
    """Brokers between 85 % and another threshold that carry little, others that carry much."""
    threshold = random.choice((30, 50, 70, 95, 99))
    between = (threshold + 85) / 2
    levels = [random.choice((5, between)) for _ in range(size.brokers)]
    levels[:3] = random.sample((5, between, 100), min(3, size.brokers))
    return _tempting(random, size, levels, between, {THRESHOLD: threshold})


def by_default(random: Random, size: Size) -> Outline:
    """Brokers a little over and under 85 % that carry little, with nothing set."""
    near: float = random.choice((84, 83, 86, 88))
    levels = [random.choice((20, near)) for _ in range(size.brokers)]
    levels[:3] = random.sample((20, near, 100), min(3, size.brokers))
    return _tempting(random, size, levels, near, {})


def _tempting(
    random: Random, size: Size, levels: Sequence[float], at: float, settings: dict[str, Any]
) -> Outline:
    """Brokers at one level carry little, the overloaded nothing, and the others much."""
    rates = [
        0 if level == 100 else random.randint(1, 3) if level == at else random.randint(5000, 9000)
        for level in levels
    ]
    outline = Outline(random, list(levels), rates, size.bundles, settings).plainly()
    outline.bundle_rate = 0
    return outline


def one_resource_each(random: Random, size: Size) -> Outline:
    """Brokers that use one resource much and the others hardly; some overloaded in one."""
    levels = [random.choice((20, 60, 80, 84, 95)) for _ in range(size.brokers)]
    rates = [
        random.randint(0, 20) if level == 95 else random.randint(1000, 2000) for level in levels
    ]
    outline = Outline(random, levels, rates, size.bundles, {THRESHOLD: 85}).plainly()
    outline.alike = False
    return outline


def shed_before(random: Random, size: Size) -> Outline:
    """Overloaded brokers that carry few messages now, beside others that carry many."""
    levels = [random.choice((30, 70, 80, 88, 95)) for _ in range(size.brokers)]
    levels[0], levels[-1] = 95, 40
    rates = [random.randrange(100) if level > 85 else 5000 for level in levels]
    return Outline(random, levels, rates, size.bundles, {THRESHOLD: 85})


def all_overloaded(random: Random, size: Size) -> Outline:
    """Brokers over the threshold, few of which may take the bundle."""
    levels = [random.choice((86, 90, 100)) for _ in range(size.brokers)]
    rates = [random.randrange(2000) for _ in levels]
    outline = Outline(random, levels, rates, size.bundles, {THRESHOLD: 85})
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
        cases(balanced, used_alike),
        st.randoms(use_true_random=True),
    )


def _moved(random: Random, case: Json) -> Json:
    """Half of the brokers become overloaded, or their bundles carry much more."""
    for name in random.sample(list(case["brokers"]), len(case["brokers"]) // 2 or 1):
        broker = case["brokers"][name]
        if random.random() < 0.5:
            full = {"usage": 99.5, "limit": 100}
            broker |= {"cpu": full, "memory": full}
        load = {"msgRateIn": 50_000, "msgRateOut": 50_000}
        data = {
            "shortTermData": loads.average(load, 10, 10),
            "longTermData": loads.average(load, 1000, 1000),
        }
        case["bundles"] |= dict.fromkeys(broker["bundles"], data)
    return case
