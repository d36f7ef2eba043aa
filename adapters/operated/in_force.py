"""The settings of a running broker, as its admin API writes them, under their documented names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from pulsar_conformance import specs

OPTIONAL = re.compile(r"Optional\[(.*)\]")
ABSENT = ("", "null", "Optional.empty")
SPELT_RIGHT = "Bandwidth"
"""Correct spelling, from 4.0 on, in the settings of the bandwidth's weight; see `SLIP`."""

SLIP = "Bandwith"

READ: Mapping[str, Callable[[str], Any]] = {
    "integer": int,
    "number": float,
    "boolean": {"true": True, "false": False}.__getitem__,
}
"""The parser of each type; values of other types stay texts."""


def documented(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return the documented settings, typed, without those that have no readable value.

    Whatever else a broker is configured with, secrets among it, is not looked at.
    """
    found = {}
    for name, setting in specs.load().settings.items():
        text = str(told.get(name, told.get(name.replace(SLIP, SPELT_RIGHT), "")))
        within = OPTIONAL.fullmatch(text)
        text = within[1] if within else text
        if text in ABSENT:
            continue
        try:
            found[name] = READ.get(setting.type, _text)(text)
        except (KeyError, ValueError):
            continue
    return found


def _text(text: str) -> str:
    """A list as broker.conf writes it."""
    return text[1:-1].replace(", ", ",") if text.startswith("[") else text
