"""Bundles whose running sum tells the right amount to shed from wrong ones."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from pulsar_conformance.conformance.drawing.loads import MEGABYTE, SHARES, both_ways

BYTES_A_MESSAGE = 1000
"""So that messages and bytes order alike, and add up to the same shares."""

LARGEST = 90
"""Percent of its traffic that a broker can be made to shed in this way."""

MOST_BEFORE = 6
"""Bundles at most that go before it comes to the amount."""


@dataclass(frozen=True)
class Need:
    """The amount that a broker has to shed and a wrong amount's error, in percent of traffic."""

    percent: float
    step: float

    @property
    def possible(self) -> bool:
        """Whether there can be bundles that tell the amounts apart."""
        return 4 * self.step <= self.percent <= LARGEST


@dataclass(frozen=True)
class Traffic:
    """The traffic of one broker and of each bundle, in and out; some bundles may not move."""

    whole: dict[str, float]
    bundles: tuple[dict[str, float], ...]
    stuck: int
    """So many of the first were unloaded a short time ago."""


def carrying(random: Random, need: Need) -> Traffic:
    """Traffic for which an amount below the need sheds too little, and one above it too much.

    With the bundles that go first, the sum is less than a step short of the need; the next bundle
    brings it less than a step beyond, and the one after that still no further. The consequences of
    one bundle more or less are the same for messages and for bytes.
    """
    percent, step = need.percent, need.step
    short = percent - step * random.uniform(0.1, 0.9)
    enough = percent + step * random.uniform(0.1, 0.45)
    last = enough - short
    after = min(last, step / 2) * random.uniform(0.3, 0.9)
    going = [*_parts(random, short, last * 1.05), last, after]
    for _ in range(random.choice((0, 1, 4))):
        after *= random.uniform(0.3, 0.9)
        going.append(after)
    rest = 100 - sum(going)
    stuck = _stuck(random, rest) if rest > 1 else []
    unit = random.randrange(200, 2000) * MEGABYTE // 100 // BYTES_A_MESSAGE
    share = random.choice(SHARES)
    loads = tuple(_load(part * unit, random.choice(SHARES)) for part in (*stuck, *going))
    return Traffic(_load(100 * unit, share), loads, len(stuck))


def _load(messages: float, share: float) -> dict[str, float]:
    whole = round(messages)
    return both_ways(whole, whole * BYTES_A_MESSAGE, share)


def _parts(random: Random, whole: float, least: float) -> list[float]:
    """The parts of a sum, none of them below the least."""
    count = random.randint(1, max(1, min(MOST_BEFORE, int(whole / least))))
    over = [random.random() for _ in range(count)]
    left = (whole - count * least) / sum(over)
    return [least + left * part for part in over]


def _stuck(random: Random, rest: float) -> list[float]:
    """Bundles with the traffic that stays; none if the report is newer than their data."""
    count = random.choice((0, 1, 2, 5))
    if not count:
        return []
    over = [0.2 + random.random() for _ in range(count)]
    return [rest * part / sum(over) for part in over]
