"""`pulsar-conformance run --characterize`: prints a table of readings, and judges nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pulsar_conformance.conformance.compare.characterization import Finding
from pulsar_conformance.conformance.compare.characterization import characterize as find_out
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.specs.text import table


def characterize(plan: Plan) -> int:
    """Print the readings that each implementation follows; return 1 if one is none, mixed or false.

    Errors: `AdapterError`.
    """
    failed = False
    for adapter in plan.adapters:
        for profile in plan.profiles:
            implementation = Implementation(adapter, profile, plan.readings, plan.limits)
            try:
                findings = find_out(implementation, plan.seed)
            finally:
                implementation.close()
            _print(f"{implementation.name}, asked for {profile}", findings)
            failed = failed or any(finding.fails for finding in findings)
    return int(failed)


def _print(title: str, findings: Sequence[Finding]) -> None:
    rows = [(one.reading, one.says or "-", one.found) for one in findings]
    lines = table(("reading", "says", "found"), rows)
    print("\n".join((title, *lines, *_notes(findings), "")))


def _notes(findings: Sequence[Finding]) -> Iterator[str]:
    """The number of readings found, and a line for each that was not, or was declared falsely."""
    failed = [finding for finding in findings if finding.fails]
    open_ones = [finding for finding in findings if finding.found == "undecided"]
    counts = (
        (len(findings) - len(failed) - len(open_ones), "found"),
        (len(open_ones), "undecided"),
        (len(failed), "FAIL"),
    )
    yield ", ".join(f"{count} {word}" for count, word in counts if count)
    for finding in open_ones:
        yield f"  undecided: {finding.reading}: {finding.why}"
    for finding in failed:
        why = finding.why or f"it follows {finding.found}, and says {finding.says}"
        yield f"  FAIL: {finding.reading}: {why}"
