"""Settings as a person gives them: `NAME=VALUE`, in the types that they are documented with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.adapters.validation import asked_operations
from pulsar_conformance.conformance.trial import Json, Question, Trial
from pulsar_conformance.reference.shedding import STRATEGY

NAMED_BY_THE_CASE: Mapping[tuple[str, str], str] = {
    ("shed.select", STRATEGY): "strategy",
    ("bundles.create", "defaultNumberOfNamespaceBundles"): "bundles",
    ("bundles.split", "defaultNamespaceBundleSplitAlgorithm"): "algorithm",
    ("bundles.split", "supportedNamespaceBundleSplitAlgorithms"): "algorithm",
}
"""What a case can say itself, so that the setting does not matter to it."""


class BadSetting(Exception):
    """A setting that cannot be used, in one sentence."""


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
    """The value that a text stands for; None for an empty one. Errors as `given_settings`."""
    settings = specs.load().settings
    if name not in settings:
        raise specs.UnknownName(name, "setting", settings)
    if not text:
        return None
    setting = settings[name]
    try:
        value = READ[setting.type](text)
    except ValueError:
        raise BadSetting(f"{name}={text}: it takes {TYPES[setting.type]}") from None
    if setting.range and not setting.range[0] <= value <= setting.range[1]:
        lowest, highest = setting.range
        raise BadSetting(f"{name}={text}: it lies between {lowest} and {highest}")
    return value


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
    """The same questions with these settings; those of a trial all alike.

    Errors: `BadSetting` where no question depends on settings, or one names itself what the
    setting would say.
    """
    if given and not any(takes_settings(operation) for operation, _ in trial.questions):
        operations = ", ".join(sorted(trial.operations))
        raise BadSetting(f"--setting {next(iter(given))}: {operations} takes no settings")
    return Trial(tuple(_changed(question, given) for question in trial.questions))


def takes_settings(operation: str) -> bool:
    """Whether the cases of an operation have settings."""
    if operation not in asked_operations():
        return False
    return "settings" in specs.schema(f"operations/{operation}")["$defs"]["case"]["properties"]


def _changed(question: Question, given: Mapping[str, Any]) -> Question:
    operation, case = question
    if not given or not takes_settings(operation) or not isinstance(case, dict):
        return question
    for name in given:
        field = NAMED_BY_THE_CASE.get((operation, name))
        if field and case.get(field) is not None:
            said = f"the case says {field} {case[field]} itself"
            raise BadSetting(f"--setting {name}: {said}; make that null to leave it to the setting")
    return Question(operation, {**case, "settings": merged(case.get("settings"), given)})


def merged(settings: Json | None, given: Mapping[str, Any]) -> Json:
    """Settings with others over them; None leaves one out."""
    both = {**(settings or {}), **given}
    return {name: value for name, value in both.items() if name not in given or value is not None}
