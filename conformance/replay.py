"""A saved case replayed: by the rules that it reaches, since the others say nothing of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pulsar_conformance import specs
from pulsar_conformance.conformance.run import Run

SILENT = ("unexercised", "not_applicable")


def reached(run: Run, rules: Sequence[specs.Rule]) -> tuple[specs.Rule, ...]:
    """The rules that have something to say of a replayed case, as an implementation answers it.

    All of them where it cannot be asked: their verdicts say why.
    """
    return tuple(rule for rule in rules if run.verdict(rule).verdict not in SILENT)


def said_of_none(run: Run, rules: Sequence[specs.Rule]) -> str:
    """That no rule has anything to say of a replayed case, and why most of them have not."""
    if not rules:
        return f"{run.name}: no rule of {run.profile} that was chosen judges what the case asks"
    [(why, _)] = Counter(run.verdict(rule).why for rule in rules).most_common(1)
    judging = "the only rule" if len(rules) == 1 else f"none of the {len(rules)} rules"
    verb = "does not speak" if len(rules) == 1 else "speaks"
    return f"{run.name}: {judging} of {run.profile} to judge by {verb} about this case ({why})"
