"""Comparing an answer with one that was worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

from pulsar_conformance.conformance.catalogue import OPERATIONS
from pulsar_conformance.conformance.common.trial import DECLINED, Json
from pulsar_conformance.fixtures import Example


def allows(example: Example, answers: Sequence[Json]) -> bool:
    """True if an example allows these answers, one per question, or leaves them to its rules."""
    if example.allowed is None:
        return True
    operations = [operation for operation, _case in example.questions]
    return len(answers) == len(operations) and any(
        all(matches(*three) for three in zip(operations, allowed, answers, strict=True))
        for allowed in example.allowed
    )


def matches(operation: str, allowed: Json, answer: Json) -> bool:
    """True if an answer equals the allowed one, by the operation's own comparison.

    Free text such as `why` and the reason of a refusal are not compared.
    """
    declined = [name for name in DECLINED if name in allowed]
    if declined or any(name in answer for name in DECLINED):
        return declined == [name for name in DECLINED if name in answer]
    return OPERATIONS[operation].matches(allowed, answer)
