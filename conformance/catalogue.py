"""Collects the operations, checks and aims that the subjects define.

A subject is a folder next to this file with an `operations.py` or, if it has no operations of its
own, a `checks.py`. Any module of a subject may register checks. Any module may also list aims
(strategies for trials that distinguish the alternatives of a reading) in `AIMED`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from types import ModuleType

from pulsar_conformance import conformance
from pulsar_conformance.conformance.common.check import CHECKS, Check, DerivedQuestions
from pulsar_conformance.conformance.common.operation import AnyOperation, Operation
from pulsar_conformance.conformance.drawing import Aim

MARKS = ("operations", "checks")
"""Names of modules; a folder with a module of one of these names is a subject."""


def _subjects() -> list[str]:
    folders = [folder for folder in iter_modules(conformance.__path__) if folder.ispkg]
    return [
        f"{conformance.__name__}.{folder.name}"
        for folder in folders
        if not _modules_in(folder.name).isdisjoint(MARKS)
    ]


def _modules_in(folder: str) -> set[str]:
    """Return the names of a folder's modules, without importing it."""
    paths = [f"{path}/{folder}" for path in conformance.__path__]
    return {module.name for module in iter_modules(paths)}


def _operations() -> Iterator[AnyOperation]:
    for subject in _subjects():
        if find_spec(f"{subject}.operations"):
            values = vars(import_module(f"{subject}.operations")).values()
            yield from (value for value in values if isinstance(value, Operation))


OPERATIONS: Mapping[str, AnyOperation] = {
    operation.id: operation for operation in sorted(_operations(), key=lambda one: one.id)
}
"""The operations by ID."""


def _modules() -> Iterator[ModuleType]:
    """Import and yield every module of every subject."""
    for subject in _subjects():
        package = import_module(subject)
        for module in iter_modules(package.__path__, f"{subject}."):
            yield import_module(module.name)


@cache
def checks() -> Mapping[str, Check]:
    """Return all checks by rule ID."""
    list(_modules())
    return CHECKS


@cache
def aims_by_reading() -> Mapping[str, tuple[Aim, ...]]:
    """Return the aims of each reading, by the reading's name; some readings have no aims."""
    found: dict[str, list[Aim]] = {}
    for module in _modules():
        for aim in getattr(module, "AIMED", ()):
            found.setdefault(aim.reading, []).append(aim)
    return {reading: tuple(aims) for reading, aims in found.items()}


@cache
def presupposed_questions() -> tuple[DerivedQuestions, ...]:
    """Return all functions that make questions to test presupposed rules.

    Functions for all rules of an operation come before those for a single rule.
    """
    found = [one for module in _modules() for one in getattr(module, "PRESUPPOSED", ())]
    return tuple(sorted(found, key=lambda one: one.rule is not None))
