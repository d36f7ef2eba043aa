"""A cycle of TransferShedder as implemented in releases, given the brokers' load data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from statistics import fmean, pstdev
from typing import NamedTuple

from pulsar_conformance.reference.numbers import exact, throughput
from pulsar_conformance.reference.ranges import namespace_of
from pulsar_conformance.reference.released.transfer_shedder import MAX_SHARE_AFTER_SWAP
from pulsar_conformance.reference.shedding import EXCLUDED

HALF = 0.5
"""Upper limit of `TransferRules.share`."""

ALMOST_NONE = 1.0
"""Bytes per second below which a broker counted as underloaded before apache/pulsar#22321."""

GOES, STAYS, COMES = "goes", "stays", "comes"

TopBundles = Mapping[str, float | None]
"""The bytes per second of each top bundle of a broker, in the listed order; None if unknown."""


@dataclass(frozen=True)
class LoadData:
    """The load of each broker, and the bundles that it may unload."""

    loads: Mapping[str, float]
    traffic: Mapping[str, float]
    top: Mapping[str, TopBundles]
    carried: Mapping[str, float]
    """The bytes per second of each broker, in and out."""
    written: Mapping[str, float]
    """The time at which each broker's data were written, if known, in milliseconds since 1970."""
    outdated: frozenset[str] = frozenset()
    """The brokers whose data are outdated; the mean and the standard deviation leave them out."""
    notes: tuple[str, ...] = ()
    """Notes about input files that were not used."""
    bound: Mapping[str, str] | None = None
    """The policies, as text, of each namespace that has any; None if policies are unknown."""

    @cached_property
    def current(self) -> list[float]:
        """The loads of the brokers whose data are not outdated."""
        return [load for name, load in self.loads.items() if name not in self.outdated]

    @cached_property
    def mean(self) -> float:
        """The mean load of the brokers whose data are not outdated."""
        return fmean(self.current)

    @cached_property
    def deviation(self) -> float:
        """The standard deviation of the loads of the brokers whose data are not outdated."""
        return pstdev(self.current)

    def age(self, name: str) -> float:
        """Return how many seconds older a broker's data are than the newest data of any broker."""
        newest = max(self.written.values(), default=0)
        return (newest - self.written.get(name, newest)) / 1000


@dataclass(frozen=True)
class TransferRules:
    """The settings of TransferShedder, and the behavior in which its versions differ."""

    target: float
    overload: float
    """The load in percent above which a broker may count as overloaded."""
    brokers: int
    """Maximum number of brokers that shed in a cycle."""
    transfers: bool
    debug: bool
    excluded: frozenset[str]
    """The namespaces whose bundles are never unloaded."""
    by_busiest: bool
    """True if a broker with less than a share of the highest traffic counts as underloaded; if
    false, only a broker with less than 1 B/s does (apache/pulsar#22321).
    """
    moves_idle: bool
    """True if bundles without traffic are unloaded too (until apache/pulsar#23626)."""
    with_policies: bool = False
    """True if bundles of namespaces with policies may move to brokers that the policies permit."""

    @property
    def share(self) -> float:
        """Fraction of the mean load or highest traffic below which a broker is underloaded."""
        return min(HALF, max(0.0, self.target / 2))


class BundleRow(NamedTuple):
    """A bundle, its outcome in a cycle (it goes, stays or comes in exchange), and the reason."""

    outcome: str
    bundle: str
    rate: float
    why: str


@dataclass(frozen=True)
class LoadState:
    """The brokers not yet paired in a cycle, least loaded first, with statistics of the load."""

    data: LoadData
    rules: TransferRules
    order: tuple[str, ...]
    deviation: float
    squares: float
    """The sum of the squared loads."""
    shed: int = 0
    """Number of brokers that have shed."""

    @classmethod
    def first(cls, data: LoadData, rules: TransferRules) -> LoadState:
        """Return the state at the start of a cycle; brokers with equal load are in the order of
        their names.
        """
        order = sorted(data.loads, key=lambda name: (data.loads[name], name))
        squares = sum(one * one for one in data.current)
        return cls(data, rules, tuple(order), data.deviation, squares)

    @property
    def idle(self) -> str:
        """The least loaded broker."""
        return self.order[0]

    @property
    def busy(self) -> str:
        """The most loaded broker."""
        return self.order[-1]

    @property
    def deviates(self) -> bool:
        """True if the standard deviation exceeds the target."""
        return self.deviation > self.rules.target

    @property
    def has_low_load(self) -> bool:
        """True if the least loaded broker is below a share of the mean load."""
        return self.data.loads[self.idle] < self.rules.share * self.data.mean

    @property
    def has_low_traffic(self) -> bool:
        """True if the least loaded broker has so little traffic that it counts as underloaded."""
        traffic = self.data.traffic
        if not self.rules.by_busiest:
            return traffic[self.idle] < ALMOST_NONE
        return traffic[self.idle] < self.rules.share * traffic[self.busy]

    @property
    def overloaded(self) -> bool:
        """True if the most loaded broker is above the threshold and far above the mean."""
        load = self.data.loads[self.busy]
        far = load > self.data.mean + self.rules.target
        return load > self.rules.overload / 100 and far

    @property
    def uneven(self) -> bool:
        """True if one of the conditions for unloading holds."""
        return self.deviates or self.has_low_load or self.has_low_traffic or self.overloaded

    @property
    def amount(self) -> float:
        """The bytes per second to move so that the busiest and the idlest broker become equal."""
        high, low = self.data.loads[self.busy], self.data.loads[self.idle]
        return self.data.carried[self.busy] * ((high - low) / 2) / high if high else 0.0

    def after(self, pair: LoadPair) -> LoadState:
        """Return the state after the bundles of a pair have moved, as LoadStats.offload computes
        it.
        """
        if pair.moved <= 0:
            return replace(self, order=self.order[:-1])
        most, least = self.data.loads[self.busy], self.data.loads[self.idle]
        offload = pair.moved_net * most / self.data.carried[self.busy]
        less, more = max(0.0, most - offload), least + offload
        squares = self.squares - (most * most + least * least) + less * less + more * more
        count, mean = len(self.data.current), self.data.mean
        deviation = sqrt(abs(squares / count - mean * mean))
        return replace(
            self, order=self.order[1:-1], deviation=deviation, squares=squares, shed=self.shed + 1
        )


@dataclass(frozen=True)
class LoadPair:
    """The most and the least loaded broker at one point of a cycle, and the outcome for bundles.

    `rows` lists the top bundles of the most loaded broker, and bundles that come in exchange.
    """

    state: LoadState
    rows: tuple[BundleRow, ...]

    @property
    def busier_traffic_known(self) -> bool:
        """True if the traffic of all top bundles of the busier broker is known."""
        top = self.state.data.top.get(self.state.busy)
        return top is not None and None not in top.values()

    @property
    def moves(self) -> bool:
        """True if any bundle moves to the less loaded broker."""
        return any(one.outcome == GOES for one in self.rows)

    @property
    def moved(self) -> float:
        """The bytes per second of the bundles that move to the less loaded broker."""
        return sum(one.rate for one in self.rows if one.outcome == GOES)

    @property
    def moved_net(self) -> float:
        """The bytes per second that leave the most loaded broker, as the release computes them.

        The release subtracts bundles that come in exchange only in its debug mode.
        """
        back = sum(one.rate for one in self.rows if one.outcome == COMES)
        return self.moved - (back if self.state.rules.debug else 0.0)


def load_pairs(data: LoadData, rules: TransferRules) -> Iterator[LoadPair]:
    """Yield the pairs of brokers between which TransferShedder moves bundles in a cycle, in order.

    The pairs end with the first whose busier broker has unknown top bundles, or top bundles with
    unknown traffic.
    """
    state = LoadState.first(data, rules)
    while state.shed < rules.brokers and len(state.order) > 1 and state.uneven:
        pair = LoadPair(state, tuple(_bundle_rows(state)))
        yield pair
        if not pair.busier_traffic_known:
            return
        state = state.after(pair)


def _bundle_rows(state: LoadState) -> Iterator[BundleRow]:
    """Yield the outcome for each top bundle of the busier broker, and for exchanged bundles.

    Bundles with unknown traffic are left out. Bundles are considered in the order of the list, up
    to the first that neither fits nor can be exchanged; at least one bundle stays
    (TransferShedder.findBundlesForUnloading).
    """
    top, rules = state.data.top.get(state.busy, {}), state.rules
    back = iter(state.data.top.get(state.idle, {}).items())
    gone, left, over = 0.0, len(top), False
    for name, rate in top.items():
        if rate is None:
            continue
        kept = "listed after one that does not fit" if over else _why_kept(state, name, rate, left)
        if kept:
            yield BundleRow(STAYS, name, rate, kept)
            continue
        if gone + rate <= state.amount:
            gone, left = gone + rate, left - 1
            yield BundleRow(GOES, name, rate, f"leaves {format_rate(state.amount - gone)}")
            continue
        taken = list(_bundles_in_exchange(state, back, gone + rate)) if rules.transfers else []
        over = not taken
        if over:
            yield BundleRow(STAYS, name, rate, f"more than is left{_only_in_exchange_text(state)}")
            continue
        returned = sum(one.rate for one in taken)
        yield from taken
        yield BundleRow(GOES, name, rate, _exchange_text(state, gone + rate - returned))
        gone, left = gone + rate - (returned if rules.debug else 0.0), left - 1


def _why_kept(state: LoadState, bundle: str, rate: float, left: int) -> str:
    """Return why a bundle stays even if it fits; empty if only its traffic decides."""
    rules = state.rules
    if namespace_of(bundle) in rules.excluded:
        return f"its namespace is in {EXCLUDED}"
    if policies := _policies_that_keep(state, bundle):
        return f"its namespace has {policies}"
    if left <= 1:
        return "the last of the top bundles"
    return "no traffic" if rate == 0 and not rules.moves_idle else ""


def _policies_that_keep(state: LoadState, bundle: str) -> str:
    """Return the policies of a bundle's namespace that keep it on its broker; empty if none."""
    bound = {} if state.rules.with_policies else state.data.bound or {}
    return bound.get(namespace_of(bundle), "")


def _bundles_in_exchange(
    state: LoadState, back: Iterator[tuple[str, float | None]], net: float
) -> Iterator[BundleRow]:
    """Yield the bundles that the less loaded broker gives in exchange for a large bundle.

    Nothing is yielded if no exchange helps. `net` is the traffic moved so far, including the large
    bundle.
    """
    whole = state.data.carried[state.busy]
    high, low = whole - net, state.data.carried[state.idle] + net
    found = []
    for name, rate in back:
        if rate is None or (rate == 0 and not state.rules.moves_idle):
            continue
        if _policies_that_keep(state, name):
            continue
        if high + rate < whole and low - rate < whole:
            high, low = high + rate, low - rate
            found.append(BundleRow(COMES, name, rate, f"from {state.idle}, in exchange"))
            if low <= high < whole * MAX_SHARE_AFTER_SWAP:
                yield from found
                return


def _exchange_text(state: LoadState, net: float) -> str:
    whole, other = (state.data.carried[one] for one in (state.busy, state.idle))
    return (
        f"more than is left, but in exchange: {state.busy} keeps {format_rate(whole - net)}, which "
        f"is under {MAX_SHARE_AFTER_SWAP:g} of its {format_rate(whole)} and no less than the "
        f"{format_rate(other + net)} that {state.idle} then has"
    )


def _only_in_exchange_text(state: LoadState) -> str:
    """Return the last clause of the remark that a bundle is too large to move on its own."""
    if not state.rules.transfers:
        return ""
    if state.idle in state.data.top:
        return f", even in exchange for top bundles of {state.idle}"
    return f"; goes only in exchange for bundles of {state.idle}"


def format_rate(amount: float) -> str:
    """Return bytes per second as text, rounded to whole bytes."""
    return throughput(exact(round(amount)))
