"""The functions that answer each operation, by subject area."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from importlib import import_module

from pulsar_conformance.reference.answers import (
    bundles,
    load_data,
    managers,
    placement,
    shedding,
    stories,
)
from pulsar_conformance.reference.context import Answer, Case, Context
from pulsar_conformance.reference.derivation import Derivation

SINCE_4_0 = ("report.due", "report.bundles", "policy.changed", "channel.apply")
"""Operations described only by documents from 4.0 on."""


@cache
def load_later_answers() -> Mapping[str, Answer]:
    """Import the functions that answer the operations in `SINCE_4_0`; return them by operation."""
    found: Mapping[str, Answer] = import_module(f"{__name__}.extensions").ANSWERS
    return found


def _later_answer(operation: str, context: Context, case: Case) -> Derivation:
    return load_later_answers()[operation](context, case)


ANSWERS: Mapping[str, Answer] = {
    **managers.ANSWERS,
    **bundles.ANSWERS,
    **load_data.ANSWERS,
    **shedding.ANSWERS,
    **placement.ANSWERS,
    **stories.ANSWERS,
    **{name: partial(_later_answer, name) for name in SINCE_4_0},
}
"""The function that answers each operation, by the operation's ID."""
