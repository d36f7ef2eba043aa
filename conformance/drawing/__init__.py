"""Hypothesis strategies for cases that test a rule, near its thresholds and far from them.

This folder has the parts that all subjects share: names, loads, trials for readings, and `draw`
itself. The strategies of each subject are next to its checks. You can use them in your own tests:

| module | generates |
| --- | --- |
| `shedding.draw_cycles` | shedding cycles, by strategy |
| `placement.draw_placements` | a bundle to place |
| `placement.draw_domains` | a bundle of an anti-affinity group to place |
| `bundles.draw_splits` | a bundle to split |
| `bundles.growth` | bundles near the limits at which they are split |
| `bundles.draw_namespaces` | namespaces to create, and topics to find in their bundles |
| `load_data.averages` | load samples of bundles, and the bundles of one broker |
| `load_data.usage` | resource usage of brokers |
| `load_data.reports` | load reports |
| `managers.operations` | names of load managers, correct and misspelt |
| `stories` | sequences of events in a cluster |

`cases` in `draw_cycles` and `draw_placements` generates cases in the format of the adapter
protocol. All other strategies generate trials, whose `questions` are pairs of an operation and a
case. Usage is a number with its limit, thresholds are percentages, traffic is in messages and bytes
per second, and time is in minutes.

    from hypothesis import given
    from pulsar_conformance.conformance.shedding.draw_cycles import cases, overload
    from pulsar_conformance.conformance.shedding.draw_threshold import threshold

    @given(cases(overload, threshold))
    def test_a_bundle_is_shed_once(case):
        shed = my_load_manager.shed(case)
        assert len(shed) == len(set(shed))

Hypothesis shrinks only the choices of a failing case that were drawn one by one. Most numbers of a
case come from a random seed, which shrinks to 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import NamedTuple

from hypothesis import strategies as st
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.drawing.drawing import composite as composite
from pulsar_conformance.conformance.drawing.loads import randoms

Maker = Callable[[Random], Json]
"""Function that builds a case of one operation from a random source."""


class Aim(NamedTuple):
    """A strategy for trials whose answers distinguish the alternatives of a reading."""

    reading: str
    operation: str
    """The operation of every trial."""
    strategy: st.SearchStrategy[Trial]
    control: bool = False
    """True for control trials, which resemble an aim's other trials but do not distinguish the
    alternatives. If an implementation breaks a rule in control trials under every alternative, it
    has a fault of another kind, which could look like an alternative in the other trials.
    """


def trials_from_makers(operation: str, *makers: Maker) -> st.SearchStrategy[Trial]:
    """Return a strategy for single-question trials; each case is built by one of the makers."""
    maker = st.sampled_from(makers)
    return st.builds(lambda make, random: Trial.of(operation, make(random)), maker, randoms)


def aim(reading: str, operation: str, *makers: Maker) -> Aim:
    """Return an aim for a reading; its trials have one question, built by one of the makers."""
    return Aim(reading, operation, trials_from_makers(operation, *makers))


def control_aims(operation: str, readings: Sequence[str], *makers: Maker) -> Iterator[Aim]:
    """Yield a control aim for each reading; all have the same trials, which decide no reading."""
    strategy = trials_from_makers(operation, *makers)
    return (Aim(reading, operation, strategy, control=True) for reading in readings)
