"""What the operations that place something have in common."""

from __future__ import annotations

from pulsar_conformance.conformance.core.operation import Naming
from pulsar_conformance.conformance.core.trial import Json
from pulsar_conformance.conformance.views import Placed


def placed(_case: object, answer: Json) -> Placed:
    """The answer as checks see it."""
    domains, candidates = (
        tuple(answer[key]) if key in answer else None for key in ("domains", "candidates")
    )
    return Placed(answer["broker"], domains, candidates)


def named(case: Json, answer: Json) -> list[Naming]:
    """The broker and the candidates that an answer names."""
    taken = [answer["broker"]] if answer["broker"] is not None else []
    return [Naming((*taken, *answer.get("candidates", ())), case["candidates"])]
