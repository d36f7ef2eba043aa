"""`pulsar-conformance ask ADAPTER < cases.jsonl > answers.jsonl`: prints unjudged answers."""

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TextIO

from pulsar_conformance.adapters.arguments import (
    BadReading,
    add_adapter,
    add_judged_by,
    complain,
    judged_by,
    limits_of,
)
from pulsar_conformance.adapters.connection import Connection
from pulsar_conformance.adapters.errors import AdapterError
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.adapters.protocol import JSON, OPERATIONS, NotJSON, read, text_of
from pulsar_conformance.adapters.validation import wrong_in_case
from pulsar_conformance.specs import SpecError, UnknownName

ABOUT = frozenset({"profile", "readings", "rule"})
"""What the suite adds to a case that it saves; it is nothing that is asked."""
FORM = '{"ask": OPERATION, "case": {...}}'


class BadLine(Exception):
    """An input line that is not a question; the message says which line and what is wrong."""

    def __init__(self, number: int, problem: str, file: str = "") -> None:
        super().__init__(
            f"{file}, line {number}: {problem}" if file else f"line {number}: {problem}"
        )
        self.number = number
        self.problem = problem


@dataclass
class Group:
    """Consecutive questions of one operation, which travel together."""

    operation: str = ""
    first: int = 0
    last: int = 0
    cases: list[JSON] = field(default_factory=list)


def values(lines: Iterable[bytes]) -> Iterator[tuple[int, JSON]]:
    """Each JSON value with the number of its first line.

    A value stands in one line, or goes on to the line that closes it, as in the case files that the
    suite writes. Raises BadLine for what is no JSON.
    """
    begun: list[bytes] = []
    first, problem = 0, ""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if not begun:
            first = number
        begun.append(line)
        if len(begun) > 1 and not line.startswith(b"}"):
            continue
        try:
            value = read(b"".join(begun))
        except NotJSON as error:
            problem = problem or str(error)
            if not begun[0].strip().startswith(b"{") or begun[0].strip().endswith(b"}"):
                break
            continue
        yield first, value
        begun, problem = [], ""
    if begun:
        raise BadLine(first, f"it {problem}")


def questions(number: int, found: JSON) -> Iterator[tuple[str, JSON]]:
    """The operation and the case of each question of a value; raises BadLine for any other."""
    asked = found.get("trial", [found]) if isinstance(found, dict) else None
    if not isinstance(asked, list) or not asked:
        raise BadLine(number, f"it isn't of the form {FORM}")
    for one in asked:
        yield question(number, one)


def question(number: int, found: JSON) -> tuple[str, JSON]:
    """The operation and the case of one question; raises BadLine if it is not a legal one."""
    form = {"ask", "case"}
    if not isinstance(found, dict) or not form <= set(found) <= form | ABOUT:
        raise BadLine(number, f"it isn't of the form {FORM}")
    operation = found["ask"]
    if operation not in OPERATIONS:
        near = get_close_matches(str(operation), OPERATIONS, n=1)
        known = f"did you mean {near[0]}?" if near else f"there are {', '.join(OPERATIONS)}"
        raise BadLine(number, f"{operation!r} is no operation; {known}")
    if wrong := wrong_in_case(operation, found["case"]):
        raise BadLine(number, wrong)
    return operation, found["case"]


def groups(lines: Iterable[bytes], size: int) -> Iterator[Group]:
    """Questions in order, at most `size` together; a bad line ends them after the good ones."""
    group = Group()
    asked = ((number, one) for number, found in values(lines) for one in questions(number, found))
    while True:
        try:
            number, (operation, case) = next(asked)
        except StopIteration:
            break
        except BadLine:
            if group.cases:
                yield group
            raise
        if group.cases and operation != group.operation:
            yield group
            group = Group()
        if not group.cases:
            group = Group(operation, first=number)
        group.cases.append(case)
        group.last = number
        if len(group.cases) >= size:
            yield group
            group = Group()
    if group.cases:
        yield group


def ask_lines(connection: Connection, lines: Iterable[bytes], out: TextIO, batch: int) -> None:
    """Write one answer per line, in the order of the questions.

    Raises BadLine for a bad line, and AdapterError if the implementation cannot answer; the answers
    to everything asked before that have been written by then.
    """
    for group in groups(lines, min(batch, connection.hello.batch)):
        try:
            answers = connection.ask(group.operation, group.cases)
        except AdapterError as error:
            error.problem = f"lines {group.first} to {group.last}: {error.problem}"
            raise
        out.writelines(f"{text_of(answer)}\n" for answer in answers)
        out.flush()


def _ask_file(connection: Connection, name: str, batch: int) -> None:
    """As `ask_lines`, and a bad line is told with its file."""
    with Path(name).open("rb") as lines:
        try:
            ask_lines(connection, lines, sys.stdout, batch)
        except BadLine as error:
            raise BadLine(error.number, error.problem, name) from None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ask`."""
    add_adapter(parser)
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="files of questions, or cases that the suite saved; without it, standard input",
    )
    add_judged_by(parser)
    parser.add_argument(
        "--batch",
        type=_positive,
        default=1000,
        metavar="N",
        help="the most cases in one message; 1 answers each line at once (%(default)s)",
    )


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("a batch holds at least 1 case")
    return number


def run(args: argparse.Namespace) -> int:
    """Ask the questions on standard input, print the answers; 0, or 2 with one message."""
    try:
        profile, readings = judged_by(args)
        limits = limits_of(args.time_limit)
        with connect(args.adapter, profile, readings, limits) as connection:
            for name in args.files:
                _ask_file(connection, name, args.batch)
            if not args.files:
                ask_lines(connection, sys.stdin.buffer, sys.stdout, args.batch)
    except BrokenPipeError:
        # Whoever reads the answers has seen enough; the interpreter flushes once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        return complain(f"{error.filename}: {error.strerror}")
    except (AdapterError, BadLine, BadReading, UnknownName, SpecError) as error:
        return complain(error)
    return 0
