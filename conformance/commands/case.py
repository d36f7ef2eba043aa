"""`pulsar-conformance case`: makes a case from load reports and bundle data of a cluster."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from pulsar_conformance import specs
from pulsar_conformance.adapters.arguments import DEFAULT_PROFILE
from pulsar_conformance.conformance.cases.saved import content_of, derived_from
from pulsar_conformance.conformance.cases.settings import given_settings, merged
from pulsar_conformance.conformance.cases.settings_files import read_conf
from pulsar_conformance.conformance.cases.snapshot import (
    MAKERS,
    OF_EACH_BROKER,
    Snapshot,
    read_bundle_data,
    read_reports,
    trial_from,
)
from pulsar_conformance.conformance.shedding.operations import SHED
from pulsar_conformance.reference import Model


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The files, and the question about them."""
    parser.add_argument(
        "--reports",
        type=Path,
        required=True,
        metavar="DIR",
        help="load reports of the modular or the simple load manager, one file BROKER.json each",
    )
    parser.add_argument(
        "--bundle-data",
        type=Path,
        metavar="DIR",
        help="bundle data, as TENANT/NAMESPACE/RANGE.json or all in one object in a file; without "
        "it, the latest numbers in the reports count as one sample",
    )
    parser.add_argument(
        "--conf",
        type=Path,
        metavar="FILE",
        help="a broker.conf, or the JSON of a broker's runtime configuration",
    )
    parser.add_argument(
        "--setting",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="use this setting instead of the broker.conf's; repeatable",
    )
    parser.add_argument(
        "--operation",
        default=SHED.id,
        metavar="OPERATION",
        help=f"what to ask (%(default)s): {', '.join(MAKERS)}",
    )


def run(args: argparse.Namespace) -> int:
    """Prints a case file for `explain`, `ask` or `run --replay`; 2 if none can be made."""
    if args.operation not in MAKERS:
        raise specs.UnknownName(args.operation, "operation that reports can ask", MAKERS)
    given = given_settings(args.setting)
    settings = merged(read_conf(args.conf) if args.conf else {}, given)
    data = read_bundle_data(args.bundle_data) if args.bundle_data else {}
    snapshot = Snapshot(read_reports(args.reports), data, settings)
    trial = trial_from(args.operation, snapshot)
    derived_from(str(args.reports), trial, Model(DEFAULT_PROFILE))
    notes = [*snapshot.notes()]
    if args.operation in OF_EACH_BROKER:
        notes.append(f"the questions are about {', '.join(snapshot.brokers)}, in this order")
    for note in notes:
        print(f"pulsar-conformance: {note}", file=sys.stderr)
    print(json.dumps(content_of(trial), indent=1, ensure_ascii=False))
    return 0
