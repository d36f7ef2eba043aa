"""Reports made from the verdict stream of a run, each about one implementation and profile."""

from __future__ import annotations

import json
import shlex
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pulsar_conformance.reports.runs.requirements import checksum, requirements_to_report
from pulsar_conformance.reports.table import word_of
from pulsar_conformance.specs.errors import UserError

Report = dict[str, Any]
Line = Mapping[str, Any]
BREAKING_VERDICTS = ("fail", "known_deviation", "error", "unexercised")
"""Verdicts on a `must` rule that prevent a conformant report: broken, or not known to be kept."""
VERSION = 1


class BadReport(UserError):
    """Raised if a stream or report cannot be used. The message is one sentence."""


@dataclass(frozen=True)
class RunDetails:
    """Information about a run that is not in its verdict stream."""

    date: str
    project: str
    url: str
    contact: str
    mode: str = "default"
    known: str = ""
    """File with the known deviations of the run."""


def read_stream(file: Path) -> list[Line]:
    """Return the lines of a verdict stream. Errors: `BadReport`."""
    try:
        lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as wrong:
        raise BadReport(f"{file}: {getattr(wrong, 'strerror', None) or wrong}") from None
    except json.JSONDecodeError:
        raise BadReport(
            f"{file}: it is not a verdict stream, which has JSON in each line"
        ) from None
    if not lines or not isinstance(lines[0], dict) or lines[0].get("kind") != "run":
        raise BadReport(f"{file}: it is not a verdict stream; give the verdicts.jsonl of a run")
    return lines


def make_reports(lines: Sequence[Line], about: RunDetails) -> Iterator[Report]:
    """Yield a report for each implementation and profile of a stream, in order.

    Errors: `BadReport` if the run judged only some rules, since a report is about all rules.
    """
    first, *verdicts = lines
    if first["rules"]:
        chosen = ", ".join(first["rules"])
        problem = f"the run judged only {chosen}, but a report is about all rules of a profile"
        raise BadReport(f"{problem}; repeat the run without --rules")
    if first["known_deviations"] and not about.known:
        raise BadReport(
            "the run used known deviations; name their file with --known-deviations, so that "
            "others can repeat it"
        )
    for one in first["implementations"]:
        pair = one["adapter"], one["profile"]
        of_it = [line for line in verdicts if (line["implementation"], line["profile"]) == pair]
        _check_complete(one["profile"], of_it)
        yield _report(first, one, of_it, about)


def with_cases(report: Report, folder: Path) -> Report:
    """Return a report whose failures name copies of their cases, made in `folder`.

    The folder is recreated. If a case is no longer where the run saved it, the failure keeps its
    old name.
    """
    shutil.rmtree(folder, ignore_errors=True)
    verdicts = [_with_case(line, folder) for line in report["verdicts"]]
    rest = {name: value for name, value in report.items() if name != "checksum"}
    rest["verdicts"] = verdicts
    return {**rest, "checksum": checksum(rest)}


def _with_case(line: Line, folder: Path) -> Line:
    failure = line["failure"]
    saved = Path(failure["case_file"]) if failure else None
    if failure is None or saved is None or not saved.is_file():
        return line
    copy = folder / saved.parent.name / saved.name
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(saved, copy)
    again = failure["again"].replace(str(saved), copy.as_posix())
    return {**line, "failure": {**failure, "case_file": copy.as_posix(), "again": again}}


def _check_complete(profile: str, verdicts: Sequence[Line]) -> None:
    """Check that the run did more than replay a single case. Errors: `BadReport`."""
    drawn = any(line["drawn"] or line["examples"] for line in verdicts)
    if not drawn and any(line["saved"] for line in verdicts):
        raise BadReport(
            "the run only replayed a case; repeat it without --replay, since a report is about "
            f"all rules of {profile}"
        )


def _report(first: Line, one: Line, verdicts: Sequence[Line], about: RunDetails) -> Report:
    requirements = requirements_to_report(one["profile"])
    report = {
        "report": VERSION,
        "date": about.date,
        "project": {"name": about.project, **({"url": about.url} if about.url else {})},
        "contact": about.contact,
        "mode": about.mode,
        "implementation": dict(one),
        "requirements": {
            "profile": requirements.profile,
            "version": requirements.version,
            "checksum": requirements.checksum,
        },
        "command": _command(first, one, about.known),
        "seed": first["seed"],
        "examples": first["examples"],
        "versions": first["versions"],
        "conformant": is_conformant(verdicts),
        "summary": count_verdicts(verdicts),
        "verdicts": [_verdict(line) for line in verdicts],
    }
    return {**report, "checksum": checksum(report)}


def _verdict(line: Line) -> Line:
    """Return a line of the stream without fields that are the same throughout the report."""
    return {
        name: value
        for name, value in line.items()
        if name not in ("kind", "implementation", "profile")
    }


def _command(first: Line, one: Line, known: str) -> str:
    words = ["pulsar-conformance", "run", "--adapter", one["adapter"]]
    words += ["--judge-by", one["profile"]]
    for name, value in first["readings"].items():
        words += ["--reading", f"{name}={value}"]
    words += ["--examples", str(first["examples"]), "--seed", str(first["seed"])]
    words += ["--known-deviations", known] if known else []
    return shlex.join(words)


def is_conformant(verdicts: Sequence[Line]) -> bool:
    """True if at least one `must` rule passes and none has one of `BREAKING_VERDICTS`."""
    musts = [line["verdict"] for line in verdicts if line["level"] == "must"]
    return "pass" in musts and not set(BREAKING_VERDICTS).intersection(musts)


def count_verdicts(verdicts: Sequence[Line]) -> dict[str, int]:
    """Return the number of rules by verdict; a failed rule that is not a `must` is a warning."""
    return dict(sorted(Counter(map(word_of, verdicts)).items()))


def write_report(report: Report, file: Path) -> None:
    """Write a report with one verdict per line, so that people can compare reports."""
    head = {name: value for name, value in report.items() if name != "verdicts"}
    text = json.dumps(head, indent=1, ensure_ascii=False).removesuffix("\n}")
    lines = ",\n".join(f"  {json.dumps(one, ensure_ascii=False)}" for one in report["verdicts"])
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'{text},\n "verdicts": [\n{lines}\n ]\n}}\n', "utf-8")
