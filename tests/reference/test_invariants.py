"""Invariants of the model, proved for all numbers; where sizes are bounded, the name says so."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise
from types import ModuleType, SimpleNamespace

import pytest
from proofs import Refuted, Symbol, integers, plain, prove, reals, z3
from pulsar_conformance import specs
from pulsar_conformance.conformance.cases.saved import save
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.reference import Settings, anti_affinity, overload, threshold
from pulsar_conformance.reference.anti_affinity import Spread
from pulsar_conformance.reference.averages import SUM_AFTER_SAMPLE
from pulsar_conformance.reference.candidates import Growth
from pulsar_conformance.reference.overload import OVERLOADED, share_to_shed
from pulsar_conformance.reference.placement import LEFT_OUT, weighted
from pulsar_conformance.reference.ranges import FULL_UPPER, HashRange, boundaries
from pulsar_conformance.reference.shedding import RECENT, select_movable
from pulsar_conformance.reference.splitting import MIDDLE
from pulsar_conformance.reference.threshold import OVER, RELEASED, TARGET, Levels
from pulsar_conformance.reference.uniform import bundles_to_even_out


def holds(part, value):
    """Return the condition that a range contains a hash, by the documented meaning of ranges."""
    lower, upper, value = plain(part.lower), plain(part.upper), plain(value)
    ends = z3.And(upper == FULL_UPPER, value == FULL_UPPER)
    return z3.And(lower <= value, z3.Or(value < upper, ends))


def test_parts_of_a_bundle_cut_at_three_positions_cover_it_and_do_not_overlap():
    lower, first, second, third, upper, value = integers("lower first second third upper value")
    whole = HashRange(lower, upper)

    def claim():
        inside = [holds(part, value) for part in whole.cut([first, second, third])]
        yield z3.PbLe([(one, 1) for one in inside], 1)
        yield holds(whole, value) == z3.Or(*inside)

    ascending = (lower < first, first < second, second < third, third < upper)
    prove(claim, lower >= 0, *ascending, upper <= FULL_UPPER)


@pytest.mark.parametrize("reading", MIDDLE)
def test_the_middle_of_a_range_lies_inside_and_halves_it(reading):
    lower, upper = integers("lower upper")
    whole = HashRange(lower, upper)

    def claim():
        middle = plain(MIDDLE[reading](whole))
        yield z3.And(plain(lower) < middle, middle < plain(upper))
        gap = (plain(upper) - middle) - (middle - plain(lower))
        yield z3.And(gap >= -1, gap <= 1)

    prove(claim, lower >= 0, upper - lower >= 2, upper <= FULL_UPPER)


def test_an_overloaded_broker_sheds_its_excess_and_five_points():
    usage, threshold = reals("usage threshold")

    def claim():
        share = share_to_shed(usage, threshold)
        yield share == (usage - threshold) + 5
        yield share > 5

    prove(claim, OVERLOADED["exceeds"](usage, threshold))


def test_a_broker_that_exceeds_a_threshold_reaches_it():
    usage, limit = reals("usage limit")
    for table in (OVERLOADED, OVER):
        exceeds, reaches = table["exceeds"], table["reaches"]
        prove(lambda reaches=reaches: [reaches(usage, limit)], exceeds(usage, limit))


def test_what_the_threshold_releases_as_usage_leads_five_points_below_the_average():
    usage, average = reals("usage average")

    def claim():
        target = TARGET["points"](average)
        left = usage - usage * RELEASED["usage"](usage - target, usage)
        yield left == average - 5

    prove(claim, average >= 5, usage > average)


def test_what_the_threshold_releases_as_traffic_leaves_no_less_than_its_target():
    usage, average = reals("usage average")
    for reading, target_of in TARGET.items():

        def claim(target_of=target_of):
            target = target_of(average)
            left = usage - usage * RELEASED["traffic"](usage - target, usage)
            yield left >= target
            yield left < usage

        bounds = (average >= 5, usage > average, usage <= 100)
        prove(claim, *bounds)
        assert reading in ("points", "percent")


@pytest.mark.parametrize("count", range(1, 9))
def test_of_up_to_eight_brokers_one_is_not_over_the_average_and_a_threshold(count):
    usages, [threshold] = reals(" ".join(f"u{one}" for one in range(count))), reals("threshold")
    limit = sum(usages) / count + threshold

    def claim():
        yield z3.Or(*(z3.Not(plain(OVER["exceeds"](one, limit))) for one in usages))

    prove(claim, threshold >= 0)


def test_a_usage_mixed_with_its_history_lies_between_both():
    before, now, kept = reals("before now kept")

    def claim():
        mixed = Levels._mix(SimpleNamespace(kept=kept), before, now)
        yield z3.Or(plain(mixed >= before), plain(mixed >= now))
        yield z3.Or(plain(mixed <= before), plain(mixed <= now))

    prove(claim, kept >= 0, kept <= 1)


@pytest.mark.parametrize("window", [10, 1000])
@pytest.mark.parametrize("reading", SUM_AFTER_SAMPLE)
def test_an_average_over_a_full_window_stays_within_its_samples(reading, window):
    total, oldest, new, least, most = reals("total oldest new least most")

    def claim():
        pushed = SUM_AFTER_SAMPLE[reading](total, oldest, new, window)
        yield pushed >= least * window
        yield pushed <= most * window

    others = total - oldest
    within = [oldest >= least, oldest <= most, new >= least, new <= most]
    rest = [others >= least * (window - 1), others <= most * (window - 1)]
    prove(claim, *within, *rest)


def cycle_of(traffic):
    """Return a cycle in which every bundle may move, most traffic first."""
    return SimpleNamespace(movable=lambda _: list(range(len(traffic))), traffic=traffic.__getitem__)


@pytest.mark.parametrize("count", range(6))
def test_of_up_to_five_bundles_at_least_one_and_no_more_than_the_need_is_shed(count):
    traffic, [need] = reals(" ".join(f"t{one}" for one in range(count))), reals("need")

    def claim():
        taken = select_movable(cycle_of(traffic), None, need)
        carried = sum((traffic[one] for one in taken), Fraction(0))
        assert taken == list(range(len(taken)))
        yield len(taken) == count or carried >= need
        yield len(taken) < 2 or carried - traffic[taken[-1]] < need
        yield bool(taken) == (count > 0)

    prove(claim, *(one >= 0 for one in traffic))


@pytest.mark.parametrize("profile", ["documented-3.0", "documented-4.2"])
@pytest.mark.parametrize("count", range(4))
def test_evening_out_up_to_three_bundles_never_turns_the_order_around(count, profile):
    traffic, [gap] = reals(" ".join(f"t{one}" for one in range(count))), reals("gap")
    cycle = cycle_of(traffic)
    cycle.settings = Settings({}, specs.load().defaults(profile))

    def claim():
        taken = bundles_to_even_out(cycle, None, gap)
        moved = sum((traffic[one] for one in taken), Fraction(0))
        yield gap - moved - moved >= 0

    prove(claim, gap >= 0)


@pytest.mark.parametrize("count", range(5))
def test_up_to_four_splits_at_once_never_exceed_the_maximum(count):
    [room] = integers("room")
    names = tuple(f"shop/eu/{one}" for one in range(count))
    growth = SimpleNamespace(enabled=True, candidates=names, room=lambda _: room)

    def claim():
        chosen = Growth.split.func(growth)
        yield z3.Or(len(chosen) == 0, plain(room >= len(chosen)))
        yield z3.Or(len(chosen) == count, plain(room <= len(chosen)))

    prove(claim)


def test_less_traffic_at_no_more_use_is_never_worse_for_a_placement():
    rate, more, usage, higher, threshold = reals("rate more usage higher threshold")

    def claim():
        yield weighted(rate, usage, threshold) <= weighted(more, higher, threshold)

    prove(claim, rate >= 0, more >= rate, higher >= usage, threshold > higher)


def test_a_broker_below_the_threshold_is_never_left_out():
    usage, threshold = reals("usage threshold")
    for left_out in LEFT_OUT.values():
        prove(lambda out=left_out: [z3.Not(plain(out(usage, threshold)))], usage < threshold)


def test_the_readings_of_the_grace_period_differ_at_its_edge_alone():
    ago, grace = reals("ago grace")

    def claim():
        blocked, free = (plain(RECENT[one](ago, grace)) for one in ("blocked", "free"))
        yield (blocked != free) == plain(ago == grace)

    prove(claim)


class Placing(Spread):
    """A namespace to place, whose compared numbers are symbols."""

    def rivals(self, broker):
        return self.owned[broker]


def size_of(known):
    return known if isinstance(known, Symbol) else len(known)


HOMES = [homes for size in range(1, 4) for homes in combinations_with_replacement("ew-", size)]


@pytest.mark.parametrize("homes", HOMES, ids="".join)
def test_of_up_to_three_brokers_in_three_domains_the_least_loaded_of_the_best_domain_is_chosen(
    homes, monkeypatch
):
    monkeypatch.setattr(anti_affinity, "len", size_of, raising=False)
    brokers = [f"b{number}" for number in range(len(homes))]
    home = dict(zip(brokers, homes, strict=True))
    on = dict(zip(brokers, integers(" ".join(brokers)), strict=True))
    within = dict(zip("ew-", integers("east west unnamed"), strict=True))
    domains = {one: [name for name in brokers if home[name] == one] for one in "ew"}

    def claim():
        placing = Placing("t/new", {}, domains, on, brokers, "all")
        known = {None if one == "-" else one: within[one] for one in set(homes)}
        vars(placing)["in_domain"] = known
        first = placing.chosen
        yield from (plain(within[home[first]] <= within[one]) for one in set(homes))
        peers = (one for one in brokers if home[one] == home[first])
        yield from (plain(on[first] <= on[one]) for one in peers)

    prove(claim)


MESSAGES, BYTES = 100, 100_000_000
"""A bundle's rates per second, high since ThresholdShedder may ignore less than 10 MB/s."""


def shedding_case(strategy, settings, usages):
    """Return a case of brokers at these usages; the first has 100 bundles of equal traffic."""
    names = [f"shop/eu/{low}_{high}" for low, high in pairwise(boundaries(100))]
    rates = {"msgRateIn": MESSAGES, "msgThroughputIn": BYTES}
    brokers = {
        f"b{number}": {"cpu": {"usage": usage, "limit": 100}, "bundles": []}
        for number, usage in enumerate(usages, 1)
    }
    brokers["b1"] |= {**{name: 100 * one for name, one in rates.items()}, "bundles": names}
    case = {
        "strategy": strategy,
        "settings": settings,
        "brokers": brokers,
        "bundles": {name: {"shortTermData": {**rates, "numSamples": 1}} for name in names},
        "recentlyUnloaded": {},
    }
    return Trial.of("shed.select", case)


def of_an_overloaded_broker(usage, threshold):
    return shedding_case("OverloadShedder", {overload.OVERLOAD_THRESHOLD: threshold}, [usage, 0])


def of_a_broker_above_average(usage, average):
    settings = {threshold.SHEDDER_THRESHOLD: 1, threshold.HISTORY_SHARE: 0}
    return shedding_case("ThresholdShedder", settings, [usage, 2 * average - usage])


def excess_and_five_points(usage, threshold):
    yield share_to_shed(usage, threshold) == (usage - threshold) + 5


def five_points_below_the_average(usage, average):
    yield TARGET["points"](average) == average - 5


@dataclass(frozen=True)
class Wrong:
    """A constant of the model, a claim that depends on it, and the rule that wrong values break."""

    module: ModuleType
    constant: str
    symbols: str
    bounds: Callable
    claim: Callable
    case: Callable
    rule: str


CONSTANTS = [
    Wrong(
        overload,
        "MARGIN",
        "usage threshold",
        lambda usage, limit: (limit >= 1, usage > limit, usage <= 90),
        excess_and_five_points,
        of_an_overloaded_broker,
        "OVERLOAD-02",
    ),
    Wrong(
        threshold,
        "BELOW_AVERAGE",
        "usage average",
        lambda usage, average: (average >= 10, usage > average + 5, usage <= 2 * average),
        five_points_below_the_average,
        of_a_broker_above_average,
        "THRESHOLD-03",
    ),
]


@pytest.mark.parametrize("wrong", CONSTANTS, ids=lambda wrong: wrong.constant)
def test_a_wrong_constant_is_refuted_by_a_case_that_fails_until_it_is_right(
    wrong, monkeypatch, tmp_path, capsys
):
    monkeypatch.chdir(tmp_path)
    symbols = integers(wrong.symbols)
    bounds = (*wrong.bounds(*symbols), *(one <= 100 for one in symbols))
    prove(lambda: wrong.claim(*symbols), *bounds)
    monkeypatch.setattr(wrong.module, wrong.constant, Fraction(4))
    with pytest.raises(Refuted) as refuted:
        prove(lambda: wrong.claim(*symbols), *bounds)
    shown = (int(refuted.value.values.get(name, 0)) for name in wrong.symbols.split())
    file = save(wrong.case(*shown), tmp_path, {})
    words = ["run", "--adapter", "reference", "--replay", str(file)]
    assert main(words) == 1
    assert capsys.readouterr().out.endswith(f"rules that apply to it: {wrong.rule}\n")
    monkeypatch.setattr(wrong.module, wrong.constant, Fraction(5))
    assert main(words) == 0
