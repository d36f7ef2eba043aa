"""`pulsar-conformance collect`: record the history of a running cluster for an audit."""

from __future__ import annotations

import argparse
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pulsar_conformance.adapters.admin_api.http import NoAnswer
from pulsar_conformance.adapters.admin_api.remote import TOKEN_VARIABLE, Access, AdminApi, BadUrl
from pulsar_conformance.adapters.arguments import parse_seconds
from pulsar_conformance.adapters.operated.looking import ClusterObserver, NoCluster
from pulsar_conformance.audit.collect.files import CannotWrite, Recording
from pulsar_conformance.audit.collect.recording import Recorder
from pulsar_conformance.specs.errors import print_note
from pulsar_conformance.specs.text import counted

UNUSABLE = 2
MINUTE = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the cluster, the times of observation, and the output."""
    add_cluster_arguments(parser)
    parser.add_argument("--output", required=True, metavar="PATH", help="a folder for the history")


def add_cluster_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the cluster, access to it, and the times of observation."""
    parser.add_argument("url", metavar="URL", help="the admin URL, as in http://localhost:8080")
    parser.add_argument(
        "--cluster", metavar="NAME", help="the cluster to record, if there are several"
    )
    parser.add_argument(
        "--every",
        type=parse_seconds,
        default=MINUTE,
        metavar="SECONDS",
        help="the time between two observations (%(default)g)",
    )
    parser.add_argument(
        "--for",
        type=parse_seconds,
        dest="duration",
        metavar="SECONDS",
        help="how long to record (until interrupted)",
    )
    parser.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="a file with the token; without it, the environment variable "
        f"{TOKEN_VARIABLE} holds the token",
    )
    parser.add_argument(
        "--tls-trust",
        type=Path,
        metavar="FILE",
        help="the certificates to trust instead of the system's",
    )
    parser.add_argument(
        "--time-limit",
        type=parse_seconds,
        default=10.0,
        metavar="SECONDS",
        help="seconds that a broker may take to answer (%(default)g)",
    )


def run(args: argparse.Namespace) -> int:
    """Record the cluster and print the number of lines; return 2 on failure."""
    try:
        with (
            recorder_of(args, Path(args.output)) as (recorder, recording),
            stop_on_interrupt() as stop,
        ):
            recorder.run(args.every, args.duration, stop)
    except UNREACHED as wrong:
        print_error(str(wrong))
        return UNUSABLE
    print(f"{args.output}: {counted(recording.lines, 'line')}")
    return 0


UNREACHED = (BadUrl, CannotWrite, NoCluster, NoAnswer)
"""Errors that prevent the recording of a cluster."""


@contextmanager
def recorder_of(args: argparse.Namespace, folder: Path) -> Iterator[tuple[Recorder, Recording]]:
    """Yield a recorder of the cluster that the arguments name, and the recording that it writes.

    Errors: `UNREACHED`.
    """
    access = Access.of(args.url, args.token_file, args.tls_trust, args.time_limit)
    api = AdminApi(access)
    try:
        looker = ClusterObserver.of(api, args.cluster)
        try:
            recording = Recording(folder, looker.cluster)
            yield Recorder(looker, recording, print_error), recording
        finally:
            looker.close()
    finally:
        api.close()


def print_error(text: str) -> None:
    """Print a line to standard error."""
    print_note(text)


@contextmanager
def stop_on_interrupt() -> Iterator[threading.Event]:
    """Yield an event that the first interrupt sets; a second interrupt ends the process."""
    stop = threading.Event()

    def handle(number: int, _frame: object) -> None:
        stop.set()
        signal.signal(number, former[signal.Signals(number)])

    former = {one: signal.signal(one, handle) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for one, handler in former.items():
            signal.signal(one, handler)
