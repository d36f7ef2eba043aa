"""Checks of cases, answers and hello against their schemas, and detection of modified cases."""

import marshal
from collections.abc import Sequence
from functools import cache
from itertools import zip_longest
from typing import Any

from jsonschema_rs import Draft202012Validator, Registry, ValidationError
from pulsar_conformance.adapters.protocol import JSON, OPERATIONS
from pulsar_conformance.specs import schema

MAX_QUOTED_CHARACTERS = 80
"""Maximum number of characters of a wrong value that a message quotes."""


class InvalidAnswer(Exception):
    """Raised for an invalid answer, whose index in the batch is `index`.

    The message says where the answer is invalid and what was expected.
    """

    def __init__(self, index: int, text: str) -> None:
        super().__init__(text)
        self.index = index


def check_answers(operation: str, answers: Sequence[JSON]) -> None:
    """Check answers against the operation's schema. Errors: `InvalidAnswer` for the first invalid
    one.

    If this version of the suite does not know the operation, only an answer that declines is valid.
    """
    valid = _validator(operation, "answer")
    for index, answer in enumerate(answers):
        if not valid.is_valid(answer):
            raise InvalidAnswer(index, _error_text(valid, answer, f"answers[{index}]"))


def case_schema_error(operation: str, case: JSON) -> str | None:
    """Return how a case violates its schema, such as `case.brokers.b1: ...`; None if it is
    valid.
    """
    return _schema_error(_validator(operation, "case"), case, "case")


def answer_schema_error(operation: str, answer: JSON) -> str | None:
    """Return how an answer violates its schema, such as `answer.unload: ...`; None if it is
    valid.
    """
    try:
        return _schema_error(_validator(operation, "answer"), answer, "answer")
    except ValueError as error:  # The library accepts only what JSON has.
        return f"answer: isn't plain JSON ({error})"


def hello_schema_error(answer: JSON) -> str | None:
    """Return how an answer to hello violates its schema; None if it is valid."""
    return _schema_error(_validator("message", "implementation"), answer, "answer")


def _schema_error(validator: Draft202012Validator, value: JSON, name: str) -> str | None:
    return None if validator.is_valid(value) else _error_text(validator, value, name)


@cache
def _validator(name: str, part: str) -> Draft202012Validator:
    """Return the validator for a part of the messages, or for an operation's case or answer."""
    shapes = schema("shapes")
    if name in OPERATIONS:
        whole = schema(f"operations/{name}")
    elif name == "message":
        whole = schema(name)
    else:
        whole, part = shapes, "declined"
    wanted = {"$schema": shapes["$schema"], "$ref": f"{whole['$id']}#/$defs/{part}"}
    known = Registry([(one["$id"], one) for one in (shapes, whole)])
    return Draft202012Validator(wanted, registry=known, offline=True)


def _error_text(validator: Draft202012Validator, value: JSON, name: str) -> str:
    """Describe the most deeply nested error: its path, the value there, and the expectation."""
    errors = list(validator.iter_errors(value))
    if not errors:
        return f"{name}: isn't plain JSON"
    worst = max(errors, key=lambda error: len(error.instance_path))
    path = name + "".join(
        f"[{step}]" if isinstance(step, int) else _path_step(step) for step in worst.instance_path
    )
    return f"{path}: {_text(worst)}"


def _path_step(step: str) -> str:
    return f".{step}" if step.isidentifier() else f"[{step!r}]"


def _text(error: ValidationError) -> str:
    text = error.message
    value = repr(error.instance)
    if len(text) > 2 * MAX_QUOTED_CHARACTERS and len(value) > MAX_QUOTED_CHARACTERS:
        # The library quotes the whole value first, which may be a load report of great length.
        _, found, rest = text.rpartition(" is not ")
        text = (
            f"{value[:MAX_QUOTED_CHARACTERS]}... is not {rest}"
            if found
            else text[: 2 * MAX_QUOTED_CHARACTERS] + "..."
        )
    return text


class UnmodifiedCases:
    """Copies of cases, which show later whether an implementation has modified the cases."""

    def __init__(self, cases: Sequence[JSON]) -> None:
        self._cases = cases
        # Thousands of cases are asked at once; marshalling is faster than deep copies.
        self._before = list(map(_comparable_bytes, cases))

    def restore(self) -> dict[int, str]:
        """Restore all cases; return the path of the first change in each modified case, by its
        index.
        """
        changed = {}
        for place, (case, text) in enumerate(zip(self._cases, self._before, strict=True)):
            if _comparable_bytes(case) == text:
                continue
            before: JSON = marshal.loads(text)
            if case != before:
                changed[place] = _difference(before, case, "case")
                _restore(case, before)
        return changed


def _comparable_bytes(case: JSON) -> bytes:
    """Return bytes that are equal for equal cases, which only old formats of `marshal` ensure."""
    return marshal.dumps(case, 2)


def _restore(value: Any, before: Any) -> Any:
    """Restore a value in place, since drawn cases may share objects; return the earlier value."""
    if isinstance(value, dict) and isinstance(before, dict):
        after = dict(value)
        value.clear()
        value.update((name, _restore(after.get(name), old)) for name, old in before.items())
        return value
    if isinstance(value, list) and isinstance(before, list):
        value[:] = [_restore(after, old) for after, old in zip_longest(value, before)][
            : len(before)
        ]
        return value
    return before


def _difference(before: Any, after: Any, path: str) -> str:
    """Return the path of the first difference, down to the innermost value that differs."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in (*before, *after):
            if name not in before or name not in after or before[name] != after[name]:
                return _difference(before.get(name), after.get(name), f"{path}.{name}")
    if isinstance(before, list) and isinstance(after, list):
        for place, (old, new) in enumerate(zip_longest(before, after)):
            if old != new:
                return _difference(old, new, f"{path}[{place}]")
    return path
