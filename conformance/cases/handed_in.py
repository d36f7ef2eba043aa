"""Cases from a person: a saved case, or lines as `pulsar-conformance ask` reads them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pulsar_conformance.adapters.protocol import NotJSON, read
from pulsar_conformance.conformance.cases.legality import bad_trial, missing_setting
from pulsar_conformance.conformance.cases.saved import BadCase, trial_of
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.reference import Derivation, MissingSetting, Model

STANDARD_INPUT = "-"


@dataclass(frozen=True)
class Handed:
    """Questions that are asked together, with the profile and readings if the file names them."""

    place: str
    """File, and line where there are several."""
    trial: Trial
    profile: str | None = None
    readings: Mapping[str, str] = field(default_factory=dict)


def handed_in(file: str) -> list[Handed]:
    """The questions of a file, or of standard input for "-".

    The input is one JSON value, `{"ask", "case"}` or `{"trial": [those]}`, or one line of JSON per
    question. It is not checked whether the cases are legal.

    Errors: `BadCase`.
    """
    name = "standard input" if file == STANDARD_INPUT else file
    text = _text(file, name)
    try:
        return [_handed(name, read(text))]
    except NotJSON as wrong:
        lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
        if len(lines) < 2 or not _is_json(lines[0][1]):
            raise BadCase(f"{name}: it {wrong}") from None
    return [_of_line(name, number, line) for number, line in lines]


def _text(file: str, name: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if file == STANDARD_INPUT else Path(file).read_bytes()
    except OSError as wrong:
        raise BadCase(f"{name}: {wrong.strerror or wrong}") from None


def _is_json(line: bytes) -> bool:
    try:
        read(line)
    except NotJSON:
        return False
    return True


def _of_line(name: str, number: int, line: bytes) -> Handed:
    place = f"{name}, line {number}"
    try:
        return _handed(place, read(line))
    except NotJSON as wrong:
        raise BadCase(f"{place}: it {wrong}") from None


def _handed(place: str, data: Any) -> Handed:
    trial = trial_of(data)
    if trial is None:
        raise BadCase(f'{place}: not of the form {{"ask": OPERATION, "case": {{...}}}}')
    profile, readings = data.get("profile"), data.get("readings")
    return Handed(
        place,
        trial,
        profile if isinstance(profile, str) else None,
        readings if isinstance(readings, dict) else {},
    )


def derived_from(place: str, trial: Trial, model: Model) -> list[Derivation]:
    """The model's answer to each question, in order.

    Errors: `BadCase`, starting with `place`: an illegal case, or one that lacks a setting.
    """
    missing = missing_setting(trial, model.defaults)
    problem = bad_trial(trial, model.defaults)
    if problem and not missing:
        raise BadCase(f"{place}: {problem}")
    if not missing:
        try:
            return [model.derive(*question) for question in trial.questions]
        except MissingSetting as under_these_readings:
            missing = under_these_readings.name
    needs = f"{trial.operation} needs {missing}, which has no documented default"
    raise BadCase(f"{place}: {needs}; give --setting {missing}=VALUE")
