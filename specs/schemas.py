"""JSON Schemas, and validation against them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pulsar_conformance.specs.errors import unknown_name
from pulsar_conformance.specs.lines import Place, Sheet
from pulsar_conformance.specs.model import JSON

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator, ValidationError

DIRECTORY = Path(__file__).parent / "schema"

MAX_VALUE_LENGTH = 60
"""Maximum number of characters of a wrong value in a message."""

WEAK_KEYWORDS = frozenset({"anyOf", "oneOf"})
"""Keywords whose own errors are less useful than those of their alternatives."""

LAST_KEYWORDS = ("required", *WEAK_KEYWORDS)
"""Keywords whose errors are reported last: a misspelt key also causes an error of `required`."""


@cache
def schema(name: str) -> dict[str, JSON]:
    """Return specs/schema/NAME.json; NAME is a text such as "rules" or "operations/shed.select"."""
    return cast(dict[str, JSON], json.loads((DIRECTORY / f"{name}.json").read_text("utf-8")))


@cache
def operations() -> tuple[str, ...]:
    """Return the protocol's operations in order; each has a schema of its case and its answer."""
    return tuple(sorted(file.stem for file in (DIRECTORY / "operations").glob("*.json")))


def check_shape(sheet: Sheet, name: str) -> None:
    """Check a file by a schema. Errors: `SpecError` for the most specific problem, with its
    line.
    """
    error = _most_useful_error(sheet.data, name)
    if error is None:
        return
    place: Place = tuple(error.instance_path)
    key, problem = _key_and_problem(error, name)
    raise sheet.error(
        place if key is None else (*place, key), f"{_entry_prefix(sheet, place)}{problem}"
    )


def problem_with(value: JSON, name: str) -> str | None:
    """Return where and how a value violates a schema; None if it is valid."""
    error = _most_useful_error(value, name)
    if error is None:
        return None
    steps = error.instance_path
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    key, problem = _key_and_problem(error, name)
    where = f"{place}.{key}" if key else place
    return f"{where.removeprefix('.') or 'the top level'}: {problem}"


@cache
def _validator(name: str) -> Draft202012Validator | None:
    """Return the validator of a schema.

    None if the compiled library is missing, as in a browser. The packaged files were validated when
    the package was built.
    """
    try:
        import jsonschema_rs
    except ModuleNotFoundError:
        return None
    return jsonschema_rs.Draft202012Validator(schema(name))


def _most_useful_error(value: JSON, name: str) -> ValidationError | None:
    """Return the error to report for a value, or None.

    Of several errors, it is the outermost. If a schema has alternatives and only one of them fits
    the type of the value, the error is from that alternative.
    """
    validator = _validator(name)
    if validator is None or validator.is_valid(value):
        return None
    return _most_specific(list(validator.iter_errors(value)))


def _most_specific(errors: Sequence[ValidationError]) -> ValidationError:
    error = min(errors, key=lambda one: (len(one.instance_path), one.kind.name in LAST_KEYWORDS))
    if error.kind.name not in WEAK_KEYWORDS:
        return error
    alternatives: Sequence[Sequence[ValidationError]] = getattr(error.kind, "context", ())
    same_type = [one for one in alternatives if not _is_of_other_type(one, error)]
    return _most_specific(same_type[0]) if len(same_type) == 1 else error


def _is_of_other_type(errors: Sequence[ValidationError], whole: ValidationError) -> bool:
    return any(
        one.kind.name == "type" and len(one.instance_path) == len(whole.instance_path)
        for one in errors
    )


def _entry_prefix(sheet: Sheet, place: Place) -> str:
    """Return a prefix that names a place, as in "OVERLOAD-02: "; empty for the whole file."""
    if not place:
        return ""
    name = place[0]
    if isinstance(name, int):
        entry = sheet.data[name]
        known = isinstance(entry, Mapping) and "id" in entry
        name = str(entry["id"]) if known else f"entry {name + 1}"
    return ".".join(str(step) for step in (name, *place[1:])) + ": "


def _key_and_problem(error: ValidationError, name: str) -> tuple[str | None, str]:
    """Return the wrong key (None if a value is wrong), and text on the problem."""
    kind: Any = error.kind
    wanted = _violated_part(error, name)
    value: JSON = error.instance
    if kind.name == "additionalProperties":
        key = next(str(one) for one in value if one in kind.unexpected)
        return key, unknown_name(key, "key", wanted.get("properties", {}))
    if kind.name == "required":
        return None, f"{kind.property} is missing"
    if kind.name == "propertyNames":
        key = str(kind.error.instance)
        return key, f"the name {key} does not match {kind.error.kind.pattern}"
    if kind.name == "anyOf" and (missing := _missing_keys_text(error)):
        return None, missing
    limit = wanted.get(kind.name)
    words = {
        "enum": f"{_value_text(value)} is not one of {_values_text(limit)}",
        "type": f"{_value_text(value)} is not of type {limit}",
        "pattern": f"{_value_text(value)} does not match {limit}",
        "minItems": f"at least {limit} must be given",
        "minProperties": f"at least {limit} must be given",
        "maxProperties": f"at most {limit} may be given",
        "uniqueItems": f"{_value_text(value)} contains duplicates",
    }
    problem = words.get(kind.name, error.message)
    description = wanted.get("description")
    return None, f"{problem}; it should be: {description}" if description else problem


def _missing_keys_text(error: ValidationError) -> str:
    """Return text on the keys that are missing for each alternative; empty if an alternative fails
    for another reason.
    """
    kind: Any = error.kind
    if any(one.kind.name != "required" for errors in kind.context for one in errors):
        return ""
    lacking = [" and ".join(one.kind.property for one in errors) for errors in kind.context]
    return f"it needs {', or '.join(lacking)}"


def _violated_part(error: ValidationError, name: str) -> Mapping[str, JSON]:
    """Return the part of the schema that was violated."""
    found: JSON = schema(name)
    for step in error.schema_path[:-1]:
        found = found[step]
    return cast(Mapping[str, JSON], found)


def _value_text(value: JSON) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= MAX_VALUE_LENGTH else text[: MAX_VALUE_LENGTH - 3] + "..."


def _values_text(values: JSON) -> str:
    return ", ".join(map(str, values)) if isinstance(values, list) else str(values)
