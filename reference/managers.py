"""Which load manager runs: what is set dynamically, else what broker.conf says. [MANAGER]"""

from __future__ import annotations

from collections.abc import Callable, Mapping

PACKAGE = "org.apache.pulsar.broker.loadbalance.impl."
SIMPLE = PACKAGE + "SimpleLoadManagerImpl"
MODULAR = PACKAGE + "ModularLoadManagerImpl"
EXTENSIBLE = PACKAGE + "ExtensibleLoadManagerImpl"

MANAGERS: Mapping[str, str] = {SIMPLE: "simple", MODULAR: "modular", EXTENSIBLE: "extensible"}
"""The load manager that each class implements. [MANAGER-01 … 03]"""

DEFAULT = MANAGERS[SIMPLE]
"""What runs by default, and after any mistake. [MANAGER-05, MANAGER-07]"""

NOT_DYNAMIC = frozenset({EXTENSIBLE})
"""Classes that a dynamic setting does not enable. [MANAGER-04]"""

ABSENT: Mapping[str, Callable[[str | None], str | None]] = {
    "conf": lambda conf: conf,
    "default": lambda _conf: None,
}
"""The class in use where no dynamic setting names one, from broker.conf's, by `absent-manager`."""


def manager_of(name: str | None) -> str:
    """The manager that a class stands for, named in full as the documents print it. [MANAGER-05]

    Any mistake gives the default one, and so does none: no document says what broker.conf begins
    with.
    """
    return DEFAULT if name is None else MANAGERS.get(name, DEFAULT)
