"""A running broker's settings, from its admin API, under their documented names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from pulsar_conformance import specs

OPTIONAL = re.compile(r"Optional\[(.*)\]")
ABSENT = ("", "null", "Optional.empty")
CORRECT_SPELLING = "Bandwidth"
"""Correct spelling in the names of settings for bandwidth weights, used from 4.0 on."""

EARLIER_SPELLING = "Bandwith"
"""Spelling in the names of these settings before 4.0."""

PARSERS: Mapping[str, Callable[[str], Any]] = {
    "integer": int,
    "number": float,
    "boolean": {"true": True, "false": False}.__getitem__,
}
"""Functions that parse a setting's value, by its type; values of other types remain text."""


def documented_settings(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Return the documented settings with their parsed values; omit those that cannot be parsed.

    The broker's other settings, which may include secrets, are ignored.
    """
    found = {}
    known = specs.load()
    for name, setting in {**known.settings, **known.annotated, **known.settings}.items():
        if name.replace(CORRECT_SPELLING, EARLIER_SPELLING) in found:
            continue
        text = str(
            configuration.get(
                name, configuration.get(name.replace(EARLIER_SPELLING, CORRECT_SPELLING), "")
            )
        )
        within = OPTIONAL.fullmatch(text)
        text = within[1] if within else text
        if text in ABSENT:
            continue
        try:
            found[name] = PARSERS.get(setting.type, _text)(text)
        except (KeyError, ValueError):
            continue
    return found


def _text(text: str) -> str:
    """Format a list of values as in broker.conf: without brackets and spaces."""
    return text[1:-1].replace(", ", ",") if text.startswith("[") else text
