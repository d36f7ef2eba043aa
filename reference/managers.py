"""Choice of the load manager: the dynamic setting, else broker.conf. [MANAGER]"""

from __future__ import annotations

from collections.abc import Callable, Mapping

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
"""The load manager that each class implements, since 5.0. [MANAGER-14]"""

NOT_DYNAMIC = frozenset({EXTENSIBLE, IN_EXTENSIONS})
"""Classes that a dynamic setting does not enable. [MANAGER-04]"""

ABSENT: Mapping[str, Callable[[str | None], str | None]] = {
    "conf": lambda conf: conf,
    "default": lambda _conf: None,
}
"""Class in use without a dynamic setting, from that of broker.conf, by `absent-manager`."""


def manager_of(name: str | None, classes: Mapping[str, str] = MANAGERS) -> str:
    """Return the manager of a class, given its full name. [MANAGER-05]

    An invalid name gives the default manager, and so does none, since no document says which name
    broker.conf has at first.
    """
    return DEFAULT if name is None else classes.get(name, DEFAULT)
