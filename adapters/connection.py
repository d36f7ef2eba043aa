"""A connection to an implementation, independent of the transport."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from pulsar_conformance.adapters.errors import AdapterError
from pulsar_conformance.adapters.protocol import JSON, Hello
from pulsar_conformance.adapters.validation import InvalidAnswer, check_answers

START_AT_LEAST = 5.0
"""The least seconds that a start may take, however short the time limit for answers."""

END_AT_LEAST = 1.0
"""The least seconds that an end may take."""


@dataclass(frozen=True)
class Limits:
    """How long an implementation may take, in seconds, and how much it may write.

    Attributes:
        start: from its start to its answer to hello.
        base: for one batch, plus `per_case` for each of its cases.
        output_bytes: for one message.
        end: from bye to its exit.
    """

    start: float = 30.0
    base: float = 20.0
    per_case: float = 0.05
    output_bytes: int = 256 * 1024 * 1024
    end: float = 5.0

    @classmethod
    def within(cls, seconds: float) -> Self:
        """Limits with another `base`, and the others in the same proportion.

        A start has `START_AT_LEAST` seconds: an interpreter takes its time before it can speak.
        """
        usual = cls()
        share = seconds / usual.base
        start = max(usual.start * share, START_AT_LEAST)
        end = min(usual.end, max(usual.end * share, END_AT_LEAST))
        return cls(start=start, base=seconds, per_case=usual.per_case * share, end=end)


@runtime_checkable
class Connection(Protocol):
    """An implementation that has said hello.

    It is asked by so many threads at a time as its `concurrency` says, and usually that is one.
    """

    @property
    def hello(self) -> Hello:
        """Who answers, and what it offers."""

    @property
    def closed(self) -> bool:
        """Whether it can no longer be asked."""

    @property
    def in_process(self) -> bool:
        """Whether it gets the original cases, which it could change, rather than copies."""

    @property
    def restarts(self) -> bool:
        """Whether connecting again starts it anew, with nothing left of before, in little time."""

    @property
    def concurrency(self) -> int:
        """How many threads may ask it at a time."""

    def ask(self, operation: str, cases: Sequence[JSON]) -> list[JSON]:
        """One answer per case, in order, each valid by the operation's schema.

        Any number of cases is allowed: they travel in batches of `hello.batch`. Raises
        AdapterError. After an `error` message (`.code`), a wrong number of answers or an answer
        outside its schema, the connection can still be asked; after any other error it is closed.
        """

    def told(self) -> list[str]:
        """Remarks on how it worked, one line each, without its answers."""

    def bye(self) -> None:
        """End it; raises AdapterError if it had to be killed. It is closed either way."""

    def close(self) -> None:
        """End it, kill what remains, and say nothing. May be called again."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


class Asking(ABC):
    """What every kind of connection shares: batches, validation, and closing at the end."""

    adapter: str
    _hello: Hello

    @property
    def hello(self) -> Hello:
        """Who answers, and what it offers."""
        return self._hello

    @property
    def closed(self) -> bool:
        """Whether it can no longer be asked."""
        return False

    @property
    def in_process(self) -> bool:
        """Whether it gets the original cases, which it could change, rather than copies."""
        return False

    @property
    def restarts(self) -> bool:
        """Whether connecting again starts it anew, with nothing left of before, in little time."""
        return False

    @property
    def concurrency(self) -> int:
        """How many threads may ask it at a time."""
        return 1

    @abstractmethod
    def exchange(self, operation: str, batch: Sequence[JSON]) -> list[JSON]:
        """The answers to one batch, one per case, not yet validated."""

    @abstractmethod
    def bye(self) -> None:
        """End it; raises AdapterError if it did not end by itself."""

    @abstractmethod
    def close(self) -> None:
        """End it and say nothing."""

    def told(self) -> list[str]:
        """Remarks on how it worked, one line each."""
        return []

    def stderr_tail(self) -> str:
        """Last lines of its standard error."""
        return ""

    def ask(self, operation: str, cases: Sequence[JSON]) -> list[JSON]:
        """One valid answer per case, in order; see `Connection.ask`."""
        answers: list[JSON] = []
        for first in range(0, len(cases), self._hello.batch):
            batch = cases[first : first + self._hello.batch]
            got = self.exchange(operation, batch)
            try:
                check_answers(operation, got)
            except InvalidAnswer as error:
                raise AdapterError(
                    "answer",
                    f"{operation}: {error} (answer {error.index + 1} of {len(got)})",
                    f"compare it with what pulsar-conformance schema {operation} prints, answer",
                    self.stderr_tail(),
                    self.adapter,
                    index=first + error.index,
                ) from None
            answers += got
        return answers

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class Connect(Protocol):
    """What opens a connection of one kind."""

    def __call__(
        self, rest: str, name: str, profile: str, readings: Mapping[str, str], limits: Limits
    ) -> Connection:
        """`rest` is what the adapter's name says after `kind:`."""
