"""`pulsar-conformance run --characterize`: the readings that an implementation follows.

Rules are not judged; declared readings are verified.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from pulsar_conformance import specs
from pulsar_conformance.conformance.catalogue import aims_by_reading
from pulsar_conformance.conformance.engine.draw import aimed_at
from pulsar_conformance.conformance.engine.evaluate import (
    Disagreeing,
    Domains,
    Evidence,
    common_alternatives,
    disagreeing_trials,
    narrow_domains,
    without_broken_rules,
)
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.readings import (
    describe_mixed,
    documented_readings,
    evidence_of,
)
from pulsar_conformance.reference import Readings
from pulsar_conformance.reference.shedding import short_name
from pulsar_conformance.reports.table import LACKING_REASON
from pulsar_conformance.specs.errors import print_note
from pulsar_conformance.specs.text import table


@dataclass(frozen=True)
class Finding:
    """The result for a reading: the alternative that an implementation was found to follow."""

    reading: str
    declared: str | None
    """The alternative that the implementation declares, or None."""
    found: str
    """An alternative, or `none`, `mixed` or `undecided`."""
    why: str = ""
    disagreeing: Disagreeing = ()
    """Two trials that show a reading to be `mixed`."""

    @property
    def fails(self) -> bool:
        """True if the result is `none` or `mixed`, or differs from the declared alternative."""
        if self.found == "undecided":
            return False
        return self.found in ("none", "mixed") or self.declared not in (None, self.found)


def characterize(implementation: Implementation, seed: int) -> list[Finding]:
    """Return the result for every reading of the profile.

    Errors: `AdapterError`.
    """
    readings = documented_readings(implementation.profile)
    found = {
        name: evidence_of(implementation, name, seed)
        for name in readings
        if name in aims_by_reading()
    }
    every = _every_alternative(implementation)
    sound = without_broken_rules(found, every)
    domains = narrow_domains(sound, every)
    return [
        _find_reading(implementation, name, found.get(name), sound.get(name, ()), domains, seed)
        for name in readings
    ]


def _every_alternative(implementation: Implementation) -> Domains:
    """Return the alternatives of each reading that the profile allows; a declared one comes
    first.
    """
    profile = implementation.profile
    asked = Readings.of(profile, implementation.pinned)
    usual = {**asked.choices, **implementation.declared}
    return {
        name: sorted(
            specs.load().open_values(profile, name), key=lambda value: value != usual[name]
        )
        for name in specs.load().readings
    }


def _find_reading(
    implementation: Implementation,
    reading: str,
    evidence: Sequence[Evidence] | None,
    sound: Sequence[Evidence],
    domains: Domains,
    seed: int,
) -> Finding:
    declared = implementation.hello.readings.get(reading)
    if evidence is None:
        return Finding(reading, declared, "undecided", _why_unasked(reading))
    if not evidence:
        return Finding(
            reading, declared, "undecided", _why_unanswered(implementation, reading, seed)
        )
    every = {**domains, reading: specs.load().open_values(implementation.profile, reading)}
    for one in evidence:
        if not one.allows(every):
            return Finding(reading, declared, "none", one.complaint)
    left = common_alternatives(reading, sound, every)
    if not left:
        two = disagreeing_trials(reading, sound, every)
        return Finding(reading, declared, "mixed", disagreeing=two)
    if len(left) > 1:
        return Finding(reading, declared, "undecided", " or ".join(left))
    [value] = left
    return Finding(reading, declared, value)


def _why_unanswered(implementation: Implementation, reading: str, seed: int) -> str:
    """Return why none of the cases that could decide a reading got an answer."""
    trials = aimed_at(reading, implementation.profile, seed)
    if not trials:
        return "every case that would decide this is illegal"
    reasons = [
        next(filter(None, map(implementation.why_unsupported, one.questions)), None)
        for one in trials
    ]
    lacking = dict.fromkeys(short_name(one.removeprefix(LACKING_REASON)) for one in reasons if one)
    if None in reasons or not lacking:
        return "it answers none of the cases that would decide this"
    return f"{LACKING_REASON}{' or '.join(lacking)}"


def _why_unasked(reading: str) -> str:
    """Return why there are no cases that could decide a reading."""
    rules = [rule for rule in specs.load().rules.values() if reading in rule.reading]
    if rules and all(rule.untestable for rule in rules):
        return f"{', '.join(rule.id for rule in rules)}, which would decide this, cannot be tested"
    return "no case exists yet that would decide it"


def print_characterization(plan: Plan) -> int:
    """Print each implementation's readings; return 1 if any is `none`, `mixed` or misdeclared.

    Errors: `AdapterError`.
    """
    failed = False
    for adapter in plan.adapters:
        for profile in plan.profiles:
            implementation = Implementation(adapter, profile, plan.readings, plan.limits)
            with closing(implementation):
                findings = characterize(implementation, plan.seed)
                notes = implementation.notes()
            findings = [_with_explanation(one, profile, plan.root) for one in findings]
            _print(f"{implementation.name}, asked for {profile}", findings)
            for note in notes:
                print_note(note)
            failed = failed or any(finding.fails for finding in findings)
    return int(failed)


def _with_explanation(finding: Finding, profile: str, root: Path) -> Finding:
    """Return a finding; if it is mixed, save the two cases that show it, and add the reason."""
    if finding.found != "mixed":
        return finding
    why = describe_mixed(finding.reading, finding.disagreeing, profile, root)
    return replace(finding, why=why)


def _print(title: str, findings: Sequence[Finding]) -> None:
    rows = [(one.reading, one.declared or "-", one.found) for one in findings]
    lines = table(("reading", "says", "found"), rows)
    print("\n".join((title, *lines, *_notes(findings), "")))


def _notes(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield the number of readings found, and a line for each undecided or misdeclared reading."""
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
        why = finding.why or f"it follows {finding.found}, but declares {finding.declared}"
        yield f"  FAIL: {finding.reading}: {why}"
