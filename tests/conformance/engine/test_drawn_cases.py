"""Drawn cases are legal by the schema and rules of their operation; runs do not check this."""

import pytest
from pulsar_conformance.conformance.cases.legality import trial_flaw
from pulsar_conformance.conformance.engine.draw import draw_trials
from pulsar_conformance.specs import load
from sampling import one_in

EXAMPLES = 16
SEEDED = {"documented-3.0": 5, "documented-4.2": 6}


@pytest.mark.parametrize(("profile", "seed"), one_in(2, SEEDED.items()))
def test_every_drawn_case_is_valid(profile, seed):
    spec = load()
    defaults, drawn = spec.defaults(profile), 0
    for rule in spec.rules_of(profile):
        if rule.untestable is None:
            for trial in draw_trials(rule.id, profile, seed, EXAMPLES):
                drawn += 1
                assert trial_flaw(trial, defaults) is None, rule.id
    assert drawn > 100 * EXAMPLES
