"""Questions for branches of a release's source, which the draws of rules do not reach."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pulsar_conformance import fixtures
from pulsar_conformance.adapters.ask import BadLine, questions, values
from pulsar_conformance.adapters.protocol import JSON
from pulsar_conformance.conformance.common.trial import Question, Trial
from pulsar_conformance.specs.errors import UserError

BRANCHES = Path(fixtures.__file__).parent / "branches"
"""A file for each released profile."""

ByOperation = Mapping[str, Sequence[Trial]]
"""Questions, each alone, by their operation."""


def branches_of(profile: str) -> ByOperation:
    """Return the questions for branches of a released profile's source; none for other profiles."""
    file = BRANCHES / f"{profile}.jsonl.gz"
    if not file.exists():
        return {}
    with gzip.open(file) as lines:
        return _by_operation(lines, str(file))


def read_questions(file: Path) -> ByOperation:
    """Return the questions of a file, one a line as `ask` takes them. Errors: `UserError`."""
    try:
        with file.open("rb") as lines:
            return _by_operation(lines, str(file))
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror}") from None


def _by_operation(lines: Iterable[bytes], file: str) -> ByOperation:
    found: dict[str, list[Trial]] = {}
    for operation, case in _questions(lines, file):
        found.setdefault(operation, []).append(Trial((Question(operation, case),)))
    return found


def _questions(lines: Iterable[bytes], file: str) -> Iterator[tuple[str, JSON]]:
    for value in values(lines):
        for part in [value] if isinstance(value, BadLine) else questions(*value):
            if isinstance(part, BadLine):
                raise BadLine(part.number, part.problem, file)
            yield part
