"""Questions asked in other threads give the same verdicts, and their errors are raised."""

import sys
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.conformance.common.events import OperationAsked
from pulsar_conformance.conformance.engine.ask import resolve_future, run_immediately
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.run import Run

PROFILE = "documented-3.0"
ALWAYS_UNLOADS = (
    f"exec:{sys.executable} {Path(__file__).parents[2] / 'standins' / 'broken.py'} never"
)
"""An implementation that gives the same answer, an unload, to every question."""


def verdicts(root, adapter, rules, asking):
    plan = Plan.make([adapter], [PROFILE], rules=rules, examples=4, root=root)
    run = Run(plan, adapter, PROFILE, submit=asking)
    chosen = plan.rules_of(PROFILE)
    run.prepare()
    found = {rule.id: run.verdict(rule) for rule in chosen}
    run.close()
    return found


def relative(found, root):
    """Return verdicts as text, without the folder in which failing cases are saved."""
    return {rule: str(verdict).replace(str(root), "") for rule, verdict in found.items()}


@pytest.mark.parametrize("adapter", ["reference", ALWAYS_UNLOADS])
def test_it_makes_no_difference_where_questions_are_asked(adapter, tmp_path):
    rules = ["OVERLOAD-0[1-3]", "USAGE-01"]
    with ThreadPoolExecutor(2) as aside:
        there = verdicts(tmp_path / "there", adapter, rules, aside.submit)
    here = verdicts(tmp_path / "here", adapter, rules, run_immediately)
    assert relative(there, tmp_path / "there") == relative(here, tmp_path / "here")


def test_an_operation_that_breaks_is_an_error_of_its_own_rules_alone(tmp_path):
    with ThreadPoolExecutor(1) as aside:
        found = verdicts(tmp_path, ALWAYS_UNLOADS, ["SHED-01", "USAGE-01"], aside.submit)
    assert found["USAGE-01"].verdict == "error"
    assert "usage.max" in found["USAGE-01"].why
    assert found["SHED-01"].verdict == "fail"


def test_a_promise_is_kept_with_what_is_raised():
    def refuse():
        raise AdapterError("ask", "no", "", "", "stub")

    promised = Future()
    resolve_future(promised, refuse)
    with pytest.raises(AdapterError, match="no"):
        promised.result()
    promised = Future()
    resolve_future(promised, len, "four")
    assert promised.result() == 4


def in_wait(rules, root):
    """Return a run whose cases are drawn, its submitted tasks, and the list of its events."""
    plan = Plan.make([ALWAYS_UNLOADS], [PROFILE], rules=rules, examples=2, root=root)
    later, told = [], []
    run = Run(
        plan, ALWAYS_UNLOADS, PROFILE, told.append, lambda work, *given: later.append((work, given))
    )
    run.prepare()
    return run, later, told


def asked(later, told):
    """Run the tasks one after the other; return the operations that were asked, in order."""
    for work, given in later:
        work(*given)
    return [event.operation for event in told if isinstance(event, OperationAsked)]


def test_groups_of_operations_are_asked_one_after_the_other(tmp_path):
    run, later, told = in_wait(["SHED-0[12]", "USAGE-01"], tmp_path)
    assert len(later) == 1, "the second group waits for whoever asks the first"
    assert asked(later, told) == ["shed.select", "usage.max"]
    run.close()


def test_nothing_is_asked_of_a_run_that_is_closed(tmp_path):
    run, later, told = in_wait(["SHED-01", "USAGE-01"], tmp_path)
    run.close()
    assert asked(later, told) == []


def test_a_listener_that_raises_in_a_worker_ends_the_wait_for_its_answers(tmp_path):
    def broken(event):
        if isinstance(event, OperationAsked):
            raise BrokenPipeError("standard error is closed")

    plan = Plan.make([ALWAYS_UNLOADS], [PROFILE], rules=["SHED-01"], examples=2, root=tmp_path)
    with ThreadPoolExecutor(2) as background:
        run = Run(plan, ALWAYS_UNLOADS, PROFILE, broken, background.submit)
        [rule] = run.rules
        waiting = background.submit(run.verdict, rule)
        with pytest.raises(BrokenPipeError):
            waiting.result(timeout=60)
        run.close()


def test_a_thread_that_waits_for_a_run_that_is_closed_is_informed(tmp_path):
    run, later, told = in_wait(["SHED-01", "USAGE-01"], tmp_path)
    run.close()
    assert asked(later, told) == []
    with pytest.raises(CancelledError):
        run.verdict(run.rules[0])
