"""`pulsar-conformance changes OLDER NEWER`: the decisions that differ between two releases."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.adapters.arguments import (
    TIME_LIMIT_HELP,
    add_drawing_options,
    limits_within,
    parse_seconds,
)
from pulsar_conformance.adapters.connection import Limits
from pulsar_conformance.adapters.pulsar.versions import releases
from pulsar_conformance.conformance.cases import saved
from pulsar_conformance.conformance.compare.changes import Comparison, PairChanges
from pulsar_conformance.conformance.compare.changes_text import (
    changes_by_release,
    changes_without_case,
    comparison_heading,
    pair_lines,
    profile_of,
    summary_as_json,
    with_annotated_settings,
)
from pulsar_conformance.conformance.compare.differences import Pair
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.judge import JudgedImplementation
from pulsar_conformance.conformance.engine.plan import BadPlan
from pulsar_conformance.conformance.reporters import OngoingWork
from pulsar_conformance.specs.errors import print_note
from pulsar_conformance.specs.text import counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add two releases or `--all`, and options that select questions."""
    known = ", ".join(releases())
    parser.add_argument("releases", nargs="*", metavar="RELEASE", help=f"two of {known}")
    parser.add_argument(
        "--all",
        action="store_true",
        help="compare each release with the next, and report in which release a decision changed",
    )
    add_drawing_options(parser)
    parser.add_argument("--json", metavar="FILE", help="also write the result as JSON")
    parser.add_argument(
        "--time-limit", type=parse_seconds, default=None, metavar="SECONDS", help=TIME_LIMIT_HELP
    )


def run(args: argparse.Namespace) -> int:
    """Print each kind of change with its smallest case; return 2 if a release cannot be run."""
    with OngoingWork() as work:
        return _compare(args, work)


def _compare(args: argparse.Namespace, work: OngoingWork) -> int:
    walk = _ReleasePairs(limits_within(args.time_limit), work)
    try:
        versions = _versions(args.releases, args.all)
        _check_writable(args.json)
        found = []
        for older, newer in pairwise(versions):
            comparison = walk.between(older, newer)
            operations = _operations(comparison, args.operation)
            work.show("")
            print(comparison_heading(older, newer), flush=True)
            if len(operations) > 1:
                print_note(_effort_note(operations, args.examples))
            found.append(_print_pair(comparison, (older, newer), operations, args, work))
            print()
        if args.all:
            print("\n".join(changes_by_release(found)))
        if args.json:
            Path(args.json).write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    finally:
        work.show("")
        walk.close()
    return 0


def _effort_note(operations: Sequence[str], examples: int) -> str:
    """Return a note on the number of examples that are asked, and how to ask fewer."""
    asked = f"{counted(examples, 'case')} for each rule of {counted(len(operations), 'operation')}"
    fewer = "to compare a single operation, give --operation NAME"
    return f"both releases answer {asked}, which takes several minutes; {fewer}"


def adapter_of(version: str) -> str:
    """Return the name of the adapter for a release, with the release's own hidden settings."""
    hidden = specs.load().profile(profile_of(version)).hidden
    neutral = specs.load().neutral
    own = "".join(f",set={one}={value}" for one, value in hidden.items() if one in neutral)
    return f"pulsar:{version}{own}"


class _ReleasePairs:
    """Compares pairs of releases; at most two releases run at a time."""

    def __init__(self, limits: Limits, work: OngoingWork) -> None:
        self._limits, self._work = limits, work
        self._open: dict[str, Implementation] = {}

    def between(self, older: str, newer: str) -> Comparison:
        """Start two releases, and return a comparison of them. Errors: `AdapterError`."""
        for version in [one for one in self._open if one not in (older, newer)]:
            self._open.pop(version).close()
        return Comparison(Pair(*map(self._running_release, (older, newer))), self._work.show)

    def _running_release(self, version: str) -> JudgedImplementation:
        if version not in self._open:
            self._work.show(f"starting {version}")
            self._open[version] = Implementation(
                adapter_of(version), profile_of(version), {}, self._limits, patient=True
            )
        return JudgedImplementation.before_asking(self._open[version])

    def close(self) -> None:
        """Stop all running releases."""
        for one in self._open.values():
            one.close()


def _versions(versions: Sequence[str], compare_all: bool) -> list[str]:
    """Return the releases to compare. Errors: `BadPlan`, `specs.UnknownName`."""
    if compare_all:
        if versions:
            raise BadPlan(
                f"--all compares all releases; it cannot be combined with {' '.join(versions)}"
            )
        return list(releases())
    named = list(map(_release, versions))
    if len(named) != 2:
        raise BadPlan(f"name two releases, or --all; choose from {', '.join(releases())}")
    if named[0] == named[1]:
        raise BadPlan(f"{named[0]} is given twice; name two releases")
    return named


def _release(version: str) -> str:
    """Return a release, or the newest one of a series such as 4.2. Errors: `specs.UnknownName`."""
    of_line = (one for one in reversed([*releases()]) if f"{one}.".startswith(f"{version}."))
    found = next(of_line, None)
    if found is None:
        raise specs.UnknownName(version, "release", releases())
    return found


def _check_writable(file: str | None) -> None:
    """Check that a path is not a folder and that its parent folder exists. Errors: `BadPlan`."""
    if file and not Path(file).absolute().parent.is_dir():
        raise BadPlan(f"--json {file}: there is no folder {Path(file).parent}")
    if file and Path(file).is_dir():
        raise BadPlan(f"--json {file}: it is a folder; name a file")


def _operations(comparison: Comparison, wanted: Sequence[str] | None) -> list[str]:
    """Return the requested operations, or all that both releases answer.

    Errors: `BadPlan`, also for an operation that one release does not answer.
    """
    both = comparison.operations
    for operation in wanted or ():
        if operation not in both:
            shared = ", ".join(both)
            raise BadPlan(
                f"{operation}: only operations that both releases answer can be compared; choose "
                f"from {shared}"
            )
    return [one for one in both if wanted is None or one in wanted]


def _print_pair(
    comparison: Comparison,
    versions: tuple[str, str],
    operations: Sequence[str],
    args: argparse.Namespace,
    work: OngoingWork,
) -> dict[str, Any]:
    """Print the changes between two releases, and return them as JSON data."""
    found = [comparison.changes(one, args.seed, args.examples) for one in operations]
    work.show("")
    files = [
        str(saved.save(one.trial, Path(), {"profile": comparison.profiles[1]}))
        for each in found
        for one in each.found
    ]
    settings = with_annotated_settings(comparison.settings(), versions)
    everything = args.operation is None
    others = changes_without_case(found, versions) if everything else []
    pair = PairChanges(versions, tuple(found), tuple(files), tuple(settings), tuple(others))
    _print(pair_lines(pair))
    return summary_as_json(pair)


def _print(lines: Iterator[str] | Sequence[str]) -> None:
    for line in lines:
        print(line, flush=True)
