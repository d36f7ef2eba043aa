"""Code that the strategies of releases share: the bundles that may move, and their selection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.numbers import (
    Fraction,
    Percent,
    exact,
    messages,
    plain,
    throughput,
)
from pulsar_conformance.reference.ranges import namespace_of
from pulsar_conformance.reference.released.loads import MONITOR, SYSTEM, Leader
from pulsar_conformance.reference.shedding import GRACE
from pulsar_conformance.reference.shedding_steps import unload_text

if TYPE_CHECKING:
    from pulsar_conformance.reference.released.transfer_shedder import TransferMemory

WRITTEN: dict[str, Callable[[Fraction], str]] = {"msgThroughput": throughput, "msgRate": messages}


class Mix(NamedTuple):
    """One smoothing step of a broker's usage, in fractions: old smoothed usage, observed usage, and
    new smoothed usage.
    """

    before: float
    now: float
    after: float
    again: bool = False
    """True for a second smoothing in the same cycle."""


@dataclass
class CycleMemory:
    """State that a strategy keeps from one cycle to the next.

    ThresholdShedder: `usage` and `average` are the smoothed usage of each broker and of all
    brokers, and `smoothings` lists the steps of smoothing. AvgShedder: `low_hits` and `high_hits`
    count consecutive cycles in which a broker was far from its counterpart. TransferShedder:
    `transfer` is its state. All strategies: `tables` holds the capacities of the leader's hash
    maps.
    """

    usage: dict[str, float] = field(default_factory=dict)
    average: float = 0.0
    smoothings: dict[str, list[Mix]] = field(default_factory=dict)
    tables: dict[str, int] = field(default_factory=dict)
    low_hits: Counter[str] = field(default_factory=Counter)
    high_hits: Counter[str] = field(default_factory=Counter)
    transfer: TransferMemory | None = None

    def observe(
        self,
        now: Mapping[str, float],
        kept: float,
        first: float | None = None,
        *,
        again: bool = False,
    ) -> None:
        """Update each broker's smoothed usage with its current usage.

        The weight of the earlier smoothed usage is `kept`. A new broker has the earlier smoothed
        usage `first`; if that is None, its smoothed usage is its current usage. `again` is true for
        the second update in a cycle.
        """
        total = 0.0
        for broker, usage in now.items():
            before = self.usage.get(broker, first)
            mixed = usage if before is None else before * kept + (1 - kept) * usage
            if before is not None:
                self.smoothings.setdefault(broker, []).append(Mix(before, usage, mixed, again))
            self.usage[broker] = mixed
            total += mixed
        self.average = total / len(now) if now else 0.0

    def forget_all_but(self, brokers: Container[str]) -> None:
        """Remove the usage of brokers that are not in `brokers`."""
        self.usage = {name: usage for name, usage in self.usage.items() if name in brokers}


@dataclass(frozen=True)
class ClusterView:
    """Input of a strategy: the leader's data, recent unloads and state from earlier cycles."""

    known: Leader
    recent: frozenset[str]
    memory: CycleMemory = field(default_factory=CycleMemory)

    def not_recently_unloaded(self, bundles: Sequence[str]) -> list[str]:
        """Return the bundles that were not unloaded recently, in the given order."""
        return [bundle for bundle in bundles if bundle not in self.recent]

    def movable_bundles_of(self, broker: str) -> list[str]:
        """Return the bundles that a broker may unload, in the iteration order of the leader's map
        of bundle data.
        """
        owned = set(self.known.owned(broker))
        return self.not_recently_unloaded(
            [bundle for bundle in self.known.bundles if bundle in owned]
        )


@dataclass(frozen=True)
class BrokerUnloads:
    """The bundles that a broker sheds, in the order chosen, and the derivation."""

    broker: str
    bundles: tuple[str, ...]
    explain: Callable[[], Iterator[Step]]
    planned: Mapping[str, str] = field(default_factory=dict)
    """The destination of each bundle, if the strategy also places bundles."""


def rounding_steps(
    known: Leader, broker: str, resource: str, usage: Percent, places: int, weighted: bool
) -> Iterator[Step]:
    """Yield a step if the release's rounding shows in a usage printed with `places` decimals."""
    unrounded = known.exact_percent(broker, resource, weighted)
    if plain(usage, places) != plain(unrounded, places):
        method = f"LocalBrokerData.getMaxResourceUsage{'WithWeight' if weighted else ''}"
        why = f"the release calculates in floating point ({method})"
        yield Step("rounded", f"exactly {plain(unrounded, places)} %; {why}")


def take_bundles(view: ClusterView, bundles: Sequence[str], need: float) -> list[str]:
    """Select bundles by descending throughput until they carry `need`; select at least one."""
    chosen: list[str] = []
    carried = 0.0
    for bundle in view.known.busiest_first(list(bundles), "msgThroughput"):
        if carried < need or not chosen:
            chosen.append(bundle)
            carried += view.known.traffic(bundle, "msgThroughput")
    return chosen


def bundle_steps(
    view: ClusterView,
    eligible: Sequence[str],
    owned: Sequence[str],
    chosen: Sequence[str],
    kind: str = "msgThroughput",
    stays: str = "enough has gone",
    full: str = "",
    idle: str = "",
) -> Iterator[Step]:
    """Yield a step for each bundle: whether it is shed or kept, and why.

    An eligible bundle is kept for the reason `stays`. If given, `full` is the reason for bundles
    after the last shed bundle, and `idle` for bundles without traffic.
    """
    known, free = view.known, set(eligible)
    carried, left = 0.0, len(chosen)
    for bundle in known.busiest_first(list(eligible), kind):
        traffic = known.traffic(bundle, kind)
        if bundle in chosen:
            carried, left = carried + traffic, left - 1
            together = f", together {WRITTEN[kind](Fraction(carried))}"
            yield Step("goes", f"{bundle} = {WRITTEN[kind](Fraction(traffic))}{together}")
        else:
            why = idle if idle and not traffic else stays if left or not full else full
            yield Step("stays", f"{bundle} = {WRITTEN[kind](Fraction(traffic))}, {why}")
    for bundle in owned:
        if bundle not in free:
            yield Step("stays", f"{bundle}, {_why_ineligible(view, bundle)}")


def keep_all_steps(view: ClusterView, broker: str, why: str) -> Iterator[Step]:
    """Yield the steps for a broker that sheds nothing."""
    yield Step("decision", f"{why}: it keeps all")
    for bundle in view.known.owned(broker):
        also = f"; {_last_unload(view, bundle)}" if bundle in view.recent else ""
        yield Step("stays", f"{bundle}, {broker} keeps all{also}", detail=True)


def too_few(owned: Sequence[str]) -> str:
    """Return the remark that a broker has no bundles, or only one, so that it sheds nothing."""
    return "it has a single bundle" if owned else "it has no bundles"


def _last_unload(view: ClusterView, bundle: str) -> str:
    """Return text on when a bundle was last unloaded, for a bundle still in its grace period."""
    ago = view.known.case.get("recentlyUnloaded", {}).get(bundle)
    if ago is None:
        return "unloaded within the grace period"
    return unload_text(exact(ago), exact(view.known.number(GRACE)))


def _why_ineligible(view: ClusterView, bundle: str) -> str:
    if bundle in view.recent:
        return _last_unload(view, bundle)
    place = view.known.release.place("spared-namespaces")
    namespace = namespace_of(bundle)
    if namespace == SYSTEM:
        return f"in {SYSTEM} ({place})"
    of = "SLA monitor" if namespace.startswith(MONITOR) else "heartbeat"
    return f"of the {of} namespace of a broker ({place})"
