"""`pulsar-conformance run --characterize`: a table of readings, and judges nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pulsar_conformance.conformance.characterize import Finding
from pulsar_conformance.conformance.characterize import characterize as find_out
from pulsar_conformance.conformance.plan import Plan
from pulsar_conformance.conformance.respondent import Respondent
from rich import box
from rich.console import Console
from rich.table import Table

WIDTH = 80


def characterize(plan: Plan) -> int:
    """Prints what each implementation follows; 1 where one follows none, several, or another.

    Errors: `AdapterError`.
    """
    failed = False
    for adapter in plan.adapters:
        for profile in plan.profiles:
            respondent = Respondent(adapter, profile, plan.readings, plan.limits)
            try:
                findings = find_out(respondent, plan.seed)
            finally:
                respondent.close()
            _print(f"{respondent.name}, asked for {profile}", findings)
            failed = failed or any(finding.fails for finding in findings)
    return int(failed)


def _print(title: str, findings: Sequence[Finding]) -> None:
    table = Table(box=box.SIMPLE, pad_edge=False, title=title, title_justify="left")
    for heading in ("reading", "says", "found", ""):
        table.add_column(heading, overflow="fold")
    for row in _rows(findings):
        table.add_row(*row)
    Console(width=WIDTH, color_system=None, highlight=False).print(table)


def _rows(findings: Sequence[Finding]) -> Iterator[tuple[str, str, str, str]]:
    for finding in findings:
        told = f"FAIL: {finding.why or 'not what it says'}" if finding.fails else finding.why
        yield finding.reading, finding.says or "-", finding.found, told
