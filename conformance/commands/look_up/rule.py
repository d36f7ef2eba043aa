"""`pulsar-conformance rule ID`: what a rule says, where that is said, and what it takes."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from pulsar_conformance.conformance.commands.look_up.lines import show
from pulsar_conformance.fixtures import examples
from pulsar_conformance.specs import Rule, Source, Specs, UnknownName, load
from pulsar_conformance.specs.text import columns, paragraph


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The rule's ID."""
    parser.add_argument("id", metavar="ID", help="the ID of a rule, such as OVERLOAD-02")


def run(args: argparse.Namespace) -> int:
    """Prints the rule; 2 if there is none of this ID."""
    return show(_lines(args.id))


def _lines(name: str) -> Iterator[str]:
    specs = load()
    if name not in specs.rules:
        raise UnknownName(name, "rule", specs.rules)
    rule = specs.rules[name]
    yield from paragraph(f"{rule.title}.", len(rule.id) + 2, f"{rule.id}  ")
    yield ""
    yield from paragraph(rule.statement, 2)
    yield ""
    yield from columns([(f"  {label}", text) for label, text in _facts(specs, rule) if text])


def _facts(specs: Specs, rule: Rule) -> Iterator[tuple[str, str]]:
    """Everything else that is known of a rule, by what it is called."""
    yield "level", rule.level
    for source in rule.sources:
        yield "source", _place(source)
        yield "", specs.documents[source.document].url
    yield "seen", rule.why or ""
    yield "untestable", rule.untestable or ""
    anyone = "any of " if rule.any_operation else ""
    yield "asks", anyone + ", ".join(rule.operations) if rule.operations else ""
    yield "settings", ", ".join(rule.settings)
    yield "managers", ", ".join(rule.managers)
    yield "reading", ", ".join(f"{name}={value}" for name, value in rule.reading.items())
    yield "presupposes", ", ".join(rule.presupposes)
    judged = [name for name in specs.profiles if rule in specs.rules_of(name)]
    yield "profiles", ", ".join(judged)
    for example in examples():
        if rule.id in example.rules:
            yield "example", example.id


def _place(source: Source) -> str:
    """Document, section and sentences."""
    section = f" § {source.section}" if source.section else ""
    several = "sentences" if len(source.sentences) > 1 else "sentence"
    return f"{source.document}{section}, {several} {', '.join(map(str, source.sentences))}"
