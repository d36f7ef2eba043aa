"""DATA: averages of a bundle's samples, and sums over a broker's bundles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from random import Random

from hypothesis import strategies as st
from pulsar_conformance.conformance.common.check import Expect, same
from pulsar_conformance.conformance.common.trial import Asked, Json, Trial
from pulsar_conformance.conformance.drawing import aim, composite, loads, names
from pulsar_conformance.conformance.drawing.loads import randoms
from pulsar_conformance.conformance.load_data.operations import (
    AVERAGE,
    SUM,
    OwnedBundles,
    SampledBundle,
)
from pulsar_conformance.reference.averages import FRAMES, Average, samples_counted, together
from pulsar_conformance.reference.cluster import RATE_FIELDS, Rates
from pulsar_conformance.reference.numbers import Fraction, Rate, plain

USUAL_WINDOWS = (10, 1000)
"""Numbers of samples in the short and the long window, from the documents' example."""

WIDE_WINDOWS = (20, 2000)
WINDOWS = (
    *(USUAL_WINDOWS, USUAL_WINDOWS, WIDE_WINDOWS),
    *((3, 5), (2, 8), (1, 2), (1, 1), (7, 7), (5, 3)),
)
"""Pairs of window sizes in cases: numbers of samples in the short and the long window."""

SHARE_WITH_MANY_SAMPLES = 0.04
"""Share of cases that fill the longer window, which has a thousand samples or more."""

Counting = Callable[[Random, tuple[int, int]], int]
"""Function that chooses a number of samples, given the sizes of the two windows."""


def average_case(samples: list[Json], windows: tuple[int, int]) -> Json:
    """Return an `average.bundle` case."""
    short, long = windows
    return {"samples": samples, "shortSamples": short, "longSamples": long}


KINDS = ("whole", "whole", "broken", "tiny", "nothing", "in")


def one_sample(random: Random, kinds: Sequence[str] = (*KINDS, "huge")) -> Json:
    """Return a sample: rates are whole, fractional, tiny, huge, zero, or incoming only."""
    kind = random.choice(kinds)
    if kind == "nothing":
        return dict.fromkeys(RATE_FIELDS, 0)
    scale = {"huge": 1e9, "tiny": 1e-3}.get(kind, 1)
    rates: Json = {name: random.randrange(1, 5000) * scale for name in RATE_FIELDS}
    if kind == "broken":
        rates = {name: rate + random.random() for name, rate in rates.items()}
    return dict(islice(rates.items(), 1)) if kind == "in" else rates


def samples(random: Random, count: int) -> list[Json]:
    """Return `count` samples: steady, with jumps, or all different."""
    kinds = min(count, random.choice((1, 2, 12, 12)))
    if not kinds:
        return []
    different = [one_sample(random) for _ in range(kinds)]
    if random.random() < 0.4:
        ends = sorted(random.randint(0, count) for _ in different[1:])
        lengths = [end - start for start, end in zip([0, *ends], [*ends, count], strict=True)]
        return [one for one, length in zip(different, lengths, strict=True) for _ in range(length)]
    return random.choices(different, k=count)


def _number_within(random: Random, windows: tuple[int, int]) -> int:
    """Return a number of samples that fit into the longer window."""
    longest = max(windows)
    small = [1, 2, 9, 10, 11, *windows, *(window - 1 for window in windows)]
    small = [count for count in small if 1 <= count <= min(longest, 100)]
    return longest if random.random() < SHARE_WITH_MANY_SAMPLES else random.choice(small)


def _number_beyond(random: Random, windows: tuple[int, int]) -> int:
    """Return a number of samples above the shorter window, sometimes above the longer one."""
    shortest, longest = sorted(windows)
    if longest < 100 and random.random() < 0.5:
        return longest + random.choice((1, 1, 2, longest, 3 * longest))
    if random.random() < 2 * SHARE_WITH_MANY_SAMPLES:
        return longest + random.choice((1, 1, 7))
    return shortest + random.choice((1, 1, 2, shortest, 3 * shortest))


def _none_or_one(random: Random, _windows: tuple[int, int]) -> int:
    return random.choice((0, 1))


def _any_number(random: Random, windows: tuple[int, int]) -> int:
    return random.choice((_none_or_one, _number_within, _number_beyond))(random, windows)


def bundle_after_samples(counting: Counting) -> st.SearchStrategy[Trial]:
    """Return a strategy for trials of a bundle with as many samples as `counting` chooses."""

    def trial(random: Random, windows: tuple[int, int]) -> Trial:
        count = counting(random, windows)
        return Trial.of("average.bundle", average_case(samples(random, count), windows))

    return st.builds(trial, randoms, st.sampled_from(WINDOWS))


def up_to_one_window() -> st.SearchStrategy[Trial]:
    """Return a strategy for trials with at most as many samples as fit into the longer window."""
    return bundle_after_samples(_number_within)


def more_than_one_window() -> st.SearchStrategy[Trial]:
    """Return a strategy for trials with more samples than fit into the shorter window."""
    return bundle_after_samples(_number_beyond)


def any_number() -> st.SearchStrategy[Trial]:
    """Return a strategy for trials with any number of samples: none, or even more than fit."""
    return bundle_after_samples(_any_number)


def first_samples() -> st.SearchStrategy[Trial]:
    """Return a strategy for trials with one, two, three or twelve samples."""
    return bundle_after_samples(lambda random, _windows: random.choice((1, 1, 1, 2, 3, 12)))


def never_measured() -> st.SearchStrategy[Trial]:
    """Return a strategy for trials without samples, with any windows."""
    window = st.integers(1, 2000)
    windows = st.one_of(st.just(USUAL_WINDOWS), st.tuples(window, window))
    return windows.map(lambda two: Trial.of("average.bundle", average_case([], two)))


@composite
def with_one_window_changed(draw: st.DrawFn) -> Trial:
    """Draw two questions about the same samples, with another size of one window in the second."""
    random, (short, long) = draw(randoms), draw(st.sampled_from(WINDOWS))
    count = _any_number(random, (short, long))
    other = random.choice((1, 2, 4, 10, 50, 1000))
    windows = random.choice(((short, other), (other, long)))
    known = samples(random, count)
    first, second = average_case(known, (short, long)), average_case(known, windows)
    return Trial.of("average.bundle", first, second)


def bundle_data(random: Random, kinds: Sequence[str]) -> Json:
    """Return a bundle's averages in both time frames."""
    short, long = one_sample(random, kinds), one_sample(random, kinds)
    return {
        "shortTermData": loads.as_average(short, random.randint(1, 10), 10),
        "longTermData": loads.as_average(long, random.randint(1, 1000), 1000),
    }


def _unmeasured(random: Random, kinds: Sequence[str]) -> Json | None:
    """Return the data of a bundle without samples, in one of several notations."""
    known = bundle_data(random, kinds)
    kind = random.choice(("absent", "empty", "none", "short", "long"))
    if kind == "absent":
        return None
    if kind == "empty":
        return {}
    if kind == "none":
        return {frame: {**data, "numSamples": 0} for frame, data in known.items()}
    return {f"{kind}TermData": known[f"{kind}TermData"]}


def broker_case(random: Random, count: int, unmeasured: float) -> Json:
    """Return an `average.broker` case with `count` bundles, some of them without samples."""
    # In a sum with a huge bundle, rounding could hide whether the other bundles were counted.
    kinds = random.choice((KINDS, KINDS, KINDS, (*KINDS, "huge")))
    strays = random.choice((0, 0, 1, 5))
    every = names.bundles(random, count + strays)
    owned = every[:count]
    data: Json = {}
    for bundle in random.sample(every, len(every)):
        never = bundle in owned and random.random() < unmeasured
        known = (_unmeasured if never else bundle_data)(random, kinds)
        if known is not None:
            data[bundle] = known
    return {"bundles": data, "owned": owned}


counts = st.sampled_from((*range(5),) * 18 + (*range(20, 49),) * 3 + (60, 70, 130, 250, 250, 1100))
"""Strategy for the number of a broker's bundles, rarely more than 50."""


def brokers(unmeasured: float = 0.0) -> st.SearchStrategy[Trial]:
    """Return a strategy for trials of a broker; a share `unmeasured` of its bundles has no
    samples.
    """
    return st.builds(
        lambda random, count: Trial.of("average.broker", broker_case(random, count, unmeasured)),
        randoms,
        counts,
    )


@composite
def gaining_or_losing(draw: st.DrawFn) -> Trial:
    """Draw a broker before and after it gains or loses a bundle."""
    random, count = draw(randoms), draw(counts)
    with_it = broker_case(random, count + 1, random.choice((0, 0.2)))
    gone = random.choice(with_it["owned"])
    without = {**with_it, "owned": [name for name in with_it["owned"] if name != gone]}
    return Trial.of("average.broker", *random.sample([with_it, without], 2))


def full_of_old_samples(random: Random) -> Json:
    """Return a case whose short window is full, after many very different samples."""
    before = dict.fromkeys(RATE_FIELDS, 1000 * random.randint(10, 20))
    after = [dict.fromkeys(RATE_FIELDS, 10 * random.randint(1, 9)) for _ in range(10)]
    return average_case([before] * random.choice((10, 30)) + after, USUAL_WINDOWS)


def without_samples(_random: Random) -> Json:
    """Return a case of a bundle without samples."""
    return average_case([], USUAL_WINDOWS)


def broker_without_samples(random: Random) -> Json:
    """Return a case of a broker whose bundles all have no samples."""
    return broker_case(random, random.randint(1, 5), unmeasured=1)


AIMED = (
    aim("window", "average.bundle", full_of_old_samples),
    aim("kilobyte", "average.bundle", without_samples),
    aim("kilobyte", "average.broker", broker_without_samples),
)


MAX_ROUNDING_ERROR = Fraction(1, 10**9)
"""Largest rounding error of a sum, as a fraction of the largest sample."""

MESSAGES, BYTES = RATE_FIELDS[:2], RATE_FIELDS[2:]

Averages = Mapping[str, Average]
Sums = Mapping[str, Rates]


def _rates_by_name(rates: Rates) -> dict[str, Rate]:
    return dict(zip(RATE_FIELDS, rates.each(), strict=True))


def _largest(loads: Iterable[Rates]) -> Rate:
    return max((rate for load in loads for rate in load.each()), default=Fraction(0))


def _demand_equal(
    expect: Expect,
    frame: str,
    answered: Rates,
    allowed: Rates,
    among: Iterable[Rates] = (),
    names: Iterable[str] = RATE_FIELDS,
) -> None:
    """Demand that rates are equal, apart from rounding errors in sums of the rates in `among`."""
    found, wanted = _rates_by_name(answered), _rates_by_name(allowed)
    residue = MAX_ROUNDING_ERROR * _largest(among)
    for name in names:
        close = same(found[name], wanted[name]) or abs(found[name] - wanted[name]) <= residue
        expect.that(close, f"{frame}.{name}: {plain(wanted[name], 6)}", plain(found[name], 6))


@AVERAGE.check("DATA-01", draws=up_to_one_window())
def averages_all_samples_until_the_window_is_full(
    case: SampledBundle, answer: Averages, expect: Expect
) -> None:
    """Until the window is full, the average is the mean of all samples."""
    expect.given(bool(case.samples), "there is a sample")
    for frame, known in answer.items():
        if expect.reached(len(case.samples) <= case.window(frame)):
            _demand_equal(expect, frame, known.rates, case.average(frame), case.samples)


@AVERAGE.check("DATA-02", draws=more_than_one_window())
def averages_a_limited_number_of_samples(
    case: SampledBundle, answer: Averages, expect: Expect
) -> None:
    """Once the window is full, the average follows the reading `window`."""
    for frame, known in answer.items():
        if expect.reached(len(case.samples) > case.window(frame)):
            _demand_equal(expect, frame, known.rates, case.average(frame), case.samples)


@AVERAGE.check_together("DATA-03", draws=with_one_window_changed())
def each_frame_has_its_window(
    exchanges: Sequence[Asked[SampledBundle, Averages]], expect: Expect
) -> None:
    """Changing the window of one time frame does not change the other frame's average."""
    expect.given(len(exchanges) == 2, "samples in two pairs of windows")
    (before, first), (after, second) = exchanges
    expect.given(before.samples == after.samples, "the samples are the same")
    alike = [frame for frame in FRAMES if before.window(frame) == after.window(frame)]
    expect.given(len(alike) == 1, "one of the windows is changed")
    for frame in alike:
        expect.reached()
        _demand_equal(expect, frame, second[frame].rates, first[frame].rates, before.samples)
        counted = f"{frame}.numSamples"
        expect.equal(second[frame].samples, first[frame].samples, counted)


def _expect_unmeasured(
    case: SampledBundle, answer: Averages, expect: Expect, names: Iterable[str]
) -> None:
    expect.given(not case.samples, "there is no sample")
    for frame, known in answer.items():
        expect.reached()
        _demand_equal(expect, frame, known.rates, case.unmeasured, names=names)


@AVERAGE.check("DATA-04", draws=never_measured())
def unmeasured_bundles_have_50_messages(
    case: SampledBundle, answer: Averages, expect: Expect
) -> None:
    """A bundle without samples counts as 50 messages per second in each direction."""
    _expect_unmeasured(case, answer, expect, MESSAGES)


@AVERAGE.check("DATA-05", draws=never_measured())
def unmeasured_bundles_have_50_kilobytes(
    case: SampledBundle, answer: Averages, expect: Expect
) -> None:
    """A bundle without samples counts as 50 KB per second in each direction."""
    _expect_unmeasured(case, answer, expect, BYTES)


@AVERAGE.check("DATA-06", draws=first_samples())
def the_first_sample_overwrites(case: SampledBundle, answer: Averages, expect: Expect) -> None:
    """An average lies between the lowest and the highest sample: no assumed value remains."""
    expect.given(bool(case.samples), "there is a sample")
    columns = dict(
        zip(RATE_FIELDS, zip(*(one.each() for one in case.samples), strict=True), strict=True)
    )
    residue = MAX_ROUNDING_ERROR * _largest(case.samples)
    for frame, known in answer.items():
        for name, rate in _rates_by_name(known.rates).items():
            expect.reached()
            low, high = min(columns[name]), max(columns[name])
            inside = low - residue <= rate <= high + residue or same(rate, low) or same(rate, high)
            allowed = f"{frame}.{name} from {plain(low)} to {plain(high)}, as sampled"
            expect.that(inside, allowed, plain(rate))


@AVERAGE.check("DATA-07", draws=any_number())
def the_samples_are_counted(case: SampledBundle, answer: Averages, expect: Expect) -> None:
    """The answer counts all samples or, if the window is smaller, as many as fit into it."""
    for frame, known in answer.items():
        expect.reached()
        counted = samples_counted(len(case.samples), case.window(frame))
        expect.equal(known.samples, counted, f"{frame}.numSamples")


@SUM.check("DATA-08", draws=brokers())
def a_broker_is_the_sum_of_its_bundles(case: OwnedBundles, answer: Sums, expect: Expect) -> None:
    """A broker's data are, in each time frame, the sums over its bundles."""
    for frame, rates in answer.items():
        measured = all(case.measured(bundle, frame) for bundle in case.owned)
        if expect.reached(measured):
            _demand_equal(expect, frame, rates, case.total(frame))


@SUM.check("DATA-09", draws=brokers(unmeasured=0.3))
def unmeasured_bundles_add_assumed_rates(case: OwnedBundles, answer: Sums, expect: Expect) -> None:
    """In a broker's sums, a bundle without samples adds the assumed rates."""
    for frame, rates in answer.items():
        measured = all(case.measured(bundle, frame) for bundle in case.owned)
        if expect.reached(not measured):
            _demand_equal(expect, frame, rates, case.total(frame))


@SUM.check_together("DATA-10", draws=gaining_or_losing())
def a_bundle_gained_adds_its_load(
    exchanges: Sequence[Asked[OwnedBundles, Sums]], expect: Expect
) -> None:
    """A broker that gains a bundle has its previous load plus the load of the bundle."""
    expect.given(len(exchanges) == 2, "a broker before and after a change")
    (fewer, less), (many, more) = sorted(exchanges, key=lambda exchanges: len(exchanges.case.owned))
    expect.given(fewer.case["bundles"] == many.case["bundles"], "other bundles carry equal traffic")
    gained = [bundle for bundle in many.owned if bundle not in fewer.owned]
    one_more = len(gained) == 1 and len(many.owned) == len(fewer.owned) + 1
    expect.given(one_more, "one bundle is gained or lost")
    for frame in FRAMES:
        expect.reached()
        wanted = together((less[frame], many.rates(gained[0], frame)))
        _demand_equal(expect, frame, more[frame], wanted)
