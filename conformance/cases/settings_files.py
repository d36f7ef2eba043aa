"""The settings that the documents name, from a broker.conf or a running broker's answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.adapters.protocol import NotJSON, read
from pulsar_conformance.conformance.cases.settings import BadSetting, value_of
from pulsar_conformance.conformance.cases.snapshot import BadSnapshot

OPTIONAL = re.compile(r"Optional\[(.*)\]")
ABSENT = ("None", "null", "Optional.empty")
RESPELT = ("Bandwidth", "Bandwith")
"""From 4.0 on the weight of the bandwidth is spelled right, in the documents it is not."""

COMMENT = re.compile(r"\s*[#!]")
PROPERTY = re.compile(r"([^\s=:]+)\s*[=:]?(.*)")


def read_conf(file: Path) -> dict[str, Any]:
    """The settings in their documented types, without those that no document names.

    The file is a broker.conf, or the JSON object that the admin API answers when it is asked for a
    broker's runtime configuration. A setting without a value counts as not set, as it does for a
    broker. Errors: `BadSnapshot`, also where a file names no documented setting at all: it is
    another file than was meant.
    """
    try:
        text = file.read_text("utf-8")
    except OSError as wrong:
        raise BadSnapshot(f"{file}: {wrong.strerror or wrong}") from None
    except UnicodeDecodeError:
        raise BadSnapshot(f"{file}: it isn't UTF-8") from None
    known, found = specs.load().settings, {}
    for place, name, value in (
        _in_force(file, text) if _is_object(text) else _properties(file, text)
    ):
        if name in known:
            try:
                found[name] = value_of(name, value)
            except BadSetting as wrong:
                raise BadSnapshot(f"{place}: {wrong}") from None
    if not found:
        raise BadSnapshot(
            f"{file}: it names no documented setting; give a broker.conf, or the JSON of "
            "admin/v2/brokers/configuration/runtime"
        )
    return {name: value for name, value in found.items() if value is not None}


def _is_object(text: str) -> bool:
    """Whether it is meant as JSON: no property of a broker begins with a brace."""
    return text.lstrip("\ufeff \t\r\n").startswith("{")


def _in_force(file: Path, text: str) -> Iterator[tuple[str, str, str]]:
    """The place, name and value of each setting as a running broker writes it."""
    try:
        told = read(text.lstrip("\ufeff").encode())
    except NotJSON as wrong:
        raise BadSnapshot(f"{file}: it {wrong}") from None
    for name, value in told.items():
        name = name.replace(*RESPELT)
        if not isinstance(value, str | int | float | None):
            if name in specs.load().settings:
                raise BadSnapshot(f"{file}: {name} is {type(value).__name__}, and no single value")
            continue
        yield f"{file}", name, plain(str(value).lower() if isinstance(value, bool) else str(value))


def plain(text: str) -> str:
    """A value that Java printed, as broker.conf has it: `Optional[1.0]` is 1.0, `null` is none."""
    within = OPTIONAL.fullmatch(text)
    text = within[1] if within else text
    if text in ABSENT:
        return ""
    return text[1:-1].replace(", ", ",") if text.startswith("[") else text


def _properties(file: Path, text: str) -> Iterator[tuple[str, str, str]]:
    """The place, name and value of each property of a broker.conf."""
    for number, name, value in _lines(text):
        yield f"{file}:{number}", name, value


def _lines(text: str) -> Iterator[tuple[int, str, str]]:
    """The line number, name and value of each property, in Java's properties format."""
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
