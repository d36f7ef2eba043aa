"""The documented defaults. [CONFIG]"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pulsar_conformance.reference.context import Answer, Case, Context, Value
from pulsar_conformance.reference.derivation import Derivation, Step


def defaults(context: Context, _case: Case) -> Derivation:
    """Answer `settings.defaults`. [CONFIG]"""
    return defaults_answer(context.defaults)


def defaults_answer(known: Mapping[str, Value]) -> Derivation:
    """Return the answer with the settings that are known, one step for each."""

    def explain() -> Iterator[Step]:
        return (Step(name, _written(value)) for name, value in known.items())

    return Derivation({"settings": dict(known)}, explain)


def _written(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


ANSWERS: Mapping[str, Answer] = {
    "settings.defaults": defaults,
}
