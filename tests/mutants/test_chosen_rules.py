"""A rule finds the same faults, whether it is chosen alone or with all rules of its operations."""

import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.engine import implementation as implementations
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.run import Run

from mutants import defects
from mutants.evaluations import PROFILES
from mutants.test_shown_cases import silent

EXAMPLES = 16

SAMPLED = 200
"""The usual tests try one in this many defects; `nox -s thorough` tries all defects."""


def tried():
    for number, one in enumerate(defects.defects()):
        marks = () if number % SAMPLED == SAMPLED // 2 else pytest.mark.thorough
        yield pytest.param(one, id=one.name.replace(" ", "_"), marks=marks)


def finds(rules, wanted, profile, root):
    """True if a run of the chosen rules finds that the rule `wanted` is broken."""
    plan = Plan.make(["reference"], [profile], rules=rules, examples=EXAMPLES, root=root)
    run = Run(plan, "reference", profile)
    findings = run.judge().findings.get(wanted)
    return findings is not None and bool(findings.own)


@pytest.mark.parametrize("defect", list(tried()))
def test_a_rule_finds_alone_what_it_finds_among_all(defect, monkeypatch, tmp_path):
    rule = specs.load().rules[defect.rule]
    profile = next(one for one in PROFILES if one in rule.profiles)
    monkeypatch.setattr(implementations, "connect", lambda *_: silent(defect, profile))
    kindred = [
        one.id
        for one in specs.load().rules_of(profile)
        if set(one.operations) & set(rule.operations) and one.area != "ANSWER"
    ]
    alone = finds([rule.id], rule.id, profile, tmp_path / "alone")
    assert finds(kindred, rule.id, profile, tmp_path / "among") == alone
