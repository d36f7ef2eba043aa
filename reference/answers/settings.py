"""The documented defaults. [CONFIG]"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pulsar_conformance.reference.derivation import Derivation, Step
from pulsar_conformance.reference.door import Answer, Case, Door
from pulsar_conformance.reference.settings import Value


def defaults(door: Door, _case: Case) -> Derivation:
    """[CONFIG]"""

    def explain() -> Iterator[Step]:
        return (Step(name, _written(value)) for name, value in door.defaults.items())

    return Derivation({"settings": dict(door.defaults)}, explain)


def _written(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


ANSWERS: Mapping[str, Answer] = {
    "settings.defaults": defaults,
}
