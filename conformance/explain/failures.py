"""Format failures as text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.common.verdict import Failure, Verdict
from pulsar_conformance.reference import MissingSetting, Model
from pulsar_conformance.specs.text import WIDTH, paragraph
from pulsar_conformance.specs.words import printable

LABEL = 15

MOST_LINES = 120
"""The most lines of a derivation; `explain` shows a longer one whole."""


def format_failure(rule: specs.Rule, verdict: Verdict, name: str) -> str:
    """Format a failure: rule, statement, source, case, derivation, allowed and given answers.

    `name` is what the implementation calls itself.
    """
    warning = ", a warning as the rule is not a must" if verdict.warns else ""
    lines = [f"{rule.id} violated by {name}{warning}", *_block(f"{rule.title}.", 2)]
    lines += _block(rule.statement, 2)
    lines += [f"  {line}" for line in sources_of(rule, verdict.profile)]
    if verdict.failure is not None:
        lines += _case(verdict.failure)
    return printable("\n".join(lines))


def sources_of(rule: specs.Rule, profile: str) -> list[str]:
    """Document and section of each source in a profile, except copies."""
    documents = specs.load().documents
    judged_by = {name for one in specs.load().lineage(profile) for name in one.documents}
    found = [
        f"{source.document} § {source.section}"
        for source in rule.sources
        if source.document in judged_by and documents[source.document].copy_of is None
    ]
    return list(dict.fromkeys(found)) or [f"observed: {rule.why}"]


def _case(failure: Failure) -> Iterator[str]:
    yield from _entry("smallest case", f"{failure.case_file}   ({failure.size})")
    yield from (f"    {line}" for line in _shortened(failure.derivation))
    if failure.settings:
        yield from _entry("in force", ", ".join(failure.settings))
    if failure.readings:
        yield from _entry("rests on", ", ".join(failure.readings))
    if failure.passes_under:
        yield from _entry("passes under", " or ".join(failure.passes_under))
    yield from _entry("allowed", failure.allowed)
    yield from _entry("answered", failure.answered)
    for answer in failure.answers:
        yield from _entry("", answer)
    yield f"  {'again':<{LABEL}} {failure.again}"


def _shortened(lines: Sequence[str]) -> list[str]:
    """A derivation without its middle where it is longer than anyone reads."""
    if len(lines) <= MOST_LINES:
        return list(lines)
    half = MOST_LINES // 2
    left_out = f"… {len(lines) - 2 * half} lines more, which explain shows"
    return [*lines[:half], left_out, *lines[-half:]]


def _entry(label: str, text: str) -> list[str]:
    first, *rest = _block(text, LABEL + 3)
    return [f"  {label:<{LABEL}} {first.strip()}", *rest]


def _block(text: str, indent: int) -> list[str]:
    return paragraph(text, indent, width=WIDTH - 2) or [" " * indent]


class RecordingSettings(dict[str, Any]):
    """Settings by name that record which of them were looked up."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        self.looked_up: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        value = self.looked_up[name] = super().__getitem__(name)
        return value


def settings_in_force(profile: str, readings: Mapping[str, str], trial: Trial) -> Iterator[str]:
    """Settings that the model looks up: `name=value (case)`, or `(default of PROFILE)`."""
    model = Model(profile, readings)
    defaults = RecordingSettings(model.defaults)
    given: dict[str, Any] = {}
    for operation, case in trial.questions:
        if operation not in model.operations or "settings" not in case:
            continue
        settings = RecordingSettings(case["settings"])
        try:
            model.with_defaults(defaults).answer(operation, {**case, "settings": settings})
        except MissingSetting:
            continue
        given |= settings.looked_up
    for name, value in given.items():
        yield f"{name}={json.dumps(value)} (case)"
    for name, value in defaults.looked_up.items():
        if name not in given:
            yield f"{name}={json.dumps(value)} (default of {profile})"
