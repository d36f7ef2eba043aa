"""`pulsar-conformance import`: turn an operator's data into a history for an audit."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from shlex import quote

from pulsar_conformance.adapters.arguments import add_dynamic, released_version
from pulsar_conformance.specs.errors import UserError, print_note
from pulsar_conformance.specs.text import counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the sources, further information about them, and the output."""
    parser.add_argument(
        "source",
        nargs="+",
        type=Path,
        metavar="PATH",
        help="files and folders: load reports as curl saves them, znodes of /loadbalance, the JSON "
        "of a Prometheus range query, broker logs, or histories",
    )
    parser.add_argument("--output", required=True, metavar="PATH", help="a folder for the history")
    parser.add_argument(
        "--cluster",
        metavar="NAME",
        help="the name of the cluster (the name in the source, or else imported)",
    )
    parser.add_argument(
        "--conf",
        type=Path,
        metavar="FILE",
        help="the effective settings: a broker.conf or another format that case accepts",
    )
    add_dynamic(parser)
    parser.add_argument(
        "--release",
        type=released_version,
        metavar="VERSION",
        help="the version of Pulsar that reads the settings, such as 4.0.3 (the version in the "
        "reports, or else of the image in FILE)",
    )
    parser.add_argument(
        "--date",
        type=_parse_date,
        metavar="DATE",
        help="the day of the first line of a log whose lines have no date or no year, ISO 8601",
    )


def run(args: argparse.Namespace) -> int:
    """Write the history and print the number of lines; return 2 if nothing can be imported."""
    from pulsar_conformance.audit.collect.files import Recording
    from pulsar_conformance.audit.collect.importing import (
        imported_cluster,
        missing_parts,
        records_of,
        reported_versions,
    )
    from pulsar_conformance.audit.collect.naming import with_single_names
    from pulsar_conformance.audit.collect.sources import read_sources
    from pulsar_conformance.conformance.cases.settings_files import read_in_force
    from pulsar_conformance.conformance.common.image_tags import (
        image_tags,
        other_image_notes,
        version_for_settings,
    )

    folder = Path(args.output)
    if folder.is_dir() and any(folder.iterdir()):
        raise UserError(f"--output {folder}: the folder is not empty; name a new one")
    if args.release and not (args.conf or args.dynamic):
        problem = "it needs the settings that this version reads"
        raise UserError(f"--release: {problem}; give --conf or --dynamic, or omit --release")
    found = with_single_names(read_sources(args.source, args.date))
    versions = reported_versions(found)
    release = version_for_settings(args.conf, release=args.release, reported=versions)
    read = read_in_force(args.conf, args.dynamic, release or None)
    named = imported_cluster(found)
    cluster = args.cluster or named or "imported"
    records = records_of(found, read.values if read else {})
    notes = [*(read.notes() if read else ()), *found.notes]
    if read and args.conf and not args.release:
        notes += other_image_notes(image_tags(args.conf), versions)
    if read and not args.release and versions[1:]:
        told = (
            f"the brokers ran {', '.join(versions)}; the settings are read as {release} reads them"
        )
        notes.append(f"{told}; to choose another version, add --release")
    notes += [f"not known: {part}" for part in missing_parts(found, records)]
    for note in notes:
        print_note(note)
    if args.cluster:
        records = [(at, {**entry, "cluster": args.cluster}) for at, entry in records]
    recording = Recording(folder, cluster)
    for at, same in groupby(records, key=lambda one: one[0]):
        recording.write(at, [entry for _, entry in same])
    print(f"{folder}: {counted(recording.lines, 'line')}")
    command = f"pulsar-conformance audit --input {quote(str(folder))} --output reports/out/audit"
    print(f"next: {command}")
    return 0


def _parse_date(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        hint = "write it as YYYY-MM-DD, such as 2026-11-20"
        raise argparse.ArgumentTypeError(f"{text} is not a date; {hint}") from None
