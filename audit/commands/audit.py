"""`pulsar-conformance audit`: judge the recorded history of clusters."""

from __future__ import annotations

import argparse
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.adapters.arguments import DEFAULT_PROFILE, add_profile, add_reading
from pulsar_conformance.adapters.spark import session
from pulsar_conformance.adapters.spark.connection import STRATEGIES
from pulsar_conformance.audit.input import paths
from pulsar_conformance.audit.input.paths import AuditError
from pulsar_conformance.audit.pipeline import spark_tuning
from pulsar_conformance.conformance.cases.load_reports import BadSnapshot
from pulsar_conformance.conformance.cases.setting_types import BadSetting
from pulsar_conformance.conformance.cases.settings import SettingsRead
from pulsar_conformance.conformance.cases.settings_files import NOTHING_READ, read_settings
from pulsar_conformance.conformance.common.image_tags import version_for_settings
from pulsar_conformance.conformance.engine.plan import BadPlan, chosen_readings
from pulsar_conformance.specs.errors import print_note

WRONG, UNUSABLE, INTERRUPTED = 1, 2, 130

JUDGED_BY = (
    "the documents or the release to judge by. The default is the release nearest to the version "
    "in the load reports; the audit then also shows which verdicts differ by the documents of that "
    f"release. If the reports name no version, the default is {DEFAULT_PROFILE}."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the input, the judging and the output."""
    parser.add_argument(
        "--input", required=True, metavar="PATH", help="a file or folder of JSON Lines or Parquet"
    )
    parser.add_argument(
        "--output", required=True, metavar="PATH", help="a folder for the tables and cases"
    )
    add_profile(parser, JUDGED_BY, default=None)
    add_reading(parser, "judge by this alternative of a reading")
    parser.add_argument(
        "--settings",
        metavar="FILE",
        help="also report what the settings of this broker.conf would have unloaded",
    )
    parser.add_argument(
        "--strategy",
        type=_parse_strategy,
        metavar="NAME",
        help="also report what this strategy would have unloaded",
    )
    for name, what in (
        ("from", "judge cycles at this time or later"),
        ("to", "judge cycles before this time"),
    ):
        parser.add_argument(
            f"--{name}",
            dest=f"time_{name}",
            type=_parse_time,
            metavar="TIME",
            help=f"{what}, ISO 8601",
        )
    parser.add_argument(
        "--why", metavar="BUNDLE", help="show what happened to this bundle, with the arithmetic"
    )
    parser.add_argument(
        "--broker",
        metavar="NAME",
        help="show what happened at this broker; may be combined with --why",
    )
    parser.add_argument(
        "--at",
        type=_parse_time,
        metavar="TIME",
        help="with --why or --broker: show events up to this time, ISO 8601",
    )
    parser.add_argument(
        "--cluster",
        metavar="NAME",
        help="with --why or --broker: only in this cluster",
    )
    parser.add_argument("--json", metavar="FILE", help="also write the summary as JSON")
    parser.add_argument(
        "--cases",
        type=int,
        default=10,
        metavar="N",
        help="how many case files to write for each broken rule (%(default)s)",
    )
    parser.add_argument(
        "--wait",
        action="store_true",
        help="wait for any other audit that is writing into the same output",
    )
    parser.add_argument(
        "--spark",
        default="local[*]",
        metavar="TARGET",
        help="where Spark runs: local[N] or sc://HOST:PORT (%(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    """Print the summary; return 1 if the audit finds faults, 2 if nothing can be audited."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        paths.check_paths(args.input, args.output, args.json)
        _check_times(args.time_from, args.time_to)
        _check_options(args)
        readings = chosen_readings(args.reading)
        read = _read_settings(args.settings, args.profile)
        specs.load().check_readings(readings)
        options = spark_tuning.process_settings(args.input)
        session.start_java(args.spark, "audit", options)
        from pulsar_conformance.audit.pipeline.inquiry import Inquiry
        from pulsar_conformance.audit.pipeline.report import (
            Counterfactual,
            ReportOptions,
            answer_inquiry,
            judging_plan,
            write_audit,
        )

        with session.spark_acquired(args.spark, "audit", options) as spark:
            if spark_tuning.keeps_objects(options):
                spark.defer_freeing()
            asked = Inquiry(args.why, args.broker, args.at, args.cluster)
            plan = judging_plan(
                spark.session,
                args.input,
                args.profile,
                readings,
                since=args.time_from,
                until=args.time_to,
            )
            settings = _settings_to_compare(args.settings, read, args.profile or plan.profile)
            other = Counterfactual(settings, args.strategy)
            how = ReportOptions(args.cases, wait=args.wait)
            if asked:
                answer = answer_inquiry(spark.session, args.input, args.output, plan, asked, how)
                print("\n".join(answer))
                return 0
            found, lines = write_audit(spark.session, args.input, args.output, plan, other, how)
    except (AdapterError, AuditError, BadPlan, BadSetting, BadSnapshot, specs.UnknownName) as wrong:
        print_note(wrong)
        return UNUSABLE
    except KeyboardInterrupt:
        told = "stopped; to continue, run the same command again"
        print_note(told)
        return INTERRUPTED
    print("\n".join(lines))
    if args.json:
        Path(args.json).write_text(json.dumps(found, indent=2) + "\n", "utf-8")
    if not found["cycles"] and not found["rules"]:
        why = _why_nothing_is_audited(args, found["lines"])
        print_note(why)
        return UNUSABLE
    return WRONG if found["wrong"] else 0


def _why_nothing_is_audited(args: argparse.Namespace, lines: dict[str, Any]) -> str:
    """Return the reason why nothing could be audited, with advice."""
    if not lines["used"]:
        problem = f"none of its lines can be used; {args.output}/quarantine gives the reasons"
        hint = "create a history with pulsar-conformance import"
        return f"--input {args.input}: {problem}; {hint}"
    if args.time_from or args.time_to:
        problem = "no broker had reported before any shedding cycle between --from and --to"
        return f"{problem}; give another period"
    problem = "no broker had reported before any of its shedding cycles"
    hint = (
        "give load reports, leaders and cycles of the same period, or load reports of several times"
    )
    return f"--input {args.input}: {problem}; {hint}"


def _check_times(since: datetime | None, until: datetime | None) -> None:
    if since and until and since >= until:
        problem = f"it is not before --to {until.isoformat()}, so the period is empty"
        raise AuditError(f"--from {since.isoformat()}: {problem}")


def _check_options(args: argparse.Namespace) -> None:
    """Check that the options can be combined. Errors: `AuditError`."""
    asked = args.why is not None or args.broker is not None
    for name in ("at", "cluster"):
        if getattr(args, name) is not None and not asked:
            raise AuditError(f"--{name} needs --why BUNDLE or --broker NAME; give one of them")
    others = ("settings", "strategy", "json")
    given = [f"--{name}" for name in others if getattr(args, name) is not None]
    if asked and given:
        asking = "--why" if args.why is not None else "--broker"
        raise AuditError(f"{', '.join(given)} cannot be combined with {asking}")


def _read_settings(file: str | None, profile: str | None) -> SettingsRead:
    """Return the settings in `file` that are compared with the history's; none without a file.

    Errors: `BadSetting`, for example if the file has no documented setting.
    """
    if file is None:
        return NOTHING_READ
    read = read_settings(Path(file), version_for_settings(Path(file), profile=profile) or None)
    if not _documented_values(read):
        raise BadSetting(
            f"--settings {file}: it has no documented load balancing setting; give a broker.conf"
        )
    return read


def _settings_to_compare(file: str | None, read: SettingsRead, profile: str) -> dict[str, Any]:
    """Return a file's documented settings as the release reads them; print notes on them."""
    if file is None:
        return {}
    if version := version_for_settings(Path(file), profile=profile):
        read = read.read_by(version)
    given = _documented_values(read)
    others = [name for name in read.values if name not in given]
    notes = [*read.notes(), *([f"not used by the audit: {', '.join(others)}"] if others else [])]
    for note in notes:
        print_note(note)
    return given


def _documented_values(read: SettingsRead) -> dict[str, Any]:
    return {name: value for name, value in read.values.items() if name in specs.load().settings}


def _parse_strategy(text: str) -> str:
    if text.rpartition(".")[2] not in STRATEGIES:
        raise argparse.ArgumentTypeError(
            f"{text} is not a strategy; choose from {', '.join(STRATEGIES)}"
        )
    return text


def _parse_time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        problem = f"{text} is not a time in ISO 8601; write it as 2026-11-20T10:00:00Z"
        raise argparse.ArgumentTypeError(problem) from None
