"""What all look-ups print: columns and paragraphs within 80 characters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap

WIDTH = 80
GAP = 2


def columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows in columns; the last column goes over several lines where it is too long."""
    *short, _ = zip(*rows, strict=True) if rows else [()]
    widths = [max(map(len, column)) + GAP for column in short]
    indent = " " * sum(widths)
    for *cells, text in rows:
        start = "".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        yield from paragraph(text, start, indent) if text else (start.rstrip(),)


def paragraph(text: str, start: str = "", indent: str | None = None) -> list[str]:
    """A text in lines, the first behind `start`, the others below it."""
    below = " " * len(start) if indent is None else indent
    return wrap(
        text,
        WIDTH,
        initial_indent=start,
        subsequent_indent=below,
        break_long_words=False,
        break_on_hyphens=False,
    )


def show(lines: Iterable[str]) -> int:
    """Print what was looked up. Errors: `UserError` of the lines."""
    print("\n".join(lines))
    return 0
