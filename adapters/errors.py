"""Errors between the suite and an implementation."""

from typing import Literal

from pulsar_conformance.specs.errors import UserError
from pulsar_conformance.specs.text import printable

Phase = Literal["start", "hello", "ask", "answer", "bye"]
"""Phase of a failure: start, greeting, exchange, content of an answer, end."""


class AdapterError(UserError):
    """A failure to use an implementation, whose answers then must not be judged.

    `str()` gives the complete message for the user: adapter and phase, what happened, what to do
    about it, and the last lines that the implementation wrote to standard error.

    Attributes:
        phase: where it broke.
        problem: what happened, one sentence, with the place ("answers[3].unload[0].bundle").
        hint: what to do next, may be empty.
        stderr_tail: last lines of the implementation's standard error, may be empty.
        adapter: the name that was given to `connect`, such as `exec:./my-balancer`.
        code: code of an `error` message that the implementation itself sent, else empty.
        index: of the case whose answer is invalid, in its `ask`, from 0; else None.
    """

    def __init__(
        self,
        phase: Phase,
        problem: str,
        hint: str = "",
        stderr_tail: str = "",
        adapter: str = "",
        code: str = "",
        index: int | None = None,
    ) -> None:
        # Everything is passed to Exception, so that the error survives pickling between workers.
        super().__init__(phase, problem, hint, stderr_tail, adapter, code, index)
        self.phase = phase
        self.problem = problem
        self.hint = hint
        self.stderr_tail = stderr_tail
        self.adapter = adapter
        self.code = code
        self.index = index

    def __str__(self) -> str:
        where = f"{self.adapter}: {self.phase}" if self.adapter else self.phase
        lines = [f"{where}: {self.problem}"]
        if self.hint:
            lines.append(f"  next: {self.hint}")
        if self.stderr_tail:
            lines.append("  its standard error ended with:")
            lines += [f"    {line}" for line in self.stderr_tail.splitlines()]
        return printable("\n".join(lines))


class ProtocolBreach(AdapterError):
    """A message that violates the protocol; the case is not to blame."""


class AdapterTrouble(Exception):
    """A failure of the adapter itself, not of the implementation that it asks."""


class CannotLoad(UserError):
    """The object that should answer is missing or unusable; the message gives the reason."""
