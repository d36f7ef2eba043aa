"""Data for the templates: checks, claims of sentences, commands, and the Python API."""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

from pulsar_conformance import conformance, reference
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.conformance.commands.main import COMMANDS, HelpFormatter, parser_of
from pulsar_conformance.specs import load
from pulsar_conformance.specs.text import WIDTH


@dataclass(frozen=True)
class CheckFunction:
    """The function that checks a rule."""

    name: str
    file: str
    says: str


@dataclass(frozen=True)
class Documented:
    """A function or class of the Python API."""

    module: str
    name: str
    signature: str
    says: str


def check_of(rule: str) -> CheckFunction | None:
    """Return the check of a rule; None if no question can test the rule."""
    if rule not in checks():
        return None
    function: Any = checks()[rule].predicate.function
    while isinstance(function, partial):
        function = function.func
    file = f"{function.__module__.removeprefix('pulsar_conformance.').replace('.', '/')}.py"
    return CheckFunction(function.__name__, file, inspect.getdoc(function) or "")


def claims_by_section(document: str) -> Mapping[tuple[str, int], list[str]]:
    """Return the rules that claim each sentence of a document, by section and number."""
    found: dict[tuple[str, int], list[str]] = defaultdict(list)
    for rule in load().rules.values():
        for source in rule.sources:
            for number in source.sentences if source.document == document else ():
                found[source.section, number].append(rule.id)
    return found


def commands() -> Iterator[tuple[str, str, str]]:
    """Yield each command, its purpose, and its help in 80 columns."""
    for name, command in COMMANDS.items():
        parser = parser_of(name)
        parser.formatter_class = partial(HelpFormatter, width=WIDTH)
        yield name, command.purpose, parser.format_help()


def drawing_strategies() -> Iterator[Documented]:
    """Yield the public functions of modules that draw cases."""
    for found in walk_packages(conformance.__path__, f"{conformance.__name__}."):
        parts = found.name.removeprefix(conformance.__name__)
        if ".draw" in parts:
            yield from _public(import_module(found.name))


def model() -> Iterator[Documented]:
    """Yield the public functions of the model."""
    for name in reference.__all__:
        yield _documented(reference.__name__, name, getattr(reference, name))


def _public(module: Any) -> Iterator[Documented]:
    for name, one in vars(module).items():
        here = getattr(one, "__module__", None) == module.__name__
        if here and inspect.isfunction(one) and not name.startswith("_"):
            yield _documented(module.__name__, name, one)


def _documented(module: str, name: str, one: Any) -> Documented:
    try:
        signature = str(inspect.signature(one))
    except (TypeError, ValueError):
        signature = ""
    return Documented(module, name, signature, inspect.getdoc(one) or "")
