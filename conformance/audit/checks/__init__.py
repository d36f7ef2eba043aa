"""The suite's checks of one shedding cycle as columns, so that a fleet's history can be judged."""

from __future__ import annotations

from pulsar_conformance.conformance.audit.checks import overload, shed, threshold, uniform
from pulsar_conformance.conformance.audit.checks.registry import CHECKS, Judged

__all__ = ["CHECKS", "Judged", "overload", "shed", "threshold", "uniform"]
