"""A failed answer counts only against rules about the question that was asked."""

from dataclasses import replace

import pytest
from pulsar_conformance.adapters.reference import ReferenceConnection
from pulsar_conformance.conformance.cases.saved import SavedTrial
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.engine import implementation as implementations
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.run import Run

PROFILE = "documented-3.0"
POSITIONS = "specified_positions_divide"
BY_POSITION = {
    "bundle": "0x40000000_0x80000000",
    "algorithm": POSITIONS,
    "by": "admin",
    "settings": {},
    "topics": [],
    "positions": ["0x50000000"],
}


class FailsByPosition(ReferenceConnection):
    """Fails if a bundle has to be split at positions."""

    def __init__(self, costly):
        super().__init__("slow", PROFILE, {})
        self.hello = replace(self.hello, name="slow", costly=costly)

    def exchange(self, operation, batch):
        answers = super().exchange(operation, batch)
        failed = {"failed": "HTTP 500"}
        pairs = zip(batch, answers, strict=True)
        return [failed if case.get("algorithm") == POSITIONS else one for case, one in pairs]


@pytest.mark.parametrize("costly", [(), ("bundles.split",)])
@pytest.mark.parametrize("broke", ["SPLIT-12", None])
def test_a_failed_answer_is_reported_by_rules_that_speak_about_the_case(
    costly, broke, monkeypatch, tmp_path
):
    monkeypatch.setattr(implementations, "connect", lambda *_: FailsByPosition(costly))
    plan = Plan.make(["reference"], [PROFILE], (), ("SPLIT-1[0-2]",), examples=2, root=tmp_path)
    if broke is not None:
        plan = replace(plan, saved=(SavedTrial(Trial.of("bundles.split", BY_POSITION), broke),))
    run = Run(plan, "reference", PROFILE)
    found = {rule.id: run.verdict(rule).verdict for rule in run.rules}
    assert found == {"SPLIT-10": "pass", "SPLIT-11": "pass", "SPLIT-12": "fail"}
