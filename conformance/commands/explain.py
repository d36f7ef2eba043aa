"""`pulsar-conformance explain`: how the model comes to its answer, step by step."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from pulsar_conformance import fixtures, specs
from pulsar_conformance.adapters.arguments import DEFAULT_PROFILE
from pulsar_conformance.conformance.explaining import Wanted, case_lines, example_lines
from pulsar_conformance.conformance.given_settings import BadSetting, given_settings
from pulsar_conformance.conformance.handed_in import handed_in
from pulsar_conformance.conformance.plan import BadPlan, chosen_readings
from pulsar_conformance.conformance.saved import BadCase

UNUSABLE = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A case or a worked example, and what is to be taken otherwise."""
    parser.add_argument(
        "case",
        nargs="?",
        metavar="CASE.json",
        help="a saved case, or lines as ask reads them; - is standard input",
    )
    parser.add_argument("--example", metavar="ID", help="a worked example instead of a file")
    parser.add_argument(
        "--judge-by",
        metavar="PROFILE",
        help=f"the documents to follow (those that the file names, else {DEFAULT_PROFILE})",
    )
    parser.add_argument(
        "--reading",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="take an open place of the documents this way; may be given again",
    )
    parser.add_argument(
        "--setting",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="and if this setting were so; may be given again",
    )


def run(args: argparse.Namespace) -> int:
    """Prints derivation and answer of each question; 2 for what cannot be explained."""
    try:
        lines = list(_lines(args))
    except (BadCase, BadPlan, BadSetting, specs.UnknownName) as wrong:
        print(f"pulsar-conformance: {wrong}", file=sys.stderr)
        return UNUSABLE
    print("\n".join(lines))
    return 0


def _lines(args: argparse.Namespace) -> Iterator[str]:
    if (args.case is None) == (args.example is None):
        raise BadCase("explain takes either a CASE.json or --example ID")
    wanted = Wanted(args.judge_by, chosen_readings(args.reading), given_settings(args.setting))
    if args.example is not None:
        yield from example_lines(_example(args.example), wanted)
        return
    for number, handed in enumerate(handed_in(args.case)):
        yield from ("", handed.place) if number else ()
        yield from case_lines(handed, wanted)


def _example(name: str) -> fixtures.Example:
    found = {example.id: example for example in fixtures.examples()}
    if name not in found:
        raise specs.UnknownName(name, "worked example", found)
    return found[name]
