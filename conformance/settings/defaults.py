"""CONFIG: the defaults that the documents print."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from hypothesis import strategies as st
from pulsar_conformance import specs
from pulsar_conformance.conformance.common.expect import Expect, as_text
from pulsar_conformance.conformance.common.operation import FlatCase
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.settings.operations import DEFAULTS, same_setting


def has_the_documented_default(
    name: str, case: FlatCase, answer: Mapping[str, Any], expect: Expect
) -> None:
    """A setting has the default that the profile's documents print."""
    expect.given(name in case.settings.defaults, "the profile's documents print a default")
    default, answered = case.settings.defaults[name], answer.get(name)
    expect.reached()
    allowed = "empty" if default in (None, "") else as_text(default)
    shown = "nothing" if answered is None else as_text(answered)
    expect.that(same_setting(default, answered), f"{name}: {allowed}", shown)


for rule in specs.load().rules.values():
    if rule.area == "CONFIG":
        DEFAULTS.check(rule.id, draws=st.just(Trial.of(DEFAULTS.id, {})))(
            partial(has_the_documented_default, rule.settings[0])
        )
