"""Replaying a saved case by the rules that it reaches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pulsar_conformance import specs
from pulsar_conformance.conformance.engine.run import Run

SILENT = ("unexercised", "not_applicable")


def reached(run: Run, rules: Sequence[specs.Rule]) -> tuple[specs.Rule, ...]:
    """The rules that apply to a replayed case, given the implementation's answers.

    All rules are returned if it cannot be asked: their verdicts say why.
    """
    return tuple(rule for rule in rules if run.verdict(rule).verdict not in SILENT)


def said_of_none(run: Run, rules: Sequence[specs.Rule]) -> str:
    """A message that no rule applies to a replayed case, with the most frequent reason."""
    if not rules:
        return f"{run.name}: no rule of {run.profile} that was chosen judges what the case asks"
    [(why, _)] = Counter(run.verdict(rule).why for rule in rules).most_common(1)
    judging = "the only rule" if len(rules) == 1 else f"none of the {len(rules)} rules"
    verb = "does not speak" if len(rules) == 1 else "speaks"
    return f"{run.name}: {judging} of {run.profile} to judge by {verb} about this case ({why})"
