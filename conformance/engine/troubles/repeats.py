"""What happens in a running cluster once may not happen again; a violation has to."""

from __future__ import annotations

from collections.abc import Sequence

from pulsar_conformance.conformance.cases import saved
from pulsar_conformance.conformance.engine.hearing import Hearing
from pulsar_conformance.conformance.engine.judge import Fault
from pulsar_conformance.conformance.engine.plan import Plan

REPEATS = 2
"""So often a fault is asked about again where a case takes seconds."""

MOST_FAULTS = 3
"""So many faults of a rule are asked about again until one is confirmed."""


def confirmed(hearing: Hearing, faults: Sequence[Fault]) -> Fault | None:
    """The first fault, or of an implementation that takes seconds, the first that comes each time.

    Errors: `AdapterError`.
    """
    if not hearing.costly:
        return faults[0]
    for fault in faults[:MOST_FAULTS]:
        if all(hearing.own_faults([fault.trial])[0] for _ in range(REPEATS)):
            return fault
    return None


def wavers(plan: Plan, faults: Sequence[Fault]) -> str:
    """That none of these came again, with the file of the first case."""
    file = saved.save(faults[0].trial, plan.root, {}).as_posix()
    return f"it wavers: broken on {file}, and not when asked again"
