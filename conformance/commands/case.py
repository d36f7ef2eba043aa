"""`pulsar-conformance case`: a case out of load reports and bundle data of a real cluster."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from pulsar_conformance import specs
from pulsar_conformance.adapters.arguments import DEFAULT_PROFILE
from pulsar_conformance.conformance.given_settings import BadSetting, given_settings, merged
from pulsar_conformance.conformance.handed_in import derived_from
from pulsar_conformance.conformance.saved import BadCase, content_of
from pulsar_conformance.conformance.snapshot.broker_conf import read_conf
from pulsar_conformance.conformance.snapshot.bundle_data import read_bundle_data
from pulsar_conformance.conformance.snapshot.files import BadSnapshot
from pulsar_conformance.conformance.snapshot.making import (
    MAKERS,
    OF_EACH_BROKER,
    Snapshot,
    trial_of,
)
from pulsar_conformance.conformance.snapshot.reports import read_reports
from pulsar_conformance.reference import Model

UNUSABLE = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where the files lie, and what is asked about them."""
    parser.add_argument(
        "--reports",
        type=Path,
        required=True,
        metavar="DIR",
        help="load reports, a file BROKER.json each, of the modular or the simple load manager",
    )
    parser.add_argument(
        "--bundle-data",
        type=Path,
        metavar="DIR",
        help="bundle data, as TENANT/NAMESPACE/RANGE.json or a file with an object of all; without "
        "it, the latest numbers in the reports count as one sample",
    )
    parser.add_argument("--conf", type=Path, metavar="FILE", help="a broker.conf")
    parser.add_argument(
        "--setting",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="and if this setting were so; may be given again",
    )
    parser.add_argument(
        "--operation",
        default="shed.select",
        metavar="OPERATION",
        help=f"what to ask (%(default)s): {', '.join(MAKERS)}",
    )


def run(args: argparse.Namespace) -> int:
    """Prints a case file for `explain`, `ask` or `run --replay`; 2 where none can be made."""
    try:
        if args.operation not in MAKERS:
            raise specs.UnknownName(args.operation, "operation that reports can ask", MAKERS)
        given = given_settings(args.setting)
        settings = merged(read_conf(args.conf) if args.conf else {}, given)
        data = read_bundle_data(args.bundle_data) if args.bundle_data else {}
        snapshot = Snapshot(read_reports(args.reports), data, settings)
        trial = trial_of(args.operation, snapshot)
        derived_from(str(args.reports), trial, Model(DEFAULT_PROFILE))
    except (BadCase, BadSetting, BadSnapshot, specs.UnknownName) as wrong:
        print(f"pulsar-conformance: {wrong}", file=sys.stderr)
        return UNUSABLE
    notes = [*snapshot.notes()]
    if args.operation in OF_EACH_BROKER:
        notes.append(f"the questions are about {', '.join(snapshot.brokers)}, in this order")
    for note in notes:
        print(f"pulsar-conformance: {note}", file=sys.stderr)
    print(json.dumps(content_of(trial), indent=1, ensure_ascii=False))
    return 0
