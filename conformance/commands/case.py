"""`pulsar-conformance case`: build a case from a cluster's load reports and bundle data."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from pulsar_conformance.adapters.arguments import DEFAULT_PROFILE, add_dynamic, add_profile
from pulsar_conformance.conformance.cases.load_reports import BadSnapshot
from pulsar_conformance.conformance.cases.making import add_source_arguments, build_case
from pulsar_conformance.conformance.cases.saved import case_content, derivations_for
from pulsar_conformance.conformance.cases.snapshot import MAKERS
from pulsar_conformance.conformance.explain.running import (
    check_case,
    unknown_history_notes,
    unknown_unloads_notes,
    with_release_defaults,
)
from pulsar_conformance.conformance.shedding.operations import SHED
from pulsar_conformance.reference import Model
from pulsar_conformance.specs.errors import print_note


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for files and for the question to build."""
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        metavar="FOLDER",
        help="load reports of the modular load manager (for usage.max and report.read, also of the "
        "simple one), each in a file BROKER.json, or in BROKER/load-report as curl saves it",
    )
    parser.add_argument(
        "--reports", type=Path, metavar="DIR", help="the same as FOLDER, as an option"
    )
    add_source_arguments(parser)
    parser.add_argument(
        "--conf",
        type=Path,
        metavar="FILE",
        help="settings: a broker.conf, the JSON of a broker's runtime configuration, an "
        "environment file, or the YAML of Helm values, docker-compose or an operator",
    )
    add_dynamic(parser)
    parser.add_argument(
        "--setting",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="use this setting instead of the one in broker.conf; NAME= removes it; repeatable",
    )
    parser.add_argument(
        "--operation",
        default=SHED.id,
        metavar="OPERATION",
        help=f"the operation to ask about (%(default)s): {', '.join(MAKERS)}",
    )
    add_profile(parser, "the documents or release to follow (those nearest to VERSION)", None)


def run(args: argparse.Namespace) -> int:
    """Print a case file for `explain`, `ask` or `run --replay`; return 2 if it cannot be made."""
    if args.folder and args.reports:
        raise BadSnapshot("FOLDER and --reports mean the same; give one of them")
    found = build_case(args, args.folder or args.reports, args.operation)
    if args.profile is None:
        check_case(found)
    asked = Model(found.profile or DEFAULT_PROFILE).with_ways(found.ways)
    model, taken = with_release_defaults(found.trial, asked)
    derivations_for(found.source, found.trial, model, found.place)
    notes = [*found.notes, *unknown_history_notes(found.trial, model)]
    notes += unknown_unloads_notes(found.trial, model)
    notes += [f"{name} is not set: explain assumes {value}" for name, value in taken.items()]
    for note in notes:
        print_note(note)
    about: dict[str, object] = {"profile": found.profile} if found.profile else {}
    about |= {"ways": dict(found.ways)} if found.ways else {}
    print(json.dumps({**case_content(found.trial), **about}, indent=1, ensure_ascii=False))
    return 0
