"""Releases and the model agree on every change of a bundle that the protocol allows."""

from itertools import product

import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.cases.legality import case_flaw
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.reference import Model

pytestmark = pytest.mark.pulsar

PROFILE = "documented-4.0"
BUNDLE = "shop/eu/0x00000000_0x80000000"
BROKERS = ("a", "b", "c")
STATES = ("free", "assigning", "owned", "releasing", "splitting", "deleted")
NAMED = (None, *BROKERS)
ENTRIES = [
    {"state": state, "to": to, "from": source}
    for state, to, source in product(STATES, NAMED, NAMED)
]
IN_FLIGHT = ("assigning", "releasing")
OPERATION = "channel.apply"


def each_change():
    """Yield a case for each state of a bundle and each change, with a lookup at every broker."""
    defaults = specs.load().defaults(PROFILE)
    lookups = [{"bundle": BUNDLE, "at": broker} for broker in BROKERS]
    for before, change in product([None, *ENTRIES], ENTRIES):
        units = {BUNDLE: before} if before else {}
        changes = [{"bundle": BUNDLE, **change}]
        case = {"units": units, "changes": changes, "lookups": lookups}
        if case_flaw(OPERATION, case, defaults) is None:
            yield case


def comparable(answer):
    """Return an answer without the lookups that break CHANNEL-12, a known deviation."""
    state = answer["units"].get(BUNDLE, {"state": None, "to": None})
    elsewhere = state["state"] in IN_FLIGHT
    lookups = [
        found
        for broker, found in zip(BROKERS, answer["lookups"], strict=True)
        if not elsewhere or broker == state["to"]
    ]
    return {**answer, "lookups": lookups}


def test_a_release_applies_each_change_as_the_model_does():
    cases = list(each_change())
    assert len(cases) > 2000
    release = Implementation("pulsar:4.2.4", PROFILE, {})
    answered = release.answers([Trial.of(OPERATION, case) for case in cases])
    model = Model(PROFILE)
    for case, [answer] in zip(cases, answered, strict=True):
        assert comparable(answer) == comparable(model.answer(OPERATION, case)), case
