"""Choice of the load manager, and the documented defaults. [MANAGER, CONFIG]"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pulsar_conformance.reference import managers
from pulsar_conformance.reference.context import Answer, Case, Context, Refused, Value
from pulsar_conformance.reference.derivation import Derivation, Step


def choose(context: Context, case: Case) -> Derivation:
    """Answer `manager.choose`. [MANAGER-01 … 07, MANAGER-13, MANAGER-14]"""
    conf, dynamic = case["conf"], case["dynamic"]
    if dynamic in managers.NOT_DYNAMIC:
        raise Refused(f"pulsar-admin cannot enable {dynamic}")
    name = managers.ABSENT[context.readings["absent-manager"]](conf) if dynamic is None else dynamic
    moved = "MANAGER-03" in context.dropped
    classes = managers.MANAGERS_NOW if moved else managers.MANAGERS
    mistake = name is not None and name not in classes
    if mistake and "MANAGER-05" in context.dropped:
        raise Refused(f"no broker starts with {_written(name)} [MANAGER-13]")
    manager = managers.manager_of(name, classes)

    def explain() -> Iterator[Step]:
        yield Step("dynamic", _written(dynamic))
        yield Step("broker.conf", _written(conf))
        yield Step("in use", _written(name, nothing="the default one"))
        yield Step("manager", f"{manager}, as after any mistake" if mistake else manager)

    return Derivation({"manager": manager}, explain)


def _written(name: str | None, nothing: str = "names none") -> str:
    """Quote a class name with its surrounding blanks."""
    return nothing if name is None else f"'{name}'"


def defaults(context: Context, _case: Case) -> Derivation:
    """Answer `settings.defaults`. [CONFIG]"""
    return defaults_answer(context.defaults)


def defaults_answer(known: Mapping[str, Value]) -> Derivation:
    """Return the answer with the settings that are known, one step for each."""

    def explain() -> Iterator[Step]:
        return (Step(name, _printed(value)) for name, value in known.items())

    return Derivation({"settings": dict(known)}, explain)


def _printed(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


ANSWERS: Mapping[str, Answer] = {
    "settings.defaults": defaults,
    "manager.choose": choose,
}
