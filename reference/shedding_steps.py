"""Derivation steps for each bundle of a broker. [SHED]"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from pulsar_conformance.reference.cluster import Broker
from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.numbers import Fraction, Rate, exact, plain, quantity
from pulsar_conformance.reference.sequences import CycleSequence
from pulsar_conformance.reference.shedding import ENABLED, EXCLUDED, Cycle
from pulsar_conformance.specs.text import enumerated

Stays = Callable[[str, Rate], str]
"""Function that returns why a bundle that may move stays, given the traffic shed so far."""

TIE = "carries as much and comes first by name"
"""Text on a bundle that goes in place of an equal one, which no document demands."""

EXCLUDED_TEXT = f"its namespace is excluded ({EXCLUDED})"
"""The reason why a bundle of an excluded namespace stays. [SHED-17]"""

MAX_NAMED = 6
"""Maximum number of brokers under a boundary that are named."""


def bundle_steps(
    cycle: Cycle, broker: Broker, taken: Iterable[str], stays: Stays, *, sums: bool = False
) -> Iterator[Step]:
    """Yield a step for each bundle of a broker: whether it is shed or kept, and why.

    With `sums`, the step of each shed bundle also shows the traffic shed so far.
    """
    carried, going = Fraction(0), set(taken)
    last_of: dict[Rate, str] = {}
    for bundle in cycle.by_traffic(broker.bundles):
        carrying, moved = carrying_text(cycle, bundle), cycle.moved_with(bundle)
        if bundle in going:
            carried += cycle.traffic(bundle)
            last_of[cycle.traffic(bundle)] = bundle
            so_far = f", together {cycle.written(carried)}" if sums else ""
            yield Step("goes", f"{carrying}{so_far}")
        elif cycle.excluded(bundle):
            yield Step("stays", f"{carrying}, {EXCLUDED_TEXT}")
        elif moved:
            yield Step("stays", f"{carrying}, {last_unload_text(cycle, bundle, moved)}")
        else:
            equal = last_of.get(cycle.traffic(bundle))
            tie = f"; {equal} {TIE}" if equal else ""
            yield Step("stays", f"{carrying}, {stays(bundle, carried)}{tie}")


def keep_all_steps(
    cycle: Cycle,
    broker: Broker,
    why: str,
    obstacle: str = "",
    kept_by: Callable[[str], str] | None = None,
) -> Iterator[Step]:
    """Yield the steps for a broker that sheds nothing.

    The reason is `why`, or an `obstacle` that keeps all brokers from shedding. `kept_by` returns
    the reason why a bundle may not move at all; empty if the bundle may move.
    """
    decision = f"{obstacle}: {broker.name} keeps all" if obstacle else ""
    yield Step("decision", decision or f"{broker.name} {why}: it keeps all")
    for bundle in cycle.by_traffic(broker.bundles):
        moved = cycle.moved_with(bundle)
        reason = kept_by(bundle) if kept_by and not obstacle else ""
        unloaded = last_unload_text(cycle, bundle, moved) if moved else ""
        also = f"; {unloaded}" if unloaded and unloaded not in reason else ""
        kept = f"{carrying_text(cycle, bundle)}, {reason or f'{broker.name} keeps all'}{also}"
        yield Step("stays", kept, detail=not reason)


def enough_has_gone(_bundle: str, _carried: Rate) -> str:
    """Return the reason why a bundle stays once enough traffic has been shed."""
    return "enough has gone"


def carrying_text(cycle: Cycle, bundle: str) -> str:
    """Format a bundle with its traffic."""
    assumed = "" if cycle.measured(bundle) else ", assumed as it was never measured"
    return f"{bundle} = {cycle.written(cycle.traffic(bundle))}{assumed}"


def last_unload_text(cycle: Cycle, bundle: str, moved: Iterable[str]) -> str:
    """Format the latest of the unloads that block a bundle, with its age."""
    known = {name: exact(cycle.case["recentlyUnloaded"][name]) for name in moved}
    last = min(known, key=lambda name: (known[name], name))
    part = "" if last == bundle else f"as a part of {last} "
    return unload_text(known[last], cycle.grace, part)


def unload_text(minutes: Fraction, grace: Fraction, part: str = "") -> str:
    """Format the age of an unload within the grace period.

    `part` says if the bundle was unloaded as a part of another bundle.
    """
    return f"unloaded {part}{quantity(minutes, 'minute')} ago, grace {plain(grace)}"


def idle_steps(cycle: Cycle) -> Iterator[Step]:
    """Yield the steps that explain why a cycle sheds nothing."""
    off = f"{ENABLED} is not true"
    why = "there is no other broker" if cycle.settings.flag(ENABLED) else off
    yield Step("shedding", f"{why}: nothing is unloaded")
    for name, broker in cycle.brokers.items():
        for bundle in broker.bundles:
            yield Step("stays", f"{bundle}, on {name}: {why}", detail=True)


def cycle_heading(row: CycleSequence, index: int) -> Step:
    """Return the heading of a cycle, with the time since the cycle before."""
    later = f"{quantity(row.minutes(index - 1, index), 'minute')} later" if index else ""
    return Step(f"cycle {index + 1}", later)


def under_text(brokers: Sequence[str], bound: str) -> str:
    """Return a remark on which brokers are under a boundary."""
    if len(brokers) > MAX_NAMED:
        return f"{len(brokers)} brokers are under {bound}"
    return f"{enumerated(brokers) or 'no broker'} {'are' if brokers[1:] else 'is'} under {bound}"
