"""`pulsar-conformance audit`: recorded history of clusters, judged."""

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
from pulsar_conformance.adapters.arguments import DEFAULT_PROFILE
from pulsar_conformance.adapters.spark import session
from pulsar_conformance.adapters.spark.connection import STRATEGIES
from pulsar_conformance.conformance.audit import paths, sizes
from pulsar_conformance.conformance.audit.errors import AuditError
from pulsar_conformance.conformance.given_settings import BadSetting
from pulsar_conformance.conformance.plan import BadPlan, chosen_readings
from pulsar_conformance.conformance.snapshot.broker_conf import read_conf
from pulsar_conformance.conformance.snapshot.files import BadSnapshot

WRONG, UNUSABLE = 1, 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is read, by what it is judged, and where everything goes."""
    parser.add_argument(
        "--input", required=True, metavar="PATH", help="a file or folder of JSON Lines or Parquet"
    )
    parser.add_argument(
        "--output", required=True, metavar="PATH", help="a folder for the tables and cases"
    )
    parser.add_argument(
        "--judge-by",
        default=DEFAULT_PROFILE,
        metavar="PROFILE",
        help="the documents to judge by (%(default)s)",
    )
    parser.add_argument(
        "--reading",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="take an open place of the documents this way; may be given again",
    )
    parser.add_argument(
        "--settings",
        metavar="FILE",
        help="what these settings, as in broker.conf, would have done",
    )
    parser.add_argument(
        "--strategy", type=_strategy, metavar="NAME", help="what this strategy would have done"
    )
    for name, what in (("from", "judge cycles at this time or later"), ("to", "and before this")):
        parser.add_argument(
            f"--{name}", dest=f"time_{name}", type=_time, metavar="TIME", help=f"{what}, ISO 8601"
        )
    parser.add_argument("--json", metavar="FILE", help="the summary as JSON, too")
    parser.add_argument(
        "--cases",
        type=int,
        default=10,
        metavar="N",
        help="case files for so many faults of a rule (%(default)s)",
    )
    parser.add_argument(
        "--spark",
        default="local[*]",
        metavar="TARGET",
        help="where Spark runs: local[N] or sc://HOST:PORT (%(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    """Prints the summary; 1 where something was done wrong, 2 for what cannot be audited."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        paths.check(args.input, args.output, args.json)
        _check_times(args.time_from, args.time_to)
        readings = chosen_readings(args.reading)
        settings = _settings(args.settings)
        specs.load().check_readings(readings)
        spark = session.take(args.spark, "audit", sizes.of_process(args.input))
        try:
            from pulsar_conformance.conformance.audit.plan import Plan
            from pulsar_conformance.conformance.audit.report import Asked, check_rules, reported

            plan = Plan.of(args.judge_by, readings, since=args.time_from, until=args.time_to)
            check_rules(plan)
            other = Asked(settings, args.strategy)
            found, lines = reported(spark.session, args.input, args.output, plan, other, args.cases)
        finally:
            session.release(spark)
    except (AdapterError, AuditError, BadPlan, BadSetting, BadSnapshot, specs.UnknownName) as wrong:
        print(f"pulsar-conformance: {wrong}", file=sys.stderr)
        return UNUSABLE
    print("\n".join(lines))
    if args.json:
        Path(args.json).write_text(json.dumps(found, indent=2) + "\n", "utf-8")
    if not found["cycles"]:
        print(f"pulsar-conformance: {_nothing(args, found['lines'])}", file=sys.stderr)
    return _status(args, found)


def _status(args: argparse.Namespace, found: dict[str, Any]) -> int:
    """A history without a cycle is no mistake, but where it was asked for, or is no history."""
    asked = args.time_from or args.time_to or not found["lines"]["used"]
    if asked and not found["cycles"]:
        return UNUSABLE
    return WRONG if found["wrong"] else 0


def _nothing(args: argparse.Namespace, lines: dict[str, Any]) -> str:
    """Why nothing could be audited, and what to do."""
    if not lines["used"]:
        return f"--input {args.input}: no line of it can be used; {args.output}/quarantine says why"
    if args.time_from or args.time_to:
        return "no shedding cycle of a broker that reports is in that time; see --from and --to"
    problem = "there is no shedding cycle of a broker that reports in it"
    return f"--input {args.input}: {problem}; give load reports, leaders and cycles of one time"


def _check_times(since: datetime | None, until: datetime | None) -> None:
    if since and until and since >= until:
        problem = f"it is not before --to {until.isoformat()}, so that no cycle is between them"
        raise AuditError(f"--from {since.isoformat()}: {problem}")


def _settings(file: str | None) -> dict[str, Any]:
    if file is None:
        return {}
    given = read_conf(Path(file))
    if not given:
        raise BadSetting(f"--settings {file}: no setting in it is about load balancing")
    return given


def _strategy(text: str) -> str:
    if text.rpartition(".")[2] not in STRATEGIES:
        raise argparse.ArgumentTypeError(f"{text}: there are {', '.join(STRATEGIES)}")
    return text


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        problem = f"{text} is no time in ISO 8601; write it as 2026-11-20T10:00:00Z"
        raise argparse.ArgumentTypeError(problem) from None
