"""Legal load reports: whatever a broker may have written, and what is no report at all."""

from __future__ import annotations

from collections.abc import Mapping

from pulsar_conformance.conformance.legal.invariant import Invariant, none

INVARIANTS: Mapping[str, Invariant] = {"report.read": none}
