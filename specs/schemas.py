"""The JSON Schemas, and files held against them."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import cast

from pulsar_conformance.specs.lines import Sheet
from pulsar_conformance.specs.model import JSON

DIRECTORY = Path(__file__).parent / "schema"


@cache
def schema(name: str) -> dict[str, JSON]:
    """Return specs/schema/<name>.json, for example "rules" or "operations/shed.select"."""
    return cast(dict[str, JSON], json.loads((DIRECTORY / f"{name}.json").read_text("utf-8")))


@cache
def operations() -> tuple[str, ...]:
    """The operations of the protocol, in order: each has a schema of its case and its answer."""
    return tuple(sorted(file.stem for file in (DIRECTORY / "operations").glob("*.json")))


@cache
def _valid(name: str) -> Callable[[JSON], bool]:
    """True if a value is valid by a schema.

    Where there are no compiled validators, as in a browser, the bundled files are taken as they
    are: they were held against their schemas where they were made.
    """
    try:
        import jsonschema_rs
    except ModuleNotFoundError:
        return lambda _: True
    return jsonschema_rs.Draft202012Validator(schema(name)).is_valid


def check_shape(sheet: Sheet, name: str) -> None:
    """Hold a file against its schema; the most telling breach is a SpecError with its line."""
    if _valid(name)(sheet.data):
        return
    # Slow to import and to run, and needed only for its words.
    from pulsar_conformance.specs.breaches import breach

    raise breach(sheet, schema(name))


def problem_with(value: JSON, name: str) -> str | None:
    """Describe why a value is invalid by a schema, and where; None if it is valid."""
    if _valid(name)(value):
        return None
    from pulsar_conformance.specs.breaches import told

    return told(value, schema(name))
