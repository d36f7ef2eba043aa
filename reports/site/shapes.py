"""Schemas of the protocol as tables, with a row per field and links between shapes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pulsar_conformance.adapters.arguments import DEFAULT_PROFILE
from pulsar_conformance.conformance.catalogue import OPERATIONS
from pulsar_conformance.fixtures import examples
from pulsar_conformance.reference import Model
from pulsar_conformance.specs import load, schema

SHARED = "urn:pulsar-conformance:shapes#/$defs/"
WIDTH = 88
"""Maximum width of the lines of an exchange, in characters; longer values are wrapped."""
EXPLAINED_ONCE = ("declining", "declined", "why")
"""Fields that may replace any answer; the page explains them only once."""

SHOWN = (
    "bundle-four-by-default",
    "bundle-of-each-topic",
    "split-range-in-halves",
    "overload-95-over-85",
    "usage-weight-changes-the-busiest",
)
"""Worked examples that illustrate their operations.

For any other operation, it is the shortest of its examples with the fewest empty fields.
"""

Schema = Mapping[str, Any]


@dataclass(frozen=True)
class SchemaField:
    """A field: its path within the object, its type and its meaning."""

    path: str
    holds: str
    required: bool
    says: str


@dataclass(frozen=True)
class Shape:
    """A named type: a one-line summary and, if it is an object type, its fields."""

    name: str
    anchor: str
    holds: str
    says: str
    fields: tuple[SchemaField, ...]


def shared_shapes() -> tuple[Shape, ...]:
    """Return the shapes that several operations share."""
    return tuple(_shapes(schema("shapes")["$defs"], ""))


def own_shapes(operation: str) -> tuple[Shape, ...]:
    """Return the shapes that only this operation uses."""
    every = schema(f"operations/{operation}")["$defs"]
    inner = {name: every[name] for name in every if name not in ("case", "answer", "answered")}
    return tuple(_shapes(inner, operation))


def fields_of(schema: Schema, operation: str = "") -> tuple[SchemaField, ...]:
    """Return the fields of an object; those of a nested object follow the field with the object."""
    return tuple(_fields(schema, operation, ""))


def _shapes(every: Mapping[str, Schema], operation: str) -> Iterator[Shape]:
    for name, one in every.items():
        if name not in EXPLAINED_ONCE:
            rows = fields_of(one, operation)
            says = str(one.get("description", ""))
            yield Shape(name, _anchor(name, operation), _type_text(one, operation), says, rows)


def _fields(schema: Schema, operation: str, before: str) -> Iterator[SchemaField]:
    for name, one in schema.get("properties", {}).items():
        if name in EXPLAINED_ONCE:
            continue
        path = f"{before}{name}"
        required = name in schema.get("required", ())
        yield SchemaField(
            path, _type_text(one, operation), required, str(one.get("description", ""))
        )
        for inner, then in ((one, "."), (one.get("items"), "[]."), (_values(one), ".*.")):
            if inner:
                yield from _fields(inner, operation, f"{path}{then}")


def _values(schema: Schema) -> Schema | None:
    """Return the schema of a map's values; None if the schema is not that of a map."""
    found = schema.get("additionalProperties")
    return found if isinstance(found, dict) else None


def _type_text(schema: Schema, operation: str) -> str:
    """Return the type of a value as Markdown, with links to named types."""
    if "$ref" in schema:
        target = str(schema["$ref"])
        name = target.rpartition("/")[2]
        return f"[{name}](#{_anchor(name, '' if target.startswith(SHARED) else operation)})"
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return " or ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    if "anyOf" in schema and "type" not in schema:
        return " or ".join(_type_text(each, operation) for each in schema["anyOf"])
    types = schema.get("type", "any")
    if types == "array":
        return f"list of {_type_text(schema['items'], operation)}"
    values = _values(schema)
    if types == "object" and values:
        names = (
            _type_text(schema["propertyNames"], operation) if "propertyNames" in schema else "name"
        )
        return f"object, {names} → {_type_text(values, operation)}"
    told = " or ".join([types] if isinstance(types, str) else types)
    if schema.get("maxProperties") == 1:
        told = "object with exactly one of these fields"
    return " ".join([told, *_limits(schema)])


def _limits(schema: Schema) -> Iterator[str]:
    if "pattern" in schema:
        yield f"`{schema['pattern']}`"
    if schema.get("minimum"):
        yield f"from {schema['minimum']}"
    if schema.get("maximum", 1e300) < 1e300:
        yield f"up to {schema['maximum']}"


def _anchor(name: str, operation: str) -> str:
    return "-".join(["shape", *operation.split("."), name] if operation else ["shape", name])


def format_json(value: Any, indent: str = "", used: int = 0) -> str:
    """Return JSON as text; a value stays on one line if it fits into the width."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) + len(indent) + used <= WIDTH or not value or not isinstance(value, (dict, list)):
        return flat
    inner = f"{indent}  "
    if isinstance(value, dict):
        keys = [f"{json.dumps(name, ensure_ascii=False)}: " for name in value]
        items = zip(keys, value.values(), strict=True)
        lines = [f"{inner}{key}{format_json(one, inner, len(key) + 1)}" for key, one in items]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    lines = [f"{inner}{format_json(one, inner, 1)}" for one in value]
    return "[\n" + ",\n".join(lines) + f"\n{indent}]"


def example_case(operation: str, profile: str = DEFAULT_PROFILE) -> Mapping[str, object]:
    """Return an example case of an operation: from `SHOWN`, or the one with the fewest empty
    fields.
    """
    model, known = Model(profile), {rule.id for rule in load().rules_of(profile)}
    found = []
    for example in examples():
        if known.isdisjoint(example.rules):
            continue
        for name, case in example.questions:
            if name == operation and example.id in SHOWN:
                return case
            if name == operation and not example.readings and example.allowed:
                found.append(case)

    def lacks(case: Mapping[str, object]) -> tuple[int, int, int]:
        answer = model.derive(operation, case).answer
        declines = sum(one in answer for one in ("refused", "unsupported", "failed"))
        empty = [one for part in (case, answer) for one in part.values() if one in ([], {})]
        return declines, len(empty), len(json.dumps(case))

    return min(found or list(OPERATIONS[operation].examples), key=lacks)
