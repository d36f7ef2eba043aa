"""The catalogue of all operations in the folders beside this file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules

from pulsar_conformance.conformance import operations
from pulsar_conformance.conformance.core.operation import AnyOperation, Operation


def _found() -> Iterator[AnyOperation]:
    folders = (one.name for one in iter_modules(operations.__path__) if one.ispkg)
    for folder in folders:
        package = import_module(f"{operations.__name__}.{folder}")
        for file in iter_modules(package.__path__, f"{package.__name__}."):
            values = vars(import_module(file.name)).values()
            yield from (one for one in values if isinstance(one, Operation))


OPERATIONS: Mapping[str, AnyOperation] = {
    one.id: one for one in sorted(_found(), key=lambda one: one.id)
}
"""The operations by name."""
