"""Operations that an implementation offers and never answers: `unsupported` is no way to pass."""

from __future__ import annotations

from dataclasses import replace

from pulsar_conformance import specs
from pulsar_conformance.conformance.core.verdict import Verdict
from pulsar_conformance.conformance.engine.implementation import Implementation


def not_declined(rule: specs.Rule, implementation: Implementation, verdict: Verdict) -> Verdict:
    """The verdict, or an error where an operation of the rule is offered and always declined."""
    if verdict.verdict != "not_applicable":
        return verdict
    declined = next(filter(implementation.declines, rule.operations), None)
    if declined is None:
        return verdict
    problem = f"it offers {declined}, and answers no case of it: unsupported, {verdict.why}"
    hint = f"leave {declined} out of hello, or list there which strategies and algorithms it has"
    why = f"{implementation.adapter}: answer: {problem}\n  next: {hint}"
    return replace(verdict, verdict="error", why=why)
