"""The form of a question, and the properties that a case must have.

These functions also work where no JSON Schema validator is available, as in a browser.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pulsar_conformance.specs.model import JSON
from pulsar_conformance.specs.schemas import schema

FORM = '{"ask": OPERATION, "case": {...}}'
FIELDS = ("ask", "case")
"""The fields of a question."""

SHAPES = "urn:pulsar-conformance:shapes"
"""The `$id` of the schema of shapes."""


def why_no_question(value: JSON) -> str:
    """Return why a value does not have the form of a question; empty if it has that form."""
    form = f"it is not of the form {FORM}"
    if not isinstance(value, dict) or "trial" in value:
        return form
    missing = [f'"{name}"' for name in FIELDS if name not in value]
    return f"{form}: it has no {' and no '.join(missing)}" if missing else ""


def missing_property(operation: str, case: JSON) -> str:
    """Return a message on a required property that a case lacks; empty if no property is missing.

    The message gives the place and uses the words of the validator.
    """
    whole = schema(f"operations/{operation}")
    lacking = _missing_properties(whole["$defs"]["case"], case, "case", whole)
    deepest = max(lacking, key=lambda one: one[0].count("."), default=None)
    return f'{deepest[0]}: "{deepest[1]}" is a required property' if deepest else ""


def _missing_properties(
    shape: Mapping[str, Any], value: JSON, path: str, whole: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Yield path and name of each required property that a value lacks, ignoring alternatives."""
    if "$ref" in shape:
        file, _, name = shape["$ref"].partition("#/$defs/")
        root = schema("shapes") if file == SHAPES else whole
        yield from _missing_properties(root["$defs"][name], value, path, root)
    if isinstance(value, dict):
        yield from ((path, name) for name in shape.get("required", ()) if name not in value)
        known, others = shape.get("properties", {}), shape.get("additionalProperties")
        for name, inner in value.items():
            of_inner = known.get(name, others)
            if isinstance(of_inner, Mapping):
                key = f".{name}" if name.isidentifier() else f"[{name!r}]"
                yield from _missing_properties(of_inner, inner, f"{path}{key}", whole)
    elif isinstance(value, list) and isinstance(shape.get("items"), Mapping):
        for place, inner in enumerate(value):
            yield from _missing_properties(shape["items"], inner, f"{path}[{place}]", whole)
