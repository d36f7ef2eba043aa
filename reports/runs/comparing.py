"""Comparison of two reports: which verdicts became better or worse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pulsar_conformance.reports.runs.making import Report
from pulsar_conformance.reports.table import WORDS, word_of
from pulsar_conformance.specs import load

RANKS = {word: rank for rank, word in enumerate(WORDS) if word != "not_applicable"}
"""Rank of each verdict; the worst has rank 0. `not_applicable` has no rank, since it is neither
better nor worse than others.
"""


@dataclass(frozen=True)
class ChangedVerdict:
    """A rule with different verdicts in two reports."""

    rule: str
    before: str
    after: str

    @property
    def direction(self) -> str:
        """How the verdict changed: `better`, `worse` or `other`."""
        if self.before not in RANKS or self.after not in RANKS:
            return "other"
        return "better" if RANKS[self.after] > RANKS[self.before] else "worse"

    def __str__(self) -> str:
        before, after = (WORDS.get(one, one) for one in (self.before, self.after))
        known = load().rules
        title = f"  ({known[self.rule].title})" if self.rule in known else ""
        return f"{self.rule}: {before} -> {after}{title}"


def changed_verdicts(before: Report, after: Report) -> dict[str, list[ChangedVerdict]]:
    """Return the changed verdicts by direction (`better`, `worse` or `other`), in the order of the
    rules.
    """
    old, new = (_words(report) for report in (before, after))
    found: dict[str, list[ChangedVerdict]] = {"better": [], "worse": [], "other": []}
    for rule in dict.fromkeys((*old, *new)):
        one = ChangedVerdict(rule, old.get(rule, "not there"), new.get(rule, "not there"))
        if one.before != one.after:
            found[one.direction].append(one)
    return found


def _words(report: Report) -> dict[str, str]:
    verdicts: list[dict[str, Any]] = report["verdicts"]
    return {line["rule"]: word_of(line) for line in verdicts}
