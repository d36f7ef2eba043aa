"""`pulsar-conformance ask ADAPTER < cases.jsonl > answers.jsonl`: print answers without judging
them.
"""

import argparse
import os
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TextIO

from pulsar_conformance.adapters.arguments import (
    DEFAULT_PROFILE,
    UNUSABLE,
    add_adapter,
    add_judged_by,
    limits_of,
    profile_and_readings,
)
from pulsar_conformance.adapters.connection import Connection
from pulsar_conformance.adapters.errors import AdapterError
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.adapters.protocol import JSON, OPERATIONS, NotJSON, parse_line, text_of
from pulsar_conformance.adapters.validation import wrong_in_case
from pulsar_conformance.specs.errors import UserError, print_note
from pulsar_conformance.specs.text import printable
from pulsar_conformance.specs.unused import unused_parts

ABOUT = frozenset({"profile", "readings", "rule", "ways"})
"""Fields that the suite adds to saved cases; they are not part of the question."""
FORM = '{"ask": OPERATION, "case": {...}}'


class BadLine(UserError):
    """An input line that is not a question; the message gives the line and the reason."""

    def __init__(self, number: int, problem: str, file: str = "") -> None:
        super().__init__(
            f"{file}, line {number}: {problem}" if file else f"line {number}: {problem}"
        )
        self.number = number
        self.problem = problem


@dataclass
class Group:
    """Consecutive questions about one operation, which are sent together."""

    operation: str = ""
    first: int = 0
    last: int = 0
    cases: list[JSON] = field(default_factory=list)


Row = tuple[int, bytes]
"""Number of a line, and its text."""


def values(lines: Iterable[bytes]) -> Iterator[tuple[int, JSON] | BadLine]:
    """Yield each JSON value with the number of its first line, and each invalid line.

    A value takes one line, or several lines as in case files. If a value is incomplete, reading
    resumes at the line after its beginning.
    """
    rows, again = enumerate(lines, 1), deque[Row]()
    begun: list[Row] = []
    problem = ""
    while True:
        row = again.popleft() if again else next(rows, None)
        if row is None and not begun:
            return
        if row is not None and not row[1].strip():
            continue
        if begun and (row is None or _is_question(begun, row[1])):
            yield BadLine(begun[0][0], f"it {problem or _problem_in(begun)}")
            left = [] if row is None else [row]
            again.extendleft(reversed([*_next_values(begun), *left]))
            begun, problem = [], ""
            continue
        assert row is not None
        begun.append(row)
        if len(begun) > 1 and not row[1].startswith(b"}"):
            continue
        wrong, value = _parse_value(begun)
        first, text = begun[0][0], begun[0][1].strip()
        if not wrong:
            yield first, value
        elif len(begun) == 1 and (not text.startswith(b"{") or text.endswith(b"}")):
            yield BadLine(first, f"it {wrong}")
        else:
            problem = problem or wrong
            continue
        begun, problem = [], ""


def _parse_value(begun: list[Row]) -> tuple[str, JSON]:
    """Parse lines as one value; return what is wrong with them (empty if nothing) and the value."""
    try:
        return "", parse_line(b"".join(line for _, line in begun))
    except NotJSON as error:
        return str(error), None


def _problem_in(begun: list[Row]) -> str:
    return _parse_value(begun)[0]


def _is_question(begun: list[Row], line: bytes) -> bool:
    """True if a line is a complete question and not part of an unfinished value."""
    if not line.startswith(b'{"ask"') or any(b'"trial"' in text for _, text in begun):
        return False
    wrong, value = _parse_value([(0, line)])
    return not wrong and isinstance(value, dict) and "case" in value


def _next_values(begun: list[Row]) -> list[Row]:
    """Return the lines after the first one, without those before the next line that can start a
    value.
    """
    starts = (place for place, (_, line) in enumerate(begun) if place and line.startswith(b"{"))
    return begun[next(starts, len(begun)) :]


def questions(number: int, found: JSON) -> Iterator[tuple[str, JSON] | BadLine]:
    """Yield the operation and case of each question in a value, and each part that is not a
    question.
    """
    asked = found.get("trial", [found]) if isinstance(found, dict) else None
    if not isinstance(asked, list) or not asked:
        yield BadLine(number, f"it is not of the form {FORM}")
        return
    for one in asked:
        try:
            yield question(number, one)
        except BadLine as wrong:
            yield wrong


def question(number: int, found: JSON) -> tuple[str, JSON]:
    """Return a question's operation and case; raise BadLine if it is invalid."""
    form = {"ask", "case"}
    if not isinstance(found, dict) or not form <= set(found) <= form | ABOUT:
        raise BadLine(number, f"it is not of the form {FORM}")
    operation = found["ask"]
    if operation not in OPERATIONS:
        near = get_close_matches(str(operation), OPERATIONS, n=1)
        known = f"did you mean {near[0]}?" if near else f"choose from {', '.join(OPERATIONS)}"
        raise BadLine(number, f"{operation!r} is not an operation; {known}")
    if wrong := wrong_in_case(operation, found["case"]):
        raise BadLine(number, wrong)
    return operation, found["case"]


def _numbered_questions(lines: Iterable[bytes]) -> Iterator[tuple[int, tuple[str, JSON] | BadLine]]:
    for one in values(lines):
        if isinstance(one, BadLine):
            yield one.number, one
        else:
            yield from ((one[0], asked) for asked in questions(*one))


def groups(lines: Iterable[bytes], size: int) -> Iterator[Group | BadLine]:
    """Yield questions in groups of up to `size`, in order; invalid lines are yielded between
    groups.
    """
    group = Group()
    for number, one in _numbered_questions(lines):
        operation, case = ("", None) if isinstance(one, BadLine) else one
        if group.cases and operation != group.operation:
            yield group
            group = Group()
        if isinstance(one, BadLine):
            yield one
            continue
        if not group.cases:
            group = Group(operation, first=number)
        group.cases.append(case)
        group.last = number
        if len(group.cases) >= size:
            yield group
            group = Group()
    if group.cases:
        yield group


def ask_lines(
    connection: Connection, lines: Iterable[bytes], out: TextIO, batch: int, file: str = ""
) -> int:
    """Print one output line per question, in order; return the number of invalid lines.

    For an invalid line, an object with an `error` is printed. The error is also reported on
    standard error; so are settings that are in no release and in no document. If the implementation
    cannot answer, the answers so far are printed, and AdapterError is raised.
    """
    bad = 0
    noted: set[str] = set()
    for group in groups(lines, min(batch, connection.hello.batch)):
        if isinstance(group, BadLine):
            bad += 1
            bad_line = BadLine(group.number, group.problem, file)
            print_note(bad_line, "")
            out.write(f"{text_of({'error': str(bad_line)})}\n")
            out.flush()
            continue
        unused = dict.fromkeys(one for case in group.cases for one in unused_parts(case))
        for note in unused:
            if note not in noted:
                print_note(note)
        noted.update(unused)
        try:
            answers = connection.ask(group.operation, group.cases)
        except AdapterError as error:
            error.problem = f"lines {group.first} to {group.last}: {error.problem}"
            raise
        out.writelines(f"{text_of(answer)}\n" for answer in answers)
        out.flush()
    return bad


def _ask_file(connection: Connection, name: str, batch: int) -> int:
    """Ask the questions in a file, as `ask_lines` does; error messages name the file."""
    with Path(name).open("rb") as lines:
        return ask_lines(connection, lines, sys.stdout, batch, name)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `ask`."""
    add_adapter(parser)
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="files of questions, or of cases that the suite saved (standard input)",
    )
    add_judged_by(parser, default=None)
    parser.add_argument(
        "--batch",
        type=_positive,
        default=1000,
        metavar="N",
        help="maximum number of cases in one message; 1 answers each line immediately "
        "(%(default)s)",
    )


def _profile_of(files: Iterable[str]) -> str:
    """Return the profile that the files name, or the default. Errors: `UserError` if they name
    several.
    """
    named: dict[str, str] = {}
    for name in files:
        with Path(name).open("rb") as lines:
            first = next(values(lines), None)
        value = first[1] if isinstance(first, tuple) else None
        found = value.get("profile") if isinstance(value, dict) else None
        named |= {found: name} if isinstance(found, str) else {}
    if len(named) > 1:
        named_by_file = ", ".join(f"{name} names {profile}" for profile, name in named.items())
        raise UserError(f"{named_by_file}; ask them separately, or give a profile with --judge-by")
    return next(iter(named), DEFAULT_PROFILE)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("a batch has at least 1 case; give 1 or more")
    return number


def run(args: argparse.Namespace) -> int:
    """Print the answers, then the last lines of the implementation's standard error.

    Return 0, or 2 if lines were invalid.
    """
    bad = 0
    try:
        args.profile = args.profile or _profile_of(args.files)
        profile, readings = profile_and_readings(args)
        limits = limits_of(args.time_limit)
        with connect(args.adapter, profile, readings, limits) as connection:
            for name in args.files:
                bad += _ask_file(connection, name, args.batch)
            if not args.files:
                bad += ask_lines(connection, sys.stdin.buffer, sys.stdout, args.batch)
            if written := connection.stderr_tail():
                print(printable(f"its standard error ended with:\n{written}"), file=sys.stderr)
    except BrokenPipeError:
        # The reader has closed the pipe; the interpreter would flush once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror}") from None
    return UNUSABLE if bad else 0
