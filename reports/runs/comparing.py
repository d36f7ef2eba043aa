"""Comparison of two reports: verdicts that became better or worse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pulsar_conformance.reports.runs.making import Line, Report
from pulsar_conformance.reports.table import (
    BREAKING_VERDICTS,
    KEPT_VERDICTS,
    LISTED_REASON,
    WORDS,
    word_of,
)
from pulsar_conformance.specs import load

KEPT, BROKEN, UNCLEAR, NOT_JUDGED = "kept", "broken", "unclear", "not judged"

STANDINGS: Mapping[str, str] = {
    **dict.fromkeys(KEPT_VERDICTS, KEPT),
    **dict.fromkeys(BREAKING_VERDICTS, BROKEN),
    **dict.fromkeys(("undecided", "unexercised", "error"), UNCLEAR),
    "not_applicable": NOT_JUDGED,
}
"""The standing of a rule, by its verdict, whether or not it is a known deviation."""

DIRECTIONS: Mapping[tuple[str, str], str] = {
    (BROKEN, KEPT): "better",
    (UNCLEAR, KEPT): "better",
    (KEPT, BROKEN): "worse",
    (KEPT, UNCLEAR): "worse",
    (UNCLEAR, BROKEN): "worse",
}
"""The direction of a change, by the standings before and after.

Other changes are neither better nor worse. A change from broken to unclear is not better, since
nothing shows that the rule is kept.
"""

ABSENT: Line = {"verdict": "not there", "why": ""}
"""Line of a report in place of a rule that the report lacks."""


@dataclass(frozen=True)
class ChangedVerdict:
    """A rule with different verdicts in two reports."""

    rule: str
    before: str
    after: str
    direction: str
    """How the verdict changed: `better`, `worse` or `other`."""

    def __str__(self) -> str:
        before, after = (WORDS.get(one, one) for one in (self.before, self.after))
        known = load().rules
        title = f"  ({known[self.rule].title})" if self.rule in known else ""
        return f"{self.rule}: {before} -> {after}{title}"


def changed_verdicts(before: Report, after: Report) -> dict[str, list[ChangedVerdict]]:
    """Return the changed verdicts, in the order of the rules, by direction: `better`, `worse` or
    `other`.
    """
    old, new = ({line["rule"]: line for line in report["verdicts"]} for report in (before, after))
    found: dict[str, list[ChangedVerdict]] = {"better": [], "worse": [], "other": []}
    for rule in dict.fromkeys((*old, *new)):
        first, second = old.get(rule, ABSENT), new.get(rule, ABSENT)
        if word_of(first) != word_of(second):
            direction = DIRECTIONS.get((standing(first), standing(second)), "other")
            changed = ChangedVerdict(rule, word_of(first), word_of(second), direction)
            found[direction].append(changed)
    return found


def standing(line: Line) -> str:
    """Return the standing that a verdict gives a rule: kept, broken, unclear or not judged.

    If the rule is a known deviation but not broken, its verdict counts as it would without the list
    of known deviations.
    """
    word, why = str(line["verdict"]), str(line.get("why", ""))
    if word == "unexpected_pass" and why.startswith(LISTED_REASON):
        word = why.removeprefix(LISTED_REASON).partition(":")[0].replace(" ", "_")
    return STANDINGS.get(word, NOT_JUDGED)


def stale_deviations(report: Report) -> list[str]:
    """Return the rules that a run lists as known deviations although they are not broken."""
    return [line["rule"] for line in report["verdicts"] if line["verdict"] == "unexpected_pass"]
