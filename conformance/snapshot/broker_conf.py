"""The settings of a broker.conf that the documents name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.conformance.given_settings import BadSetting, value_of
from pulsar_conformance.conformance.snapshot.files import BadSnapshot

COMMENT = re.compile(r"\s*[#!]")
PROPERTY = re.compile(r"([^\s=:]+)\s*[=:]?(.*)")


def read_conf(file: Path) -> dict[str, Any]:
    """Settings in their documented types; those that no document names are left out.

    One without a value counts as not set, as it does for a broker. Errors: `BadSnapshot`.
    """
    try:
        text = file.read_text("utf-8")
    except OSError as wrong:
        raise BadSnapshot(f"{file}: {wrong.strerror or wrong}") from None
    except UnicodeDecodeError:
        raise BadSnapshot(f"{file}: it isn't UTF-8") from None
    known, found = specs.load().settings, {}
    for number, name, value in _lines(text):
        if name in known:
            try:
                found[name] = value_of(name, value)
            except BadSetting as wrong:
                raise BadSnapshot(f"{file}:{number}: {wrong}") from None
    return {name: value for name, value in found.items() if value is not None}


def _lines(text: str) -> Iterator[tuple[int, str, str]]:
    """Line number, name and value of each property, as Java reads such files."""
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
