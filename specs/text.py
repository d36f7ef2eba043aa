"""Formats text: tables, paragraphs, plurals and anchors; escapes characters for terminals."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from textwrap import shorten, wrap

WIDTH = 80
"""Maximum number of terminal columns of the output."""

GAP = 2
"""Number of blanks between two columns."""

NO_BREAK = "\N{NO-BREAK SPACE}"
SPACE_BEFORE_UNIT = re.compile(r"(?<=\d) (?=%|[KMG]?B/s|msg/s)")


def paragraph(
    text: str, indent: int = 0, start: str | None = None, width: int = WIDTH
) -> list[str]:
    """Return text as indented lines; the first line starts with `start` if it is given.

    Lines break only at spaces, so a long word can exceed the width. A number stays with its unit.
    """
    blanks = " " * indent
    lines = wrap(
        SPACE_BEFORE_UNIT.sub(NO_BREAK, text),
        width,
        initial_indent=blanks if start is None else start,
        subsequent_indent=blanks,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(NO_BREAK, " ") for line in lines]


def cut(text: str, length: int) -> str:
    """Return text shortened to `length` characters, cut between words and ended by ` ...`."""
    return shorten(text, length, placeholder=" ...")


QUOTED = " " * 4
"""Indentation by which a line of a message is recognized as a quotation, such as a stack trace."""


def message_lines(text: str, width: int = WIDTH) -> Iterator[str]:
    """Yield the lines of a message to a user; continuation lines are indented by two more
    blanks.
    """
    for line in text.split("\n"):
        indent = line[: len(line) - len(line.lstrip(" "))]
        if len(line) <= width or indent >= QUOTED:
            yield line
        else:
            yield from paragraph(line.strip(" "), len(indent) + 2, indent, width)


def columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield rows as lines with aligned columns; the last cell is wrapped if it is too long."""
    *short, _ = zip(*rows, strict=True) if rows else [()]
    widths = [max(map(len, column)) + GAP for column in short]
    for *cells, text in rows:
        start = "".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        yield from paragraph(text, sum(widths), start) if text else (start.rstrip(),)


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers: bool = False,
    widest: int | None = None,
    title: str | None = None,
    width: int = WIDTH,
) -> list[str]:
    """Return the lines of a table, with a line under its headings and without blank lines.

    `numbers` right-aligns all columns but the first. `widest` is the width above which cells are
    wrapped.
    """
    from rich import box  # Imported late, since it is slow and few commands print tables.
    from rich.console import Console
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title)
    for place, heading in enumerate(headings):
        made.add_column(
            heading,
            justify="right" if numbers and place else "left",
            max_width=widest if place else None,
            overflow="fold",
        )
    for row in rows:
        made.add_row(*row)
    out = StringIO()
    Console(file=out, width=width, color_system=None).print(made)
    return [line.rstrip() for line in out.getvalue().splitlines() if line.strip()]


def counted(number: int, noun: str) -> str:
    """Return a count with its noun: `1 verdict`, `2 verdicts`."""
    return f"{number} {in_number(noun, number)}"


def in_number(noun: str, number: object) -> str:
    """Return a noun: in the singular if `number` is 1, otherwise in the plural."""
    return noun if number == 1 else f"{noun}es" if noun.endswith("h") else f"{noun}s"


def enumerated(words: Sequence[str]) -> str:
    """Return words as a list within a sentence: a, b and c."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def first_of(words: Sequence[str], most: int) -> str:
    """Return the first words as a list, with the number of the remaining ones: a, b and 3 more."""
    rest = len(words) - most
    return ", ".join(words[:most]) + (f" and {rest} more" if rest > 0 else "")


def as_sentence(text: str) -> str:
    """Capitalize a text and end it with a full stop."""
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}."


def anchor(title: str) -> str:
    """Return the anchor of a section with this title on a documentation page."""
    return re.sub(r"[^a-z0-9_-]", "", title.lower().replace(" ", "-"))


UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Pattern of control and direction characters of terminals, and of surrogates without a partner."""

BREAKS = re.compile("[\t\n]")


def printable(text: str, lines: bool = True) -> str:
    """Escape unprintable characters, such as ESC as `\\x1b`; without `lines`, also tabs and line
    ends.
    """
    text = UNPRINTABLE.sub(_escaped, text)
    return text if lines else BREAKS.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


def written_value(value: object) -> str:
    """Return a setting's value as broker.conf contains it, or `empty` if there is none."""
    if value in (None, ""):
        return "empty"
    return value if isinstance(value, str) else json.dumps(value)
