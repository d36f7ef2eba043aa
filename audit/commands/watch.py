"""`pulsar-conformance watch`: record a running cluster, and keep its audit and page current."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pulsar_conformance import specs
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.adapters.arguments import add_profile, add_reading, parse_seconds
from pulsar_conformance.adapters.spark import session
from pulsar_conformance.adapters.spark.background import collect_garbage
from pulsar_conformance.audit.commands.audit import JUDGED_BY
from pulsar_conformance.audit.commands.collect import UNREACHED, add_cluster_arguments, recorder_of
from pulsar_conformance.audit.input import paths
from pulsar_conformance.audit.input.paths import AuditError
from pulsar_conformance.audit.pipeline import spark_tuning
from pulsar_conformance.conformance.engine.plan import BadPlan, chosen_readings
from pulsar_conformance.specs.errors import print_note
from pulsar_conformance.specs.text import counted

if TYPE_CHECKING:
    from pulsar_conformance.audit.collect.recording import Recorder

WRONG, UNUSABLE, INTERRUPTED = 1, 2, 130
HISTORY, AUDIT = "history", "audit"
"""Names of the folders for the history and the audit within the output folder."""

AUDIT_INTERVAL = 300.0
"""Seconds from the start of one audit to the start of the next."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the cluster, the judging, the times of audits, and the output."""
    add_cluster_arguments(parser)
    parser.add_argument(
        "--output",
        required=True,
        metavar="PATH",
        help=f"a folder; the history goes to its subfolder {HISTORY}, and the audit to {AUDIT}",
    )
    parser.add_argument(
        "--audit-every",
        type=parse_seconds,
        default=AUDIT_INTERVAL,
        metavar="SECONDS",
        help="the time between two audits (%(default)g)",
    )
    add_profile(parser, JUDGED_BY, default=None)
    add_reading(parser, "judge by this alternative of a reading")
    parser.add_argument(
        "--spark",
        default="local[*]",
        metavar="TARGET",
        help="where Spark runs: local[N] or sc://HOST:PORT (%(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    """Print a line per audit; return 130 if interrupted, 2 on failure.

    After the given duration, return 1 if the last audit found faults, otherwise 0.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        with _termination_as_interrupt():
            return _watch(args)
    except (AdapterError, AuditError, BadPlan, specs.UnknownName, *UNREACHED) as wrong:
        print_note(wrong)
        return UNUSABLE
    except KeyboardInterrupt:
        told = f"stopped; the recorded history is in {args.output}/{HISTORY}"
        print_note(told)
        return INTERRUPTED


def _watch(args: argparse.Namespace) -> int:
    history, output = (str(Path(args.output) / name) for name in (HISTORY, AUDIT))
    paths.check_paths(history, output, None)
    session.check_target(args.spark, "watch")
    readings = chosen_readings(args.reading)
    specs.load().check_readings(readings)
    with recorder_of(args, Path(history)) as (recorder, recording):
        recorder.observe(first=True)
        with _run_in_thread(recorder, args.every, args.duration) as state:
            options = spark_tuning.process_settings(history)
            with session.spark_acquired(args.spark, "watch", options) as spark:
                audit = _make_audit(spark.session, args, readings, history, output)
                return _audit_until_end(audit, state, lambda: recording.lines, args.audit_every)


@dataclass
class RecorderState:
    """State of a recorder that runs in a thread: a signal to stop it, a signal that it has ended,
    and its errors.
    """

    stop: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)
    failed: list[BaseException] = field(default_factory=list)


@contextmanager
def _run_in_thread(
    recorder: Recorder, every: float, duration: float | None
) -> Iterator[RecorderState]:
    """Run a recorder in a thread until the block ends; yield its signals and errors."""
    state = RecorderState()

    def work() -> None:
        try:
            recorder.run(every, duration, state.stop, first=False)
        except BaseException as error:  # The main thread reraises it.
            state.failed.append(error)
        finally:
            state.ended.set()

    thread = threading.Thread(target=work, name="recorder")
    thread.start()
    try:
        yield state
    finally:
        state.stop.set()
        thread.join()


def _make_audit(
    spark: Any, args: argparse.Namespace, readings: dict[str, str], history: str, output: str
) -> Callable[[], int]:
    """Return a function that audits the history so far, prints a line, and returns the number of
    faults.
    """
    from pulsar_conformance.audit.page.making import PAGE
    from pulsar_conformance.audit.pipeline.report import (
        Counterfactual,
        ReportOptions,
        judging_plan,
        write_audit,
    )
    from pulsar_conformance.audit.pipeline.report_text import overall_verdict

    plan = judging_plan(spark, history, args.profile, readings)
    refresh = max(1, round(args.audit_every))
    how = ReportOptions(quiet=True, refresh=refresh, wait=True)
    print(f"the page: {Path(output) / PAGE}", flush=True)

    def audit() -> int:
        found, _lines = write_audit(spark, history, output, plan, Counterfactual({}, None), how)
        parts = (
            counted(found["lines"]["read"], "line"),
            counted(found["cycles"], "shedding cycle"),
            counted(found["unloads"]["recorded"], "unload"),
            overall_verdict(found),
        )
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        print(f"{now}  {', '.join(parts)}", flush=True)
        collect_garbage()  # Java keeps the plans of an audit as long as Python refers to them.
        return int(found["wrong"])

    return audit


def _audit_until_end(
    audit: Callable[[], int], state: RecorderState, lines: Callable[[], int], every: float
) -> int:
    """Audit new records periodically until the recorder ends; return the exit status.

    `audit` makes an audit and returns its number of faults; `lines` returns the number of lines
    recorded. `every` is in seconds.
    """
    audited = wrong = 0
    while True:
        begun, last, there = time.monotonic(), state.ended.is_set(), lines()
        if there > audited:
            wrong, audited = audit(), there
        if state.failed:
            raise state.failed[0]
        if last:
            return WRONG if wrong else 0
        state.ended.wait(max(0.0, begun + every - time.monotonic()))


@contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """Treat SIGTERM like an interrupt within the block."""
    former = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)
