"""Questions that are asked together, as plain JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

Json = dict[str, Any]

MANY = ("boundaries", "positions", "candidates", "nics", "preallocated", "recentlyUnloaded")
"""What else a case holds in number; it is told where it makes the case large."""

FEW = 3
"""So many of them are no more than a case needs."""


class Question(NamedTuple):
    """An operation and a case, in the plain JSON of the adapter protocol."""

    operation: str
    case: Json


@dataclass(frozen=True)
class Trial:
    """One or more questions that a rule judges together; repeated questions are asked each time."""

    questions: tuple[Question, ...]
    before: tuple[Question, ...] = ()
    """What is asked before them, in this order, of an implementation that starts anew; it is not
    judged. Without it, it does not matter what was asked before."""

    @classmethod
    def of(cls, operation: str, *cases: Json) -> Trial:
        """A trial of these cases of one operation."""
        return cls(tuple(Question(operation, case) for case in cases))

    @property
    def operation(self) -> str:
        """The operation that the first question asks."""
        return self.questions[0].operation

    @property
    def operations(self) -> frozenset[str]:
        """Every operation that is asked."""
        return frozenset(question.operation for question in self.questions)

    def as_json(self) -> list[Json]:
        """The questions as lines of `pulsar-conformance ask`."""
        return [{"ask": operation, "case": case} for operation, case in self.questions]

    @classmethod
    def from_json(cls, lines: Sequence[Mapping[str, Any]]) -> Trial:
        """The inverse of `as_json`."""
        return cls(_questions(lines))

    @property
    def alone(self) -> Trial:
        """The same questions, whatever was asked before."""
        return Trial(self.questions)

    def after(self, before: Sequence[Question]) -> Trial:
        """The same questions, asked after others."""
        return Trial(self.questions, tuple(before))

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the questions; the file of a saved trial is named after it."""
        row = [[operation, case] for operation, case in self.before]
        text = canonical([self.as_json(), row] if row else self.as_json())
        return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()

    @property
    def size(self) -> str:
        """The size of the first case in words, such as "2 brokers, 3 bundles"."""
        case = self.questions[0].case
        asked = len(self.before) + len(self.questions)
        counts = [asked if asked > 1 else 0]
        counted = ("brokers", "topics", "samples", "domains", "events", *MANY)
        counts += [len(case[key]) if key in case else 0 for key in counted]
        owned = case["owned"] if isinstance(case.get("owned"), list) else ()
        bundles = {*owned, *(b for one in _brokers(case) for b in one.get("bundles", ()))}
        counts.append(len(bundles))
        named = zip(counts, ("cases", *counted, "bundles"), strict=True)
        words = [
            f"{count} {name if count > 1 else singular(name)}"
            for count, name in named
            if count and (name not in MANY or count > FEW)
        ]
        return ", ".join(words) or "1 case"


def _questions(lines: Sequence[Mapping[str, Any]]) -> tuple[Question, ...]:
    return tuple(Question(line["ask"], line["case"]) for line in lines)


def singular(name: str) -> str:
    """One of several: a boundary, a broker; names that stand for a state stay."""
    return f"{name[:-3]}y" if name.endswith("ies") else name.removesuffix("s")


def _brokers(case: Json) -> list[Json]:
    return list(case["brokers"].values()) if isinstance(case.get("brokers"), dict) else []


def canonical(value: Any) -> str:
    """JSON text that is equal for equal values; the order of names is kept, since it may matter."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


CASE_CHANGED = "caseChanged"
"""Stands in the answer of an implementation that changed its case, and says where."""

BROKE = "brokeOnIt"
"""Stands beside `failed` where no answer came at all: how many messages it took to tell which case
of a batch broke the implementation."""
