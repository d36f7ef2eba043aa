"""Why brokers that are above the overload threshold at the end shed nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from pulsar_conformance.audit.simulation.course import SimulatedCourse
from pulsar_conformance.audit.simulation.deciding import REFERENCE, REMEMBERING
from pulsar_conformance.audit.simulation.measures import overload_percentage
from pulsar_conformance.audit.simulation.variants import Variant
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.explain.focus import Focus
from pulsar_conformance.conformance.explain.running import with_release_defaults
from pulsar_conformance.reference import Derivation, MissingSetting, Model, Step
from pulsar_conformance.reference.answers.shedding import SHED
from pulsar_conformance.reference.shedding import EXCLUDED
from pulsar_conformance.reference.threshold import HISTORY_SHARE
from pulsar_conformance.specs.text import counted, paragraph

PERCENT = re.compile(r"(\d+(?:\.\d+)?) %")
ROUNDING_TOLERANCE = 0.01
"""Maximum difference between a usage and its printed value, in percentage points."""

MAX_REASONS = 3
"""Maximum number of overloaded brokers for which a reason is given."""


def overload_lines(
    course: SimulatedCourse, variant: Variant, readings: Mapping[str, str]
) -> Iterator[str]:
    """Yield a line for each broker that is above the overload threshold at the end, but sheds
    nothing.
    """
    last, threshold = course.cycles[-1], overload_percentage(course)
    shedding = {move.source for move in last.sheds}
    over = {
        broker: usage
        for broker, usage in last.usage.items()
        if usage > threshold and broker not in shedding
    }
    if not over:
        return
    derived = _last_derivation(course, variant, readings)
    for broker, usage in list(over.items())[:MAX_REASONS]:
        steps = None if derived is None else _steps_of(derived, broker)
        why = _no_derivation(variant) if derived is None else _reason(steps)
        weighted = _weighted_usage_phrase(steps or (), usage)
        ends = f"{usage:.4g} %{' (without weights)' if weighted else ''}, over {threshold:g} %"
        told = f"{broker} ends at {ends}, and sheds nothing: {weighted}{why}"
        yield from paragraph(told, 2, "")
    if len(over) > MAX_REASONS:
        yield f"{counted(len(over) - MAX_REASONS, 'more broker')} over {threshold:g} %"


def _last_derivation(
    course: SimulatedCourse, variant: Variant, readings: Mapping[str, str]
) -> Derivation | None:
    """Return the model's derivation of the last cycle.

    None if another implementation decided, or if the decision depends on earlier cycles.
    """
    if variant.adapter != REFERENCE or course.strategy in REMEMBERING or not course.question:
        return None
    trial = Trial.of(SHED, dict(course.question))
    model, _ = with_release_defaults(trial, Model(variant.profile, readings))
    try:
        return model.derive(*trial.questions[0])
    except MissingSetting:
        return None


def _no_derivation(variant: Variant) -> str:
    if variant.adapter == REFERENCE:
        told = f"{variant.strategy} also decides by earlier cycles"
        return f"{told}; explain gives the reason in a single cycle"
    return (
        f"{variant.adapter} gives no reason; for the model's reason in the first cycle, use "
        f"explain; for its reason in the last cycle, use simulate {REFERENCE}"
    )


def _steps_of(derived: Derivation, broker: str) -> list[Step] | None:
    """Return the steps about a broker; None if its usage is not finite."""
    try:
        return list(Focus(broker).shown_steps(derived.steps))
    except (OverflowError, ValueError):  # No fraction is infinite or undefined.
        return None


def _weighted_usage_phrase(steps: Iterable[Step], usage: float) -> str:
    """Return a phrase with the weighted usage in the steps about a broker; empty if it equals the
    broker's `usage` in percent.
    """
    for step in steps:
        percent = PERCENT.match(step.text) if step.label.strip() == "usage" else None
        if percent and abs(float(percent[1]) - usage) > ROUNDING_TOLERANCE:
            return f"it counts as {step.text}, and "
    return ""


def _reason(steps: list[Step] | None) -> str:
    """Return why the strategy unloads nothing from a broker, given the steps about the broker."""
    if steps is None:
        return f"its smoothed usage has become infinite ({HISTORY_SHARE})"
    found: dict[str, list[str]] = {}
    for step in steps:
        found.setdefault(step.label.strip(), []).append(step.text)
    kept = found.get("excluded", [])
    if len(found.get("goes", [])) > len(kept):
        return "the bundles that it would unload are placed on it again"
    if kept:
        return kept[0] if len(kept) == 1 else _exclusion_reason(len(kept))
    for label, place in (("shedding", 0), ("decision", -1), ("stays", 0)):
        if label in found:
            return found[label][place]
    return steps[-1].text if steps else "it has no bundles"


def _exclusion_reason(bundles: int) -> str:
    """Return why several bundles stay although the strategy chose them."""
    return f"the {bundles} bundles that it would unload stay: {EXCLUDED} names their namespaces"
