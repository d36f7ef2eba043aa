"""Data for the templates: checks, claims of sentences, commands, and the API for Python."""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from types import FunctionType
from typing import Any

import pulsar_conformance
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.conformance.commands.main import COMMANDS, HelpFormatter, parser_of
from pulsar_conformance.specs import Rule, load
from pulsar_conformance.specs.claims import claiming_rules
from pulsar_conformance.specs.model import Where
from pulsar_conformance.specs.text import WIDTH


@dataclass(frozen=True)
class CheckFunction:
    """The name, file and docstring of the function that checks a rule."""

    name: str
    file: str
    says: str


@dataclass(frozen=True)
class DocumentedName:
    """The name, signature and docstring of a function or class of the API for Python."""

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


@cache
def _claims() -> Mapping[Where, Sequence[str]]:
    return claiming_rules(load())


def claims_by_section(document: str) -> Mapping[tuple[str, int], Sequence[str]]:
    """Return the rules that claim each sentence of a document, by section and sentence number."""
    return {
        (section, number): rules
        for (name, section, number), rules in _claims().items()
        if name == document
    }


def repeated_sentences(rule: Rule) -> Mapping[str, Sequence[tuple[str, int]]]:
    """Return where documents repeat a rule's source sentences: section and number, by document."""
    own = {
        (source.document, source.section, number)
        for source in rule.sources
        for number in source.sentences
    }
    found: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for where, rules in _claims().items():
        if rule.id in rules and where not in own:
            document, section, number = where
            found[document].append((section, number))
    return found


def commands() -> Iterator[tuple[str, str, str]]:
    """Yield each command with its purpose, and with its help in 80 columns."""
    for name, command in COMMANDS.items():
        parser = parser_of(name)
        parser.formatter_class = partial(HelpFormatter, width=WIDTH)
        yield name, command.purpose, parser.format_help()


def public_names() -> Iterator[DocumentedName]:
    """Yield the names that `pulsar_conformance` exports: functions, classes and their methods."""
    for name in sorted(pulsar_conformance.__all__, key=str.swapcase):
        one = getattr(pulsar_conformance, name)
        yield _documented(name, one)
        for inner, part in vars(one).items() if inspect.isclass(one) else ():
            if not inner.startswith("_") and isinstance(part, FunctionType | property):
                yield _documented(f"{name}.{inner}", part)


def _documented(name: str, function: Any) -> DocumentedName:
    exception = inspect.isclass(function) and issubclass(function, Exception)
    signature = "" if exception or isinstance(function, property) else _signature(function)
    return DocumentedName(name, signature, inspect.getdoc(function) or "")


def _signature(function: Any) -> str:
    """Return a signature as text, with type names but not their modules."""
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(function)))
    text = text.removesuffix(" -> None")
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Za-z])", "", text)
