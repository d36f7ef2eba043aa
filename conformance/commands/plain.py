"""Output without escape codes: what cases, answers and command lines hold is no command to a
terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO, cast

from pulsar_conformance.specs.words import printable


class PlainOutput:
    """A text stream that writes unprintable characters as `\\x1b` and passes on everything else."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write text; return how much of it was given."""
        self._stream.write(printable(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write texts one after the other."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def shown_plainly() -> Iterator[None]:
    """Make standard output and standard error plain."""
    out, errors = (cast(TextIO, PlainOutput(one)) for one in (sys.stdout, sys.stderr))
    with redirect_stdout(out), redirect_stderr(errors):
        yield
