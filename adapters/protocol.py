"""Messages of the adapter protocol, version 1: what they hold, how they are written and read.

The messages' shapes are in `specs/schema/message.json`, those of cases and answers in
`specs/schema/operations/`.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

JSON: TypeAlias = Any
"""Whatever a JSON reader makes: dict, list, str, int, float, bool or None."""

PROTOCOL = 1
DEFAULT_BATCH = 1000
"""Cases a message for an implementation that names no `batch`."""

OPERATIONS = (
    "settings.defaults",
    "bundles.create",
    "bundles.locate",
    "bundles.split",
    "bundles.split_candidates",
    "usage.max",
    "usage.nic",
    "average.bundle",
    "average.broker",
    "shed.select",
    "place.select",
    "place.anti_affinity",
    "manager.choose",
    "report.read",
    "cluster.replay",
)
"""Every operation of the protocol, those included that this version of the suite doesn't ask."""


@dataclass(frozen=True)
class Hello:
    """Who answers, and what it offers.

    `strategies` and `algorithms` are None where the implementation doesn't say: then each is
    asked and may answer `unsupported`. `placement` is a placement strategy that stands in place of
    the one that documents describe. `readings` are those that it follows, where it knows.
    """

    protocol: int
    name: str
    version: str = ""
    batch: int = DEFAULT_BATCH
    operations: tuple[str, ...] = ()
    strategies: tuple[str, ...] | None = None
    algorithms: tuple[str, ...] | None = None
    readings: Mapping[str, str] = field(default_factory=dict)
    manager: str = "modular"
    neutral: Mapping[str, str] = field(default_factory=dict)
    placement: str | None = None

    @classmethod
    def of(cls, answer: Mapping[str, JSON]) -> Self:
        """From an answer to hello that is valid by schema; unknown fields are ignored."""
        known = {name: answer[name] for name in cls.__dataclass_fields__ if name in answer}
        for name in ("operations", "strategies", "algorithms"):
            if name in known:
                known[name] = tuple(known[name])
        return cls(**known)

    def offers_strategy(self, name: str) -> bool:
        """Whether it may know this shedding strategy, named in full or by its last part."""
        last = name.rpartition(".")[2]
        return self.strategies is None or any(
            last == strategy.rpartition(".")[2] for strategy in self.strategies
        )

    def offers_algorithm(self, name: str) -> bool:
        """Whether it may know this split algorithm."""
        return self.algorithms is None or name in self.algorithms


def hello_message(number: int, profile: str, readings: Mapping[str, str]) -> dict[str, JSON]:
    """The suite's greeting: by which profile and readings it will judge."""
    return {
        "id": number,
        "ask": "hello",
        "protocol": PROTOCOL,
        "profile": profile,
        "readings": dict(readings),
    }


def ask_message(number: int, operation: str, cases: Sequence[JSON]) -> dict[str, JSON]:
    """A batch of cases of one operation."""
    return {"id": number, "ask": operation, "cases": list(cases)}


def bye_message(number: int) -> dict[str, JSON]:
    """The end of a connection; it isn't answered."""
    return {"id": number, "ask": "bye"}


# ASCII: some line readers take U+2028 for a line end, and a lone surrogate has no UTF-8.
_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def text_of(value: JSON) -> str:
    """Compact JSON on one line; ValueError for NaN and infinities, TypeError for no JSON."""
    return _encode(value)


def line_of(message: JSON) -> bytes:
    """A message as it travels: one line of UTF-8 with its line end."""
    return _encode(message).encode() + b"\n"


class NotJSON(ValueError):
    """The text isn't JSON as the protocol wants it; says what is wrong with it."""


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


def _constant(name: str) -> JSON:
    raise NotJSON(f"has {name}, which JSON doesn't know")


_decode = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_number, parse_constant=_constant
).decode


def read(text: str | bytes) -> JSON:
    """The JSON value of one line; NotJSON for anything else, duplicate keys and NaN included."""
    try:
        return _decode(text.decode() if isinstance(text, bytes) else text)
    except NotJSON:
        raise
    except UnicodeDecodeError as error:
        raise NotJSON(f"isn't UTF-8 (byte {error.start + 1} of the line)") from None
    except json.JSONDecodeError as error:
        raise NotJSON(f"isn't JSON ({error.msg}, character {error.pos + 1})") from None
    except RecursionError:
        raise NotJSON("is nested too deeply") from None
    except ValueError as error:
        # An integer of thousands of digits: Python refuses to convert it.
        raise NotJSON(f"has a number that can't be read ({error})") from None
