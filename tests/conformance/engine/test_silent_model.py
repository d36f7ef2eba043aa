"""The model fails no rule, whichever alternatives it follows without declaring them."""

from dataclasses import replace
from random import Random

import pytest
from pulsar_conformance import specs
from pulsar_conformance.adapters.reference import ReferenceConnection
from pulsar_conformance.conformance.engine import ask
from pulsar_conformance.conformance.engine import implementation as implementations
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.readings import documented_alternatives
from pulsar_conformance.conformance.engine.run import Run

PROFILES = (
    "documented-3.0", "documented-2.10", "documented-2.4",
    "documented-4.0", "documented-4.2", "documented-5.0",
)  # fmt: skip
COMBINATIONS = 50
EXAMPLES = 8
FEW_EXAMPLES = 3
"""Number of cases per rule for each choice of readings that the usual tests try."""

SAMPLED = 240
"""The usual tests try one in this many choices; `nox -s thorough` tries all choices."""


class Silent(ReferenceConnection):
    """The model under readings that it does not declare."""

    def __init__(self, profile, follows):
        super().__init__("silent", profile, follows)
        self.hello = replace(self.hello, name="silent", readings={})


def choices():
    """Yield each documented alternative alone, and random combinations of alternatives."""
    for profile in PROFILES:
        usual, random = specs.load().default_readings(profile), Random(profile)
        known = {name: some for name, some in documented_alternatives(profile).items() if some}
        for name, values in known.items():
            for value in values:
                if value != usual[name]:
                    yield profile, {name: value}
        for _ in range(COMBINATIONS):
            yield profile, {name: random.choice(values) for name, values in known.items()}


def tried():
    for number, (profile, follows) in enumerate(choices()):
        every = number % SAMPLED != SAMPLED - 1
        marks = pytest.mark.thorough if every else ()
        examples = EXAMPLES if every else FEW_EXAMPLES
        [*names] = (f"{name}={value}" for name, value in follows.items())
        about = names[0] if len(names) == 1 else f"combination-{number}"
        yield pytest.param(profile, follows, examples, id=f"{profile}-{about}", marks=marks)


@pytest.mark.parametrize(("profile", "follows", "examples"), list(tried()))
def test_the_silent_model_fails_nothing(profile, follows, examples, monkeypatch, tmp_path):
    monkeypatch.setattr(implementations, "connect", lambda *_: Silent(profile, follows))
    plan = Plan.make(["reference"], [profile], examples=examples, seed=3, root=tmp_path)
    assert not wrong_verdicts(plan, profile), follows


TWO_UNDECIDED = {
    "uniform-trigger": "either", "threshold-released": "usage",
    "broker-rates": "bundles", "shed-window": "long-term",
}  # fmt: skip
"""Alternatives, of which the first two determine the verdict on one rule each."""


def test_two_rules_may_each_need_a_reading_that_is_undecided(monkeypatch, tmp_path):
    def without_the_first(*given):
        return {name: some for name, some in aims(*given).items() if name != "uniform-trigger"}

    profile, rules, aims = "documented-4.2", ["UNIFORM-02", "THRESHOLD-*"], ask.aimed_trials
    monkeypatch.setattr(ask, "aimed_trials", without_the_first)
    monkeypatch.setattr(implementations, "connect", lambda *_: Silent(profile, TWO_UNDECIDED))
    plan = Plan.make(["reference"], [profile], rules=rules, examples=2, seed=3, root=tmp_path)
    assert not wrong_verdicts(plan, profile)


def wrong_verdicts(plan, profile):
    """Return, by rule ID, the reason of each verdict that is a failure, an error or undecided."""
    run = Run(plan, "reference", profile)
    try:
        verdicts = [run.verdict(rule) for rule in run.rules]
    finally:
        run.close()
    return {
        one.rule: (one.failure and one.failure.answered) or one.why
        for one in verdicts
        if one.verdict not in ("pass", "not_applicable", "unexercised")
    }
