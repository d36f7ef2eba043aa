"""The documented rules of Apache Pulsar's load balancing, for tests in Python.

Everything in `__all__` is public and follows semantic versioning; anything else imported from this
package may change in any release.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pulsar_conformance.conformance.common.events import Verdict
    from pulsar_conformance.library import (
        BrokenRule,
        IllegalAnswer,
        IllegalCase,
        answer,
        cases,
        explain,
        judge,
        operations,
        run,
    )
    from pulsar_conformance.reference import Model

__all__ = [
    "BrokenRule",
    "IllegalAnswer",
    "IllegalCase",
    "Model",
    "Verdict",
    "answer",
    "cases",
    "explain",
    "judge",
    "operations",
    "run",
]


def __getattr__(name: str) -> Any:
    """Import a public name only when it is first used, because commands need none of them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("pulsar_conformance.library"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
