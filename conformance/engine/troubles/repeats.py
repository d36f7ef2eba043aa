"""What happens in a running cluster once may not happen again; a violation has to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pulsar_conformance.conformance.cases import saved
from pulsar_conformance.conformance.common.trial import canonical
from pulsar_conformance.conformance.engine.hearing import Hearing
from pulsar_conformance.conformance.engine.judge import Fault
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.stories.operations import REPLAY

REPEATS = 2
"""So often a fault has to come again where a case takes seconds: a story's each time."""

DRAWS = 6
"""So often a decision is asked for until its fault came again: one that is drawn does now and then.

In a story brokers do things at the same time, and a fault that comes and goes may be one of time.
"""

MOST_FAULTS = 3
"""So many faults of a rule are asked about again until one is confirmed."""


def confirmed(hearing: Hearing, faults: Sequence[Fault]) -> Fault | None:
    """The first fault, or of an implementation that takes seconds, the smallest that comes again.

    Errors: `AdapterError`.
    """
    if not hearing.costly:
        return faults[0]
    smallest = sorted(faults, key=_length)[:MOST_FAULTS]
    return next(filter(None, (_again(hearing, fault) for fault in smallest)), None)


def _length(fault: Fault) -> int:
    """How much its case says; to make it smaller takes long."""
    return len(canonical(fault.trial.as_json()))


def _again(hearing: Hearing, fault: Fault) -> Fault | None:
    """The fault, if it comes again, with how often that was if it was not each time."""
    most = REPEATS if REPLAY.id in fault.trial.operations else DRAWS
    came = asked = 0
    while came < REPEATS and asked - came <= most - REPEATS:
        [found] = hearing.own_faults([fault.trial])
        came, asked = came + (found is not None), asked + 1
    if came < REPEATS:
        return None
    return fault if came == asked else replace(fault, again=f"{came} times of {asked}")


def wavers(plan: Plan, faults: Sequence[Fault]) -> str:
    """That none of these came again, with the file of the first case."""
    file = saved.save(faults[0].trial, plan.root, {}).as_posix()
    return f"it wavers: broken on {file}, and not when asked again"
