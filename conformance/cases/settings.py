"""Settings as a person gives them, `NAME=VALUE`, converted to their documented types."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.conformance.catalogue import OPERATIONS
from pulsar_conformance.conformance.common.trial import Json, Question, Trial
from pulsar_conformance.specs.errors import UserError


class BadSetting(UserError):
    """A setting that cannot be used; the message is one sentence."""


def given_settings(texts: Iterable[str]) -> dict[str, Any]:
    """`NAME=VALUE` texts as settings; without a value None, which leaves the setting out.

    Errors: `BadSetting`, and `specs.UnknownName` for a setting that no document names.
    """
    given = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise BadSetting(f"--setting {text}: write NAME=VALUE")
        given[name.strip()] = value_of(name.strip(), value.strip())
    return given


def value_of(name: str, text: str) -> Any:
    """The value of a text, or None for an empty text. Errors: as `given_settings`."""
    settings = specs.load().settings
    hidden = specs.load().hidden
    if name not in settings and name not in hidden:
        raise specs.UnknownName(name, "setting", (*settings, *hidden))
    if not text:
        return None
    if name in hidden:
        return _hidden(name, text)
    setting = settings[name]
    try:
        value = READ[setting.type](text)
    except ValueError:
        raise BadSetting(f"{name}={text}: it takes {TYPES[setting.type]}") from None
    if setting.range and not setting.range[0] <= value <= setting.range[1]:
        lowest, highest = setting.range
        raise BadSetting(f"{name}={text}: it lies between {lowest} and {highest}")
    return value


def _hidden(name: str, text: str) -> int | float:
    """The value of a setting that no document names: a number. Errors: `BadSetting`."""
    try:
        return _number(text)
    except ValueError:
        raise BadSetting(f"{name}={text}: it takes {TYPES['number']}") from None


def _number(text: str) -> int | float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return int(value) if value.is_integer() else value


def _integer(text: str) -> int:
    return int(text)


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


READ: Mapping[str, Callable[[str], Any]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "string": str,
    "class": str,
    "list": str,
}

TYPES: Mapping[str, str] = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}


def changed(trial: Trial, given: Mapping[str, Any]) -> Trial:
    """The same questions with these settings, which apply to every question of the trial.

    Errors: `BadSetting` if no question depends on settings, or if a case itself says what the
    setting would say.
    """
    if given and not any(takes_settings(operation) for operation, _ in trial.questions):
        operations = ", ".join(sorted(trial.operations))
        raise BadSetting(f"--setting {next(iter(given))}: {operations} takes no settings")
    questions = tuple(_changed(question, given) for question in trial.questions)
    return Trial(questions, trial.before)


def takes_settings(operation: str) -> bool:
    """True if the cases of an operation have settings."""
    if operation not in OPERATIONS:
        return False
    return "settings" in specs.schema(f"operations/{operation}")["$defs"]["case"]["properties"]


def _changed(question: Question, given: Mapping[str, Any]) -> Question:
    operation, case = question
    if not given or not takes_settings(operation) or not isinstance(case, dict):
        return question
    for name in given:
        field = OPERATIONS[operation].overridden_by.get(name)
        if field and case.get(field) is not None:
            said = f"the case says {field} {case[field]} itself"
            raise BadSetting(f"--setting {name}: {said}; make that null to leave it to the setting")
    return Question(operation, {**case, "settings": merged(case.get("settings"), given)})


def merged(settings: Json | None, given: Mapping[str, Any]) -> Json:
    """Settings with others that take precedence; None leaves one out."""
    both = {**(settings or {}), **given}
    return {name: value for name, value in both.items() if name not in given or value is not None}
