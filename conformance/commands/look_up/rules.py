"""`pulsar-conformance rules [PATTERN ...]`: one line a rule."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from pulsar_conformance.adapters.arguments import add_profile
from pulsar_conformance.conformance.commands.look_up.lines import show
from pulsar_conformance.specs import load
from pulsar_conformance.specs.text import columns
from pulsar_conformance.specs.words import counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The patterns, and the profile that limits them."""
    parser.add_argument(
        "pattern", nargs="*", metavar="PATTERN", help="IDs of rules, as in 'OVERLOAD-*'"
    )
    add_profile(parser, "only the rules of these documents or of this release", default=None)


def run(args: argparse.Namespace) -> int:
    """Prints the rules; 2 for a pattern that no rule matches."""
    return show(_lines(args))


def _lines(args: argparse.Namespace) -> Iterator[str]:
    specs = load()
    matching = {rule.id for pattern in args.pattern for rule in specs.rules_matching(pattern)}
    asked = specs.rules_of(args.profile) if args.profile else specs.rules.values()
    rows = [
        (rule.id, "untestable" if rule.untestable else rule.level, rule.title)
        for rule in asked
        if rule.id in matching or not args.pattern
    ]
    yield from columns(rows)
    yield counted(len(rows), "rule")
