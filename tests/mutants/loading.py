"""Loads a changed copy of the model in addition to the right model."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType

from pulsar_conformance import reference

from mutants.making import MODEL

PACKAGE = reference.__name__


def another_model(sources: Mapping[str, str]) -> dict[str, ModuleType]:
    """Return the modules of a changed copy of the model, by their name below `reference`.

    The package itself has the name `""`. `sources` has the changed sources by their file below
    `reference/`. The modules that the suite has imported stay unchanged, since it judges by the
    right model. Errors: any that a changed module raises.
    """
    finder = ChangedSources({_module_of(file): (file, text) for file, text in sources.items()})
    with _apart():
        sys.meta_path.insert(0, finder)
        try:
            importlib.import_module(PACKAGE)
            loaded = sys.modules  # Later imports would load modules of the right model.
            loaded[f"{PACKAGE}.answers"].load_later_answers()
            loaded[f"{PACKAGE}.answers.shedding"].transfer()
            found = {name: module for name, module in sys.modules.items() if _ours(name)}
        finally:
            sys.meta_path.remove(finder)
    return {name.removeprefix(PACKAGE).removeprefix("."): one for name, one in found.items()}


@contextmanager
def _apart() -> Iterator[None]:
    """Remove the model's modules from `sys.modules`; at the end, restore exactly these modules."""
    known = {name: sys.modules.pop(name) for name in list(sys.modules) if _ours(name)}
    parent = sys.modules[PACKAGE.rpartition(".")[0]]
    try:
        yield
    finally:
        for name in [name for name in sys.modules if _ours(name)]:
            del sys.modules[name]
        sys.modules.update(known)
        setattr(parent, PACKAGE.rpartition(".")[2], known[PACKAGE])


def _ours(name: str) -> bool:
    return name == PACKAGE or name.startswith(f"{PACKAGE}.")


def _module_of(file: str) -> str:
    return f"{PACKAGE}.{file.removesuffix('.py').replace('/', '.')}"


class ChangedSources(MetaPathFinder):
    """Import hook that finds the changed modules of a folder before the right ones are found."""

    def __init__(self, sources: Mapping[str, tuple[str, str]], folder: Path = MODEL) -> None:
        self._sources = sources
        self._folder = folder

    def find_spec(
        self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the module with its changed source; None if the module is not changed."""
        if name not in self._sources:
            return None
        file, text = self._sources[name]
        path = self._folder / file
        return spec_from_file_location(name, path, loader=_Source(compile(text, path, "exec")))


class _Source(Loader):
    def __init__(self, code: CodeType) -> None:
        self._code = code

    def exec_module(self, module: ModuleType) -> None:
        """Run the changed source."""
        exec(self._code, module.__dict__)
