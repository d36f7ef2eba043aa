"""`pulsar-conformance readings [NAME ...]`: the places that documents leave open."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from pulsar_conformance.adapters.arguments import add_profile
from pulsar_conformance.conformance.commands.look_up.lines import show
from pulsar_conformance.specs import UnknownName, load
from pulsar_conformance.specs.text import columns, paragraph


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The readings, and the profile whose own are marked."""
    parser.add_argument("name", nargs="*", metavar="NAME", help="only these readings")
    add_profile(parser, "mark what this profile takes (%(default)s)")


def run(args: argparse.Namespace) -> int:
    """Prints each reading with its alternatives; 2 for a name that there is not."""
    return show(_lines(args))


def _lines(args: argparse.Namespace) -> Iterator[str]:
    specs = load()
    own = specs.default_readings(args.profile)
    for name in args.name or specs.readings:
        if name not in specs.readings:
            raise UnknownName(name, "reading", specs.readings)
        reading = specs.readings[name]
        yield from paragraph(reading.question, 2, f"{name}: ")
        yield from columns(
            [
                (f"  {'*' if one.value == own[name] else ' '} {one.value}", one.means)
                for one in reading.alternatives
            ]
        )
    yield from paragraph(f"* what {args.profile} takes; --reading NAME=VALUE asks for another")
