"""The suite's checks of one shedding cycle as columns, so that a fleet's history can be judged."""

from __future__ import annotations

from pulsar_conformance.audit.verdicts.checks import bounds, overload, shed, threshold, uniform
from pulsar_conformance.audit.verdicts.checks.registry import BOUNDED, CHECKS, RuleColumns

__all__ = ["BOUNDED", "CHECKS", "RuleColumns", "bounds", "overload", "shed", "threshold", "uniform"]
