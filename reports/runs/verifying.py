"""Verification of reports, without repeating their runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pulsar_conformance.reports.runs.making import BadReport, Report, count_verdicts, is_conformant
from pulsar_conformance.reports.runs.requirements import checksum, frozen_requirements
from pulsar_conformance.specs.schemas import problem_with

SCHEMA = "report"


def read_report(file: Path) -> Report:
    """Return the report in a file, after checking its structure. Errors: `BadReport`."""
    try:
        found: Any = json.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as wrong:
        raise BadReport(f"{file}: {getattr(wrong, 'strerror', None) or wrong}") from None
    except json.JSONDecodeError as wrong:
        raise BadReport(f"{file}: it isn't JSON ({wrong.msg}, line {wrong.lineno})") from None
    if problem := problem_with(found, SCHEMA):
        raise BadReport(f"{file}: {problem}")
    report: Report = found
    return report


def verify(report: Report) -> None:
    """Check that a report is consistent and matches the requirement set of its version.

    Errors: `BadReport` with the first problem.
    """
    for problem in _problems(report):
        raise BadReport(problem)


def _problems(report: Report) -> Iterator[str]:
    verdicts = report["verdicts"]
    named = report["requirements"]
    if named["version"] is None:
        yield (
            f"its run used rules of {named['profile']} that are not frozen; "
            "repeat the run with a release of the suite"
        )
    known = {one.version: one for one in frozen_requirements(named["profile"])}
    if named["version"] not in known:
        have = ", ".join(map(str, known)) or "none"
        yield f"{named['profile']} has no version {named['version']}; its versions are: {have}"
    required_answers = known[named["version"]]
    if named["checksum"] != required_answers.checksum:
        yield f"its checksum of the requirements differs from that of {required_answers.name}"
    judged = [line["rule"] for line in verdicts]
    for rule in judged:
        if rule not in required_answers.rules:
            yield f"it judges {rule}, which {required_answers.name} does not have"
        if judged.count(rule) > 1:
            yield f"it judges {rule} more than once"
    for rule, entry in required_answers.rules.items():
        if rule not in judged:
            yield f"it has no verdict on {rule}, which {required_answers.name} demands"
        level = next(line["level"] for line in verdicts if line["rule"] == rule)
        if level != entry["level"]:
            yield f"it gives {rule} the level {level}, but the rule's level is {entry['level']}"
    if report["summary"] != count_verdicts(verdicts):
        yield "its summary does not agree with its verdicts"
    if report["conformant"] != is_conformant(verdicts):
        said = json.dumps(report["conformant"])
        yield f"it says conformant: {said}, but its verdicts say otherwise"
    for line in verdicts:
        if line["verdict"] == "pass" and not line["reached"]:
            yield f"{line['rule']} passes although no case reached it"
        if line["verdict"] == "fail" and line["failure"] is None:
            yield f"{line['rule']} fails, but the report has no case that shows it"
    implementation = report["implementation"]
    for word in (implementation["adapter"], implementation["profile"]):
        if word not in report["command"]:
            yield f"its command does not name {word}"
    rest = {name: value for name, value in report.items() if name != "checksum"}
    if report["checksum"] != checksum(rest):
        yield "it was changed after it was created: its checksum does not match its content"
