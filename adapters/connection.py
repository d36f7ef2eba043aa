"""Connections to implementations, independent of the transport."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from pulsar_conformance.adapters.errors import AdapterError
from pulsar_conformance.adapters.protocol import JSON, Hello
from pulsar_conformance.adapters.validation import InvalidAnswer, check_answers

MIN_START_SECONDS = 5.0
"""Minimum time in seconds allowed for a start, even if answers get less."""

MIN_END_SECONDS = 1.0
"""Minimum time in seconds allowed for an exit."""


@dataclass(frozen=True)
class Limits:
    """Limits for an implementation; all times are in seconds.

    Attributes:
        start: time from the start of the implementation to its answer to hello.
        base: time for one batch, to which `per_case` is added for each of its cases.
        output_bytes: size of one message.
        end: time from bye to the exit of the implementation.
    """

    start: float = 30.0
    base: float = 20.0
    per_case: float = 0.05
    output_bytes: int = 256 * 1024 * 1024
    end: float = 5.0

    @classmethod
    def within(cls, seconds: float) -> Self:
        """Return limits whose `base` is `seconds`, with all other times in proportion.

        A start gets at least `MIN_START_SECONDS`, because interpreters start slowly.
        """
        usual = cls()
        share = seconds / usual.base
        start = max(usual.start * share, MIN_START_SECONDS)
        end = min(usual.end, max(usual.end * share, MIN_END_SECONDS))
        return cls(start=start, base=seconds, per_case=usual.per_case * share, end=end)


class Connection(ABC):
    """A connection to an implementation that has replied to `hello`.

    A subclass for a kind of adapter sets `adapter` and `hello`, answers batches in `exchange`, and
    ends the connection in `bye` and `close`. Up to `concurrency` threads may use a connection at
    the same time.

    Attributes:
        adapter: the name given to `connect`, for messages.
        hello: the implementation's name, and what it offers.
    """

    adapter: str
    hello: Hello

    @property
    def closed(self) -> bool:
        """True if the implementation can no longer answer questions."""
        return False

    @property
    def in_process(self) -> bool:
        """True if the implementation gets the suite's own case objects and could modify them."""
        return False

    @property
    def restarts(self) -> bool:
        """True if reconnecting is quick, and each connection starts without earlier state."""
        return False

    @property
    def concurrency(self) -> int:
        """Number of threads that may ask the implementation at the same time."""
        return 1

    def in_turn(self) -> Callable[[JSON, float], JSON] | None:
        """Return a function that answers consecutive shedding cycles; None if the adapter has none.

        The function takes a `shed.select` case, which contains the brokers' earlier usage, and the
        minutes since the previous cycle.
        """
        return None

    @abstractmethod
    def exchange(self, operation: str, batch: Sequence[JSON]) -> list[JSON]:
        """Return one answer per case of a batch, not yet validated."""

    @abstractmethod
    def bye(self) -> None:
        """End the implementation and the connection.

        Errors: `AdapterError` if the implementation had to be killed.
        """

    @abstractmethod
    def close(self) -> None:
        """End the implementation, and kill its remaining processes.

        It never raises an error, and may be called twice.
        """

    def remarks(self) -> list[str]:
        """Return remarks about how the implementation worked, not about its answers."""
        return []

    def stderr_tail(self) -> str:
        """Return the last lines of the implementation's standard error."""
        return ""

    def ask(self, operation: str, cases: Sequence[JSON]) -> list[JSON]:
        """Return one answer per case, in order, each valid against the operation's schema.

        Any number of cases is allowed; they are sent in batches of `hello.batch`. Errors:
        `AdapterError`. The connection can still be used after an `error` message (which has a
        `code`), a wrong number of answers, or an invalid answer; after any other error, it is
        closed.
        """
        answers: list[JSON] = []
        for first in range(0, len(cases), self.hello.batch):
            batch = cases[first : first + self.hello.batch]
            got = self.exchange(operation, batch)
            try:
                check_answers(operation, got)
            except InvalidAnswer as error:
                raise AdapterError(
                    "answer",
                    f"{operation}: {error} (answer {error.index + 1} of {len(got)})",
                    f"compare it with `answer` in `pulsar-conformance schema {operation}`",
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
    """A function that opens connections to one kind of implementation."""

    __module__: str

    def __call__(
        self, rest: str, name: str, profile: str, readings: Mapping[str, str], limits: Limits
    ) -> Connection:
        """Open a connection; `rest` is the part of the adapter's name after `kind:`."""
