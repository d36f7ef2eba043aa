"""`pulsar-conformance ask ADAPTER < cases.jsonl > answers.jsonl`: print answers without judging
them.
"""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from types import FrameType
from typing import NoReturn, TextIO

from pulsar_conformance.adapters.arguments import (
    STANDARD_INPUT,
    UNUSABLE_STATUS,
    add_adapter,
    add_judging_options,
    limits_within,
    profile_and_readings,
    profile_of_version,
)
from pulsar_conformance.adapters.connection import Connection
from pulsar_conformance.adapters.errors import AdapterError
from pulsar_conformance.adapters.names import check_name, connect
from pulsar_conformance.adapters.protocol import JSON, OPERATIONS, json_text
from pulsar_conformance.adapters.questions import BadLine, json_values, parts
from pulsar_conformance.adapters.validation import case_schema_error
from pulsar_conformance.reference import MissingSetting, Model
from pulsar_conformance.specs.errors import UserError, print_note
from pulsar_conformance.specs.model import FIELDS_OF_SAVED_CASES
from pulsar_conformance.specs.questions import FIELDS, FORM, why_no_question
from pulsar_conformance.specs.text import printable
from pulsar_conformance.specs.unused import unused_parts

FIRST_SIGNAL_STATUS = 128
"""Exit status of a process killed by a signal, less the number of the signal."""


@dataclass
class QuestionGroup:
    """Consecutive questions about the same operation, which are sent together."""

    operation: str = ""
    cases: list[JSON] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    """The number of the line on which each question begins."""


def questions_in_value(number: int, value: JSON) -> Iterator[tuple[str, JSON] | BadLine]:
    """Yield operation and case of each question in a JSON value, and a `BadLine` for any other
    part.
    """
    asked = parts(value)
    if asked is None:
        yield BadLine(number, why_no_question(value) or f"it is not of the form {FORM}")
        return
    for one in asked:
        try:
            yield parse_question(number, one)
        except BadLine as wrong:
            yield wrong


def parse_question(number: int, value: JSON) -> tuple[str, JSON]:
    """Return a question's operation and case; raise BadLine if it is invalid."""
    if problem := why_no_question(value):
        raise BadLine(number, problem)
    if more := sorted(set(value) - {*FIELDS, *FIELDS_OF_SAVED_CASES}):
        raise BadLine(number, f"it is not of the form {FORM}: it also has {', '.join(more)}")
    operation = value["ask"]
    if operation not in OPERATIONS:
        near = get_close_matches(str(operation), OPERATIONS, n=1)
        known = f"did you mean {near[0]}?" if near else f"choose from {', '.join(OPERATIONS)}"
        raise BadLine(number, f"{operation!r} is not an operation; {known}")
    if wrong := case_schema_error(operation, value["case"]):
        raise BadLine(number, wrong)
    return operation, value["case"]


def _numbered_questions(lines: Iterable[bytes]) -> Iterator[tuple[int, tuple[str, JSON] | BadLine]]:
    for one in json_values(lines):
        if isinstance(one, BadLine):
            yield one.number, one
        else:
            yield from ((one[0], asked) for asked in questions_in_value(*one))


def group_questions(lines: Iterable[bytes], size: int) -> Iterator[QuestionGroup | BadLine]:
    """Yield groups of up to `size` questions, and a `BadLine` for each invalid line, in order."""
    group = QuestionGroup()
    for number, one in _numbered_questions(lines):
        operation, case = ("", None) if isinstance(one, BadLine) else one
        if group.cases and operation != group.operation:
            yield group
            group = QuestionGroup()
        if isinstance(one, BadLine):
            yield one
            continue
        if not group.cases:
            group = QuestionGroup(operation)
        group.cases.append(case)
        group.numbers.append(number)
        if len(group.cases) >= size:
            yield group
            group = QuestionGroup()
    if group.cases:
        yield group


MissingSettingFinder = Callable[[str, JSON], str]
"""Function that returns a required setting that a case lacks, with the reason; otherwise ""."""


def missing_setting_finder(profile: str, readings: Mapping[str, str]) -> MissingSettingFinder:
    """Return a function that finds a required setting that a case lacks.

    A setting is required if the profile documents no default for it.
    """
    model = Model(profile, readings)

    def lacks(operation: str, case: JSON) -> str:
        try:
            model.answer(operation, case)
        except MissingSetting as missing:
            return f"case.settings: {missing}"
        except Exception:  # The model may break on a case that the implementation cannot answer.
            return ""
        return ""

    return lacks


def ask_lines(
    connection: Connection,
    lines: Iterable[bytes],
    out: TextIO,
    batch: int,
    file: str = "",
    lacks: MissingSettingFinder = lambda _operation, _case: "",
) -> int:
    """Print one output line per question, in order; return the number of invalid questions.

    The line is an object with `error` if the question cannot be asked, and the answer otherwise. A
    question is also invalid if it got the answer `failed`, and `lacks` finds a required setting
    missing. Standard error gets the errors, the missing settings, and notes on unknown settings. If
    the implementation cannot answer, the answers so far are printed, and AdapterError is raised.
    """
    bad = 0
    noted: set[str] = set()

    def wrong(number: int, problem: str) -> JSON:
        bad_line = BadLine(number, problem, file)
        print_note(bad_line, "")
        return {"error": str(bad_line)}

    for group in group_questions(lines, min(batch, connection.hello.batch)):
        if isinstance(group, BadLine):
            bad += 1
            out.write(f"{json_text(wrong(group.number, group.problem))}\n")
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
            error.problem = f"lines {group.numbers[0]} to {group.numbers[-1]}: {error.problem}"
            raise
        for number, case, answer in zip(group.numbers, group.cases, answers, strict=True):
            problem = lacks(group.operation, case) if "failed" in answer else ""
            if problem:
                bad += 1
                wrong(number, problem)
            out.write(f"{json_text(answer)}\n")
        out.flush()
    return bad


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `ask`."""
    add_adapter(parser)
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="files with questions, or with cases that the suite saved; - is standard input (-)",
    )
    add_judging_options(parser, default=None)
    parser.add_argument(
        "--batch",
        type=_positive,
        default=1000,
        metavar="N",
        help="maximum number of cases in one message; 1 answers each line immediately "
        "(%(default)s)",
    )


def _lines_of(path: Path) -> Iterator[bytes]:
    with path.open("rb") as lines:
        yield from lines


class _Lines:
    """The lines of a file, or of standard input for the name `-`.

    Lines that `profile` has read are kept.
    """

    def __init__(self, name: str) -> None:
        self.name = "" if name == STANDARD_INPUT else name
        self._lines: Iterable[bytes] = sys.stdin.buffer
        if name != STANDARD_INPUT:
            self._lines = _lines_of(Path(name))
        self._read: list[bytes] = []

    def profile(self) -> str | None:
        """Return the profile that the first question names, if any."""
        first = next(json_values(self._kept_lines()), None)
        value = first[1] if isinstance(first, tuple) else None
        found = value.get("profile") if isinstance(value, dict) else None
        return found if isinstance(found, str) else None

    def _kept_lines(self) -> Iterator[bytes]:
        for line in self._lines:
            self._read.append(line)
            yield line

    def __iter__(self) -> Iterator[bytes]:
        yield from self._read
        yield from self._lines


def _profile_of(files: Iterable[_Lines], adapter: str) -> str:
    """Return the profile that the files name, or the default for the adapter's version of Pulsar.

    Errors: `UserError` if the files name several profiles.
    """
    found = ((one.profile(), one.name or "standard input") for one in files)
    named = {profile: name for profile, name in found if profile is not None}
    if len(named) > 1:
        named_by_file = ", ".join(f"{name} names {profile}" for profile, name in named.items())
        raise UserError(
            f"{named_by_file}; give one profile for all with --judge-by, or use a separate command "
            "for each profile"
        )
    return next(iter(named), None) or profile_of_version([adapter])


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("a batch has at least 1 case; give 1 or more")
    return number


@contextmanager
def _ending_children_on_sigterm() -> Iterator[None]:
    """Within the block, let SIGTERM call `sys.exit`, so that child processes end, too.

    A child that waits for a debugger would not notice that its input has ended.
    """

    def end(number: int, _frame: FrameType | None) -> NoReturn:
        sys.exit(FIRST_SIGNAL_STATUS + number)

    former = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


def run(args: argparse.Namespace) -> int:
    """Print the answers, then the last lines of the implementation's standard error.

    Return 0, or 2 if questions were invalid.
    """
    with _ending_children_on_sigterm():
        return _print_answers(args)


def _print_answers(args: argparse.Namespace) -> int:
    bad = 0
    try:
        check_name(args.adapter)
        files = [_Lines(name) for name in args.files or [STANDARD_INPUT]]
        args.profile = args.profile or _profile_of(files, args.adapter)
        profile, readings = profile_and_readings(args)
        limits = limits_within(args.time_limit)
        with connect(args.adapter, profile, readings, limits) as connection:
            lacks = missing_setting_finder(profile, readings)
            for lines in files:
                bad += ask_lines(connection, lines, sys.stdout, args.batch, lines.name, lacks)
            if written := connection.stderr_tail():
                print(
                    printable(f"the implementation's standard error ended with:\n{written}"),
                    file=sys.stderr,
                )
    except BrokenPipeError:
        # The reader has closed the pipe. Without this, the interpreter would fail to flush it at
        # exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        place = error.filename or "standard input"
        raise UserError(f"{place}: {error.strerror or error}") from None
    return UNUSABLE_STATUS if bad else 0
