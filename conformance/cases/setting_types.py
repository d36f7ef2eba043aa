"""Types of settings: how the text of a value is parsed, and what it takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any


def _number(text: str) -> int | float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return int(value) if value.is_integer() else value


def _integer(text: str) -> int:
    return int(text)


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


PARSERS: Mapping[str, Callable[[str], Any]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "string": str,
    "class": str,
    "list": str,
}

TYPES: Mapping[str, str] = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}
