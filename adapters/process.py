"""An implementation in a child process, with which lines of JSON are exchanged."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from pulsar_conformance.adapters.child import Child, ChildError
from pulsar_conformance.adapters.connection import Connection, Limits
from pulsar_conformance.adapters.errors import AdapterError, Phase, ProtocolViolation
from pulsar_conformance.adapters.protocol import (
    JSON,
    PROTOCOL,
    Hello,
    NotJSON,
    ask_message,
    bye_message,
    hello_message,
    json_line,
    parse_line,
)
from pulsar_conformance.adapters.validation import hello_schema_error
from pulsar_conformance.specs.text import counted

MAX_QUOTED_CHARACTERS = 60
"""Maximum number of characters of a wrong line that a message quotes."""


class ProcessConnection(Connection):
    """Connection that starts a program, greets it, sends questions, and ends it."""

    def __init__(
        self,
        argv: Sequence[str],
        name: str,
        profile: str,
        readings: Mapping[str, str],
        limits: Limits,
        restarts: bool = True,
    ) -> None:
        self.adapter = name
        self._restarts = restarts
        self._limits = limits
        self._number = 0
        self._closed = ""
        self._child = self._start(argv)
        try:
            self.hello = self._greet(profile, readings)
        except BaseException:
            self._child.close()
            raise

    @property
    def closed(self) -> bool:
        """True if the implementation can no longer answer questions."""
        return bool(self._closed)

    @property
    def restarts(self) -> bool:
        """True if each connection is a new process, without earlier state, that starts quickly."""
        return self._restarts

    def exchange(self, operation: str, batch: Sequence[JSON]) -> list[JSON]:
        """Return one answer per case of a batch, not yet validated."""
        if self._closed:
            problem = f"{operation}: the connection is closed, {self._closed}"
            raise AdapterError("ask", problem, "connect again", "", self.adapter)
        where = f"{operation}, {counted(len(batch), 'case')}"
        message = ask_message(self._next_id(), operation, batch)
        seconds = self._limits.base + self._limits.per_case * len(batch)
        reply = self._round_trip("ask", where, message, seconds)
        answers = reply.get("answers")
        if not isinstance(answers, list):
            held = ", ".join(sorted(reply)) or "nothing"
            problem = f"{where}: the message has {held} instead of a list of answers"
            raise self._error("answer", problem, _SHAPE)
        if len(answers) != len(batch):
            few = "too few" if len(answers) < len(batch) else "too many"
            problem = f"{where}: {few} answers ({len(answers)})"
            hint = "give one answer per case, in order, also for equal cases"
            raise self._error("answer", problem, hint)
        return answers

    def bye(self) -> None:
        """Say bye to the child. Errors: `AdapterError` if the child had to be killed."""
        if self._closed:
            return
        self._closed = "after bye"
        try:
            self._child.finish(json_line(bye_message(self._next_id())), self._limits.end)
        except ChildError as error:
            raise self._error("bye", error.problem, error.hint) from None
        finally:
            self._child.close()

    def close(self) -> None:
        """Say bye and kill remaining processes of the child. Never raises an error."""
        try:
            self.bye()
        except AdapterError:
            pass
        finally:
            self._child.close()

    def kill(self) -> None:
        """Kill the child immediately."""
        self._child.kill()

    def stderr_tail(self) -> str:
        """Return the last lines of the child's standard error."""
        return self._child.stderr_tail()

    @property
    def pid(self) -> int:
        """The process ID of the child, which is also the ID of its process group."""
        return self._child.pid

    def _start(self, argv: Sequence[str]) -> Child:
        try:
            return Child(argv, self._limits.output_bytes)
        except OSError as error:
            problem, hint = _why_not_started(argv[0], error)
            raise AdapterError("start", problem, hint, "", self.adapter) from None

    def _greet(self, profile: str, readings: Mapping[str, str]) -> Hello:
        message = hello_message(self._next_id(), profile, readings)
        reply = self._round_trip("hello", "", message, self._limits.start)
        if "answer" not in reply:
            held = ", ".join(sorted(reply))
            self._kill_and_raise("hello", f"its message has {held} instead of answer", _GREETING)
        answer: JSON = reply["answer"]
        spoken = answer.get("protocol") if isinstance(answer, dict) else None
        if type(spoken) is int and spoken != PROTOCOL:
            self._kill_and_raise(
                "hello",
                f"speaks protocol {spoken}; this suite speaks protocol {PROTOCOL}",
                f"use a version of the implementation that speaks protocol {PROTOCOL}",
            )
        if wrong := hello_schema_error(answer):
            self._kill_and_raise(
                "hello",
                wrong,
                "compare it with `implementation` as pulsar-conformance schema message prints it",
            )
        return Hello.of(answer)

    def _next_id(self) -> int:
        self._number += 1
        return self._number

    def _round_trip(
        self, phase: Phase, place: str, message: dict[str, JSON], seconds: float
    ) -> dict[str, JSON]:
        """Return the reply to a message: an object with the message's `id` and no `error`."""
        before = f"{place}: " if place else ""
        line = json_line(message)
        self._closed = "interrupted in the middle of a message"
        try:
            text = self._child.exchange(line, seconds)
        except ChildError as error:
            hint = error.hint or _advice_to_reproduce(phase)
            self._kill_and_raise(phase, f"{before}{error.problem}", hint)
        try:
            reply = parse_line(text)
        except NotJSON as error:
            begins = repr(text[:MAX_QUOTED_CHARACTERS].decode(errors="replace"))
            self._kill_and_raise(phase, f"{before}its line {error}: {begins}", _STDOUT)
        if not isinstance(reply, dict):
            self._kill_and_raise(
                phase,
                f"{before}its line is not a JSON object: {str(reply)[:MAX_QUOTED_CHARACTERS]!r}",
                _SHAPE,
            )
        number = reply.get("id")
        if type(number) is not int or number != message["id"]:
            given = "no id" if "id" not in reply else f"the id {number!r}"
            problem = f"{before}its message has {given} instead of {message['id']}"
            hint = "answer each message once, with its id"
            self._kill_and_raise(phase, problem, hint, ProtocolViolation)
        self._closed = ""
        if "error" in reply:
            raise self._error_reply(phase, before, reply["error"])
        return reply

    def _error_reply(self, phase: Phase, before: str, error: JSON) -> AdapterError:
        held = error if isinstance(error, dict) else {"message": error}
        code = str(held.get("code", "unknown"))
        text = str(held.get("message", "it gives no message"))
        problem = f"{before}it answered with an error, {code}: {text}"
        return self._error(phase, problem, self._advice(code), code)

    def _advice(self, code: str) -> str:  # noqa: ARG002  used where the suite wrote the message
        """Return what to do about an `error` message with this code."""
        return "the implementation wrote this message; look for the cause there"

    def _kill_and_raise(
        self, phase: Phase, problem: str, hint: str, kind: type[AdapterError] = AdapterError
    ) -> NoReturn:
        """Kill the child and raise an error.

        If the child continued, its late reply could be mistaken for the reply to a later message.
        """
        self._closed = f"because of an earlier error ({problem})"
        error = kind(phase, problem, hint, self.stderr_tail(), self.adapter)
        self._child.close()
        raise error

    def _error(self, phase: Phase, problem: str, hint: str, code: str = "") -> AdapterError:
        return AdapterError(phase, problem, hint, self.stderr_tail(), self.adapter, code)


class HostedConnection(ProcessConnection):
    """A child process in which `python_host`, a part of the suite, hosts an object."""

    def _advice(self, code: str) -> str:
        """Return what to do about an error message of `python_host`."""
        return _ADVICE_BY_CODE.get(code, "")


_ADVICE_BY_CODE = {
    "adapter": "this is a defect of the suite's own adapter; report it with the case",
    "internal": "the object raised this exception; its traceback follows",
}
"""Advice on error messages of `python_host`, by code; other codes need none."""

_SHAPE = (
    'a reply is {"id": N, "answers": [...]} or {"id": N, "error": {"code": ..., "message": ...}}'
)
_GREETING = 'hello is answered with {"id": 1, "answer": {"protocol": 1, "name": ..., ...}}'
_STDOUT = (
    "print only messages to standard output, one per line in UTF-8; print all else to standard "
    "error"
)


def _advice_to_reproduce(phase: Phase) -> str:
    """Return advice on how to reproduce a failure by hand."""
    if phase == "hello":
        return 'run it by hand and paste {"id": 1, "ask": "hello", "protocol": 1}'
    return 'it must answer each case; for one that it cannot handle, answer {"failed": "REASON"}'


def _why_not_started(command: str, error: OSError) -> tuple[str, str]:
    """Return why a command did not start, and what to do about it."""
    here = Path(command)
    if isinstance(error, PermissionError):
        if here.is_dir():
            return f"{command} is a folder", "name a program"
        return f"{command} is not executable", f"chmod +x {command}, or name its interpreter first"
    if isinstance(error, FileNotFoundError):
        if here.exists() and "/" in command:
            return (
                f"the interpreter that {command} names in its first line was not found",
                "install it, or name another interpreter before the file",
            )
        if here.exists():
            return f"command not found: {command}", f"it is in this folder: write ./{command}"
        hint = "give a path from this folder, or put it on the PATH"
        return f"command not found: {command}", hint
    return (
        f"{command} can't be run: {error.strerror or error}",
        "a script needs a first line such as #!/usr/bin/env python3",
    )


def connect_exec(
    rest: str, name: str, profile: str, readings: Mapping[str, str], limits: Limits
) -> Connection:
    """Run the command in `exec:COMMAND ARG ...` without a shell, and connect to it."""
    try:
        argv = shlex.split(rest)
    except ValueError as error:
        hint = (
            "close the quotation mark; the command is split as in a shell, and run without a shell"
        )
        raise AdapterError("start", f"can't split the command: {error}", hint, "", name) from None
    if not argv:
        hint = "write exec:COMMAND ARG ..., such as exec:./my-balancer"
        raise AdapterError("start", "names no command", hint, "", name)
    return ProcessConnection(argv, name, profile, readings, limits)


def connect_python(
    rest: str, name: str, profile: str, readings: Mapping[str, str], limits: Limits
) -> Connection:
    """Connect to a child process that runs the object named by `python:MODULE:NAME`."""
    module, _, attribute = rest.partition(":")
    if not module or not attribute:
        hint = "write python:MODULE:NAME, such as python:my_balancer:MyBalancer"
        raise AdapterError("start", "does not name an object in a module", hint, "", name)
    host = "pulsar_conformance.adapters.python_host"
    return HostedConnection([sys.executable, "-m", host, rest], name, profile, readings, limits)
