"""Mistakes that users can correct, such as invalid files and unknown names, and their messages."""

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path

from pulsar_conformance.specs.text import WIDTH, message_lines, printable

UNUSABLE = 2
"""Exit status for input or an implementation that cannot be used."""

MAX_LISTED_NAMES = 14
"""Maximum number of known names that a message lists; if there are more, it lists similar names."""


class UserError(Exception):
    """Raised for a mistake that the user can correct.

    Only the message is printed: one sentence with the wrong input, its place and what to do next.
    The command ends with exit status 2.
    """


class SpecError(UserError):
    """Raised for invalid data in a specification; the message gives file, line, problem and valid
    values.
    """

    def __init__(self, file: str, line: int, problem: str) -> None:
        super().__init__(f"{file}:{line}: {problem}")
        self.file = file
        self.line = line
        self.problem = problem


class UnknownName(UserError):
    """Raised for a name that the specifications do not contain; the message suggests known
    names.
    """

    def __init__(self, name: str, kind: str, known: Iterable[str]) -> None:
        article = "an" if kind[0] in "aeiou" else "a"
        super().__init__(f"{name} is not {article} {kind}; {suggest_names(name, known)}")
        self.name = name


def status_of(command: Callable[[], int], *also: type[Exception]) -> int:
    """Run a command and return its exit status, or print a user's mistake and return 2.

    Exceptions of the types in `also` are handled like a user's mistake.
    """
    reported: tuple[type[Exception], ...] = (UserError, *also)
    try:
        return command()
    except reported as mistake:
        return print_mistake(str(mistake))


def print_mistake(mistake: str) -> int:
    """Print a message to standard error, and return the exit status for invalid input."""
    print_note(mistake)
    return UNUSABLE


def print_note(text: object, start: str = "pulsar-conformance: ") -> None:
    """Print a note for the user to standard error, wrapped like other text."""
    lines = message_lines(printable(f"{start}{text}"), WIDTH)
    print("\n".join(lines), file=sys.stderr, flush=True)


def why_unreadable(error: Exception, file: str | Path) -> str:
    """Return why a file cannot be read; if it does not exist, suggest a similar name."""
    if isinstance(error, IsADirectoryError):
        return "it is a folder; give a file in it"
    missing = isinstance(error, FileNotFoundError)
    return f"{getattr(error, 'strerror', None) or error}{similar_file(file) if missing else ''}"


def why_no_folder(path: Path) -> str:
    """Return text on a path that is not a folder, with a hint on the file or on a similar name."""
    hint = similar_file(path)
    if path.exists():
        with suppress(OSError):
            hint = hint_at_file(path.read_bytes(), f"give the folder, {path.parent}")
    return f"it is not a folder{hint}"


def similar_file(file: str | Path) -> str:
    """Return a suggestion for a path that does not exist: the most similar name in the same folder.

    If that folder is missing as well, suggest a name for the folder. Empty if nothing is similar,
    or the path exists.
    """
    path = Path(file)
    if path.exists():
        return ""
    try:
        while not path.parent.exists():
            path = path.parent
        near = get_close_matches(path.name, [one.name for one in path.parent.iterdir()], n=1)
    except OSError:  # The folder cannot be listed.
        return ""
    return f"; did you mean {path.with_name(near[0])}?" if near else ""


LOG_HINT = "it is a log; use pulsar-conformance explain --log"

WRONG_FILES: tuple[tuple[str, str], ...] = (
    (r"\s*\Z", "it is empty; save it again"),
    (r"\x1f\x8b|BZh|\xfd7zXZ|\x28\xb5\x2f\xfd", "it is compressed; decompress it first"),
    (
        r"(?:#[^\n]*\n|\s*\n)*- id: [a-z0-9-]+\n",
        "it contains worked examples; give the ID of one, or the file and a line, as in FILE:12",
    ),
    (r"PK\x03\x04", "it is an archive; unpack it, and give the unpacked file or folder"),
    (r"\s*<", "it is a web page; check the URL and the token with which it was saved"),
    (r"HTTP/", "it begins with HTTP headers; save only the body of the response (curl without -i)"),
    (
        r"\s*\{\s*\"reason\"\s*:\s*\"[^\"]*\"\s*\}\s*\Z",
        "it is a broker's error response; check the URL and the token with which it was saved",
    ),
    (
        r"(?=[^\n]*\"kind\"\s*:)(?=[^\n]*\"at\"\s*:)\s*[\[{]",
        "it is a recorded history; use pulsar-conformance audit --input",
    ),
    (r"[^\n]{0,40}\d\d:\d\d:\d\d[.,]\d", LOG_HINT),
    (
        r"-{5} got message -{5}",
        "it contains messages of a topic; for load data, use pulsar-conformance explain FILE",
    ),
    (
        r"(?:\s*#[^\n]*\n|\s*\n)*\s*[A-Za-z_][\w.]*\s*=",
        "it contains settings; use pulsar-conformance settings, or a command that takes --conf",
    ),
)
"""Patterns of the beginnings of wrong files, each with text on what the file is and what to do.

The beginning is decoded as Latin-1.
"""

HEAD_BYTES = 1 << 12
"""Number of bytes at the start of a file that are compared with the patterns."""


def hint_at_file(data: bytes, otherwise: str = "", beside: str = "") -> str:
    """Return a semicolon and a hint that says what a wrong file is and what to do.

    If no pattern matches, the hint is `otherwise`; if `otherwise` is empty, the result is empty.
    `beside` is a hint not to give, because the caller accepts such files.
    """
    hints = _hints(data[:HEAD_BYTES].decode("latin-1"))
    said = next((one for one in hints if one != beside), otherwise)
    return f"; {said}" if said else ""


def _hints(head: str) -> Iterator[str]:
    for pattern, said in WRONG_FILES:
        if re.match(pattern, head):
            yield said


def unknown_name(name: str, kind: str, known: Iterable[str]) -> str:
    """Return the message that a name is unknown, with the known names or similar names."""
    return f"unknown {kind} '{name}'; {suggest_names(name, known)}"


def suggest_names(name: str, known: Iterable[str]) -> str:
    """Return text that lists the known names or, if there are too many, those similar to `name`."""
    names = list(known)
    if len(names) <= MAX_LISTED_NAMES:
        return f"choose from {', '.join(names)}" if names else "none is known"
    # Names are compared in lower case, since users mistype the case of rules and settings.
    spelled = {known.lower(): known for known in names}
    near = [spelled[one] for one in get_close_matches(name.lower(), spelled, n=3, cutoff=0.5)]
    if near:
        *others, last = near
        return f"did you mean {', '.join(others)}{' or ' if others else ''}{last}?"
    return f"choose from {len(names)}, such as {', '.join(names[:3])}"
