"""The lines of a broker's log: text or JSON, or either inside the JSON lines that Docker saves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from pulsar_conformance.adapters.protocol import NotJSON, parse_line

MESSAGES = ("message", "msg")
"""Fields of a JSON log line that may contain its message."""

TIMES = ("timestamp", "@timestamp", "time", "instant", "timeMillis")
"""Fields of a JSON log line that may contain its time."""

CONTEXT = ("contextMap", "mdc", "context", "attributes")
"""Fields of a JSON log line that may contain the line's attributes as an object."""

WRAPPED = "log"
"""Field of a JSON object from Docker with a log line, or with a part of a long line."""

LARGEST_PART = 16 * 1024
"""Number of bytes after which Docker divides a line into several JSON objects."""

OBJECT = re.compile(r'\{\s*"')
"""Start of a JSON object."""

TRAILING = re.compile(r"\{(\w+=[^{}]*)\}\s*$")
ATTRIBUTE = re.compile(r"(\w+)=(.*?)(?=, \w+=|$)")


class LogLine(NamedTuple):
    """A line of a log, with its message, attributes and times."""

    number: int
    """Number of the line in its file, from 1."""
    text: str
    """The line as the broker wrote it."""
    message: str
    """The message of a JSON line; for any other line, its whole text."""
    attributes: Mapping[str, str]
    """The attributes of the message, and all fields of a JSON line."""
    times: tuple[str, ...] = ()
    """The fields of a JSON line that may contain its time, the preferred one first."""
    saved_at: str = ""
    """The time at which Docker saved the line; empty if Docker did not save it."""


def read_log_lines(lines: Iterable[str]) -> Iterator[LogLine]:
    """Yield each line of a log; a line that Docker divided is yielded as a whole."""
    parts: dict[str, list[str]] = {}
    for number, line in enumerate(lines, 1):
        saved = _parse_object(line)
        if not is_wrapped(saved):
            yield _read_line(number, line)
            continue
        stream, text = str(saved.get("stream", "")), saved[WRAPPED]
        parts.setdefault(stream, []).append(text)
        if text.endswith("\n") or len(text.encode("utf-8", "replace")) < LARGEST_PART:
            whole = "".join(parts.pop(stream)).rstrip("\r\n")
            yield _read_line(number, whole)._replace(saved_at=str(saved.get("time", "")))


def is_log_line(document: Mapping[str, Any]) -> bool:
    """True if a JSON object is a line of a log, as a broker wrote it or as Docker saved it."""
    named = any(name in document for name in MESSAGES) or is_wrapped(document)
    return named and "kind" not in document


def is_wrapped(document: Mapping[str, Any]) -> bool:
    """True if a JSON object was written by Docker, with a log line in the field `WRAPPED`."""
    return isinstance(document.get(WRAPPED), str) and not any(one in document for one in MESSAGES)


def _parse_object(text: str) -> dict[str, Any]:
    """Parse a text as a JSON object; return an empty object if the text is anything else."""
    if text.lstrip().startswith("{"):
        with suppress(NotJSON):
            written = parse_line(text.encode("utf-8", "replace"))
            return written if isinstance(written, dict) else {}
    return {}


def _json_in_line(line: str) -> dict[str, Any]:
    """Return the JSON object in a log line, even after text that a container runtime put before it.

    Empty if the line contains no JSON message.
    """
    start = OBJECT.search(line)
    written = _parse_object(line[start.start() :]) if start else {}
    return written if any(name in written for name in MESSAGES) else {}


def _read_line(number: int, line: str) -> LogLine:
    """Return a line with its message and attributes: JSON, or text with attributes at the end."""
    written = _json_in_line(line)
    if not written:
        found = TRAILING.search(line)
        return LogLine(number, line, line, dict(ATTRIBUTE.findall(found[1])) if found else {})
    inner = (written[name] for name in CONTEXT if isinstance(written.get(name), dict))
    whole = {**written, **next(inner, {})}
    message = next((str(whole[name]) for name in MESSAGES if name in whole), "")
    attributes = {name: str(value) for name, value in whole.items()}
    times = tuple(_time_text(written[name]) for name in TIMES if name in written)
    return LogLine(number, line, message, attributes, times)


def _time_text(value: Any) -> str:
    """Return a time as text; an `instant` of Log4j2 becomes milliseconds since 1970."""
    if isinstance(value, dict):
        seconds, nanos = value.get("epochSecond"), value.get("nanoOfSecond", 0)
        if isinstance(seconds, int) and isinstance(nanos, int):
            return str(seconds * 1000 + nanos // 1_000_000)
    return str(value)
