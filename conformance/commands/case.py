"""`pulsar-conformance case`: makes a case from load reports and bundle data of a cluster."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from pulsar_conformance import specs
from pulsar_conformance.adapters.arguments import DEFAULT_PROFILE, add_profile
from pulsar_conformance.conformance.cases.saved import content_of, derived_from
from pulsar_conformance.conformance.cases.settings import SettingsRead, given_settings, merged
from pulsar_conformance.conformance.cases.settings_files import read_settings
from pulsar_conformance.conformance.cases.snapshot import (
    MAKERS,
    OF_EACH_BROKER,
    BadSnapshot,
    Snapshot,
    read_bundle_data,
    read_metrics,
    read_reports,
    trial_from,
)
from pulsar_conformance.conformance.explain.running import check_manager, with_release_defaults
from pulsar_conformance.conformance.load_data.operations import READ
from pulsar_conformance.conformance.shedding.operations import SHED
from pulsar_conformance.reference import Model
from pulsar_conformance.specs.broker import nearest_profile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The files, and the question about them."""
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        metavar="FOLDER",
        help="load reports of the modular or the simple load manager, one file BROKER.json each, "
        "or BROKER/load-report as curl saves them",
    )
    parser.add_argument(
        "--reports", type=Path, metavar="DIR", help="the same as FOLDER, as an option"
    )
    parser.add_argument(
        "--metrics",
        type=Path,
        metavar="FILE",
        help="instead of reports, the metrics of all brokers: Prometheus text, or the JSON of a "
        "query, with pulsar_lb_* and pulsar_bundle_*",
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
        help="settings: a broker.conf, the JSON of a broker's runtime configuration, an "
        "environment file, or the YAML of Helm values, docker-compose or an operator",
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
    parser.add_argument(
        "--release",
        metavar="VERSION",
        help="the version of Pulsar that runs, such as 4.0.3 (the one that the reports name)",
    )
    add_profile(parser, "the documents or release to follow (those nearest to VERSION)", None)


def run(args: argparse.Namespace) -> int:
    """Print a case file for `explain`, `ask` or `run --replay`; return 2 if none can be made."""
    if args.operation not in MAKERS:
        raise specs.UnknownName(args.operation, "operation that reports can ask", MAKERS)
    sources = [one for one in (args.folder, args.reports, args.metrics) if one is not None]
    if len(sources) != 1:
        raise BadSnapshot("case takes one folder of load reports, or a file by --metrics")
    [folder] = sources
    if args.metrics and args.operation == READ.id:
        raise BadSnapshot(f"{READ.id} asks about load reports, and metrics are none")
    given = given_settings(args.setting)
    reports = read_metrics(folder) if args.metrics else read_reports(folder)
    data = read_bundle_data(args.bundle_data) if args.bundle_data else {}
    versions = [args.release] if args.release else Snapshot(reports, data, {}).versions
    read = read_settings(args.conf, *versions[:1]) if args.conf else None
    settings = merged(dict(read.values) if read else {}, given)
    snapshot = Snapshot(reports, data, settings)
    trial = trial_from(args.operation, snapshot)
    profile = args.profile or (nearest_profile(versions[0]) if versions else None)
    if args.profile is None:
        check_manager(str(args.conf or folder), trial)
    model, taken = with_release_defaults(trial, Model(profile or DEFAULT_PROFILE))
    derived_from(str(folder), trial, model)
    notes = [*_notes(snapshot, versions, profile, read)]
    notes += [f"{name} is not set: explain takes {value}" for name, value in taken.items()]
    if args.operation in OF_EACH_BROKER:
        notes.append(f"the questions are about {', '.join(snapshot.brokers)}, in this order")
    for note in notes:
        print(f"pulsar-conformance: {note}", file=sys.stderr)
    about = {"profile": profile} if profile else {}
    print(json.dumps({**content_of(trial), **about}, indent=1, ensure_ascii=False))
    return 0


def _notes(
    snapshot: Snapshot, versions: list[str], profile: str | None, read: SettingsRead | None
) -> Iterator[str]:
    """Yield remarks on the case: versions, assumptions, unused settings."""
    yield from snapshot.notes()
    if len(versions) > 1:
        yield f"the brokers run {', '.join(versions)}; name one by --release"
    if versions and profile:
        yield f"Pulsar {versions[0]} is explained by {profile}"
    if read is not None:
        yield from read.notes()
