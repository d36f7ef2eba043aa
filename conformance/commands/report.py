"""`pulsar-conformance report`: make, verify, compare and convert reports of runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from pulsar_conformance.adapters.arguments import DEFAULT_PROFILE
from pulsar_conformance.reports import allure
from pulsar_conformance.reports.runs import comparing, formats, making, requirements, verifying
from pulsar_conformance.reports.runs.making import BadReport
from pulsar_conformance.specs.errors import print_note
from pulsar_conformance.specs.text import as_sentence

STREAM = "verdicts.jsonl"
REPORT = "a report, as report make writes it"
CASES = "cases"
"""Folder next to reports, with the cases that show their failures."""

FORMS: Mapping[str, Callable[[making.Report], str]] = {
    "badge": formats.badge,
    "endpoint": formats.badge_json,
    "summary": formats.summary_markdown,
    "junit": formats.junit_xml,
}
PURPOSES = {
    "badge": "print a badge as SVG",
    "endpoint": "print a badge as the JSON that badge services read",
    "summary": "print a summary in Markdown, for a pull request",
    "junit": "print JUnit XML with a test case for each rule",
}

EXAMPLES = {
    "make": "--project mine --contact me@example.org",
    "verify": "mine-1.0-documented-3.0.json",
    "diff": "before.json after.json",
    "allure": "",
    "badge": "mine-1.0-documented-3.0.json > badge.svg",
    "endpoint": "mine-1.0-documented-3.0.json > badge.json",
    "summary": "mine-1.0-documented-3.0.json > summary.md",
    "junit": "mine-1.0-documented-3.0.json > junit.xml",
    "freeze": "documented-3.0 --check",
}
"""Arguments of each subcommand for the example in its help."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the report subcommands, each with its arguments."""
    subcommands = parser.add_subparsers(dest="act", required=True, metavar="ACT", help="what to do")
    make = _add_subcommand(subcommands, "make", "make a report from the verdict stream of a run")
    make.add_argument(
        "stream",
        nargs="?",
        type=Path,
        metavar="VERDICTS.jsonl",
        help="the verdict stream of a run (verdicts.jsonl in its --out)",
    )
    make.add_argument(
        "--out",
        type=Path,
        default=allure.OUT,
        metavar="DIR",
        help=f"the folder with the results of the run, its --out ({allure.OUT})",
    )
    make.add_argument(
        "--project", required=True, metavar="NAME", help="the name of the project that was judged"
    )
    make.add_argument(
        "--contact", required=True, metavar="ADDRESS", help="whom to ask about the report"
    )
    make.add_argument("--url", default="", metavar="ADDRESS", help="the page of the project")
    make.add_argument(
        "--mode", default="default", metavar="TEXT", help="how the implementation was set up"
    )
    make.add_argument(
        "--known-deviations",
        default="",
        metavar="FILE",
        help="the known-deviations file of the run, if it had one",
    )
    make.add_argument("--date", type=_parse_day, metavar="DAY", help="the day of the run (today)")
    make.add_argument(
        "--to", type=Path, default=Path(), metavar="DIR", help="the folder to write to"
    )
    verify = _add_subcommand(subcommands, "verify", "check reports against their requirement sets")
    verify.add_argument("file", nargs="+", type=Path, metavar="FILE", help=REPORT)
    diff = _add_subcommand(subcommands, "diff", "print which rules became better or worse")
    diff.add_argument("before", type=Path, metavar="A", help="the earlier report")
    diff.add_argument("after", type=Path, metavar="B", help="the later report")
    allure.add_arguments(
        _add_subcommand(subcommands, "allure", "make an Allure report; needs Node")
    )
    for form, purpose in PURPOSES.items():
        _add_subcommand(subcommands, form, purpose).add_argument(
            "file", type=Path, metavar="FILE", help=REPORT
        )
    freeze = _add_subcommand(
        subcommands, "freeze", "freeze the rules of a profile as a new version"
    )
    freeze.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 if the rules have changed"
    )
    freeze.add_argument(
        "profile",
        nargs="?",
        default=DEFAULT_PROFILE,
        metavar="PROFILE",
        help="the profile whose rules are frozen (%(default)s)",
    )


def _add_subcommand(subcommands: Any, name: str, purpose: str) -> argparse.ArgumentParser:
    """Add a subcommand of `report`, and return its parser."""
    example = f"pulsar-conformance report {name} {EXAMPLES[name]}".rstrip()
    made: argparse.ArgumentParser = subcommands.add_parser(
        name,
        help=purpose,
        description=as_sentence(purpose),
        epilog=f"example:\n  {example}",
    )
    return made


def _parse_day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        hint = "write it as YYYY-MM-DD, such as 2026-01-31"
        raise argparse.ArgumentTypeError(f"{text} is not a date; {hint}") from None


def run(args: argparse.Namespace) -> int:
    """Run a subcommand; return 1 if a report is invalid or got worse, 2 if it is unreadable."""
    subcommands = {"make": _make, "verify": _verify, "diff": _diff, "freeze": _freeze}
    if args.act == "allure":
        return allure.run(args)
    return subcommands.get(args.act, _print_converted)(args)


def _make(args: argparse.Namespace) -> int:
    day = args.date or datetime.now(UTC).date().isoformat()
    about = making.RunDetails(
        day, args.project, args.url, args.contact, args.mode, args.known_deviations
    )
    for report in making.make_reports(making.read_stream(args.stream or args.out / STREAM), about):
        one = report["implementation"]
        name = f"{one['name']}-{one['profile']}".replace(" ", "-").replace("/", "-")
        report = making.with_cases(report, args.to / CASES / name)
        making.write_report(report, args.to / f"{name}.json")
        if lost := [line["rule"] for line in report["verdicts"] if _is_lost(line)]:
            print_note(
                f"{args.to / f'{name}.json'}: the cases of {', '.join(lost[:3])}"
                f"{' and others' if len(lost) > 3 else ''} are not in this folder, so nobody can "
                "replay them; make the report in the folder in which the run was started"
            )
        print(f"{args.to / f'{name}.json'}: {_outcome_counts(report)}")
    return 0


def _is_lost(line: making.Line) -> bool:
    """True if the case file of a failure does not exist where the report says.

    A worked example is never lost: its place is a file and a line, and it is part of the suite.
    """
    place = line["failure"]["case_file"] if line["failure"] else ""
    return place.endswith(".json") and not Path(place).is_file()


def _outcome_counts(report: making.Report) -> str:
    counts = (f"{count} {word.replace('_', ' ')}" for word, count in report["summary"].items())
    return f"{'conformant' if report['conformant'] else 'not conformant'}, {', '.join(counts)}"


def _verify(args: argparse.Namespace) -> int:
    status = 0
    for file in args.file:
        report = verifying.read_report(file)
        try:
            verifying.verify(report)
        except BadReport as error:
            print_note(f"{file}: {error}")
            status = 1
            continue
        named = report["requirements"]
        print(f"{file}: agrees with the rules of {named['profile']}, version {named['version']}")
    return status


def _diff(args: argparse.Namespace) -> int:
    before, after = verifying.read_report(args.before), verifying.read_report(args.after)
    found = comparing.changed_verdicts(before, after)
    for word, changes in found.items():
        if changes:
            print(f"{word}: {len(changes)}")
        for change in changes:
            print(f"  {change}")
    if not any(found.values()):
        print("no verdict has changed")
    if stale := comparing.stale_deviations(after):
        print(
            f"{args.after}: the list of known deviations is out of date: "
            f"the run does not find {', '.join(stale)} broken"
        )
    return int(bool(found["worse"]))


def _freeze(args: argparse.Namespace) -> int:
    if args.check:
        current = requirements.requirements_to_report(args.profile)
        print(f"{args.profile}: the rules are those of {current.name}")
        return int(current.version is None)
    file = requirements.freeze(args.profile)
    unchanged = "the rules have not changed since the newest frozen version"
    print(f"{args.profile}: {file.name if file else unchanged}")
    return 0


def _print_converted(args: argparse.Namespace) -> int:
    sys.stdout.write(FORMS[args.act](verifying.read_report(args.file)))
    return 0
