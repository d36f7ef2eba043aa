"""Derivation steps for cycles of undocumented strategies, by the rules for all strategies. [SHED]

The model has no answer to such a case, but SHED-01, SHED-04, SHED-16 and SHED-17 can judge an
answer.
"""

from __future__ import annotations

from collections.abc import Iterator

from pulsar_conformance.reference.cluster import Broker
from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.numbers import plain, quantity
from pulsar_conformance.reference.sequences import CycleSequence
from pulsar_conformance.reference.shedding import ENABLED, RECENT, Cycle
from pulsar_conformance.reference.shedding_steps import (
    EXCLUDED_TEXT,
    carrying_text,
    cycle_heading,
    idle_steps,
    last_unload_text,
)
from pulsar_conformance.reference.usage import busiest_text, maximum

MAY_GO = "may go"
"""Label of a bundle that neither a grace period nor an exclusion keeps on its broker."""


def steps_of_cycle(cycle: Cycle) -> Iterator[Step]:
    """Yield the steps about a single cycle: which bundles have to stay.

    [SHED-01, SHED-04, SHED-17]
    """
    yield _strategy_step(cycle)
    yield from _broker_steps(cycle)


def steps_of_sequence(row: CycleSequence) -> Iterator[Step]:
    """Yield the steps about consecutive cycles, whose own unloads are not given. [SHED-16]"""
    for index in range(len(row)):
        cycle = row.after_unloads([()] * index)
        yield cycle_heading(row, index)
        steps = [*_earlier_steps(row, index, cycle), *_broker_steps(cycle)]
        for step in steps if index else [_strategy_step(cycle), *steps]:
            yield step.within()


def _strategy_step(cycle: Cycle) -> Step:
    return Step("strategy", f"{cycle.strategy}; only what holds under every strategy is known")


def _earlier_steps(row: CycleSequence, index: int, cycle: Cycle) -> Iterator[Step]:
    """Yield for each earlier cycle whether the bundles that it unloaded have to stay."""
    recent = RECENT[row.readings["grace-edge"]]
    for earlier in range(index) if cycle.settings.flag(ENABLED) else ():
        ago = row.minutes(earlier, index)
        fate = "stays" if recent(ago, cycle.grace) else "may go"
        when = f"{quantity(ago, 'minute')} ago, grace {plain(cycle.grace)}"
        yield Step("grace", f"what cycle {earlier + 1} unloaded {fate}: {when}")


def _broker_steps(cycle: Cycle) -> Iterator[Step]:
    if not cycle.settings.flag(ENABLED):
        yield from idle_steps(cycle)
        return
    for name, broker in cycle.brokers.items():
        yield Step(name, _usage_text(broker))
        for bundle in cycle.by_traffic(broker.bundles):
            carrying, moved = carrying_text(cycle, bundle), cycle.moved_with(bundle)
            if cycle.excluded(bundle):
                yield Step("  stays", f"{carrying}, {EXCLUDED_TEXT}")
            elif moved:
                yield Step("  stays", f"{carrying}, {last_unload_text(cycle, bundle, moved)}")
            else:
                since = f"no unload in the last {quantity(cycle.grace, 'minute')} is given"
                yield Step(f"  {MAY_GO}", f"{carrying}, {since}")


def _usage_text(broker: Broker) -> str:
    """Return the usage of the busiest resource; whether the strategy weights it is unknown."""
    usage = maximum(broker)
    return f"usage {plain(usage.percent)} % {busiest_text(usage)}, unweighted"
