"""Errors that occur between the suite and an implementation."""

from typing import Literal

from pulsar_conformance.specs.errors import UserError
from pulsar_conformance.specs.text import printable

Phase = Literal["start", "hello", "ask", "answer", "bye"]
"""The phase in which a connection failed.

`start` starts the program, `hello` greets it, `ask` sends questions, `answer` checks the answers,
and `bye` ends it.
"""


class AdapterError(UserError):
    """Raised if an implementation cannot be used; its answers must not be judged.

    `str()` returns the complete message for the user: adapter and phase, what happened, what to do
    about it, and the last lines of the implementation's standard error.

    Attributes:
        phase: the phase in which it failed.
        problem: what happened, in one sentence, with the place ("answers[3].unload[0].bundle").
        hint: what to do next; may be empty.
        stderr_tail: the last lines of its standard error; may be empty.
        adapter: the name given to `connect`, such as `exec:./my-balancer`.
        code: the code in the implementation's own `error` message; empty without such a message.
        index: index of the case with an invalid answer among the cases asked together, or None.
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
        # All arguments are passed to Exception, so that workers can pickle the error.
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


class ProtocolViolation(AdapterError):
    """Raised for a message that violates the protocol as a whole, not only in an answer to one
    case.
    """


class AdapterFailure(Exception):
    """Raised for a failure of the suite's own adapter, not of the implementation that it asks."""


class CannotLoad(UserError):
    """Raised if the object or program that answers is missing or unusable; the message says why."""
