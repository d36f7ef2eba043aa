"""Alternatives that answers excluded stay excluded when the saved case is replayed."""

import json
from dataclasses import replace

import pytest
from pulsar_conformance.adapters.reference import ReferenceConnection
from pulsar_conformance.conformance.compare.replay import replay_cases
from pulsar_conformance.conformance.engine import ask
from pulsar_conformance.conformance.engine import implementation as implementations
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.readings import ResolvedReadings, resolve_readings
from pulsar_conformance.conformance.engine.run import Run
from pulsar_conformance.conformance.session import lines_on_rules_left_out

PROFILE, BROKEN = "documented-3.0", "SHED-04"
FREE, BLOCKED = "grace-edge=free", "grace-edge=blocked"


@pytest.fixture
def failure(monkeypatch, tmp_path):
    """Return a function that judges an implementation that frees bundles at the edge of grace."""

    def fail(excluded=(), **options):
        free = ReferenceConnection("free", PROFILE, {"grace-edge": "free"})
        free.hello = replace(free.hello, readings={})
        monkeypatch.setattr(implementations, "connect", lambda *_: free)
        with monkeypatch.context() as patched:
            patched.setattr(ResolvedReadings, "excludes", lambda _, *one: "=".join(one) in excluded)
            plan = Plan.make(
                ["reference"], [PROFILE], [BLOCKED], [BROKEN], root=tmp_path, **options
            )
            run = Run(plan, "reference", PROFILE)
            return run.verdict(run.rules[0]).failure

    return fail


def test_an_excluded_alternative_is_no_excuse_in_a_replay(failure, tmp_path):
    found = failure([FREE])
    assert found.passes_under == ()
    file = tmp_path / found.case_file
    assert json.loads(file.read_text())["excluded"] == {"reference": [FREE]}
    assert failure(replay=str(file)).passes_under == ()


def test_answers_of_one_implementation_exclude_nothing_for_another(failure, tmp_path):
    file = tmp_path / failure([FREE]).case_file
    content = json.loads(file.read_text())
    content["excluded"] = {"exec:another": content["excluded"]["reference"]}
    file.write_text(json.dumps(content))
    assert failure(replay=str(file)).passes_under == (FREE,)


def test_what_answers_have_not_excluded_is_an_excuse_in_a_replay_too(failure, tmp_path):
    found = failure()
    assert found.passes_under == (FREE,)
    file = tmp_path / found.case_file
    assert "excluded" not in json.loads(file.read_text())
    assert failure(replay=str(file)).passes_under == (FREE,)


@pytest.mark.parametrize("how", ["undecided", "found"])
def test_a_case_that_passes_only_under_another_reading_is_not_fixed(
    how, failure, monkeypatch, tmp_path
):
    """The class is unchanged, but the reading that the run was given is missing in the replay."""
    file = tmp_path / failure().case_file
    free = ReferenceConnection("free", PROFILE, {"grace-edge": "free"})
    free.hello = replace(free.hello, readings={})
    monkeypatch.setattr(implementations, "connect", lambda *_: free)
    if how == "undecided":
        monkeypatch.setattr(ask, "aimed_trials", lambda *_: {})

    def replayed(*readings):
        plan = Plan.make(["reference"], [PROFILE], readings, replay=str(file))
        [outcome] = replay_cases([file], lambda _: plan)
        return outcome, " ".join(lines_on_rules_left_out(Run(plan, "reference", PROFILE), True))

    outcome, said = replayed()
    assert (outcome.outcome, outcome.status) == ("UNJUDGED", 0)
    hint = f"this replay judges by {FREE} ({how})"
    assert outcome.why.startswith(f"breaks {BROKEN} under {BLOCKED}, as when the case was saved")
    assert hint in outcome.why
    assert hint in said
    assert outcome.why.endswith(f"--reading {BLOCKED}")
    outcome, said = replayed(BLOCKED)
    assert (outcome.outcome, outcome.rules, outcome.status) == ("FAILED", (BROKEN,), 1)
    assert hint not in said
    outcome, said = replayed(FREE)
    assert outcome.outcome == "FIXED"
    assert hint not in said


class WithoutGrace(ReferenceConnection):
    """Follows another alternative than the usual one, and fails if anything was unloaded."""

    def __init__(self):
        super().__init__("without-grace", PROFILE, {"overload-trigger": "reaches"})
        self.hello = replace(self.hello, readings={})

    def exchange(self, operation, batch):
        answers = super().exchange(operation, batch)
        for place, case in enumerate(batch):
            if case.get("recentlyUnloaded"):
                answers[place] = {"failed": "NullPointerException"}
        return answers


def test_a_question_without_an_answer_hides_no_reading(monkeypatch):
    monkeypatch.setattr(implementations, "connect", lambda *_: WithoutGrace())
    asked = implementations.Implementation("reference", PROFILE, {})
    found = resolve_readings(asked, seed=0)
    assert (found.how["overload-trigger"], found.chosen["overload-trigger"]) == ("found", "reaches")
