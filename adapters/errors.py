"""Errors between the suite and an implementation."""

from typing import Literal

from pulsar_conformance.specs.errors import UserError
from pulsar_conformance.specs.text import printable

Phase = Literal["start", "hello", "ask", "answer", "bye"]
"""Phase of a failure: start, greeting, exchange, content of an answer, end."""


class AdapterError(UserError):
    """An implementation could not be used, and its answers must not be judged.

    `str()` gives the complete message for the user: adapter and phase, what happened, what to do
    about it, and the last lines that the implementation wrote to standard error.

    Attributes:
        phase: the phase in which it failed.
        problem: what happened, in one sentence, with the place ("answers[3].unload[0].bundle").
        hint: what to do next; may be empty.
        stderr_tail: the last lines of its standard error; may be empty.
        adapter: the name given to `connect`, such as `exec:./my-balancer`.
        code: the code of an `error` message from the implementation itself, else empty.
        index: position in its `ask`, counted from 0, of the case whose answer is invalid, or None.
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
    """A message that violates the protocol, whatever the case."""


class AdapterTrouble(Exception):
    """A failure in the adapter itself, not in the implementation that it asks."""


class CannotLoad(UserError):
    """An object that should answer is missing or unusable; the message gives the reason."""
