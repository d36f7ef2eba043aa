"""An audit from its input to what is told of it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from pulsar_conformance.conformance.audit import asked, casefiles, summary, telling
from pulsar_conformance.conformance.audit.plan import Plan
from pulsar_conformance.conformance.audit.writing import write, write_table

SHOWN = 3
"""Faults of a rule that are told with their evidence."""


def reported(
    spark: Any, args: argparse.Namespace, readings: Mapping[str, str], settings: dict[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """The summary and its lines, after everything is written. Errors: `AuditError`."""
    plan = Plan.of(args.judge_by, readings, since=args.time_from, until=args.time_to)
    tables = write(spark, args.input, args.output, plan, _tell)
    found = summary.summary(tables, plan)
    if settings or args.strategy:
        other = asked.plan_of(plan, settings, args.strategy)
        decided = write_table(asked.decisions(tables, other), args.output, asked.TABLE)
        found["asked"] = {
            "settings": settings,
            "strategy": args.strategy,
            **asked.compared(tables, decided),
        }
    found["wrong"] = summary.wrong(found)
    faults = summary.faults(tables["verdicts"], SHOWN)
    casefiles.write(tables["verdicts"], args.output, args.cases)
    cases = f"{args.output}/{casefiles.FOLDER}"
    return found, list(telling.lines(found, faults, cases))


def _tell(what: str) -> None:
    print(what, file=sys.stderr)
