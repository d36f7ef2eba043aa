"""Questions that are put together, and what came back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

Json = dict[str, Any]


class Question(NamedTuple):
    """One operation with its case: plain JSON, as the adapter protocol has it."""

    operation: str
    case: Json


@dataclass(frozen=True)
class Trial:
    """One or more questions that a rule judges together; equal ones are asked each time."""

    questions: tuple[Question, ...]

    @classmethod
    def of(cls, operation: str, *cases: Json) -> Trial:
        """Cases of one operation."""
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
        return cls(tuple(Question(line["ask"], line["case"]) for line in lines))

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the questions, which also names the file of a saved trial."""
        return hashlib.sha256(canonical(self.as_json()).encode()).hexdigest()

    @property
    def size(self) -> str:
        """How large the first case is, for people: 2 brokers, 3 bundles."""
        case = self.questions[0].case
        counts = [len(self.questions) if len(self.questions) > 1 else 0]
        counted = ("brokers", "topics", "samples", "domains", "events")
        counts += [len(case[key]) if key in case else 0 for key in counted]
        owned = case["owned"] if isinstance(case.get("owned"), list) else ()
        bundles = {*owned, *(b for one in _brokers(case) for b in one.get("bundles", ()))}
        counts.append(len(bundles))
        named = zip(counts, ("cases", *counted, "bundles"), strict=True)
        words = [f"{count} {name if count > 1 else name[:-1]}" for count, name in named if count]
        return ", ".join(words) or "1 case"


def _brokers(case: Json) -> list[Json]:
    return list(case["brokers"].values()) if isinstance(case.get("brokers"), dict) else []


def canonical(value: Any) -> str:
    """JSON text that is the same for equal values; the order of names is kept, it may matter."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


CASE_CHANGED = "caseChanged"
"""Stands in the answer of an implementation that changed its case, and says where."""
