"""A child process with three pipes that exchanges lines within time and size limits."""

import os
import re
import selectors
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress

from pulsar_conformance.adapters import descendants
from pulsar_conformance.specs.text import printable

POLL_SECONDS = 0.05
"""Maximum seconds until a child's exit is noticed while its pipes are still open."""

CHUNK = 1 << 16
TAIL_READS = 64
"""Maximum number of consecutive reads of standard error; further output is ignored."""

TAIL_BYTES, TAIL_LINES, TAIL_WIDTH = 8192, 20, 300
"""Number of bytes of standard error to keep, and of lines and columns to show."""

DEBUGGER_LINE = re.compile(rb"^(Listening for transport [^\r\n]*)\r?\n", re.MULTILINE)
"""Line that a Java virtual machine prints when a debugger can attach, for which it may wait."""

TERMINATE_SECONDS = 1.0
"""Seconds between the signal to end and the signal to kill the process group."""

EXIT_SECONDS = 0.5
"""Maximum seconds between the end of a child's output and its exit.

A slower child is reported as hanging.
"""

DRAIN_SECONDS = 0.3
"""Seconds to wait after a child's exit until its pipes are closed.

If a pipe is still open then, another process holds it.
"""


class ChildError(Exception):
    """Raised if a child process is unusable. `problem` says what it did; `hint` is advice to the
    user.
    """

    def __init__(self, problem: str, hint: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.hint = hint


class Child:
    """A child in its own process group, whose two outputs are read while its reply is awaited.

    The group is killed when this object is closed or collected, or when the interpreter exits.
    Descendants outside the group are killed, too, as far as they can be found.
    """

    def __init__(self, argv: Sequence[str], output_bytes: int) -> None:
        """Start the process. Errors: `OSError`."""
        pipe, mark = subprocess.PIPE, descendants.new_mark()
        self._process = subprocess.Popen(
            argv,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            bufsize=0,
            start_new_session=True,
            env=descendants.child_environment(mark),
        )
        self.kill = weakref.finalize(self, _end, self._process, mark, os.getpid())
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._in, self._out, self._err = (
            stream.fileno() for stream in (process.stdin, process.stdout, process.stderr)
        )
        self._limit = output_bytes
        self._unread: list[bytes] = []
        self._unread_bytes = 0
        self._lines: list[bytes] = []
        self._tail = b""
        self._debuggable = False
        self._selector = selectors.DefaultSelector()
        for descriptor in (self._in, self._out, self._err):
            os.set_blocking(descriptor, False)
        for descriptor in (self._out, self._err):
            self._selector.register(descriptor, selectors.EVENT_READ)

    @property
    def pid(self) -> int:
        """The process ID, which is also the process group ID."""
        return self._process.pid

    def exchange(self, line: bytes, seconds: float) -> bytes:
        """Write a line, and return the line that the child writes in reply, without its newline.

        Errors: `ChildError`.
        """
        deadline = time.monotonic() + seconds
        unsent = memoryview(line)
        if line:
            self._selector.register(self._in, selectors.EVENT_WRITE)
        exited = False
        while unsent or not self._lines:
            left = deadline - time.monotonic()
            if left <= 0:
                raise self._timeout_error(seconds, len(unsent))
            ready = self._ready_pipes(0 if exited else min(left, POLL_SECONDS))
            if self._in in ready:
                unsent = self._write(unsent)
            if self._err in ready:
                self._read_error()
            if self._out in ready:
                self._read_output()
            elif exited and not self._lines:
                raise self._exit_error()
            # Output written just before the exit may still be in the pipe: read once more.
            exited = self._process.poll() is not None
            if exited:
                unsent = memoryview(b"")
            if self._out not in self._selector.get_map():
                deadline = min(deadline, time.monotonic() + EXIT_SECONDS)
        self._forget(self._in)
        return self._lines.pop(0)

    def finish(self, line: bytes, seconds: float) -> None:
        """Write a last line, close the input, and wait until the child exits.

        Errors: `ChildError` if the child does not exit in time, or if another process keeps its
        output open.
        """
        deadline = time.monotonic() + seconds
        with suppress(OSError):
            os.write(self._in, line)
        self._close_input()
        while self._process.poll() is None:
            if time.monotonic() > deadline:
                raise ChildError(
                    f"did not exit within {seconds:g} s of the message bye",
                    "exit after reading bye, or when standard input ends",
                )
            self._discard(POLL_SECONDS)
        deadline = time.monotonic() + DRAIN_SECONDS
        while self._selector.get_map() and time.monotonic() < deadline:
            self._discard(POLL_SECONDS)
        if self._selector.get_map():
            raise ChildError(
                "ended, but left processes behind that hold its output open",
                "make it end every process that it starts before it exits",
            )

    def stderr_tail(self) -> str:
        """Return the last lines of standard error, with unprintable characters escaped."""
        for _ in range(TAIL_READS):
            if self._err not in self._selector.get_map() or not self._read_error():
                break
        text = self._tail.decode(errors="replace")
        lines = [
            "".join(c if c.isprintable() else " " for c in line)[:TAIL_WIDTH].rstrip()
            for line in text.splitlines()
        ]
        return "\n".join(line for line in lines[-TAIL_LINES:] if line)

    def close(self) -> None:
        """Kill the remaining process group and close the pipes."""
        self.kill()
        self._selector.close()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with suppress(OSError):
                    stream.close()

    def _ready_pipes(self, seconds: float) -> set[int]:
        if not self._selector.get_map():
            time.sleep(min(seconds, POLL_SECONDS))
            return set()
        return {key.fd for key, _ in self._selector.select(seconds)}

    def _write(self, unsent: memoryview) -> memoryview:
        """Write as much as possible; drop the rest if the reader has closed the pipe."""
        try:
            unsent = unsent[os.write(self._in, unsent[:CHUNK]) :]
        except BlockingIOError:
            return unsent
        except OSError:
            unsent = memoryview(b"")
        if not unsent:
            self._forget(self._in)
        return unsent

    def _read_output(self) -> None:
        chunk = self._read(self._out)
        *ended, begun = chunk.split(b"\n")
        for piece in ended:
            self._lines.append(b"".join([*self._unread, piece]))
            self._unread, self._unread_bytes = [], 0
        if begun:
            self._unread.append(begun)
            self._unread_bytes += len(begun)
        if self._unread_bytes > self._limit:
            raise ChildError(
                f"wrote more than {self._limit} bytes without ending the line; "
                f"they begin {_quote_start(self._unread)}",
                "end each message with a newline, or give a smaller batch in hello",
            )

    def _read_error(self) -> bool:
        chunk = self._read(self._err)
        self._tail = (self._tail + chunk)[-TAIL_BYTES:]
        if not self._debuggable and (found := DEBUGGER_LINE.search(self._tail)):
            self._debuggable = True
            # An IDE offers to attach where this is a line of its own.
            print(printable(found[1].decode(errors="replace")), file=sys.stderr, flush=True)
        return bool(chunk)

    def _discard(self, seconds: float) -> None:
        ready = self._ready_pipes(seconds)
        if self._err in ready:
            self._read_error()
        if self._out in ready:
            self._read(self._out)

    def _read(self, descriptor: int) -> bytes:
        """Return the available output, possibly empty; stop watching the pipe if the child has
        closed it.
        """
        try:
            chunk = os.read(descriptor, CHUNK)
        except BlockingIOError:
            return b""
        except OSError:
            chunk = b""
        if not chunk:
            self._forget(descriptor)
        return chunk

    def _forget(self, descriptor: int) -> None:
        with suppress(KeyError, ValueError):
            self._selector.unregister(descriptor)

    def _close_input(self) -> None:
        self._forget(self._in)
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()

    def _timeout_error(self, seconds: float, unsent: int) -> ChildError:
        waited = f"{seconds:g} s"
        if self._unread:
            return ChildError(
                f"began a line and did not end it within {waited}; "
                f"{self._unread_bytes} bytes that begin {_quote_start(self._unread)}",
                "end each message with a newline and flush it",
            )
        if unsent:
            return ChildError(
                f"did not read its input within {waited}; {unsent} bytes are unread",
                "read standard input line by line until it ends",
            )
        if self._out not in self._selector.get_map():
            return ChildError(
                "closed its standard output but keeps running",
                "leave standard output open until bye; the protocol needs it",
            )
        return ChildError(
            f"wrote nothing for {waited}, the time limit",
            "flush standard output after each line; if it is slow, give a smaller batch in "
            "hello, or a longer --time-limit",
        )

    def _exit_error(self) -> ChildError:
        status = self._process.returncode
        how = f"exited with status {status}"
        if status < 0:
            with suppress(ValueError):
                how = f"was killed by {signal.Signals(-status).name}"
        if self._unread:
            how += f" in the middle of a line that begins {_quote_start(self._unread)}"
        return ChildError(how)


def _quote_start(chunks: Sequence[bytes]) -> str:
    return repr(b"".join(chunks[:2])[:60].decode(errors="replace"))


def _end(process: "subprocess.Popen[bytes]", mark: str, owner: int) -> None:
    """Terminate the group, then kill it and all descendants of its leader, and reap the leader.

    Do nothing in a forked copy of the process that owns the child.
    """
    if os.getpid() != owner:
        return
    started = descendants.descendants_of(process.pid)
    if process.poll() is None:
        _signal(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(TERMINATE_SECONDS)
    # Kill even if the leader is gone: processes that it started may still be in the group.
    _signal(process.pid, signal.SIGKILL)
    process.wait()
    descendants.kill_descendants(mark, started)


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
