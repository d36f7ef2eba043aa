"""JSON for people: what fits on a line stands on one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

WIDTH = 100


def compact(value: Any) -> str:
    """JSON text, indented by one for each level that does not fit."""
    return "\n".join(_lines(value, "", "", ""))


def _lines(value: Any, indent: str, before: str, after: str) -> Iterator[str]:
    text = f"{indent}{before}{json.dumps(value, ensure_ascii=False)}{after}"
    if len(text) <= WIDTH or not isinstance(value, dict | list) or not value:
        yield text
        return
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    yield f"{indent}{before}{opening}"
    pairs = list(value.items()) if isinstance(value, dict) else [(None, one) for one in value]
    for place, (key, item) in enumerate(pairs, 1):
        name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
        yield from _lines(item, indent + " ", name, "," if place < len(pairs) else "")
    yield f"{indent}{closing}{after}"
