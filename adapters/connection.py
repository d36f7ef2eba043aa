"""A connection to an implementation, whatever lies between."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from pulsar_conformance.adapters.errors import AdapterError
from pulsar_conformance.adapters.protocol import JSON, Hello
from pulsar_conformance.adapters.validation import InvalidAnswer, check_answers


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
        """Another time for a batch: `base`, its cases in the same proportion, no start shorter."""
        usual = cls()
        per_case = usual.per_case * seconds / usual.base
        return cls(start=max(usual.start, seconds), base=seconds, per_case=per_case)


@runtime_checkable
class Connection(Protocol):
    """An implementation that has said hello.

    One question at a time: a connection isn't to be shared between threads.
    """

    @property
    def hello(self) -> Hello:
        """Who answers, and what it offers."""

    @property
    def closed(self) -> bool:
        """Whether it can't be asked any more."""

    @property
    def in_process(self) -> bool:
        """Whether it is given the very cases, which it could change, and no copies."""

    def ask(self, operation: str, cases: Sequence[JSON]) -> list[JSON]:
        """One answer a case, in order, each valid by the operation's schema.

        Any number of cases: they travel in batches of `hello.batch`. Raises AdapterError; after
        an `error` message (`.code`), a wrong number of answers or an answer outside its schema
        the connection can still be asked, after any other it is closed.
        """

    def told(self) -> list[str]:
        """What is worth telling of how it worked, a line each; nothing of what it answered."""

    def bye(self) -> None:
        """End it; AdapterError when it had to be killed. The connection is closed either way."""

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
        """Whether it can't be asked any more."""
        return False

    @property
    def in_process(self) -> bool:
        """Whether it is given the very cases, which it could change, and no copies."""
        return False

    @abstractmethod
    def exchange(self, operation: str, batch: Sequence[JSON]) -> list[JSON]:
        """Answers to one batch, as many as cases, not yet validated."""

    @abstractmethod
    def bye(self) -> None:
        """End it; AdapterError when it did not end by itself."""

    @abstractmethod
    def close(self) -> None:
        """End it and say nothing."""

    def told(self) -> list[str]:
        """What is worth telling of how it worked, a line each."""
        return []

    def stderr_tail(self) -> str:
        """Last lines of its standard error."""
        return ""

    def ask(self, operation: str, cases: Sequence[JSON]) -> list[JSON]:
        """One valid answer a case, in order; see `Connection.ask`."""
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
                    f"compare it with specs/schema/operations/{operation}.json, answer",
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
