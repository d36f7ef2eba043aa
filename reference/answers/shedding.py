"""Answers about the unloads of shedding cycles. [SHED, OVERLOAD, THRESHOLD, UNIFORM]"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import import_module

from pulsar_conformance.reference import overload, threshold, uniform
from pulsar_conformance.reference.context import Answer, Case, Context
from pulsar_conformance.reference.derivation import Derivation, Step
from pulsar_conformance.reference.sequences import CycleSequence
from pulsar_conformance.reference.shedding import (
    STRATEGY,
    TRANSFER_SHEDDER,
    TRANSFER_TARGET,
    Cycle,
    Unloads,
    selects_extensible_manager,
)
from pulsar_conformance.reference.uniform import AVERAGE_LOW

SHED, CYCLES = "shed.select", "shed.cycles"
Strategy = Callable[[Cycle], Iterator[Unloads]]
Preface = Callable[[Cycle], Iterator[Step]]

STRATEGIES: Mapping[str, Strategy] = {
    "ThresholdShedder": threshold.unloads,
    "OverloadShedder": overload.unloads,
    "UniformLoadShedder": uniform.unloads,
}

PREFACES: Mapping[str, Preface] = {
    "ThresholdShedder": threshold.preface,
    "OverloadShedder": lambda _cycle: iter(()),
    "UniformLoadShedder": uniform.preface,
}
"""The function that yields the derivation steps about all brokers together, for each strategy."""

EVERYWHERE: Mapping[str, tuple[Strategy, ...]] = {
    "overload-shedder": (),
    "all": (overload.unloads,),
}
"""Strategies that unload bundles in addition to the configured strategy.

The keys are the alternatives of the reading `overload-scope`. [SHED-08]
"""


def select(context: Context, case: Case) -> Derivation:
    """Answer `shed.select`. [SHED, OVERLOAD, THRESHOLD, UNIFORM]"""
    return _answer_of_cycle(Cycle(case, context.settings(case), context.readings))


def cycles(context: Context, case: Case) -> Derivation:
    """Answer `shed.cycles`. [SHED-15, SHED-16]"""
    row = CycleSequence(case, context.settings(case), context.readings)
    first = row.alone(0)
    if not _is_documented(first):
        return _undocumented_answer(first, row)
    return decide_in_turn(row, lambda unloads: _answer_of_cycle(row.after(unloads)))


def decide_in_turn(
    row: CycleSequence, decide: Callable[[Sequence[Sequence[str]]], Derivation]
) -> Derivation:
    """Return the decisions of consecutive cycles as one answer.

    A decision without the field `unload`, such as one with `unsupported`, is returned alone.
    `decide` receives the bundles that each earlier cycle unloaded, and returns the next decision.
    """
    decisions: list[Derivation] = []
    unloads: list[list[str]] = []
    for _ in range(len(row)):
        decision = decide(unloads)
        if "unload" not in decision.answer:
            return decision
        decisions.append(decision)
        unloads.append([one["bundle"] for one in decision.answer["unload"]])
    answer = {"cycles": [dict(one.answer) for one in decisions]}
    return Derivation(answer, partial(_sequence_steps, row, decisions))


def _sequence_steps(row: CycleSequence, decisions: Sequence[Derivation]) -> Iterator[Step]:
    from pulsar_conformance.reference.shedding_steps import cycle_heading

    for index, decision in enumerate(decisions):
        yield cycle_heading(row, index)
        for step in decision.explain():
            yield step.within()


def _answer_of_cycle(cycle: Cycle) -> Derivation:
    if not _is_documented(cycle):
        return _undocumented_answer(cycle)
    if not cycle.enabled:
        return Derivation({"unload": []}, partial(_idle_steps, cycle))
    unloads = unloads_of_cycle(cycle)
    answer = [{"broker": given.broker, "bundle": bundle} for given in unloads for bundle in given]
    to = {bundle: name for given in unloads for bundle, name in given.to.items()}
    named = [{**one, "to": to[one["bundle"]]} if one["bundle"] in to else one for one in answer]
    return Derivation({"unload": named}, partial(_shedding_steps, cycle, unloads))


def _idle_steps(cycle: Cycle) -> Iterator[Step]:
    from pulsar_conformance.reference.shedding_steps import idle_steps

    yield from idle_steps(cycle)


def _is_documented(cycle: Cycle) -> bool:
    return cycle.strategy in strategies_of(cycle.settings.defaults)


def _undocumented_answer(cycle: Cycle, row: CycleSequence | None = None) -> Derivation:
    """Return the answer to a question about an undocumented strategy.

    If the question is about several cycles, `row` has all of them, and `cycle` is the first.
    """
    answer = {"unsupported": f"{cycle.strategy} is not documented"}
    return Derivation(answer, partial(_undocumented_steps, cycle, row))


def _undocumented_steps(cycle: Cycle, row: CycleSequence | None) -> Iterator[Step]:
    from pulsar_conformance.reference.undocumented_steps import steps_of_cycle, steps_of_sequence

    yield from steps_of_sequence(row) if row else steps_of_cycle(cycle)


NEWER_STRATEGIES = {"AvgShedder": AVERAGE_LOW, TRANSFER_SHEDDER: TRANSFER_TARGET}
"""Strategies described only by newer documents, each with a setting that is listed only there."""


def strategies_of(defaults: Mapping[str, object]) -> tuple[str, ...]:
    """Return the shedding strategies described by the documents that list these defaults."""
    return (
        *sorted(STRATEGIES),
        *(name for name, one in NEWER_STRATEGIES.items() if one in defaults),
    )


def strategy_in(case: Case, defaults: Mapping[str, object]) -> str | None:
    """Return the shedding strategy of a case: the value of its field `strategy`.

    If the value is null, the strategy comes from the settings in the case, or else from `defaults`.
    It is TransferShedder if no setting names a strategy, the case has the extensible load manager
    and the documents describe TransferShedder. [TRANSFER-18] The result is None if nothing names a
    strategy, or if the case lacks the field.
    """
    if "strategy" not in case or case["strategy"] is not None:
        return case.get("strategy")
    given = case.get("settings", {})
    if named := given.get(STRATEGY):
        return str(named)
    if TRANSFER_TARGET in defaults and selects_extensible_manager(given):
        return TRANSFER_SHEDDER
    named = defaults.get(STRATEGY)
    return None if named is None else str(named)


@cache
def transfer() -> tuple[Strategy, Preface]:
    """Import the model of TransferShedder; return its decision function and its opening steps."""
    module = import_module("pulsar_conformance.reference.transfer")
    return module.unloads, module.preface


def _strategy_function(cycle: Cycle) -> Strategy:
    if cycle.strategy == TRANSFER_SHEDDER:
        return transfer()[0]
    return STRATEGIES.get(cycle.strategy, uniform.average_unloads)


def _preface_function(cycle: Cycle) -> Preface:
    if cycle.strategy == TRANSFER_SHEDDER:
        return transfer()[1]
    return PREFACES.get(cycle.strategy, uniform.average_preface)


def unloads_of_cycle(cycle: Cycle) -> list[Unloads]:
    """Return each broker's unloads under the cycle's strategy, and under rules that hold for every
    strategy.

    [SHED-06]
    """
    unloads = list(_strategy_function(cycle)(cycle))
    if cycle.strategy not in ("OverloadShedder", TRANSFER_SHEDDER):
        for everywhere in EVERYWHERE[cycle.readings["overload-scope"]]:
            unloads = list(map(partial(_merge_unloads, cycle), unloads, everywhere(cycle)))
    return unloads


def _merge_unloads(cycle: Cycle, first: Unloads, second: Unloads) -> Unloads:
    """Merge a broker's unloads under the cycle's strategy and its unloads under other rules.

    The bundle with the most traffic is first.
    """
    both = {*first, *second}
    movable = cycle.movable(cycle.brokers[first.broker])
    kept = tuple(bundle for bundle in movable if bundle in both)
    return Unloads(first.broker, kept, partial(_merged_steps, first, second, kept), first.to)


def _shedding_steps(cycle: Cycle, unloads: Iterable[Unloads]) -> Iterator[Step]:
    yield Step("strategy", cycle.strategy, detail=True)
    yield from _preface_function(cycle)(cycle)
    for given in unloads:
        yield Step(given.broker, "")
        for step in given.explain():
            yield step.within()


def _merged_steps(first: Unloads, second: Unloads, both: Sequence[str]) -> Iterator[Step]:
    yield from first.explain()
    if second.bundles:
        yield Step("besides", f"{second.broker} is overloaded, which counts under every strategy")
        yield from second.explain()
        yield Step("together", ", ".join(both))


ANSWERS: Mapping[str, Answer] = {
    SHED: select,
    CYCLES: cycles,
}
