"""Answers about the choice of the load manager, and about documented defaults. [MANAGER, CONFIG]"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pulsar_conformance.reference.context import Answer, Case, Context, Refused, Value
from pulsar_conformance.reference.derivation import Derivation, Step

PACKAGE = "org.apache.pulsar.broker.loadbalance.impl."
SIMPLE = PACKAGE + "SimpleLoadManagerImpl"
MODULAR = PACKAGE + "ModularLoadManagerImpl"
EXTENSIBLE = PACKAGE + "ExtensibleLoadManagerImpl"
IN_EXTENSIONS = EXTENSIBLE.replace(".impl.", ".extensions.")

MANAGERS: Mapping[str, str] = {SIMPLE: "simple", MODULAR: "modular", EXTENSIBLE: "extensible"}
"""The load manager that each class implements. [MANAGER-01 … 03]"""

DEFAULT = MANAGERS[SIMPLE]
"""Default load manager, also used for an invalid name. [MANAGER-05, MANAGER-07]"""

MANAGERS_NOW: Mapping[str, str] = {
    SIMPLE: "simple",
    MODULAR: "modular",
    IN_EXTENSIONS: "extensible",
}
"""The load manager that each class implements, according to documents of 5.0. [MANAGER-14]"""

NOT_DYNAMIC = frozenset({EXTENSIBLE, IN_EXTENSIONS})
"""Classes of load managers that a dynamic setting cannot enable. [MANAGER-04]"""

ABSENT: Mapping[str, Callable[[str | None], str | None]] = {
    "conf": lambda conf: conf,
    "default": lambda _conf: None,
}
"""Function that returns the class that decides if no dynamic setting exists, given the class in
broker.conf; None stands for the default load manager.

The keys are the alternatives of the reading `absent-manager`.
"""


def manager_of(name: str | None, classes: Mapping[str, str] = MANAGERS) -> str:
    """Return the load manager for a fully qualified class name. [MANAGER-05]

    An invalid name selects the default manager. A missing name does too, since no document gives
    the initial value in broker.conf.
    """
    return DEFAULT if name is None else classes.get(name, DEFAULT)


def choose(context: Context, case: Case) -> Derivation:
    """Answer `manager.choose`. [MANAGER-01 … 07, MANAGER-13, MANAGER-14]"""
    conf, dynamic = case["conf"], case["dynamic"]
    if dynamic in NOT_DYNAMIC:
        raise Refused(f"pulsar-admin cannot enable {dynamic}")
    name = ABSENT[context.readings["absent-manager"]](conf) if dynamic is None else dynamic
    moved = "MANAGER-03" in context.dropped
    classes = MANAGERS_NOW if moved else MANAGERS
    mistake = name is not None and name not in classes
    if mistake and "MANAGER-05" in context.dropped:
        raise Refused(f"no broker starts with {_class_name_text(name)} [MANAGER-13]")
    manager = manager_of(name, classes)

    def explain() -> Iterator[Step]:
        yield Step("dynamic", _class_name_text(dynamic))
        yield Step("broker.conf", _class_name_text(conf))
        yield Step("in use", _class_name_text(name, text_if_absent="the default one"))
        yield Step("manager", f"{manager}, as for every unknown class" if mistake else manager)

    return Derivation({"manager": manager}, explain)


def _class_name_text(name: str | None, text_if_absent: str = "names none") -> str:
    """Return a class name, in quotes if it is empty or begins or ends with whitespace.

    `text_if_absent` is returned if there is no name.
    """
    if name is None:
        return text_if_absent
    return name if name and name == name.strip() else f'"{name}"'


def defaults(context: Context, _case: Case) -> Derivation:
    """Answer `settings.defaults`. [CONFIG]"""
    return defaults_answer(context.defaults)


def defaults_answer(known: Mapping[str, Value]) -> Derivation:
    """Return the answer that lists known settings, with one derivation step for each."""

    def explain() -> Iterator[Step]:
        return (Step(name, _value_text(value)) for name, value in known.items())

    return Derivation({"settings": dict(known)}, explain)


def _value_text(value: Value) -> str:
    if value == "":
        return '""'
    return str(value).lower() if isinstance(value, bool) else str(value)


ANSWERS: Mapping[str, Answer] = {
    "settings.defaults": defaults,
    "manager.choose": choose,
}
