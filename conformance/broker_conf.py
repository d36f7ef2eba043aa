"""Settings out of a file as Pulsar's own broker.conf: `NAME=VALUE` lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.conformance.given_settings import BadSetting, value_of


def read(file: str) -> dict[str, Any]:
    """The documented settings that a file gives; others, comments and blank values are passed by.

    The last line about a setting wins. Errors: `BadSetting`, with the line.
    """
    try:
        lines = Path(file).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as wrong:
        raise BadSetting(f"--settings {file} cannot be read: {wrong}") from None
    given = {}
    for number, line in enumerate(map(str.strip, lines), 1):
        if not line or line.startswith(("#", "!")):
            continue
        name, equals, text = (part.strip() for part in line.partition("="))
        if not equals:
            raise BadSetting(f"{file}, line {number}: {line!r} is no NAME=VALUE")
        if name in specs.load().settings and text:
            given[name] = _value(file, number, name, text)
    if not given:
        raise BadSetting(f"{file}: none of its settings is about load balancing")
    return given


def _value(file: str, number: int, name: str, text: str) -> Any:
    try:
        return value_of(name, text)
    except BadSetting as wrong:
        raise BadSetting(f"{file}, line {number}: {wrong}") from None
