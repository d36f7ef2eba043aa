"""DATA: averages of bundles over samples, and sums of brokers over bundles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pulsar_conformance.conformance.common.expect import Expect, same
from pulsar_conformance.conformance.common.trial import Asked
from pulsar_conformance.conformance.load_data import draw_averages as draws
from pulsar_conformance.conformance.load_data.operations import AVERAGE, SUM, Owning, Sampled
from pulsar_conformance.reference.averages import FRAMES, Average, samples_counted, together
from pulsar_conformance.reference.cluster import RATE_FIELDS, Rates
from pulsar_conformance.reference.numbers import Fraction, Rate, plain

RESIDUE = Fraction(1, 10**9)
"""The share of the largest sample that floating point may leave in a sum or difference."""

MESSAGES, BYTES = RATE_FIELDS[:2], RATE_FIELDS[2:]

Averages = Mapping[str, Average]
Sums = Mapping[str, Rates]


def _by_name(rates: Rates) -> dict[str, Rate]:
    return dict(zip(RATE_FIELDS, rates.each(), strict=True))


def _largest(loads: Iterable[Rates]) -> Rate:
    return max((rate for load in loads for rate in load.each()), default=Fraction(0))


def _equal(
    expect: Expect,
    frame: str,
    answered: Rates,
    allowed: Rates,
    among: Iterable[Rates] = (),
    names: Iterable[str] = RATE_FIELDS,
) -> None:
    """Demand rates, allowing for rounding; `among` are the rates that they result from."""
    found, wanted = _by_name(answered), _by_name(allowed)
    residue = RESIDUE * _largest(among)
    for name in names:
        close = same(found[name], wanted[name]) or abs(found[name] - wanted[name]) <= residue
        expect.that(close, f"{frame}.{name}: {plain(wanted[name], 6)}", plain(found[name], 6))


@AVERAGE.check("DATA-01", draws=draws.filling())
def is_over_the_samples_there_are(case: Sampled, answer: Averages, expect: Expect) -> None:
    """Up to a full window, the mean of all samples."""
    expect.given(bool(case.samples), "there is a sample")
    for frame, known in answer.items():
        if expect.reached(len(case.samples) <= case.window(frame)):
            _equal(expect, frame, known.rates, case.average(frame), case.samples)


@AVERAGE.check("DATA-02", draws=draws.overflowing())
def is_over_a_limited_number(case: Sampled, answer: Averages, expect: Expect) -> None:
    """Beyond a full window, the average by the reading `window`."""
    for frame, known in answer.items():
        if expect.reached(len(case.samples) > case.window(frame)):
            _equal(expect, frame, known.rates, case.average(frame), case.samples)


@AVERAGE.check_together("DATA-03", draws=draws.with_one_window_changed())
def each_frame_has_its_window(asked: Sequence[Asked[Sampled, Averages]], expect: Expect) -> None:
    """If the window of one frame is changed, the other frame stays the same."""
    expect.given(len(asked) == 2, "samples in two pairs of windows")
    (before, first), (after, second) = asked
    expect.given(before.samples == after.samples, "the samples are the same")
    alike = [frame for frame in FRAMES if before.window(frame) == after.window(frame)]
    expect.given(len(alike) == 1, "one of the windows is changed")
    for frame in alike:
        expect.reached()
        _equal(expect, frame, second[frame].rates, first[frame].rates, before.samples)
        counted = f"{frame}.numSamples"
        expect.equal(second[frame].samples, first[frame].samples, counted)


def _unmeasured(case: Sampled, answer: Averages, expect: Expect, names: Iterable[str]) -> None:
    expect.given(not case.samples, "there is no sample")
    for frame, known in answer.items():
        expect.reached()
        _equal(expect, frame, known.rates, case.unmeasured, names=names)


@AVERAGE.check("DATA-04", draws=draws.never_measured())
def counts_for_50_messages(case: Sampled, answer: Averages, expect: Expect) -> None:
    """Without samples, 50 messages per second each way."""
    _unmeasured(case, answer, expect, MESSAGES)


@AVERAGE.check("DATA-05", draws=draws.never_measured())
def counts_for_50_kilobytes(case: Sampled, answer: Averages, expect: Expect) -> None:
    """Without samples, 50 KB per second each way."""
    _unmeasured(case, answer, expect, BYTES)


@AVERAGE.check("DATA-06", draws=draws.first_samples())
def the_first_sample_overwrites(case: Sampled, answer: Averages, expect: Expect) -> None:
    """An average lies between the lowest and the highest sample: no earlier value counts."""
    expect.given(bool(case.samples), "there is a sample")
    columns = dict(
        zip(RATE_FIELDS, zip(*(one.each() for one in case.samples), strict=True), strict=True)
    )
    residue = RESIDUE * _largest(case.samples)
    for frame, known in answer.items():
        for name, rate in _by_name(known.rates).items():
            expect.reached()
            low, high = min(columns[name]), max(columns[name])
            inside = low - residue <= rate <= high + residue or same(rate, low) or same(rate, high)
            allowed = f"{frame}.{name} from {plain(low)} to {plain(high)}, as sampled"
            expect.that(inside, allowed, plain(rate))


@AVERAGE.check("DATA-07", draws=draws.any_number())
def the_samples_are_counted(case: Sampled, answer: Averages, expect: Expect) -> None:
    """The number of samples, limited to the window."""
    for frame, known in answer.items():
        expect.reached()
        counted = samples_counted(len(case.samples), case.window(frame))
        expect.equal(known.samples, counted, f"{frame}.numSamples")


@SUM.check("DATA-08", draws=draws.brokers())
def a_broker_is_the_sum_of_its_bundles(case: Owning, answer: Sums, expect: Expect) -> None:
    """A broker's data are the sum of its bundles' in each time frame."""
    for frame, rates in answer.items():
        measured = all(case.measured(bundle, frame) for bundle in case.owned)
        if expect.reached(measured):
            _equal(expect, frame, rates, case.total(frame))


@SUM.check("DATA-09", draws=draws.brokers(unmeasured=0.3))
def bundles_never_measured_count(case: Owning, answer: Sums, expect: Expect) -> None:
    """Bundles without samples add the values assumed for them."""
    for frame, rates in answer.items():
        measured = all(case.measured(bundle, frame) for bundle in case.owned)
        if expect.reached(not measured):
            _equal(expect, frame, rates, case.total(frame))


@SUM.check_together("DATA-10", draws=draws.gaining_or_losing())
def a_bundle_gained_adds_its_load(asked: Sequence[Asked[Owning, Sums]], expect: Expect) -> None:
    """With one more bundle, a broker's data are those before plus the bundle's."""
    expect.given(len(asked) == 2, "a broker before and after")
    (fewer, less), (many, more) = sorted(asked, key=lambda asked: len(asked.case.owned))
    expect.given(fewer.case["bundles"] == many.case["bundles"], "the bundles carry the same")
    gained = [bundle for bundle in many.owned if bundle not in fewer.owned]
    one_more = len(gained) == 1 and len(many.owned) == len(fewer.owned) + 1
    expect.given(one_more, "one bundle is gained or lost")
    for frame in FRAMES:
        expect.reached()
        wanted = together((less[frame], many.rates(gained[0], frame)))
        _equal(expect, frame, more[frame], wanted)
