"""Java's properties, and the environment variables that Pulsar's images copy into them."""

from __future__ import annotations

import re
from collections.abc import Iterator

COMMENT = re.compile(r"\s*[#!]")
PROPERTY = re.compile(r"((?:\\.|[^\s=:\\])+)\s*[=:]?(.*)")
ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
WHITE = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
LINES = re.compile(r"\r\n|\r|\n")

PREFIX = "PULSAR_PREFIX_"
"""Prefix of environment variables that Pulsar's images copy into broker.conf."""


def properties(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line number, name and value of each property, in Java's properties format."""
    whole, first = "", 0
    for number, line in enumerate([*LINES.split(text), ""], 1):
        if whole or not COMMENT.match(line):
            first = first if whole else number
            whole += line.lstrip()
        if (len(whole) - len(whole.rstrip("\\"))) % 2:
            whole = whole[:-1]
        elif property_ := PROPERTY.fullmatch(whole):
            yield first, _unescaped(property_[1]), _unescaped(property_[2].lstrip()).strip()
            whole = ""
        else:
            whole = ""


def _unescaped(text: str) -> str:
    """Return a name or a value without Java's escapes, such as `\\u0031` for 1."""
    return ESCAPE.sub(
        lambda found: chr(int(found[1], 16)) if found[1] else WHITE.get(found[2], found[2]), text
    )
