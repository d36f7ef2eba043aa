"""The messages of version 1 of the adapter protocol: writing and parsing.

The schemas of messages are in `specs/schema/message.json`, the schemas of cases and answers in
`specs/schema/operations/`.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

import orjson
from pulsar_conformance.specs import operations
from pulsar_conformance.specs.text import printable

JSON: TypeAlias = Any
"""Any value that a JSON reader returns: dict, list, str, int, float, bool or None."""

PROTOCOL = 1
DEFAULT_BATCH = 1000
"""Number of cases in a message if the implementation's hello has no `batch`."""

Row: TypeAlias = tuple[tuple[str, JSON], ...]
"""Questions that are judged together, each as an operation and a case."""

OPERATIONS = operations()
"""Every operation of the protocol."""


@dataclass(frozen=True)
class Hello:
    """An implementation's name, and what it offers.

    `strategies` and `algorithms` are None if the implementation does not list them; it is then
    asked about all of them, and may answer `unsupported`. `placement` is a placement strategy that
    replaces the documented one. `readings` are the alternatives that it claims to follow. `costly`
    lists operations whose cases take seconds each. `absent` gives the reasons why operations are
    not offered. `own` maps rules to the questions that an existing cluster can answer without being
    changed; it is not part of messages.
    """

    protocol: int
    name: str
    version: str = ""
    batch: int = DEFAULT_BATCH
    operations: tuple[str, ...] = ()
    costly: tuple[str, ...] = ()
    strategies: tuple[str, ...] | None = None
    algorithms: tuple[str, ...] | None = None
    readings: Mapping[str, str] = field(default_factory=dict)
    manager: str = "modular"
    neutral: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    placement: str | None = None
    own: Mapping[str, tuple[Row, ...]] | None = None

    @classmethod
    def of(cls, answer: Mapping[str, JSON]) -> Self:
        """Return the hello in a valid message; ignore fields that the suite does not know."""
        known = {name: answer[name] for name in cls.__dataclass_fields__ if name in answer}
        known.pop("own", None)
        for name in ("operations", "costly", "strategies", "algorithms"):
            if name in known:
                known[name] = tuple(known[name])
        for name in ("name", "version", "placement"):
            if known.get(name):
                known[name] = printable(known[name], lines=False)
        return cls(**known)

    def offers_strategy(self, name: str) -> bool:
        """True if the implementation lists a shedding strategy, or has no list of strategies.

        `name` is a full or short class name.
        """
        last = name.rpartition(".")[2]
        return self.strategies is None or any(
            last == strategy.rpartition(".")[2] for strategy in self.strategies
        )

    def offers_algorithm(self, name: str) -> bool:
        """True if the implementation lists a split algorithm, or has no list of algorithms."""
        return self.algorithms is None or name in self.algorithms


def hello_message(number: int, profile: str, readings: Mapping[str, str]) -> dict[str, JSON]:
    """Return the suite's hello, with the profile and readings that judge the implementation."""
    return {
        "id": number,
        "ask": "hello",
        "protocol": PROTOCOL,
        "profile": profile,
        "readings": dict(readings),
    }


def ask_message(number: int, operation: str, cases: Sequence[JSON]) -> dict[str, JSON]:
    """Return the message that asks for answers to a batch of cases of one operation."""
    return {"id": number, "ask": operation, "cases": list(cases)}


def bye_message(number: int) -> dict[str, JSON]:
    """Return the message that ends a connection; the implementation does not reply."""
    return {"id": number, "ask": "bye"}


# ASCII only: some readers take U+2028 for a line end, and lone surrogates have no UTF-8.
_exact = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode

_FAST = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


def json_text(value: JSON) -> str:
    """Format a value as one line of compact ASCII JSON.

    Errors: `ValueError` for NaN, `TypeError` for types that JSON lacks.
    """
    return _encode(value).decode()


def json_line(message: JSON) -> bytes:
    """Format a message as one line of ASCII JSON, with a newline."""
    fields = (_encode(name) + b":" + _encode_field(value) for name, value in message.items())
    return b"{" + b",".join(fields) + b"}\n"


def _encode_field(value: JSON) -> bytes:
    """Format a field of a message; the elements of a list are encoded separately.

    Only elements that orjson cannot encode take the slow path.
    """
    return b"[" + b",".join(map(_encode, value)) + b"]" if type(value) is list else _encode(value)


def _encode(value: JSON) -> bytes:
    """Format a value as JSON: by orjson, which is four times faster, if its result is safe.

    orjson writes NaN as null, leaves characters beyond ASCII unescaped, and rejects large integers;
    in these cases, the standard library is used.
    """
    try:
        text = orjson.dumps(value, option=_FAST)
    except orjson.JSONEncodeError:
        return _exact(value).encode()
    return text if text.isascii() and b"null" not in text else _exact(value).encode()


class NotJSON(ValueError):
    """Raised for text that is not JSON as the protocol requires; the message gives the reason."""


def _object(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in found if names.count(name) > 1)
        raise NotJSON(f"has the key {twice!r} twice in one object")
    return found


def _number(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise NotJSON(f"has the number {text}, which is too large for an IEEE double")
    return number


def _reject_constant(name: str) -> JSON:
    raise NotJSON(f"has {name}, which JSON doesn't allow")


_decode = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_number, parse_constant=_reject_constant
).decode


SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
"""Escape of one half of a surrogate pair; two consecutive halves encode one character."""


def _is_unicode(value: JSON) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


@dataclass(frozen=True)
class TextPlace:
    """The line and the column, both from 1, at which a string begins in its file."""

    line: int = 1
    column: int = 1

    def end_of(self, text: str) -> str:
        """Return the place where a string that begins here ends, such as `line 3, column 7`."""
        _, _, last = text.rpartition("\n")
        below = text.count("\n")
        return f"line {self.line + below}, column {len(last) + (1 if below else self.column)}"


def parse_line(text: str | bytes) -> JSON:
    """Parse one line of JSON. Errors: `NotJSON`, also for duplicate keys and NaN."""
    return parse_json(text)


def parse_json(text: str | bytes, place: TextPlace | None = None) -> JSON:
    """Parse JSON. Errors: `NotJSON`, also for duplicate keys and NaN.

    If `place` says where the text begins in its file, an error gives the line and column in the
    file. Otherwise, it gives the position in the text.
    """
    try:
        line = text.decode() if isinstance(text, bytes) else text
        value = _decode(line)
        if SURROGATE_ESCAPE.search(line) and not _is_unicode(value):
            raise NotJSON("has an unpaired surrogate, which encodes no character")
        return value
    except NotJSON:
        raise
    except UnicodeDecodeError as error:
        where = f"byte {error.start + 1} of the line"
        if place:
            where = place.end_of(error.object[: error.start].decode())
        raise NotJSON(f"isn't UTF-8 ({where})") from None
    except json.JSONDecodeError as error:
        where = place.end_of(error.doc[: error.pos]) if place else f"character {error.pos + 1}"
        raise NotJSON(f"isn't JSON ({error.msg}, {where})") from None
    except RecursionError:
        raise NotJSON("is nested too deeply") from None
    except ValueError as error:
        # Python refuses to convert integers with thousands of digits.
        raise NotJSON(f"has a number that can't be read ({error})") from None
