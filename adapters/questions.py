"""Questions in files that contain JSON values, one after another, in any layout."""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pulsar_conformance.adapters.protocol import JSON, NotJSON, TextPlace, parse_json
from pulsar_conformance.specs.errors import UserError
from pulsar_conformance.specs.model import EARLIER
from pulsar_conformance.specs.questions import why_no_question

VALUE_STARTS = (b"{", b"[")
TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]"]')
"""Pattern of a complete string, a bracket, or the quotation mark of a string without an end."""


class BadLine(UserError):
    """Raised for a part of the input that is not a question; the message has line and reason."""

    def __init__(self, number: int, problem: str, file: str = "") -> None:
        super().__init__(
            f"{file}, line {number}: {problem}" if file else f"line {number}: {problem}"
        )
        self.number = number
        self.problem = problem


@dataclass(frozen=True)
class InputLine:
    """A line of the input, or the rest of a line after a value, with its position."""

    number: int
    text: bytes
    column: int = 1
    """The column at which `text` begins in its line, from 1."""

    def cut(self, end: int) -> tuple["InputLine", "InputLine"]:
        """Return two parts of the line: before an index, and from the index on."""
        column = self.column + len(self.text[:end].decode(errors="replace"))
        before = InputLine(self.number, self.text[:end], self.column)
        return before, InputLine(self.number, self.text[end:], column)


@dataclass
class UnfinishedValue:
    """The lines of a value whose end has not been found."""

    rows: list[InputLine] = field(default_factory=list)
    open: list[bytes] = field(default_factory=list)
    """The opening brackets that are not yet closed."""
    broken: bool = False
    """True if a line ends within a string, which JSON does not allow."""

    def add_line(self, row: InputLine) -> int | None:
        """Add a line; return the index after the value's end, or None if the value continues."""
        self.rows.append(row)
        for token in () if self.broken else TOKEN.finditer(row.text):
            found = token.group()
            if found in VALUE_STARTS:
                self.open.append(found)
            elif found == b'"':
                self.broken = True
                return None
            elif found[:1] != b'"' and self.open:
                self.open.pop()
                if not self.open:
                    return token.end()
        return None

    def is_interrupted_by(self, row: InputLine) -> bool:
        """True if a line must be the start of a new value, although this value has not ended."""
        if not row.text.startswith(b"{"):
            return False
        last = next(
            (one.text.rstrip()[-1:] for one in reversed(self.rows) if one.text.strip()), b""
        )
        if self.broken:
            return True
        if self.open[-1:] == [b"["]:
            return last not in (b"[", b",")
        return last != b":" or _is_question(row)

    def lines_to_reread(self) -> list[InputLine]:
        """Return the lines to read again if this value has no end.

        They begin with the first line, after the start of this value, that may start a value
        itself.
        """
        starts = (place for place, row in enumerate(self.rows) if place and row.text[:1] == b"{")
        return self.rows[next(starts, len(self.rows)) :]


def json_values(lines: Iterable[bytes]) -> Iterator[tuple[int, JSON] | BadLine]:
    """Yield each JSON value with the number of its first line, and a `BadLine` for any other part.

    A value may take several lines, and several values may be on one line. A value is yielded as
    soon as its last line is read. A value without an end is skipped: reading continues with the
    lines after its start.
    """
    numbered = (InputLine(number, text) for number, text in enumerate(lines, 1))
    again, begun = deque[InputLine](), UnfinishedValue()
    while True:
        row = again.popleft() if again else next(numbered, None)
        if row is None and not begun.rows:
            return
        if begun.rows and (row is None or begun.is_interrupted_by(row)):
            yield _parse_value(begun.rows)
            again.extendleft(reversed([*begun.lines_to_reread(), *([] if row is None else [row])]))
            begun = UnfinishedValue()
            continue
        assert row is not None
        if not begun.rows and not row.text.strip():
            continue
        if not begun.rows and not row.text.lstrip().startswith(VALUE_STARTS):
            yield _parse_value([row])
            continue
        if not begun.rows and not isinstance(whole := _parse_line(row), BadLine):
            yield whole
            continue
        end = begun.add_line(row)
        if end is None:
            continue
        before, after = row.cut(end)
        follows = after.text.lstrip()
        if follows and not follows.startswith(VALUE_STARTS):
            yield _parse_value(begun.rows)
        else:
            yield _parse_value([*begun.rows[:-1], before])
            again.extendleft([after] if follows else [])
        begun = UnfinishedValue()


def _parse_line(row: InputLine) -> tuple[int, JSON] | BadLine:
    """Return a line's number and value, or a `BadLine` if the line is not one complete value."""
    if not row.text.rstrip().endswith((b"}", b"]")):
        return BadLine(row.number, "")
    return _parse_value([row])


def _parse_value(rows: list[InputLine]) -> tuple[int, JSON] | BadLine:
    """Return the number of the first line and the value, or a `BadLine` if the value is invalid."""
    first = rows[0]
    try:
        text = b"".join(row.text for row in rows)
        return first.number, parse_json(text, TextPlace(first.number, first.column))
    except NotJSON as error:
        return BadLine(first.number, f"it {error}")


def _is_question(row: InputLine) -> bool:
    """True if a line is a complete question."""
    if not row.text.startswith(b'{"ask"'):
        return False
    found = _parse_value([row])
    return not isinstance(found, BadLine) and not why_no_question(found[1])


def parts(value: JSON) -> list[JSON] | None:
    """Return the parts of a value that should be questions; None if the value has another form.

    The value is a question, a list of questions, or `{"trial": [...]}`. Questions in its `after`
    come first.
    """
    if isinstance(value, list):
        each = [parts(one) if isinstance(one, dict) else [one] for one in value]
        inner = [one for some in each if some for one in some]
        return inner if value and all(each) else None
    if not isinstance(value, dict):
        return None
    earlier = value.get(EARLIER, [])
    own = {name: one for name, one in value.items() if name != EARLIER}
    asked = own.get("trial", [own])
    if not isinstance(asked, list) or not asked or not isinstance(earlier, list):
        return None
    return [*earlier, *asked]
