"""What a cycle of shedding unloads. [SHED, OVERLOAD, THRESHOLD, UNIFORM]"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain

from pulsar_conformance.reference import overload, threshold, uniform
from pulsar_conformance.reference.derivation import Derivation, Step
from pulsar_conformance.reference.door import Answer, Case, Door
from pulsar_conformance.reference.shedding import Cycle, Unloads

Strategy = Callable[[Cycle], Iterator[Unloads]]

STRATEGIES: Mapping[str, Strategy] = {
    "ThresholdShedder": threshold.unloads,
    "OverloadShedder": overload.unloads,
    "UniformLoadShedder": uniform.unloads,
}

EVERYWHERE: Mapping[str, tuple[Strategy, ...]] = {
    "overload-shedder": (),
    "all": (overload.unloads,),
}
"""What every strategy sheds besides its own, by the reading `overload-scope`. [SHED-08]"""


def select(door: Door, case: Case) -> Derivation:
    """[SHED, OVERLOAD, THRESHOLD, UNIFORM]"""
    cycle = Cycle(case, door.settings(case), door.readings)
    if cycle.strategy not in STRATEGIES:
        return Derivation({"unsupported": f"{cycle.strategy} is not documented"}, tuple)
    if not cycle.enabled:
        idle = Step("shedding", "switched off, or no other broker to take a bundle")
        return Derivation({"unload": []}, lambda: (idle,))
    unloads = list(STRATEGIES[cycle.strategy](cycle))
    if cycle.strategy != "OverloadShedder":
        for everywhere in EVERYWHERE[door.readings["overload-scope"]]:
            unloads = list(map(partial(_together, cycle), unloads, everywhere(cycle)))
    answer = [{"broker": given.broker, "bundle": bundle} for given in unloads for bundle in given]
    return Derivation({"unload": answer}, partial(_shedding_steps, unloads))


def _together(cycle: Cycle, first: Unloads, second: Unloads) -> Unloads:
    """What one broker gives up for two reasons, most traffic first."""
    both = {*first, *second}
    movable = cycle.movable(cycle.brokers[first.broker])
    kept = tuple(bundle for bundle in movable if bundle in both)
    return Unloads(first.broker, kept, lambda: chain(first.explain(), second.explain()))


def _shedding_steps(unloads: Iterable[Unloads]) -> Iterator[Step]:
    for given in unloads:
        yield Step(given.broker, "")
        for step in given.explain():
            yield step.within()


ANSWERS: Mapping[str, Answer] = {
    "shed.select": select,
}
