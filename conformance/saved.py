"""Cases in files: failing ones that a run saved, and those that a person hands in."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pulsar_conformance.adapters.protocol import NotJSON, read
from pulsar_conformance.conformance.legal import bad_trial
from pulsar_conformance.conformance.trial import Trial

FOLDER = Path(".conformance") / "cases"
SHOWN = 12
"""Digits of the fingerprint that name a file."""


class BadCase(Exception):
    """A case file that cannot be used; says which and why."""


class Saved(NamedTuple):
    """A saved trial and the rule that it broke, if it says so."""

    trial: Trial
    rule: str | None


def path_of(trial: Trial) -> Path:
    """Where a trial is saved: by its operation, named by its fingerprint."""
    return FOLDER / trial.operation / f"{trial.fingerprint[:SHOWN]}.json"


def save(trial: Trial, root: Path, about: Mapping[str, Any]) -> Path:
    """Writes a failing trial, whole or not at all; the path is relative to `root`."""
    relative = path_of(trial)
    target = root / relative
    target.parent.mkdir(parents=True, exist_ok=True)
    content = {**content_of(trial), **about}
    partial = target.with_suffix(f".{os.getpid()}.partial")
    partial.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")
    partial.replace(target)
    return relative


def content_of(trial: Trial) -> dict[str, Any]:
    """What a case file says of the questions; the inverse of `trial_of`."""
    lines = trial.as_json()
    return lines[0] if len(lines) == 1 else {"trial": lines}


def load(file: Path, defaults: Mapping[str, Any] | None = None) -> Saved:
    """Reads a case file: `{"ask", "case"}`, or `{"trial": [those]}` for several together.

    With `defaults`, the documented ones of a profile, an illegal case is refused.
    Errors: `BadCase`.
    """
    try:
        data = read(file.read_bytes())
    except OSError as wrong:
        raise BadCase(f"{file}: {wrong.strerror or wrong}") from None
    except NotJSON as wrong:
        raise BadCase(f"{file}: it {wrong}") from None
    trial = trial_of(data)
    if trial is None:
        raise BadCase(f'{file}: not of the form {{"ask": OPERATION, "case": {{...}}}}')
    problem = None if defaults is None else bad_trial(trial, defaults)
    if problem:
        raise BadCase(f"{file}: {problem}")
    return Saved(trial, data.get("rule"))


def trial_of(data: Any) -> Trial | None:
    """The questions of a case file's content, or none where it is not of that form."""
    lines = data.get("trial", [data]) if isinstance(data, dict) else None
    if not isinstance(lines, list) or not lines:
        return None
    for line in lines:
        if not isinstance(line, dict) or not isinstance(line.get("ask"), str) or "case" not in line:
            return None
    return Trial.from_json(lines)


def saved_before(root: Path) -> list[Saved]:
    """Every case that earlier runs saved, in the order of their names.

    Errors: `BadCase` for a file that is damaged: it is named, so that it can be removed.
    """
    return [load(file) for file in sorted((root / FOLDER).glob("*/*.json"))]
