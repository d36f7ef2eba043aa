"""The settings in force, as columns: a case's own, otherwise documented defaults. [CONFIG]"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.adapters.protocol import json_text
from pyspark.sql import Column
from pyspark.sql import functions as F

STRATEGIES_PACKAGE = r"^org\.apache\.pulsar\.broker\.loadbalance\.impl\."
"""Pattern of the package of Pulsar's own shedding strategies."""

Value = str | float | int | bool | None

NUMBER = r"^\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*$"
"""Pattern of a number as text, as in broker.conf and in the admin API."""


def _parse_number(text: Column) -> Column:
    """Parse a number; null if the text is not a number, or if the number is too large."""
    value = text.try_cast("double")
    return F.when(text.rlike(NUMBER) & (F.abs(value) < F.lit(float("inf"))), value)


SETTING_PARSERS: Mapping[str, Callable[[Column], Column]] = {
    "number": _parse_number,
    "integer": _parse_number,
    "boolean": lambda text: F.lower(text) == "true",
    "string": lambda text: text,
    "list": lambda text: text,
    "class": lambda text: F.regexp_replace(text, STRATEGIES_PACKAGE, ""),
}
"""Functions that convert a setting's text to a value, by the type in `specs/settings.yaml`."""


NO_LIMIT = float("inf")
"""The number that, as documented, switches a limit off."""


def in_force(given: Column, names: Iterable[str], defaults: Mapping[str, Any]) -> Column:
    """Return a struct of the settings in force; null for a setting with neither a value nor a
    default.

    Values given for settings that the documents do not describe have no effect: these settings have
    their default or are null. `given` maps names to values as text.
    """
    known = specs.load()
    types = {**known.annotated, **known.settings}
    documented = defaults if isinstance(defaults, specs.Defaults) else specs.Defaults()

    def text(name: str) -> Column:
        default = _text(defaults.get(name))
        unknown = name not in known.settings and name not in defaults
        if unknown or name in documented.unused:
            return default
        names = dict.fromkeys((documented.renamed.get(name, name), name))
        return F.coalesce(*(given[one] for one in names), default)

    def value(name: str) -> Column:
        typed, none = SETTING_PARSERS[types[name].type](text(name)), documented.unlimited.get(name)
        return typed if none is None else F.when(typed == none, F.lit(NO_LIMIT)).otherwise(typed)

    return F.struct(*(value(name).alias(name) for name in names))


def _text(value: Value) -> Column:
    if value is None:
        return F.lit(None).cast("string")
    return F.lit(value if isinstance(value, str) else json_text(value))


def missing_settings(settings: Column, names: Iterable[str]) -> Column:
    """Return text that lists the settings without a value; null if all have a value."""
    tests = [F.when(settings[name].isNull(), F.lit(name)) for name in names]
    absent = F.array_compact(F.array(F.lit(None).cast("string"), *tests))
    words = F.concat(F.array_join(absent, ", "), F.lit(": no documented default, and not set"))
    return F.when(F.size(absent) > 0, words)
