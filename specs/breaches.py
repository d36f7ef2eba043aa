"""Schema errors in words for the person who wrote the file."""

import json
from collections.abc import Mapping

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match
from pulsar_conformance.specs.errors import SpecError, unknown
from pulsar_conformance.specs.lines import Place, Sheet
from pulsar_conformance.specs.model import JSON

LONGEST = 60
"""Characters of a wrong value that are shown."""


def breach(sheet: Sheet, schema: JSON) -> SpecError:
    """Make the error for the most telling breach, at its line."""
    error = best_match(Draft202012Validator(schema).iter_errors(sheet.data))
    assert error is not None, f"{sheet.file}: the validators disagree"
    place: Place = tuple(error.absolute_path)
    key, problem = _key_and_problem(error)
    inner = place if key is None else (*place, key)
    return sheet.error(inner, f"{_subject(sheet, place)}{problem}")


def told(value: JSON, schema: JSON) -> str:
    """Say what is wrong with a value that no file of ours holds, and where in it."""
    error = best_match(Draft202012Validator(schema).iter_errors(value))
    assert error is not None, "the validators disagree"
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.path)
    key, problem = _key_and_problem(error)
    where = f"{place}.{key}" if key else place
    return f"{where.removeprefix('.') or 'the whole'}: {problem}"


def _subject(sheet: Sheet, place: Place) -> str:
    """Name the entry that a place lies in, as "OVERLOAD-02: "; "" for the whole file."""
    if not place:
        return ""
    name = place[0]
    if isinstance(name, int):
        entry = sheet.data[name]
        known = isinstance(entry, Mapping) and "id" in entry
        name = str(entry["id"]) if known else f"entry {name + 1}"
    return ".".join(str(step) for step in (name, *place[1:])) + ": "


def _key_and_problem(error: ValidationError) -> tuple[str | None, str]:
    """Return the key that is wrong, None where it is a value, and what is wrong."""
    # The stubs leave open that each of these could be unset; in an error they never are.
    schema: JSON = error.schema
    limit: JSON = error.validator_value
    value: JSON = error.instance
    if error.validator == "additionalProperties":
        known = schema.get("properties", {})
        key = next(str(key) for key in value if key not in known)
        return key, unknown(key, "key", known)
    if error.validator == "required":
        missing = next(key for key in limit if key not in value)
        return None, f"{missing} is missing"
    if error.parent is not None and error.parent.validator == "propertyNames":
        return str(value), f"the name {value} does not look like {limit}"
    words = {
        "enum": f"{_shown(value)} is none of {_listed(limit)}",
        "type": f"{_shown(value)} is no {limit}",
        "pattern": f"{_shown(value)} does not look like {limit}",
        "minItems": f"at least {limit} must be given",
        "minProperties": f"at least {limit} must be given",
        "maxProperties": f"at most {limit} may be given",
        "uniqueItems": f"{_shown(value)} holds something twice",
    }
    problem = words.get(str(error.validator), error.message[: 2 * LONGEST])
    wanted = schema.get("description") if isinstance(schema, Mapping) else None
    return None, f"{problem}; it should be: {wanted}" if wanted else problem


def _shown(value: JSON) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def _listed(values: JSON) -> str:
    return ", ".join(map(str, values)) if isinstance(values, list) else str(values)
