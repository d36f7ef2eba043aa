"""Draws loads of brokers, each close to the limit of one of TransferShedder's conditions."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.reference.shedding import TRANSFER_TARGET

Loads = dict[str, float]
"""The load of each broker in percent."""


def broker_names(random: Random, count: int) -> list[str]:
    """Return the names of brokers, without repetition."""
    return [f"broker-{place}" for place in random.sample(range(100), count)]


JUST_BELOW, JUST_ABOVE = 0.997, 1.003
"""Fractions of a limit at which a load is on one side of it, but well beyond rounding errors."""


def _deviation(loads: Sequence[float], sample: int = 0) -> float:
    """Return the standard deviation of a population or, if `sample` is 1, of a sample."""
    mean = sum(loads) / len(loads)
    return float((sum((one - mean) ** 2 for one in loads) / (len(loads) - sample)) ** 0.5)


def unbalanced_loads(random: Random, fewest: int = 2, most: int = 6) -> tuple[Loads, Json]:
    """Return loads that deviate by one to two times the target, and the settings.

    In one case of six, they deviate by little more than the target.
    """
    count = random.randint(fewest, most)
    low, high = random.randint(10, 20), random.randint(60, 84)
    inner = random.sample(range(low + 3, high - 3), count - 2)
    loads: list[float] = [low, *inner, high]
    if random.random() < 1 / 4 and count == 2:
        loads = [10, random.randint(63, 84)]
        return dict(zip(broker_names(random, count), loads, strict=True)), {}
    over = random.choice((JUST_ABOVE, *[random.uniform(1.1, 1.9)] * 5))
    target = round(_deviation(loads) / 100 / over, 4 if over == JUST_ABOVE else 3)
    return dict(zip(broker_names(random, count), loads, strict=True)), {TRANSFER_TARGET: target}


def balanced_loads(random: Random) -> tuple[Loads, Json]:
    """Return loads that deviate by half to one times the target, and the settings."""
    count, high = random.randint(2, 6), random.randint(50, 90)
    low = high * random.choice((0.3, 0.4, 0.6)) if count > 2 else high - random.randint(10, 30)
    loads = [round(low, 1), *[high - random.choice((0, 0, 1)) for _ in range(count - 2)], high]
    least = _deviation(loads, 1) * 1.05
    most = max(_deviation(loads) * 1.95, least * 1.02)
    target = round(random.uniform(least, most) / 100, 3)
    threshold = random.choice((high - 3, high - 20, 85))
    return dict(zip(broker_names(random, count), loads, strict=True)), {
        TRANSFER_TARGET: target,
        OVERLOAD_THRESHOLD: threshold,
    }


def slightly_uneven(random: Random) -> tuple[Loads, Json]:
    """Return loads with a small deviation, and the settings; the first load is the lowest."""
    count, high = random.randint(2, 6), random.randint(40, 80)
    low = high * random.choice((0.5, 0.6, 0.7))
    loads = [round(low, 1), *[high - random.randint(1, 4) for _ in range(count - 2)], high]
    target = random.choice((0.25, 0.3, round(_deviation(loads, 1) / 80, 3)))
    return dict(zip(broker_names(random, count), loads, strict=True)), {TRANSFER_TARGET: target}


def underloaded(random: Random) -> tuple[Loads, Json]:
    """Return loads and settings; the first load is below the underload limit, often slightly."""
    share = random.choice((JUST_BELOW, random.uniform(0.6, 0.95), random.uniform(0.6, 0.95)))
    return _near_the_underload_limit(random, share)


def hardly_loaded(random: Random) -> tuple[Loads, Json]:
    """Return loads and settings; the first load is slightly above the underload limit."""
    return _near_the_underload_limit(random, JUST_ABOVE)


def _near_the_underload_limit(random: Random, share: float) -> tuple[Loads, Json]:
    """Return loads and settings; the first load is this share of the underload limit."""
    count, high = random.randint(4, 6), random.randint(40, 60)
    target = random.choice((0.3, 0.4, 0.5, 0.8, 1.5))
    others = [*[high - random.randint(1, 4) for _ in range(count - 2)], high]
    of_the_mean = share * min(0.5, target / 2) / count
    low = round(sum(others) * of_the_mean / (1 - of_the_mean), 3)
    loads = dict(zip(broker_names(random, count), [low, *others], strict=True))
    return loads, {TRANSFER_TARGET: target}


def overloaded(random: Random) -> tuple[Loads, Json]:
    """Return loads and settings; the last load is above the threshold and far above the mean."""
    return _one_far_above(random, random.choice((JUST_BELOW, *[random.uniform(0, 0.95)] * 4)))


def hardly_overloaded(random: Random) -> tuple[Loads, Json]:
    """Return loads and settings; the last load is above the threshold, but not quite far enough
    above the mean.
    """
    return _one_far_above(random, JUST_ABOVE)


def _one_far_above(random: Random, share: float) -> tuple[Loads, Json]:
    """Return loads and settings; the last load is above the threshold.

    The target is this share of the points between it and the mean, and above the deviation.
    """
    count, low, high = random.randint(5, 9), random.randint(20, 30), random.randint(75, 99)
    inner = [low + random.choice((0, 1, 2)) for _ in range(count - 2)]
    loads = [low, *inner, high]
    apart = high - sum(loads) / count
    target = round(max(_deviation(loads, 1) * 1.05, apart * share) / 100, 4)
    threshold = high - random.choice((1, 3, 10))
    return dict(zip(broker_names(random, count), loads, strict=True)), {
        TRANSFER_TARGET: target,
        OVERLOAD_THRESHOLD: threshold,
    }


def uneven_after_moves(random: Random) -> tuple[Loads, Json]:
    """Return loads that are still uneven after several brokers have unloaded, and the settings."""
    high = random.sample(range(60, 85), 4)
    low = random.sample(range(5, 30), 4)
    return dict(zip(broker_names(random, 8), [*low, *high], strict=True)), {TRANSFER_TARGET: 0.02}
