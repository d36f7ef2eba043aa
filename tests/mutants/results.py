"""Stores the results of mutants as they come, so that a stopped run can continue."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from mutants.explained import Explained
from mutants.hunting import Catch
from mutants.making import Mutant

HOUSE = Path(__file__).parents[2]
DECISIVE = (
    "specs",
    "reference",
    "fixtures/examples",
    "fixtures/reports",
    "conformance",
    "tests/mutants",
)
"""Folders whose files determine the results of mutants."""

BESIDES = frozenset({"page.py", "results.py", "explained.py", "defects.py", "__main__.py"})
"""Modules in these folders that do not affect results."""


@dataclass(frozen=True)
class Fate:
    """A mutant and its result, as plain values for a line of JSON."""

    id: str
    was: str
    becomes: str
    verdict: str
    """`killed`, `explained` or `survived`."""
    rule: str
    by: str
    seconds: float

    @classmethod
    def of(cls, mutant: Mutant, catch: Catch, known: Mapping[str, Explained]) -> Fate:
        """Return the result of a hunt for a mutant."""
        lives = "explained" if mutant.id in known else "survived"
        verdict = "killed" if catch.caught else lives
        seconds = round(catch.seconds, 3)
        return cls(mutant.id, mutant.was, mutant.becomes, verdict, catch.rule, catch.by, seconds)

    @property
    def file(self) -> str:
        """The module of the model."""
        return self.id.partition(":")[0]

    @property
    def operator(self) -> str:
        """The kind of change."""
        return self.id.split(":")[-2]

    def explained_by(self, known: Mapping[str, Explained]) -> Fate:
        """Return the result with its verdict updated to the current explanations."""
        if self.verdict == "killed":
            return self
        return replace(self, verdict="explained" if self.id in known else "survived")

    def line(self) -> str:
        """Return the result as a line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)


def digest() -> str:
    """Return a hash of all files that determine results; a new hash makes earlier results void."""
    found = hashlib.sha256()
    for folder in DECISIVE:
        for file in sorted((HOUSE / folder).rglob("*")):
            besides = file.parent.name == "mutants" and file.name in BESIDES
            if file.suffix in (".py", ".yaml", ".json") and not besides:
                found.update(file.relative_to(HOUSE).as_posix().encode())
                found.update(file.read_bytes())
    return found.hexdigest()


class StoredResults:
    """A file of results. Its first line has the hash of the sources for which they hold."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._digest = digest()

    def earlier(self) -> dict[str, Fate]:
        """Return the results of an earlier run with the same sources, by ID."""
        try:
            first, *lines = self._file.read_text("utf-8").splitlines()
            if json.loads(first) != {"sources": self._digest}:
                return {}
            found = [Fate(**json.loads(line)) for line in lines]
        except (OSError, ValueError, TypeError):
            return {}
        return {one.id: one for one in found}

    def begin(self, known: Iterable[Fate]) -> None:
        """Start the file anew with the results that are already known. Errors: `OSError`."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps({"sources": self._digest}), *(one.line() for one in known)]
        self._file.write_text("".join(f"{line}\n" for line in lines), "utf-8")

    def add(self, fate: Fate) -> None:
        """Add a result. Errors: `OSError`."""
        with self._file.open("a", encoding="utf-8") as file:
            file.write(f"{fate.line()}\n")


def read_table(file: Path) -> Iterator[Fate]:
    """Yield the results in a published table. Errors: `OSError`, `ValueError`."""
    for line in file.read_text("utf-8").splitlines():
        data: dict[str, Any] = json.loads(line)
        yield Fate(**data)
