"""Reads Java properties, and environment variables that Pulsar's images copy into them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pulsar_conformance.specs.setting_names import why_unknown

COMMENT = re.compile(r"\s*[#!]")
PROPERTY = re.compile(r"((?:\\.|[^\s=:\\])+)\s*[=:]?(.*)")
ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
WHITE = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
LINES = re.compile(r"\r\n|\r|\n")

PREFIX = "PULSAR_PREFIX_"
"""Prefix of environment variables that Pulsar's images copy into broker.conf."""

YAML_FILES = (".yaml", ".yml")
OTHER_FILES = (".conf", ".properties", ".env", ".json", ".log")
"""Suffixes of files that are not YAML, even if their lines have colons."""

TERRAFORM_FILES = (".tf", ".hcl", ".tfvars")
SCRIPTS = (".sh", ".bash", ".ksh", ".zsh")

HERE_DOCUMENT = re.compile(r"<<(?P<indented>[-~]?)\s*\\?(?P<quote>[\"']?)(?P<end>\w+)(?P=quote)")
"""Matches the beginning of a here-document, such as `<<EOF`; its group `end` is the word `EOF`."""

NAMED = re.compile(r"[A-Za-z]\w+")

ASSIGNED = re.compile(r"^\s*(export\s+)?[\w.]+\s*=", re.MULTILINE)
KEYED = re.compile(r"""^\s*(- +)?["']?[\w.]+["']?:(\s|$)""", re.MULTILINE)
"""`ASSIGNED` matches a line like `name=value`, and `KEYED` a line like `key: value` in YAML."""

VARIABLE = re.compile(r"\$(?:\{(\w+)(?:(:?[-+?])([^{}]*))?\}|(\w+))")
"""Matches a variable of a compose file, such as `${NAME:-default}`."""

ESCAPED = "\0"
"""Placeholder for `$$` in a compose file, which means a dollar sign and not a variable."""


def is_yaml(file: Path, text: str) -> bool:
    """True if a file is YAML, by its suffix or, if the suffix is unknown, by its lines."""
    if file.suffix in YAML_FILES:
        return True
    if file.suffix in OTHER_FILES and not re.search(rf"^\s*{PREFIX}\w+:", text, re.MULTILINE):
        return False
    return KEYED.search(text) is not None and ASSIGNED.search(text) is None


@dataclass(frozen=True)
class HereDocument:
    """The line and the name of the first load balancing setting in a here-document."""

    line: int
    name: str


def find_here_document(file: Path, text: str) -> HereDocument | None:
    """Return the first here-document with settings in a file; None if there is none.

    In a file that is not a script, the line that ends a here-document must not be indented, since
    commands in a YAML file are indented.
    """
    script = file.suffix in SCRIPTS or text.startswith("#!")
    if file.suffix in (*YAML_FILES, *OTHER_FILES) and not script:
        return None
    lines = text.splitlines()
    for number, line in enumerate(lines):
        for found in () if COMMENT.match(line) else HERE_DOCUMENT.finditer(line):
            indented = script or found["indented"]
            ended = (
                (one.strip() if indented else one) == found["end"] for one in lines[number + 1 :]
            )
            length = next((count for count, end in enumerate(ended) if end), None)
            body = lines[number + 1 : number + 1 + (length or 0)]
            if named := first_known_name(body):
                return HereDocument(number + 2 + named[0], named[1])
    return None


def first_known_name(lines: list[str]) -> tuple[int, str] | None:
    """Return the index of the first line with the name of a known setting, and that name."""
    for index, line in enumerate(lines):
        for word in () if COMMENT.match(line) else NAMED.findall(line):
            name = word.removeprefix(PREFIX)
            if why_unknown(name) is None:
                return index, name
    return None


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


def substituted(text: str) -> tuple[str, str]:
    """Return a text with variables replaced by their defaults, and the last replaced variable.

    A variable without a default stays in the text. The variable's name is empty if none was
    replaced.
    """
    name, text = "", text.replace("$$", ESCAPED)
    while found := next((one for one in VARIABLE.finditer(text) if _has_default(one)), None):
        name = found[1]
        text = text[: found.start()] + found[3] + text[found.end() :]
    return text.replace(ESCAPED, "$"), name


def variable_without_default(text: str) -> str:
    """Return the name of the first variable without a default in a text; empty if there is none."""
    text, _ = substituted(text.replace("$$", ""))
    found = VARIABLE.search(text)
    return found[1] or found[4] if found else ""


def _has_default(match: re.Match[str]) -> bool:
    return match[2] in (":-", "-")
