"""The suite's checks of a single shedding cycle, as Spark columns that judge whole histories."""

from __future__ import annotations

from pulsar_conformance.audit.verdicts.checks import (
    average,
    bounds,
    overload,
    shed,
    threshold,
    uniform,
)
from pulsar_conformance.audit.verdicts.checks.registry import BOUND_CHECKS, CHECKS, RuleColumns

__all__ = [
    "BOUND_CHECKS",
    "CHECKS",
    "RuleColumns",
    "average",
    "bounds",
    "overload",
    "shed",
    "threshold",
    "uniform",
]
