"""Draws clusters for a shedding cycle: outlines that are filled in at random. [SHED, UNIFORM]"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from hypothesis import strategies as st
from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.conformance.drawing import composite, loads, names
from pulsar_conformance.conformance.drawing.loads import MEGABYTE, SHARES, by_direction, randoms
from pulsar_conformance.reference.shedding import GRACE, PACKAGE
from pulsar_conformance.reference.threshold import HISTORY_SHARE, SHEDDER_THRESHOLD
from pulsar_conformance.reference.uniform import RATE_THRESHOLD, THROUGHPUT_THRESHOLD
from pulsar_conformance.reference.usage import WEIGHT_SETTINGS

NO_DEFAULT: Mapping[str, Any] = {SHEDDER_THRESHOLD: 10, RATE_THRESHOLD: 50, THROUGHPUT_THRESHOLD: 4}
"""Values of settings that the strategies need and that have no documented default."""

OTHER_STRATEGIES = st.sampled_from(("ThresholdShedder", "UniformLoadShedder"))
"""Strategies that do not use the overload threshold."""

graces: st.SearchStrategy[dict[str, Any]] = st.sampled_from((None, None, 1, 10, 45, 0)).map(
    lambda minutes: {} if minutes is None else {GRACE: minutes}
)
"""Strategy for settings with a grace period in minutes, or without one."""

BYTES_A_MESSAGE = 1000
"""Bytes of every message, so that messages and bytes give the same order and the same sums."""

OFFSET = 0.4
"""Minutes by which some ages differ from the grace period; the difference is 0 if rounded."""

MAX_TO_SHED = 90
"""Largest amount to shed, in percent of the traffic, that bundles can be built for."""

MAX_BEFORE = 6
"""Maximum number of bundles that are shed before the bundle that meets the need."""


@dataclass(frozen=True)
class Need:
    """A broker's amount to shed, and the smallest error to detect, in percent of its traffic."""

    percent: float
    step: float

    @property
    def possible(self) -> bool:
        """True if bundles can be built for which a wrong amount leads to different unloads."""
        return 4 * self.step <= self.percent <= MAX_TO_SHED


@dataclass(frozen=True)
class Traffic:
    """The traffic of a broker and of its bundles, in both directions."""

    whole: dict[str, float]
    bundles: tuple[dict[str, float], ...]
    stuck: int
    """Number of bundles at the start of `bundles` that were unloaded too recently to move."""


def decisive_traffic(random: Random, need: Need) -> Traffic:
    """Return traffic for which a need that is wrong by `need.step` leads to different unloads.

    The bundles to be shed first carry less than the need, by under a step. With the next bundle,
    the sum exceeds the need by under a step, and so it does with one more bundle. Messages and
    bytes lead to the same decision.
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
    stuck = _shares_of_blocked(random, rest) if rest > 1 else []
    unit = random.randrange(200, 2000) * MEGABYTE // 100 // BYTES_A_MESSAGE
    share = random.choice(SHARES)
    loads = tuple(_load(part * unit, random.choice(SHARES)) for part in (*stuck, *going))
    return Traffic(_load(100 * unit, share), loads, len(stuck))


def _load(messages: float, share: float) -> dict[str, float]:
    whole = round(messages)
    return by_direction(whole, whole * BYTES_A_MESSAGE, share)


def _parts(random: Random, whole: float, least: float) -> list[float]:
    """Split a percentage into random parts of at least `least` each."""
    count = random.randint(1, max(1, min(MAX_BEFORE, int(whole / least))))
    over = [random.random() for _ in range(count)]
    left = (whole - count * least) / sum(over)
    return [least + left * part for part in over]


def _shares_of_blocked(random: Random, rest: float) -> list[float]:
    """Return the traffic, in percent, of each bundle that must stay, if there are any."""
    count = random.choice((0, 1, 2, 5))
    if not count:
        return []
    over = [0.2 + random.random() for _ in range(count)]
    return [rest * part / sum(over) for part in over]


DEFAULT_GRACE = 30
WEIGHTS = tuple(WEIGHT_SETTINGS.values())

NEAR_ASSUMED_RATES = (49, 50, 51, 49.5, 50.5, 51.15, 51.25)
"""Messages and kilobytes per second each way, near the rates assumed for bundles without data."""

Load = Mapping[str, float]


@dataclass
class Sketch:
    """The values from which a cluster's case is built: usages, numbers of bundles, settings."""

    random: Random
    strategy: str | None
    levels: Sequence[float]
    """Usage of the busiest resource of each broker, in percent."""
    owned: Sequence[int]
    """Number of bundles of each broker."""
    exact: bool = False
    """True if usages are exact in floating point of any precision; see `loads.draw_usages`."""
    settings: dict[str, Any] = field(default_factory=dict)
    history: Mapping[int, Sequence[float]] = field(default_factory=dict)
    """Earlier usages of brokers, by index, in percent."""
    recent: float = 0.25
    """Share of the bundles that were unloaded before, up to a day ago."""
    ranks_differ: bool = True
    """True if bundles with more bytes have fewer messages."""
    traffic: str | None = None
    """The kind of traffic of the bundles: see `loads.draw_traffic`, or "assumed"; None for any."""
    measured: bool = True
    """True if every bundle has samples, and its broker reports their total traffic."""
    given: Mapping[int, Traffic] = field(default_factory=dict)
    """Traffic of some brokers and of their bundles, by the broker's index."""

    def case(self) -> Json:
        """Build the case in the protocol's format."""
        counts = [
            len(self.given[place].bundles) if place in self.given else count
            for place, count in enumerate(self.owned)
        ]
        bundles = names.bundles(self.random, sum(counts))
        waiting = iter(bundles)
        owned = [[next(waiting) for _ in range(count)] for count in counts]
        carried = dict(zip(bundles, self._loads(len(bundles)), strict=True))
        stuck: list[str] = []
        given_bundles: set[str] = set()
        for place, traffic in self.given.items():
            carried |= zip(owned[place], traffic.bundles, strict=True)
            stuck += owned[place][: traffic.stuck]
            given_bundles.update(owned[place])
        return {
            "strategy": self._strategy(),
            "settings": self._settings(),
            "brokers": {
                f"broker-{place + 1}": self._broker(place, level, mine, carried)
                for place, (level, mine) in enumerate(zip(self.levels, owned, strict=True))
            },
            "bundles": self._bundles(carried, given_bundles),
            "recentlyUnloaded": self._recent(bundles, stuck, given_bundles),
        }

    def _loads(self, count: int) -> list[dict[str, float]]:
        random = self.random
        if self.traffic == "assumed":
            around = [random.choice(NEAR_ASSUMED_RATES) for _ in range(count)]
            return [loads.by_direction(2 * one, 2000 * one, 0.5) for one in around]
        sizes = loads.draw_traffic(random, count, self.traffic)
        return loads.draw_rates(random, sizes, self.ranks_differ)

    def _settings(self) -> dict[str, Any]:
        """Return the settings; half of the time, every weight is set explicitly."""
        spelled = self.random.random() < 0.5
        return {**(dict.fromkeys(WEIGHTS, 1.0) if spelled else {}), **self.settings}

    def _strategy(self) -> str | None:
        if self.strategy is None or "." in self.strategy:
            return self.strategy
        return self.random.choice(("", PACKAGE)) + self.strategy

    def _broker(
        self, place: int, level: float, mine: list[str], carried: Mapping[str, Load]
    ) -> Json:
        broker: Json = loads.draw_usages(self.random, level, self.exact)
        if place in self.given:
            broker |= self.given[place].whole
        else:
            broker |= loads.total_traffic([carried[bundle] for bundle in mine])
            if not self.measured and self.random.random() < 0.5:
                broker["msgThroughputIn"] += self.random.randrange(50) * loads.MEGABYTE
        broker["bundles"] = mine
        if place in self.history:
            broker["usageHistory"] = list(self.history[place])
        return broker

    def _bundles(self, carried: Mapping[str, Load], given_bundles: set[str]) -> Json:
        """Return bundle data, sometimes with data of a bundle that no broker owns."""
        random, measured = self.random, self.measured
        data: Json = {}
        for bundle, load in carried.items():
            if not measured and bundle not in given_bundles and random.random() < 0.2:
                if random.random() < 0.5:
                    data[bundle] = {"shortTermData": loads.as_average(load, 0, 10)}
                continue
            samples = 1 + int(random.random() * 1000)
            data[bundle] = {
                "shortTermData": loads.as_average(load, min(samples, 10), 10),
                "longTermData": loads.as_average(load, samples, 1000),
            }
        if random.random() < 0.3:
            stray = {
                "shortTermData": loads.as_average(loads.draw_rates(random, [10**9])[0], 10, 10)
            }
            data["gone/away/0x00000000_0xffffffff"] = stray
        return data

    def _recent(
        self, bundles: Sequence[str], stuck: Sequence[str], given_bundles: set[str]
    ) -> dict[str, float]:
        """Return minutes since some bundles were unloaded: 0, about the grace period, or a day."""
        random, grace = self.random, self.settings.get(GRACE, DEFAULT_GRACE)
        within = (0, grace / 4, grace / 2, max(grace - OFFSET, 0))
        around = (*within, max(grace - 1, 0), grace, grace + OFFSET, grace + 1, grace * 3, 1440)
        share = random.choice((0, self.recent, self.recent))
        recent = {
            bundle: random.choice(around)
            for bundle in bundles
            if bundle not in given_bundles and random.random() < share
        }
        return recent | {bundle: random.choice(within) for bundle in stuck}


MANY_UNLOADS = 1000


def with_many_unloads(sketch: Sketch) -> Json:
    """Build the case; one case in ten lists unloads of a thousand bundles that no broker owns."""
    case = sketch.case()
    if sketch.random.random() < 0.1:
        gone = names.equal_bundles("gone/far", MANY_UNLOADS)
        recent = {bundle: sketch.random.choice((1, 10, 40)) for bundle in gone}
        case["recentlyUnloaded"] = {**recent, **case["recentlyUnloaded"]}
    return case


def draw_earlier_usages(random: Random, levels: Sequence[float]) -> dict[int, list[float]]:
    """Return earlier usages of most brokers, in percent, by the broker's index."""
    return {
        index: [
            max(0, round(level + random.choice((0, 0, 1, -1, 30, -30)), 2))
            for _ in range(random.choice((1, 1, 3, 10)))
        ]
        for index, level in enumerate(levels)
        if random.random() < 0.7
    }


def with_ignored_inputs(sketch: Sketch) -> Sketch:
    """In some cases, add resource weights and a usage history, which the strategy must ignore."""
    random = sketch.random
    if random.random() < 0.15:
        sketch.settings |= {name: random.choice((0, 0.1, 0.5, 1.0)) for name in WEIGHTS}
    if random.random() < 0.15:
        sketch.settings[HISTORY_SHARE] = random.choice((0.9, 0.5, 0))
        sketch.history = draw_earlier_usages(random, sketch.levels)
    return sketch


EXTRA_OF_THE_BUSIEST = 8
"""Number of bundles added to the busiest broker, so that some bundles are small enough to move."""

STRATEGY = "UniformLoadShedder"

EQUALLY_LOW = 0.05
"""Probability that a broker carries as little as the least loaded broker."""

IDLE_WITHOUT_BUNDLES = 0.5
"""Probability that a broker without bundles reports no traffic, instead of earlier traffic."""

NEARLY_THE_MOST = 0.98
"""If one broker has no bundles: the lowest traffic of the others, as a share of their highest."""


class Carried(NamedTuple):
    """A broker's traffic: messages and bytes per second."""

    messages: float
    size: float


cluster_kinds = st.sampled_from(
    ("any", "beside", "empty", "apart", "idle", "empty", "beside", "empty", "beside", "beside")
)
rate_thresholds = st.sampled_from((50, 50, 10, 400, 0))
multipliers = st.sampled_from((4, 4, 1.5, 2))
percent_or_number = st.booleans()
offsets = st.sampled_from((0.02, -0.02, 0.1, -0.1, 0.5, 2, 0.5))


@composite
def uniform(draw: st.DrawFn, fewest: int = 2) -> Sketch:
    """Draw brokers whose rates differ by about the thresholds, or at random.

    In some cases, the broker with the lowest rate is idle, or it is the only one without bundles.
    In other cases, the broker with the most messages is not the one with the most bytes.
    """
    size, way = draw(loads.sizes(fewest)), draw(cluster_kinds)
    rate, factor = draw(rate_thresholds), draw(multipliers)
    settings: dict[str, Any] = {RATE_THRESHOLD: rate, THROUGHPUT_THRESHOLD: factor, **draw(graces)}
    if way == "any":
        return with_ignored_inputs(_without_aim(draw(randoms), size, settings))
    percent, more, larger = draw(percent_or_number), draw(offsets), draw(offsets)
    random = draw(randoms)
    low = Carried(random.randrange(200, 2000), random.randrange(10, 200) * loads.MEGABYTE)
    apart = (low.messages * rate / 100 if percent else rate) or low.messages / 2
    if way == "empty":
        more, larger = abs(more), max(abs(larger), abs(more))
        apart = max(apart, low.messages * rate / 100)
    high = Carried(low.messages + apart * (1 + more), low.size * factor * (1 + larger))
    second = Carried(*(NEARLY_THE_MOST * one for one in high)) if way == "empty" else low
    between = [
        low if random.random() < EQUALLY_LOW else carried_between(random, second, high)
        for _ in range(size.brokers - 2)
    ]
    idle = way == "idle" or (way == "empty" and random.random() < IDLE_WITHOUT_BUNDLES)
    lowest = Carried(0, 0) if idle else low
    carried = [lowest, *between, high]
    if way == "apart":
        carried[0], carried[-1] = Carried(low.messages, high.size), Carried(high.messages, low.size)
    random.shuffle(carried)
    counts = loads.bundles_per_broker(random, *size)
    counts = [
        0 if way == "empty" and whole == lowest else count + EXTRA_OF_THE_BUSIEST * (whole == high)
        for whole, count in zip(carried, counts, strict=True)
    ]
    given = {
        index: divided(random, whole, count)
        for index, (whole, count) in enumerate(zip(carried, counts, strict=True))
    }
    levels = ranked_levels(random, carried)
    return with_ignored_inputs(
        Sketch(random, STRATEGY, levels, counts, settings=settings, given=given)
    )


def ranked_levels(random: Random, carried: Sequence[Carried]) -> list[float]:
    """Return brokers' usage in percent; in most cases, usage ranks the brokers as traffic does."""
    count = len(carried)
    steps = max(100, count)
    levels = [100 * step / steps for step in random.sample(range(steps), count)]
    if random.random() < 0.1:
        return levels
    ascending = iter(sorted(levels))
    ranked = sorted(range(len(carried)), key=lambda place: carried[place])
    of = {place: next(ascending) for place in ranked}
    return [of[place] for place in range(len(carried))]


def _without_aim(random: Random, size: loads.Size, settings: dict[str, Any]) -> Sketch:
    levels, counts = (
        [random.randrange(100) for _ in range(size.brokers)],
        loads.bundles_per_broker(random, *size),
    )
    if random.random() < 0.5:
        counts[0] += size.brokers * 2
    ranks_differ = random.random() < 0.3
    return Sketch(random, STRATEGY, levels, counts, settings=settings, ranks_differ=ranks_differ)


def carried_between(random: Random, low: Carried, high: Carried) -> Carried:
    """Return messages and bytes per second between the rates of two brokers."""
    return Carried(*(random.uniform(*sorted(two)) for two in zip(low, high, strict=True)))


def divided(random: Random, whole: Carried, count: int) -> Traffic:
    """Divide a broker's traffic over `count` bundles."""
    parts = [0.1 + random.random() for _ in range(count)]
    other = random.sample(parts, count) if random.random() < 0.3 else parts
    all_of_them, share = sum(parts), random.choice(SHARES)
    bundles = (
        loads.by_direction(
            whole.messages * part / all_of_them, whole.size * of_bytes / all_of_them, share
        )
        for part, of_bytes in zip(parts, other, strict=True)
    )
    stuck = random.choice((0, 0, 0, count // 2))
    return Traffic(loads.by_direction(*whole, share), tuple(bundles), stuck)
