"""All but five rules about the newer operations are also judged on answers other than the model's.

ARCHITECTURE.md lists the five, each with the alternative of a reading that only the model follows.
"""

import json
import re
import shutil
from pathlib import Path

import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.run import Run

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "tests" / "mutants" / "foreign" / "documented.mjs"
PROFILES = ("documented-4.0", "documented-4.2", "documented-5.0")
OPERATIONS = {
    "report.due",
    "report.bundles",
    "channel.apply",
    "policy.changed",
    "bundles.create",
    "place.select",
    "place.broker",
    "cluster.replay",
}
JUDGED = ("pass", "known_deviation")
MOST = 5
LISTED = re.compile(r"^\| ([A-Z]+-\d+) \| `([a-z-]+): ([a-z-]+)` \|", re.MULTILINE)

pytestmark = [
    pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")
    for program in ("node", "go")
]


def rules():
    """Return the testable rules about the newer operations, by ID."""
    found = (rule for profile in PROFILES for rule in specs.load().rules_of(profile))
    return {
        rule.id: rule
        for rule in found
        if rule.untestable is None and not rule.any_operation and OPERATIONS & {*rule.operations}
    }


def published():
    """Return the rules by which released classes or running clusters were judged."""
    for file in (ROOT / "reports" / "published").glob("*.json"):
        report = json.loads(file.read_text("utf-8"))
        if report["implementation"]["name"].startswith(("pulsar", "cluster")):
            yield from (one["rule"] for one in report["verdicts"] if one["verdict"] in JUDGED)


def judged(adapter, names, root, *readings):
    """Judge an implementation, which must keep the rules; return the judged rules."""
    plan = Plan.make([adapter], PROFILES[-1:], readings, [*names], examples=8, root=root)
    run = Run(plan, adapter, PROFILES[-1])
    try:
        found = run.judge()
    finally:
        run.close()
    assert not found.errors
    return {name for name, one in found.findings.items() if one.reached and not one.own}


def test_five_rules_are_judged_on_the_answers_of_the_model_alone(tmp_path):
    left = rules().keys() - set(published())
    for adapter, readings in (
        (f"exec:node {PROGRAM}", ()),
        ("sample:go", ()),
        ("sample:go", ("channel-transfer=assigning",)),
    ):
        left -= judged(adapter, left, tmp_path, *readings)
    listed = {name: {reading: way} for name, reading, way in LISTED.findall(architecture())}
    assert listed == {name: rules()[name].reading for name in left}
    assert len(listed) <= MOST


def architecture():
    return (ROOT / "ARCHITECTURE.md").read_text("utf-8")
