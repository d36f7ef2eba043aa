"""Trials: questions in plain JSON that are judged together, and their answers."""

from __future__ import annotations

import hashlib
import json
import marshal
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

Json = dict[str, Any]

COUNTED_FIELDS = ("brokers", "topics", "samples", "domains", "events")
"""Fields of a case whose number of entries is always mentioned in the description of its size."""

LONG_FIELDS = ("boundaries", "positions", "candidates", "nics", "preallocated", "recentlyUnloaded")
"""Fields whose number of entries is mentioned only if it is at least `WORTH_MENTIONING`."""

WORTH_MENTIONING = 4
"""Minimum number of entries of a field in `LONG_FIELDS` that is mentioned."""

CASE_CHANGED = "caseChanged"
"""Field of an answer: the place where the implementation has modified the case."""

CRASHED_ON_CASE = "brokeOnIt"
"""Field, next to `failed`, of the answer to a case that crashed the implementation.

Its value is the number of messages that were needed to find the case in its batch.
"""

DECLINED = ("refused", "unsupported", "failed")
"""Fields of an answer that give a reason, as free text, for not answering."""


def copied(value: Any) -> Any:
    """Return a deep copy of a JSON value, faster than `copy.deepcopy`."""
    return marshal.loads(marshal.dumps(value))


def strategy_or_algorithm(case: Json) -> str | None:
    """Return the strategy (without package) or the algorithm named in a case, or None."""
    kind: str | None = case.get("strategy") or case.get("algorithm")
    return kind and kind.rpartition(".")[2]


class Question(NamedTuple):
    """An operation and a case in the plain JSON of the adapter protocol."""

    operation: str
    case: Json


@dataclass(frozen=True)
class Trial:
    """One or more questions that a rule judges together; each is asked, even if some are equal."""

    questions: tuple[Question, ...]
    before: tuple[Question, ...] = ()
    """Questions to ask first, in this order, after a restart; their answers are not judged. If
    empty, the trial can be asked at any time, without a restart.
    """

    @classmethod
    def of(cls, operation: str, *cases: Json) -> Trial:
        """Return a trial with one question per case."""
        return cls(tuple(Question(operation, case) for case in cases))

    @classmethod
    def asking(cls, questions: Iterable[tuple[str, Json]]) -> Trial:
        """Return a trial of (operation, case) pairs, such as those of a worked example."""
        return cls(tuple(Question(*one) for one in questions))

    @property
    def operation(self) -> str:
        """The operation of the first question."""
        return self.questions[0].operation

    @property
    def operations(self) -> frozenset[str]:
        """The names of the operations that the questions ask for."""
        return frozenset(question.operation for question in self.questions)

    def as_json(self) -> list[Json]:
        """Return the questions in the input format of `pulsar-conformance ask`."""
        return [{"ask": operation, "case": case} for operation, case in self.questions]

    @classmethod
    def from_json(cls, lines: Sequence[Mapping[str, Any]]) -> Trial:
        """Parse a trial from the result of `as_json`."""
        return cls(tuple(Question(line["ask"], line["case"]) for line in lines))

    @property
    def alone(self) -> Trial:
        """The trial without the questions to ask first."""
        return Trial(self.questions)

    def after(self, before: Sequence[Question]) -> Trial:
        """Return this trial with `before` as the questions to ask first."""
        return Trial(self.questions, tuple(before))

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the questions, used to name a saved trial's file."""
        before = [[operation, case] for operation, case in self.before]
        text = canonical([self.as_json(), before] if before else self.as_json())
        return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()

    @property
    def size(self) -> str:
        """The number of questions, if there are several, and the size of the first case, as in "1
        broker".
        """
        case = self.questions[0].case
        asked = len(self.before) + len(self.questions)
        counts = {"cases": asked if asked > 1 else 0}
        counts |= {name: len(case[name]) for name in COUNTED_FIELDS if name in case}
        long = {name: len(case[name]) for name in LONG_FIELDS if name in case}
        counts |= {name: count for name, count in long.items() if count >= WORTH_MENTIONING}
        counts["bundles"] = len(_named_bundles(case))
        words = [
            f"{count} {name if count > 1 else singular(name)}"
            for name, count in counts.items()
            if count
        ]
        return ", ".join(words) or "1 case"


Found = TypeVar("Found")

_Key = tuple[str, str, int]
"""A rule's ID, and the origin and `id()` of a trial."""


class KnownAnswers(Generic[Found]):
    """Answers of a run's implementations, with equal answers stored once, and their outcomes."""

    def __init__(self) -> None:
        self._first: dict[int, tuple[Trial, list[Json]]] = {}
        """Each trial and its first answers, by the trial's `id()`; the entry keeps it alive."""
        self._outcomes: dict[Hashable, dict[_Key, tuple[Sequence[Json], Found]]] = {}

    def once(self, trial: Trial, answers: list[Json]) -> list[Json]:
        """Return the first answers to the trial if `answers` equals them; otherwise `answers`."""
        _, first = self._first.setdefault(id(trial), (trial, answers))
        # In Python, true equals 1.
        equal = first is answers or (first == answers and repr(first) == repr(answers))
        return first if equal else answers

    def outcomes(self, judging: Hashable) -> dict[_Key, tuple[Sequence[Json], Found]]:
        """Return the answers and outcomes stored under `judging`, a key for a way of judging.

        Callers add entries to the result.
        """
        return self._outcomes.setdefault(judging, {})


def _named_bundles(case: Json) -> set[str]:
    """Return the bundles that brokers own, and the bundles that the leader has data about."""
    owned = case["owned"] if isinstance(case.get("owned"), list) else ()
    known = case["bundles"] if isinstance(case.get("bundles"), dict) else ()
    brokers = case["brokers"].values() if isinstance(case.get("brokers"), dict) else ()
    reported = (bundle for broker in brokers for bundle in broker.get("bundles", ()))
    return {*owned, *known, *reported}


def singular(name: str) -> str:
    """Return the singular of a field name; "recentlyUnloaded" is unchanged."""
    return f"{name[:-3]}y" if name.endswith("ies") else name.removesuffix("s")


def canonical(value: Any) -> str:
    """Format a JSON value as compact text, without sorting keys."""
    return _ENCODER.encode(value)


_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False)


@dataclass(frozen=True, eq=False)
class SameObject:
    """A cache key that equals only keys of the same object, such as a case."""

    value: Any

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameObject) and self.value is other.value


Case = TypeVar("Case")
Answer = TypeVar("Answer")


class Asked(NamedTuple, Generic[Case, Answer]):
    """A question and its answer in the types of their operation."""

    case: Case
    answer: Answer


@dataclass(frozen=True)
class Exchange:
    """A question and its answer, as JSON and in the types that checks use."""

    operation: str
    case: Json
    answer: Json
    view: object
    """The case in the type that the checks of its operation use."""
    read: Callable[[object, Json], object]

    @property
    def declined(self) -> bool:
        """True if the implementation gave a reason for not answering instead of an answer."""
        return any(name in self.answer for name in DECLINED)

    @cached_property
    def answered(self) -> object:
        """The answer in the type that checks use.

        Errors: `Violated` or `NotReached` if the answer cannot be converted.
        """
        return self.read(self.view, self.answer)
