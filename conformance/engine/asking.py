"""Asking trials: all cases of an operation together, at once or in the background."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from random import Random
from threading import Lock
from typing import Any, TypeVar

from pulsar_conformance.conformance.common.trial import Json, Question, Trial, canonical
from pulsar_conformance.conformance.engine.corpus import Tried
from pulsar_conformance.conformance.engine.events import OperationAsked, Tell
from pulsar_conformance.conformance.engine.implementation import Implementation

T = TypeVar("T")
Asking = Callable[..., object]
"""Does work with its arguments; the `submit` of a `ThreadPoolExecutor` does it in the background.
"""

Promised = Future[list[list[Json]]]
"""The answers to questions that were asked together, each by itself."""

_Key = tuple[str, str, int]
"""An operation, a case, and how often the trial has asked it by then."""

Part = tuple[str, list[Trial], Promised]
"""An operation, what is asked about it together, and the answers to that."""


def at_once(work: Callable[..., object], /, *given: Any) -> object:
    """Does work immediately."""
    return work(*given)


def settle(promised: Future[T], work: Callable[..., T], /, *given: Any) -> None:
    """Settles a future with the result of some work, or with the error that it raises."""
    try:
        promised.set_result(work(*given))
    except Exception as error:
        promised.set_exception(error)


def _alone(question: Question) -> Trial:
    return Trial((question,))


class Asker:
    """Asks an implementation each trial once, and keeps the answers.

    The trials of all rules are mixed, since what an implementation remembers shows only if what it
    is asked changes. Where a question takes it seconds, trials that ask the same share the answer.
    `asking` says where the work is done, as many operations at a time as the implementation takes;
    one in this process is asked immediately.
    """

    def __init__(
        self, implementation: Implementation, asking: Asking, tell: Tell, seed: int = 0
    ) -> None:
        self._implementation = implementation
        self._asking = at_once if implementation.in_process else asking
        self._tell = tell
        self._random = Random(seed)
        self._closed = False
        self._waiting: deque[Part] = deque()
        self._workers = 0
        self._turn = Lock()
        self._places: dict[int, list[tuple[Promised, int, int]]] = {}
        """By the identity of a trial, the place of the answer to each of its questions."""
        self._answers: dict[int, list[Json]] = {}
        self._shared: dict[_Key, tuple[Promised, int, int]] = {}
        """The place of the answer to a costly question."""

    def ask(self, tried: Iterable[Tried]) -> None:
        """Asks all trials that were not asked yet, those of an operation together."""
        trials = {id(one.trial): one.trial for one in tried if id(one.trial) not in self._places}
        mixed = self._random.sample(list(trials.values()), len(trials))
        questions: dict[str, list[Trial]] = defaultdict(list)
        promised: dict[str, Promised] = defaultdict(Future)
        for trial in mixed:
            places = self._places[id(trial)] = []
            asked: Counter[tuple[str, str]] = Counter()
            # A row of questions is asked as it stands, others in whatever order.
            for part in [trial] if trial.before else map(_alone, trial.questions):
                known = None if trial.before else self._costly(part, asked)
                if known in self._shared:
                    places.append(self._shared[known])
                    continue
                together, promise = questions[part.operation], promised[part.operation]
                columns = range(len(part.questions))
                places += [(promise, len(together), column) for column in columns]
                together.append(part)
                if known is not None:
                    self._shared[known] = places[-1]
        with self._turn:
            self._waiting += [(name, some, promised[name]) for name, some in questions.items()]
            idle = self._implementation.concurrency - self._workers
            more = min(idle, len(self._waiting))
            self._workers += more
        for _ in range(more):
            self._asking(self._work)

    def _costly(self, alone: Trial, asked: Counter[tuple[str, str]]) -> _Key | None:
        """What tells a question apart that takes seconds; None for any other."""
        [(operation, case)] = alone.questions
        if operation not in self._implementation.hello.costly:
            return None
        text = operation, canonical(case)
        asked[text] += 1
        return *text, asked[text]

    def answers(self, tried: Tried) -> list[Json]:
        """The answers to a trial that was asked; repeated calls return the same list.

        Errors: `AdapterError`.
        """
        trial = id(tried.trial)
        if trial not in self._answers:
            self._answers[trial] = [
                asked.result()[place][column] for asked, place, column in self._places[trial]
            ]
        return self._answers[trial]

    def close(self) -> None:
        """Stops asking."""
        self._closed = True

    def _work(self) -> None:
        """Asks what waits, one operation after the other, until nothing does."""
        while (part := self._next()) is not None and not self._closed:
            operation, together, promised = part
            self._tell(OperationAsked(self._implementation.name, operation, len(together)))
            settle(promised, self._implementation.answers, together)

    def _next(self) -> Part | None:
        with self._turn:
            if self._waiting:
                return self._waiting.popleft()
            self._workers -= 1
            return None
