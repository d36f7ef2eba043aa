"""Mistakes that users can correct, in the specifications or in names that they look up."""

import sys
from collections.abc import Callable, Iterable
from difflib import get_close_matches

from pulsar_conformance.specs.text import printable

UNUSABLE = 2
"""Exit status for input or an implementation that cannot be used."""

MOST_LISTED = 14
"""Maximum number of known names listed in full; if there are more, only similar ones are listed."""


class UserError(Exception):
    """A mistake that the user can correct.

    Only the message is printed: one sentence with the wrong input, its place and what to do next.
    The command ends with exit status 2.
    """


class SpecError(UserError):
    """Invalid data: file, line, what is wrong and what would be valid."""

    def __init__(self, file: str, line: int, problem: str) -> None:
        super().__init__(f"{file}:{line}: {problem}")
        self.file = file
        self.line = line
        self.problem = problem


class UnknownName(UserError):
    """A name that the specifications do not contain; the message lists those they do."""

    def __init__(self, name: str, kind: str, known: Iterable[str]) -> None:
        super().__init__(f"{name} is no {kind}; {there_are(name, known)}")
        self.name = name


def status_of(command: Callable[[], int], *also: type[Exception]) -> int:
    """Run a command; report a user's mistake on standard error and return exit status 2.

    Exceptions of the kinds in `also` are reported in the same way.
    """
    reported: tuple[type[Exception], ...] = (UserError, *also)
    try:
        return command()
    except reported as mistake:
        return complain(str(mistake))


def complain(mistake: str) -> int:
    """Print one message on standard error; return the exit status for unusable input."""
    print(printable(f"pulsar-conformance: {mistake}"), file=sys.stderr)
    return UNUSABLE


def unknown(name: str, kind: str, known: Iterable[str]) -> str:
    """Return a message about an unknown name of a kind, with the known names."""
    return f"unknown {kind} '{name}'; {there_are(name, known)}"


def there_are(name: str, known: Iterable[str]) -> str:
    """List the known names or, if there are many, those similar to `name`."""
    names = list(known)
    if len(names) <= MOST_LISTED:
        return f"there are {', '.join(names)}" if names else "there are none"
    # Compared in lower case, since users mistype the case of rules and settings.
    spelled = {known.lower(): known for known in names}
    near = [spelled[one] for one in get_close_matches(name.lower(), spelled, n=3, cutoff=0.5)]
    listed = ", ".join(near or names[:3])
    return f"there are {len(names)}, the nearest: {listed}" if near else f"there are {listed}, ..."
