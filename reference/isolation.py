"""Isolation policies that change, and the namespaces unloaded as a result. [ISOLATION]"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pulsar_conformance.reference.placement import matches_any

CHANGED, ALL_MATCHING, NONE = "changed", "all_matching", "none"


@dataclass(frozen=True)
class PolicyChange:
    """A `policy.changed` case."""

    case: Mapping[str, Any]

    @property
    def scope(self) -> str:
        """The unload scope; `changed` if the request does not specify one. [ISOLATION-01]"""
        return self.case["scope"] or CHANGED

    @property
    def regexes(self) -> list[str]:
        """The regexes that select the namespaces to unload. [ISOLATION-01 … 05]"""
        old, new = self.case["old"], self.case["new"]
        before, now = set(old["namespaces"] if old else ()), set(new["namespaces"])
        if self.scope == NONE:
            return []
        if self.scope == ALL_MATCHING:
            return sorted(before | now)
        if old and sorted(old["primary"]) != sorted(new["primary"]):
            return sorted(before.union(now))
        return sorted(before - now) + sorted(now - before)

    @property
    def unloaded(self) -> list[str]:
        """The namespaces to unload, in the order of the case."""
        regexes = self.regexes
        return [one for one in self.case["namespaces"] if matches_any(regexes, one)]
