"""Java's properties, and the environment variables that Pulsar's images copy into them."""

from __future__ import annotations

import re
from collections.abc import Iterator

COMMENT = re.compile(r"\s*[#!]")
PROPERTY = re.compile(r"([^\s=:]+)\s*[=:]?(.*)")

PREFIX = "PULSAR_PREFIX_"
"""Prefix of environment variables that Pulsar's images copy into broker.conf."""


def properties(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line number, name and value of each property, in Java's properties format."""
    whole, first = "", 0
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if whole or not COMMENT.match(line):
            first = first if whole else number
            whole += line.lstrip()
        if whole.endswith("\\"):
            whole = whole[:-1]
        elif property_ := PROPERTY.fullmatch(whole):
            yield first, property_[1], property_[2].strip()
            whole = ""
