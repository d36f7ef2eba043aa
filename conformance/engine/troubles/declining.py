"""Operations that an implementation offers and never answers: `unsupported` is no way to pass."""

from __future__ import annotations

from dataclasses import replace

from pulsar_conformance.conformance.common.verdict import Verdict
from pulsar_conformance.conformance.engine.hearing import Hearing


def not_declined(hearing: Hearing, verdict: Verdict) -> Verdict:
    """The verdict, or an error where an operation of the rule is offered and always declined."""
    if verdict.verdict != "not_applicable":
        return verdict
    implementation = hearing.subject.implementation
    declined = next(filter(implementation.declines, hearing.rule.operations), None)
    if declined is None:
        return verdict
    problem = f"it offers {declined}, and answers no case of it: unsupported, {verdict.why}"
    hint = f"leave {declined} out of hello, or list there which strategies and algorithms it has"
    why = f"{implementation.adapter}: answer: {problem}\n  next: {hint}"
    return replace(verdict, verdict="error", why=why)
