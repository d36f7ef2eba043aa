"""Decisions that depend on traffic that an operator's metrics do not have."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from pulsar_conformance.conformance.common.trial import Json, Question, Trial, copied
from pulsar_conformance.conformance.explain.running import comparable_answers
from pulsar_conformance.reference import Derivation, Model, Step
from pulsar_conformance.reference.averages import WINDOWS
from pulsar_conformance.reference.cluster import RATE_FIELDS

MANY = 16
"""Number of bundles that a broker is supposed to have, so that a part of them can be unloaded."""

SUPPOSED = dict(zip(RATE_FIELDS, (1e5, 1e5, 1e9, 1e9), strict=True))
"""Traffic of a bundle that is supposed, more than any threshold."""

OF_TRAFFIC = re.compile(r"\b[01] (msg|B)/s")
"""Matches a text that takes unknown traffic for none."""

DECIDING = ("decision", "to shed", "share", "stays", "goes")
"""Labels of steps that follow from a broker's traffic."""


def undecided_brokers(trial: Trial, model: Model, unknown: Collection[str]) -> list[str]:
    """Return those of the brokers with unknown traffic whose traffic could change the decision."""
    if not unknown:
        return []
    usual = comparable_answers(trial, model)
    return [
        broker
        for broker in unknown
        if comparable_answers(_supposing(trial, broker), model) != usual
    ]


def _supposing(trial: Trial, broker: str) -> Trial:
    """Return the trial with much traffic on a broker."""
    return Trial(tuple(Question(one, _with_traffic(case, broker)) for one, case in trial.questions))


def _with_traffic(case: Json, broker: str) -> Json:
    changed: Json = copied(case)
    known = changed.get("brokers", {}).get(broker)
    if not isinstance(known, dict):
        return changed
    names = [f"supposed/traffic/0x{n:x}0000000_0x{n:x}fffffff" for n in range(MANY)]
    known["bundles"] = [*known.get("bundles", ()), *names]
    known["lastStats"] = {**known.get("lastStats", {}), **dict.fromkeys(names, SUPPOSED)}
    known.update({name: rate * MANY for name, rate in SUPPOSED.items()})
    data = {
        frame: {**SUPPOSED, "numSamples": 1, "maxSamples": window}
        for frame, window in WINDOWS.items()
    }
    changed["bundles"] = {**changed.get("bundles", {}), **dict.fromkeys(names, data)}
    return changed


def undecidable(
    derived: Derivation, brokers: Sequence[str], decided: Collection[str]
) -> Derivation:
    """Return a derivation that ends where the brokers' traffic would decide.

    `decided`: the other brokers, whose steps stay as they are.
    """
    why = f"the metrics have no traffic of {', '.join(brokers)}, on which the decision depends"
    return Derivation({"undecidable": why}, lambda: _steps_without_traffic(derived.steps, decided))


def _steps_without_traffic(steps: Sequence[Step], decided: Collection[str]) -> Iterator[Step]:
    """Yield the steps, except those that follow from unknown traffic."""
    section, told = "", False
    for step in steps:
        indented = step.label.startswith(" ")
        if not indented:
            section, told = step.label, False
        follows = step.label.strip() in DECIDING or OF_TRAFFIC.search(step.text)
        if section in decided or not follows:
            yield step
        elif indented and not told:
            told = True
            yield Step("decision", "it depends on traffic, which is unknown").within()
