"""REPORT: when a broker writes its load data, and which bundles its report contains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any

from hypothesis import strategies as st
from pulsar_conformance.conformance.common.check import POINTS, Expect
from pulsar_conformance.conformance.common.clusters import (
    LEFT,
    RIGHT,
    bundle_name_problems,
    report_problems,
    weight_problems,
)
from pulsar_conformance.conformance.common.operation import (
    NamesUsed,
    Operation,
    Problems,
    same_field,
)
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.drawing import composite, names
from pulsar_conformance.conformance.drawing.loads import (
    BUSY,
    DIRECTIONS,
    EACH_WAY,
    MAGNITUDES,
    changeable_load,
    changed_load,
    multiplied,
    randoms,
    sometimes_as_text,
)
from pulsar_conformance.reference import Settings
from pulsar_conformance.reference.cluster import RATE_FIELDS, RESOURCES, Broker, Rates
from pulsar_conformance.reference.numbers import Fraction, Percent, exact, plain
from pulsar_conformance.reference.reports import MAX_BUNDLES, MAX_MINUTES, MIN_MILLIS, THRESHOLD
from pulsar_conformance.reference.usage import weights

CLOCK = 1
"""Seconds that may pass between measuring a load and deciding whether to write it."""


@dataclass(frozen=True)
class LoadChange:
    """A `report.due` case: the load data last written, and the load some seconds later."""

    case: Mapping[str, Any]
    settings: Settings

    @property
    def first(self) -> bool:
        """True if the broker has not written load data yet."""
        return self.case["written"] is None

    @property
    def seconds(self) -> Fraction:
        """Seconds since the broker wrote its load data."""
        return exact(self.case["seconds"])

    @property
    def too_soon(self) -> bool:
        """True if less than the minimum interval has passed."""
        return self.seconds < self.settings.number(MIN_MILLIS) / 1000

    @property
    def longest(self) -> Fraction:
        """The maximum interval in seconds."""
        return self.settings.number(MAX_MINUTES) * 60

    @property
    def threshold(self) -> Percent:
        """The percentage of change above which a broker writes its load data."""
        return self.settings.number(THRESHOLD)

    @cached_property
    def _brokers(self) -> tuple[Broker, Broker]:
        before, now = (Broker.read("broker", self.case[name]) for name in ("written", "now"))
        return before, now

    def _counted(self) -> tuple[Fraction, Fraction]:
        before, now = (exact(self.case[name].get("numBundles", 0)) for name in ("written", "now"))
        return before, now

    def _peaks(self, weight: Mapping[str, Fraction]) -> tuple[Percent, Percent]:
        before, now = (
            max(one.percent[name] * weight[name] for name in RESOURCES) for one in self._brokers
        )
        return before, now

    @property
    def surely_changed(self) -> dict[str, bool]:
        """For each documented measure, true if its change certainly exceeds the threshold. For
        usage, it must do so in percentage points and in percent, with weights and without.
        """
        before, now = (one.rates for one in self._brokers)
        unweighted = dict.fromkeys(RESOURCES, Fraction(1))
        peaks = [self._peaks(weight) for weight in (unweighted, weights(self.settings))]
        most = self.threshold + POINTS
        points = all(abs(one - other) > most for one, other in peaks)
        return {
            "messages": self._exceeds(before.messages, now.messages, most),
            "bytes": self._exceeds(before.throughput, now.throughput, most),
            "bundles": self._exceeds(*self._counted(), most),
            "usage": points and all(self._exceeds(*peak, most) for peak in peaks),
        }

    @property
    def surely_within(self) -> bool:
        """True if certainly no measure changed by more than the threshold, in either direction."""
        before, now = self._brokers
        least = self.threshold - POINTS
        pairs = [
            *zip(before.rates.each(), now.rates.each(), strict=True),
            *((before.percent[name], now.percent[name]) for name in RESOURCES),
            self._counted(),
        ]
        points = (abs(now.percent[name] - before.percent[name]) for name in RESOURCES)
        return not any(self._exceeds(*pair, least) for pair in pairs) and max(points) <= least

    @staticmethod
    def _exceeds(before: Fraction, now: Fraction, percent: Percent) -> bool:
        return abs(now - before) * 100 > before * percent if now != before else False


def _due_problems(case: Json, settings: Settings) -> Problems:
    for name in ("written", "now"):
        yield from report_problems(name, case[name] or {})
    yield from weight_problems(settings)
    for setting in (THRESHOLD, MIN_MILLIS, MAX_MINUTES):
        if settings.number(setting) < 0:
            yield f"case.settings.{setting}: no document says what a number below 0 means"
    if settings.number(MIN_MILLIS) > settings.number(MAX_MINUTES) * 60_000:
        yield f"case.settings.{MIN_MILLIS}: the interval is longer than that of {MAX_MINUTES}"


def due_case(
    settings: Json, written: Json | None, now: Json, seconds: float, manager: str = "modular"
) -> Json:
    """Return a `report.due` case."""
    fields = {"written": written, "now": now, "seconds": seconds}
    return {"settings": settings, "manager": manager, **fields}


_SETTINGS = {THRESHOLD: 10, MIN_MILLIS: 5000, MAX_MINUTES: 15}
_LOAD = {"msgRateIn": 1000.0, "msgThroughputIn": 1e6, "numBundles": 10}

DUE = Operation(
    id="report.due",
    view=lambda case, settings, _readings: LoadChange(case, settings),
    read=lambda _case, answer: bool(answer["due"]),
    matches=same_field("due"),
    examples=tuple(due_case(_SETTINGS, _LOAD, {**_LOAD, "msgRateIn": n}, 60) for n in (2000, 1000)),
    legal=_due_problems,
)

MANAGERS = ("modular", "extensible")
MEASURES = ("messages", "bytes", "bundles", "usage")
WITHIN, OVER = (0, 0.5, 0.9, 1), (1, 1.01, 1.5, 4)
"""Possible changes, within and over the threshold, as multiples of the threshold."""


@composite
def due_reports(
    draw: st.DrawFn, changes: Sequence[float] = WITHIN + OVER, moments: str = "soon between late"
) -> Trial:
    """Draw a load that changed by a multiple of the threshold; `_seconds` explains `moments`."""
    random, measure = draw(randoms), draw(st.sampled_from(MEASURES))
    known = [one for one in SETTINGS if one[1] or moments != "soon"]
    percent, millis, minutes = draw(st.sampled_from(known))
    settings = {THRESHOLD: percent, MIN_MILLIS: millis, MAX_MINUTES: minutes}
    times = draw(st.sampled_from(changes))
    scale = percent or (UNSCALED if times > 1 else 0)
    change = scale * times * draw(st.sampled_from((1, -1)))
    resource, load = random.choice(BUSY), changeable_load(random)
    load[resource]["usage"] += 0.4 * load[resource]["limit"]
    ways = draw(st.sampled_from((DIRECTIONS, DIRECTIONS, *EACH_WAY)))
    before, now = load, changed_load(load, measure, change, resource, ways)
    if change > percent and measure != "usage" and draw(st.booleans()):
        before = changed_load(load, measure, -100, resource)
    size = random.choice(MAGNITUDES)
    before, now = multiplied(before, size), multiplied(now, size)
    seconds = _seconds(random, draw(st.sampled_from(moments.split())), millis / 1000, minutes * 60)
    given = {} if (percent, millis, minutes) == SETTINGS[0] and draw(st.booleans()) else settings
    written = sometimes_as_text(random, given)
    return Trial.of(DUE.id, due_case(written, before, now, seconds, random.choice(MANAGERS)))


SETTINGS = (
    *((10, 5000, 15), (20, 1000, 1), (5, 60_000, 2), (0, 30_000, 30), (10, 2750, 15)),
    *((10, 0, 15), (30, 1, 60), (150, 10_000, 1), (10, 5000, 43_200)),
)
"""Triples of threshold in percent, minimum interval in ms, and maximum interval in minutes."""

UNSCALED = 4
"""Percentage that replaces a threshold of 0 when drawn changes are multiples of the threshold."""


def _seconds(random: Random, moment: str, least: float, most: float) -> float:
    """Return seconds: fewer than `least` if "soon", `most` or more if "late", else in between."""
    soon, late = (0, least / 2, least * 0.99), (most, most + 2, most * 2, most * 100)
    between = (least + 1, (least + most) / 2, most - 2)
    return random.choice({"soon": soon, "late": late}.get(moment, between))


@composite
def first_reports(draw: st.DrawFn) -> Trial:
    """Draw a broker, with or without load, that has not written load data yet."""
    random, idle = draw(randoms), draw(st.booleans())
    now = {"numBundles": 0} if idle else changeable_load(random)
    seconds = draw(st.sampled_from((0, 2, 5, 60, 3600)))
    return Trial.of(DUE.id, due_case({}, None, now, seconds, random.choice(MANAGERS)))


@DUE.check("REPORT-13", draws=due_reports(OVER, "between"))
def a_change_over_the_threshold_is_reported(case: LoadChange, due: bool, expect: Expect) -> None:
    """A broker whose load changed by more than the threshold writes its load data."""
    expect.given(not case.first and not case.too_soon, "the shortest interval has passed")
    changed = [name for name, over in case.surely_changed.items() if over]
    if expect.reached(bool(changed)):
        over = f"{', '.join(changed)} changed by more than {plain(case.threshold)} %"
        expect.that(due, f"due: {over}", due)


@DUE.check("REPORT-14", draws=due_reports(WITHIN, "between"))
def a_change_within_the_threshold_waits(case: LoadChange, due: bool, expect: Expect) -> None:
    """Without a change above the threshold, nothing is written before the maximum interval."""
    expect.given(not case.first, "the broker has written its load data")
    expect.given(case.seconds <= case.longest - CLOCK, "the longest interval has not passed")
    if expect.reached(case.surely_within):
        expect.that(not due, f"not due: nothing changed by {plain(case.threshold)} %", due)


@DUE.check("REPORT-15", draws=due_reports(WITHIN, "late"))
def the_longest_interval_ends_the_wait(case: LoadChange, due: bool, expect: Expect) -> None:
    """After the maximum interval, a broker writes its load data even if nothing changed."""
    expect.given(not case.first, "the broker has written its load data")
    if expect.reached(case.seconds > case.longest):
        expect.that(due, f"due: {plain(case.longest)} s have passed", due)


@DUE.check("REPORT-16", draws=due_reports(OVER, "soon"))
def the_shortest_interval_comes_first(case: LoadChange, due: bool, expect: Expect) -> None:
    """Within the minimum interval, nothing is written, however much has changed."""
    expect.given(not case.first, "the broker has written its load data")
    if expect.reached(case.too_soon):
        expect.that(not due, f"not due: only {plain(case.seconds)} s have passed", due)


@DUE.check("REPORT-17", draws=first_reports())
def load_data_are_written_a_first_time(case: LoadChange, due: bool, expect: Expect) -> None:
    """A broker that has not written load data yet writes them."""
    if expect.reached(case.first):
        expect.that(due, "due: the broker has never written its load data", due)


@dataclass(frozen=True)
class MeasuredBundles:
    """A `report.bundles` case: bundles with their load, and how many may be reported."""

    case: Mapping[str, Any]
    settings: Settings

    @property
    def rates(self) -> dict[str, Rates]:
        """Each bundle's rates."""
        return {name: Rates.read(one) for name, one in self.case["stats"].items()}

    @property
    def busy(self) -> list[str]:
        """The bundles with throughput."""
        return [name for name, one in self.rates.items() if one.throughput]

    @property
    def most(self) -> int | None:
        """The maximum number of bundles in a report; None if there is no maximum."""
        each = int(self.settings.number(MAX_BUNDLES))
        leads = self.case["manager"] == "modular"
        return None if each < 0 else each * (int(self.case["brokerCount"]) if leads else 1)


def _top_problems(case: Json, settings: Settings) -> Problems:
    for name in case["stats"]:
        yield from bundle_name_problems(name)
    least = -1 if case["manager"] == "modular" else 1
    most = settings.number(MAX_BUNDLES)
    if most < least or most == 0:
        yield f"case.settings.{MAX_BUNDLES}: no document says what {plain(most)} means"


def top_case(settings: Json, stats: Json, manager: str = "extensible", brokers: int = 1) -> Json:
    """Return a `report.bundles` case."""
    return {"settings": settings, "manager": manager, "brokerCount": brokers, "stats": stats}


_TWO = {name: {"msgThroughputIn": 1e6 * place} for place, name in enumerate((LEFT, RIGHT), 1)}

TOP = Operation(
    id="report.bundles",
    view=lambda case, settings, _readings: MeasuredBundles(case, settings),
    read=lambda _case, answer: frozenset(answer["bundles"]),
    matches=lambda allowed, answer: set(allowed["bundles"]) == set(answer["bundles"]),
    examples=(top_case({MAX_BUNDLES: 1}, _TWO), top_case({MAX_BUNDLES: 2}, _TWO)),
    legal=_top_problems,
    names=lambda case, answer: [NamesUsed(answer["bundles"], case["stats"])],
    regardless_of_order=lambda _case, answer: sorted(answer["bundles"]),
)


@composite
def measured_bundles(draw: st.DrawFn, most: Sequence[int] = (1, 2, 3, 10)) -> Trial:
    """Draw bundles of one or several brokers, with loads that are far apart, equal or zero.

    In some cases, traffic has one direction, no messages are counted, namespaces have the same
    ranges, or the maximum number of reported bundles is the default.
    """
    random, each = draw(randoms), draw(st.sampled_from(most))
    manager = "modular" if each < 0 else draw(st.sampled_from(MANAGERS))
    brokers = draw(st.integers(1, 3))
    count = random.choice((each, each + 1, each * brokers + 2, 4)) if each > 0 else 12
    names_ = [f"shop/eu/0x{index:07x}0_0x{index:07x}8" for index in range(count)]
    if draw(st.booleans()):
        names_ = names.bundles_alike(random, count, REPORTED_NAMESPACES[manager])
    unit, sizes = random.choice(MAGNITUDES_OF_BUNDLES), random.choice((SIZES, SIZES_CLOSE))
    ways = draw(st.sampled_from((DIRECTIONS, DIRECTIONS, *EACH_WAY)))
    carried = draw(st.sampled_from((RATE_FIELDS, RATE_FIELDS, BYTES_ALONE)))
    fields = [name for name in carried if name.endswith(ways)]
    stats = {name: _load_carrying(unit * random.choice(sizes), fields, random) for name in names_}
    settings = {} if each == DEFAULT_MOST and draw(st.booleans()) else {MAX_BUNDLES: each}
    written = sometimes_as_text(random, settings)
    return Trial.of(TOP.id, top_case(written, stats, manager, brokers))


DEFAULT_MOST = 10
"""The documented default of the maximum number of bundles."""

SIZES, SIZES_CLOSE = tuple(4**power for power in range(1, 7)), (0, 1, 2, 4, 8)
MAGNITUDES_OF_BUNDLES = (1, 1, 2**10, 2**20)
"""Factors of drawn loads. Released Pulsar compares loads in steps of 100 msg/s and 100 kB/s."""

BYTES_ALONE = RATE_FIELDS[2:]
REPORTED_NAMESPACES: Mapping[str, Sequence[str]] = {
    "modular": ("pulsar/system",),
    "extensible": (),
}
"""For each load manager, the namespaces that only it reports on in released Pulsar."""


def _load_carrying(load: int, fields: Sequence[str], random: Random) -> Json:
    """Return `load` × 100 messages or kB per second in `fields`; other rates are 0 or absent."""
    rest = dict.fromkeys(RATE_FIELDS, 0) if random.random() < 0.5 else {}
    return {
        **rest,
        **{name: load * (100_000 if "Throughput" in name else 100) for name in fields},
    }


@TOP.check("REPORT-18", draws=measured_bundles())
def no_more_than_allowed(case: MeasuredBundles, named: frozenset[str], expect: Expect) -> None:
    """A report has no more bundles than allowed."""
    most = case.most
    if most is not None and expect.reached(most < len(case.rates)):
        expect.that(len(named) <= most, f"at most {most} bundles", len(named))


@TOP.check("REPORT-19", draws=measured_bundles())
def reports_are_filled(case: MeasuredBundles, named: frozenset[str], expect: Expect) -> None:
    """A report has the maximum number of bundles, or all bundles with traffic if that is fewer."""
    most = case.most
    if most is not None and expect.reached(bool(case.busy)):
        least = min(most, len(case.busy))
        expect.that(len(named) >= least, f"at least {least} bundles", len(named))


@TOP.check("REPORT-20", draws=measured_bundles())
def the_busiest_are_reported(case: MeasuredBundles, named: frozenset[str], expect: Expect) -> None:
    """No unreported bundle has, by every measure, twice the traffic of a reported bundle."""
    rates = {name: one.each() for name, one in case.rates.items()}
    left = [rates[name] for name in case.busy if name not in named]
    expect.reached(bool(left) and bool(named))
    less = [
        name
        for name in sorted(named & rates.keys())
        if any(all(2 * a <= b for a, b in zip(rates[name], one, strict=True)) for one in left)
    ]
    expect.nothing(less, "busier bundles are not reported")


@TOP.check("REPORT-21", draws=measured_bundles((-1,)))
def no_busy_bundle_is_missing(case: MeasuredBundles, named: frozenset[str], expect: Expect) -> None:
    """If the maximum is -1, every bundle with traffic is reported."""
    if expect.reached(case.most is None and bool(case.busy)):
        missing = [one for one in case.busy if one not in named]
        expect.that(not missing, "every bundle with traffic", f"not {', '.join(missing)}")
