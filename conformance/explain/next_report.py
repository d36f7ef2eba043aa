"""Shows where an unloaded bundle goes once its former owner no longer reports it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pulsar_conformance.conformance.common.trial import Question, Trial
from pulsar_conformance.conformance.explain.running import comparable_answers
from pulsar_conformance.conformance.placement.operations import ASSIGN
from pulsar_conformance.reference import Model
from pulsar_conformance.specs.text import paragraph


def next_report_lines(trial: Trial, model: Model) -> Iterator[str]:
    """Yield the decision after the owner's next report, if it differs from the one before.

    Clients look a bundle up as soon as it is unloaded, while the leader still counts it with its
    owner (ModularLoadManagerImpl.updateBundleData).
    """
    if trial.operation != ASSIGN.id or len(trial.questions) > 1:
        return
    case = trial.questions[0].case
    owner = owner_of(case, case["bundle"])
    if owner is None:
        return
    after = Trial((Question(ASSIGN.id, _released(case, owner)),))
    decided = comparable_answers(after, model)
    if decided == comparable_answers(trial, model):
        return
    told = " or ".join(sorted(decided))
    yield ""
    yield from paragraph(
        f"until the next report of {owner}, the leader counts the bundle there, even after its "
        f"unload; placed after that report, it goes {told}"
    )


def owner_of(case: Any, bundle: str) -> str | None:
    """Return the broker whose report has the bundle; None without one."""
    reports = case["brokers"].items()
    return next((name for name, one in reports if bundle in one.get("bundles", ())), None)


def _released(case: Any, owner: str) -> Any:
    """Return the case with the bundle removed from the owner's report."""
    bundle, report = case["bundle"], dict(case["brokers"][owner])
    report["bundles"] = [one for one in report["bundles"] if one != bundle]
    stats = report.get("lastStats", {})
    report["lastStats"] = {name: rates for name, rates in stats.items() if name != bundle}
    return {**case, "brokers": {**case["brokers"], owner: report}}
