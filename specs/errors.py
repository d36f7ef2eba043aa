"""What can be wrong with the specifications, or with a name that was looked up in them."""

from collections.abc import Iterable
from difflib import get_close_matches

FEW = 12
"""As many names are all listed; of more, only those that come near."""


class SpecError(Exception):
    """A mistake in the data: file, line, what is wrong and what would be right."""

    def __init__(self, file: str, line: int, problem: str) -> None:
        super().__init__(f"{file}:{line}: {problem}")
        self.file = file
        self.line = line
        self.problem = problem


class UnknownName(Exception):
    """A name that the specifications do not have, with those that they have."""

    def __init__(self, name: str, kind: str, known: Iterable[str]) -> None:
        super().__init__(f"{name} is no {kind}; {there_are(name, known)}")
        self.name = name


def unknown(name: str, kind: str, known: Iterable[str]) -> str:
    """Say that there is no such thing of that kind, and which there are."""
    return f"unknown {kind} '{name}'; {there_are(name, known)}"


def there_are(name: str, known: Iterable[str]) -> str:
    """List the known names, or of many those that come near to `name`."""
    names = list(known)
    if len(names) <= FEW:
        return f"there are {', '.join(names)}" if names else "there are none"
    # Rules are written in capitals, settings in camel case: neither is worth a wrong guess.
    spelled = {known.lower(): known for known in names}
    near = [spelled[one] for one in get_close_matches(name.lower(), spelled, n=3, cutoff=0.5)]
    listed = ", ".join(near or names[:3])
    return f"there are {len(names)}, the nearest: {listed}" if near else f"there are {listed}, ..."
