"""Clauses, each with a defect that breaks it and an implementation that just keeps it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from pulsar_conformance import specs
from pulsar_conformance.conformance.engine.draw import draw_trials
from pulsar_conformance.conformance.engine.evaluate import Outcome
from pulsar_conformance.reference import Model
from pulsar_conformance.reports.runs import requirements
from pulsar_conformance.specs.lines import read_sheet
from pulsar_conformance.specs.schemas import check_shape

from mutants.defects import Defect, bench_of
from mutants.evaluations import EXAMPLES, profile_of
from mutants.judged import Bench
from mutants.loading import another_model
from mutants.making import MODEL

FOLDER = Path(__file__).parent.parent
GENERATED = "annotations.yaml"
"""File name of the rules about defaults, which are generated from annotations."""


@dataclass(frozen=True)
class Allowance:
    """An implementation that a clause allows: the model, or the model with one change."""

    name: str
    file: str = ""
    """Path below `reference/`; empty for the model itself."""
    was: str = ""
    becomes: str = ""

    @cached_property
    def model(self) -> type[Model]:
        """Return the class of the changed model."""
        if not self.file:
            return Model
        source = (MODEL / self.file).read_text("utf-8").replace(self.was, self.becomes)
        found: type[Model] = another_model({self.file: source})[""].Model
        return found


@cache
def allowances() -> Mapping[str, Allowance]:
    """Return the implementations in `allowances.yaml`, by name. Errors: `SpecError`."""
    sheet = read_sheet(FOLDER, "mutants/allowances.yaml")
    check_shape(sheet, "clause-allowances")
    found = {entry["name"]: Allowance(**entry) for entry in sheet.data}
    for number, one in enumerate(found.values()):
        count = (MODEL / one.file).read_text("utf-8").count(one.was) if one.file else 1
        if count != 1:
            problem = f"{one.file} has that {count} times; write as much as is there once"
            raise sheet.error((number, "was"), problem)
    return found


def rules_with_clauses_due() -> Iterator[specs.Rule]:
    """Yield the testable `must` rules of all frozen profiles and of `unwritten-3.0`.

    Rules generated from annotations are left out, since they are alike and share one predicate.
    """
    known = specs.load()
    profiles = [name for name in known.profiles if requirements.frozen_requirements(name)]
    due = {rule.id for name in (*profiles, "unwritten-3.0") for rule in known.rules_of(name)}
    for rule in known.rules.values():
        generated = rule.file == GENERATED
        if rule.id in due and rule.level == "must" and rule.untestable is None and not generated:
            yield rule


def is_held(rule: specs.Rule) -> bool:
    """True if each clause of a rule has both a `broken_by` and a `most`."""
    return bool(rule.clauses) and all(one.broken_by and one.most for one in rule.clauses)


def found_by_drawn_cases(defect: Defect, seed: int) -> bool:
    """True if some drawn case shows that the defect breaks its own rule, not a presupposed one."""
    bench = bench_of(defect, profile_of(defect.rule))
    trials = draw_trials(defect.rule, bench.profile, seed, EXAMPLES)
    legal = bench.subject.evaluator.legal
    return any(legal(trial) and bench.own_fault(defect.rule, trial) for trial in trials)


def outcomes_of(
    allowance: Allowance, rule: specs.Rule, seed: int
) -> tuple[Sequence[Outcome], bool]:
    """Return a rule's outcomes for an allowance, and whether any answer is not the model's."""
    profile = profile_of(rule.id)
    bench = Bench(allowance.model, profile, rule.reading)
    right = Bench(Model, profile, rule.reading)
    found, differs = [], False
    for trial in draw_trials(rule.id, profile, seed, EXAMPLES):
        if bench.subject.evaluator.legal(trial):
            answers = bench.unchecked_answers(trial)
            differs = differs or answers != right.unchecked_answers(trial)
            found.append(bench.subject.evaluator.judge(rule.id, trial, answers))
    return found, differs
