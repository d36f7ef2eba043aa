"""The JSON Schemas, and files held against them."""

import json
from functools import cache
from pathlib import Path
from typing import cast

import jsonschema_rs
from pulsar_conformance.specs.lines import Sheet
from pulsar_conformance.specs.model import JSON

DIRECTORY = Path(__file__).parent / "schema"


@cache
def schema(name: str) -> dict[str, JSON]:
    """Return specs/schema/<name>.json, for example "rules" or "operations/shed.select"."""
    return cast(dict[str, JSON], json.loads((DIRECTORY / f"{name}.json").read_text("utf-8")))


@cache
def _validator(name: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(schema(name))


def check_shape(sheet: Sheet, name: str) -> None:
    """Hold a file against its schema; the most telling breach is a SpecError with its line."""
    if _validator(name).is_valid(sheet.data):
        return
    # Slow to import and to run, and needed only for its words.
    from pulsar_conformance.specs.breaches import breach

    raise breach(sheet, schema(name))
