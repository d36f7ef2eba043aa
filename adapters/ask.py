"""`pulsar-conformance ask ADAPTER < cases.jsonl > answers.jsonl`: the answers, unjudged."""

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
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
from pulsar_conformance.adapters.protocol import JSON, NotJSON, read, text_of
from pulsar_conformance.adapters.validation import asked_operations, wrong_in_case
from pulsar_conformance.specs import SpecError, UnknownName

FORM = '{"ask": OPERATION, "case": {...}}'


class BadLine(Exception):
    """A line of the input that is no question; says which line and what is wrong."""

    def __init__(self, number: int, problem: str) -> None:
        super().__init__(f"line {number}: {problem}")


@dataclass
class Group:
    """Consecutive questions of one operation, which travel together."""

    operation: str = ""
    first: int = 0
    last: int = 0
    cases: list[JSON] = field(default_factory=list)


def question(number: int, line: bytes) -> tuple[str, JSON]:
    """Operation and case of one line; BadLine where it is no legal question."""
    try:
        found = read(line)
    except NotJSON as error:
        raise BadLine(number, f"it {error}") from None
    if not isinstance(found, dict) or set(found) != {"ask", "case"}:
        raise BadLine(number, f"it isn't of the form {FORM}")
    operation = found["ask"]
    if operation not in asked_operations():
        near = get_close_matches(str(operation), asked_operations(), n=1)
        known = f"did you mean {near[0]}?" if near else f"there are {', '.join(asked_operations())}"
        raise BadLine(number, f"{operation!r} is no operation; {known}")
    if wrong := wrong_in_case(operation, found["case"]):
        raise BadLine(number, wrong)
    return operation, found["case"]


def groups(lines: Iterable[bytes], size: int) -> Iterator[Group]:
    """Questions in their order, at most `size` together; a bad line ends it after the good ones."""
    group = Group()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            operation, case = question(number, line)
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
    """Write one answer a line, in the order of the questions.

    Raises BadLine for a bad line, AdapterError where the implementation can't answer; all that
    was asked before is written then.
    """
    for group in groups(lines, min(batch, connection.hello.batch)):
        try:
            answers = connection.ask(group.operation, group.cases)
        except AdapterError as error:
            error.problem = f"lines {group.first} to {group.last}: {error.problem}"
            raise
        out.writelines(f"{text_of(answer)}\n" for answer in answers)
        out.flush()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ask`."""
    add_adapter(parser)
    add_judged_by(parser)
    parser.add_argument(
        "--batch",
        type=_positive,
        default=1000,
        metavar="N",
        help="at most so many cases a message; 1 answers each line at once (%(default)s)",
    )


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("a batch holds at least 1 case")
    return number


def run(args: argparse.Namespace) -> int:
    """Ask standard input, answer on standard output; 0, or 2 with one message."""
    try:
        profile, readings = judged_by(args)
        limits = limits_of(args.time_limit)
        with connect(args.adapter, profile, readings, limits) as connection:
            ask_lines(connection, sys.stdin.buffer, sys.stdout, args.batch)
    except BrokenPipeError:
        # Whoever reads the answers has seen enough; the interpreter flushes once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (AdapterError, BadLine, BadReading, UnknownName, SpecError) as error:
        return complain(error)
    return 0
