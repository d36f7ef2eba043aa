"""Text helpers: plurals, anchors, and escapes for terminals."""

from __future__ import annotations

import re


def counted(number: int, noun: str) -> str:
    """`1 verdict`, `2 verdicts`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def anchor(title: str) -> str:
    """The anchor that a page of the documentation has for a section."""
    return re.sub(r"[^a-z0-9_-]", "", title.lower().replace(" ", "-"))


UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control and direction characters of terminals, and lone surrogates."""

BREAKS = re.compile("[\t\n]")


def printable(text: str, lines: bool = True) -> str:
    """Escape unprintable characters as `\\x1b`, and line ends, too, without `lines`."""
    text = UNPRINTABLE.sub(_escaped, text)
    return text if lines else BREAKS.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
