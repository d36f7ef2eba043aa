"""The readings that the documents leave open and that a rule's verdict in an audit depends on.

A rule may forbid or demand something else under another alternative of such a reading. The report
therefore names the reading beside each fault. `broker-rates` is left out, since an audit always
takes a broker's traffic from its load report.
"""

from __future__ import annotations

from collections.abc import Mapping

from pulsar_conformance import specs
from pulsar_conformance.audit.pipeline.plan import AuditPlan

READINGS_OF_RULE: Mapping[str, tuple[str, ...]] = {
    "SHED-04": ("grace-edge",),
    "SHED-07": ("shed-measure", "shed-window"),
    "SHED-08": ("overload-amount", "overload-trigger", "shed-measure", "shed-window"),
    "OVERLOAD-02": ("shed-measure", "shed-window"),
    "OVERLOAD-03": ("shed-measure", "shed-window"),
    "OVERLOAD-04": ("overload-trigger",),
    "OVERLOAD-06": ("expensive-measure", "shed-window"),
    "THRESHOLD-01": ("threshold-trigger",),
    "THRESHOLD-02": ("threshold-trigger", "overload-scope"),
    "THRESHOLD-03": (
        "threshold-trigger",
        "threshold-target",
        "threshold-released",
        "shed-measure",
        "shed-window",
    ),
    "THRESHOLD-04": (
        "threshold-trigger",
        "threshold-target",
        "threshold-released",
        "shed-measure",
        "shed-window",
        "overload-scope",
    ),
    "THRESHOLD-06": ("threshold-trigger", "overload-scope"),
    "THRESHOLD-07": ("overload-scope",),
    "THRESHOLD-08": ("overload-scope",),
    "THRESHOLD-09": ("lower-boundary", "overload-scope"),
    "THRESHOLD-10": ("lower-boundary", "overload-scope"),
    "THRESHOLD-12": ("shed-measure", "shed-window"),
    "THRESHOLD-18": ("overload-scope",),
    "THRESHOLD-20": ("overload-scope",),
    "UNIFORM-01": ("uniform-multiplier",),
    "UNIFORM-02": ("uniform-trigger", "uniform-difference", "uniform-multiplier", "overload-scope"),
    "UNIFORM-04": ("overload-scope",),
    "UNIFORM-05": ("overload-scope",),
    "UNIFORM-06": ("overload-scope",),
    "UNIFORM-07": ("overload-scope",),
    "UNIFORM-08": ("uniform-multiplier", "overload-scope"),
}
"""For each rule: the readings of which another alternative may allow a fault that the rule's check
finds. The rule's entry in `specs` lists further readings, under which the rule applies at all.
"""


def readings_of(rule: str) -> tuple[str, ...]:
    """Return the readings that the verdict on a rule depends on."""
    return tuple(
        dict.fromkeys((*specs.load().rules[rule].reading, *READINGS_OF_RULE.get(rule, ())))
    )


def open_alternatives(rule: str, plan: AuditPlan) -> dict[str, tuple[str, ...]]:
    """Return the other alternatives of each reading that the documents leave open, that the user
    has not chosen, and that the verdict on a rule depends on.
    """
    known = specs.load()
    if plan.released:
        return {}
    others = {
        name: tuple(v for v in known.open_values(plan.profile, name) if v != plan.readings[name])
        for name in readings_of(rule)
        if name not in plan.chosen
    }
    return {name: values for name, values in others.items() if values}


def reading_note(rule: str, plan: AuditPlan) -> str:
    """Return text on the open readings that a fault of a rule depends on; empty if none is open."""
    others = open_alternatives(rule, plan)
    if not others:
        return ""
    each = (
        f"{name}={plan.readings[name]} (or {', '.join(values)})" for name, values in others.items()
    )
    other = "another, given with --reading, may allow it"
    return f"by {', '.join(each)}, which the documents leave open; {other}"
