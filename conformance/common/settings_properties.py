"""Java's properties, and the environment variables that Pulsar's images copy into them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

COMMENT = re.compile(r"\s*[#!]")
PROPERTY = re.compile(r"((?:\\.|[^\s=:\\])+)\s*[=:]?(.*)")
ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
WHITE = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
LINES = re.compile(r"\r\n|\r|\n")

PREFIX = "PULSAR_PREFIX_"
"""Prefix of environment variables that Pulsar's images copy into broker.conf."""

YAML_FILES = (".yaml", ".yml")
OTHER_FILES = (".conf", ".properties", ".env", ".json", ".log")
"""Suffixes of files in which a line with a colon is not YAML."""

ASSIGNED = re.compile(r"^\s*(export\s+)?[\w.]+\s*=", re.MULTILINE)
KEYED = re.compile(r"""^\s*(- +)?["']?[\w.]+["']?:(\s|$)""", re.MULTILINE)
"""Match a line `name=value`, and a line `key: value` of YAML."""


def is_yaml(file: Path, text: str) -> bool:
    """True if a file is YAML: by its suffix, or by its lines if the suffix tells nothing."""
    if file.suffix in YAML_FILES:
        return True
    if file.suffix in OTHER_FILES and not re.search(rf"^\s*{PREFIX}\w+:", text, re.MULTILINE):
        return False
    return KEYED.search(text) is not None and ASSIGNED.search(text) is None


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
