"""CONFIG: default settings as documented."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from hypothesis import strategies as st
from pulsar_conformance import specs
from pulsar_conformance.conformance.common.check import Expect, readable
from pulsar_conformance.conformance.common.operation import FlatCase, Operation
from pulsar_conformance.conformance.common.trial import Json, Trial

SWITCHES = {"true": True, "false": False}
DECIMAL = re.compile(r"-?\d{1,15}(\.\d{1,15})?")


def same_setting(allowed: Any, answered: Any) -> bool:
    """True if two values of a setting are equal; the string "5" equals the number 5."""
    first, second = _value_of(allowed), _value_of(answered)
    # In Python, booleans are numbers.
    return isinstance(first, bool) == isinstance(second, bool) and bool(first == second)


def _value_of(value: Any) -> Any:
    """Return the boolean or number that a string represents; None for an empty string.

    Other values are returned unchanged.
    """
    if not isinstance(value, str):
        return value
    if value.lower() in SWITCHES:
        return SWITCHES[value.lower()]
    return float(value) if DECIMAL.fullmatch(value) else value or None


def _read_defaults(_case: FlatCase, answer: Json) -> Mapping[str, Any]:
    settings: Mapping[str, Any] = answer["settings"]
    return settings


def _same_defaults(allowed: Json, answer: Json) -> bool:
    """True if an answer has the allowed value of each setting that an example lists."""
    answered = answer["settings"]
    return all(
        same_setting(value, answered.get(name)) for name, value in allowed["settings"].items()
    )


DEFAULTS = Operation(
    id="settings.defaults",
    view=lambda case, settings, _readings: FlatCase(case, settings),
    read=_read_defaults,
    matches=_same_defaults,
    examples=({},),
)


def has_the_documented_default(
    name: str, case: FlatCase, answer: Mapping[str, Any], expect: Expect
) -> None:
    """A setting has the default that the profile's documents state."""
    expect.given(name in case.settings.defaults, "the profile's documents print a default")
    default, answered = case.settings.defaults[name], answer.get(name)
    expect.reached()
    allowed = "empty" if default in (None, "") else readable(default)
    shown = "nothing" if answered is None else readable(answered)
    expect.that(same_setting(default, answered), f"{name}: {allowed}", shown)


for rule in specs.load().rules.values():
    if rule.area == "CONFIG":
        DEFAULTS.check(rule.id, draws=st.just(Trial.of(DEFAULTS.id, {})))(
            partial(has_the_documented_default, rule.settings[0])
        )
