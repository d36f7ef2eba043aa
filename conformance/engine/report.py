"""Report: makes a rule's verdict from its confirmed findings."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pulsar_conformance import fixtures, specs
from pulsar_conformance.conformance.cases import saved
from pulsar_conformance.conformance.common.events import EXAMPLE_PREFIX, Failure, Verdict
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.engine.ask import AnsweredTrial
from pulsar_conformance.conformance.engine.attribute import Findings
from pulsar_conformance.conformance.engine.confirm import ConfirmedFindings, ShownFault
from pulsar_conformance.conformance.engine.evaluate import Choices, Fault, Outcome
from pulsar_conformance.conformance.engine.judge import AppliedRule, JudgedImplementation
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.readings import (
    documented_alternatives,
    documented_readings,
)
from pulsar_conformance.reference import MissingSetting, Model
from pulsar_conformance.reports.table import LISTED_REASON
from pulsar_conformance.specs.text import counted, cut

if TYPE_CHECKING:
    from pulsar_conformance.conformance.cases.deviations import Deviation


def verdict_of(
    confirmed: ConfirmedFindings, blank: Verdict, plan: Plan, deviation: Deviation | None
) -> Verdict:
    """Return the verdict that follows from confirmed findings and a known deviation, if any."""
    findings = confirmed.findings
    counts = Counter(one.origin for one, _ in findings.answered)
    searched = plan.campaign_results(blank.implementation, blank.profile, blank.rule)
    verdict = replace(
        _verdict_of_findings(confirmed, blank, plan),
        saved=counts["saved"],
        examples=counts["example"],
        drawn=counts["drawn"] + counts["edited"] + searched.drawn,
        reached=findings.reached + searched.reached,
    )
    return with_deviation(verdict, plan, deviation)


def with_deviation(verdict: Verdict, plan: Plan, deviation: Deviation | None) -> Verdict:
    """Return the verdict, changed to known_deviation or unexpected_pass for a listed deviation.

    If a deviation is listed, a pass is unexpected: the list is out of date. In a replay, a pass is
    not unexpected, because a single case cannot prove that a deviation is gone.
    """
    if deviation is None:
        return verdict
    if verdict.verdict == "fail":
        return replace(verdict, verdict="known_deviation", why=deviation.why)
    if verdict.verdict == "error" or plan.replay is not None:
        return verdict
    word = verdict.verdict.replace("_", " ")
    stale = f"{LISTED_REASON}{word}: {deviation.why}"
    return replace(verdict, verdict="unexpected_pass", why=stale)


def _verdict_of_findings(confirmed: ConfirmedFindings, blank: Verdict, plan: Plan) -> Verdict:
    findings = confirmed.findings
    applied = findings.applied
    if confirmed.fault is not None:
        failure = failure_of(applied, confirmed.fault, plan)
        return replace(blank, verdict="fail", failure=failure)
    if confirmed.flaky:
        fault = confirmed.flaky[0]
        file = saved.save(fault.trial, plan.root, {}).as_posix()
        answered = cut(fault.outcome.answered, LONGEST_ANSWER)
        again = "broke the rule, but not when it was run again"
        why = f"not reproducible: {file} {again}; the wrong answer was {answered}"
        return replace(blank, verdict="undecided", why=why)
    if confirmed.example is not None:
        failure = example_failure(applied, plan, confirmed.example)
        return replace(blank, verdict="fail", failure=failure)
    searched = plan.campaign_results(blank.implementation, blank.profile, blank.rule)
    if findings.reached + searched.reached == 0:
        verdict = verdict_if_unreached(blank, findings)
        if applied.judged.implementation.hello.own is not None:
            own = "the cluster answers only questions about itself, and its state does not test"
            why = f"{own} the rule: {verdict.why}"
            return replace(verdict, verdict="not_applicable", why=why)
        return verdict if plan.replay is not None else _error_if_never_answered(applied, verdict)
    if findings.aside:
        cases = sum(findings.aside.values())
        why = f"{cases} more cases break a presupposed rule, and count against that rule"
        return replace(blank, why=why)
    return blank


def verdict_if_unreached(verdict: Verdict, findings: Findings) -> Verdict:
    """Return the verdict on a rule that no case exercised, with the reason.

    Every case was unsupported or did not meet the rule's preconditions. The reason is taken from
    the cases drawn for the rule, if there are any: saved cases may belong to any rule.
    """
    pairs = list(zip(findings.answered, findings.outcomes, strict=True))
    others = "saved", "edited", "aimed", "other"
    own = [outcome for (one, _), outcome in pairs if one.origin not in others]
    outcomes: Sequence[Outcome] = own or findings.outcomes
    unsupported = [outcome.why for outcome in outcomes if outcome.word == "unsupported"]
    if unsupported and len(unsupported) == len(outcomes):
        return replace(verdict, verdict="not_applicable", why=unsupported[0])
    reasons = Counter(outcome.why for outcome in outcomes if outcome.word == "not_reached")
    why = reasons.most_common(1)[0][0] if reasons else "no case was drawn"
    if any(outcome.unanswered for outcome in outcomes):
        why = "no case to which it applies was answered"
    if findings.aside:
        why = "every case to which it applies breaks a presupposed rule"
    return replace(verdict, verdict="unexercised", why=why)


def _error_if_never_answered(applied_rule: AppliedRule, verdict: Verdict) -> Verdict:
    """Return the verdict, or an error verdict if every case of an offered operation is declined.

    Otherwise an implementation could pass by declining everything as unsupported.
    """
    if verdict.verdict != "not_applicable":
        return verdict
    implementation = applied_rule.judged.implementation
    declined = next(filter(implementation.always_declines, applied_rule.rule.operations), None)
    if declined is None:
        return verdict
    problem = f"it offers {declined}, but answers no case of it: unsupported, {verdict.why}"
    hint = f"leave {declined} out of hello, or name the supported strategies and algorithms there"
    why = f"{implementation.adapter}: answer: {problem}\n  next: {hint}"
    return replace(verdict, verdict="error", why=why)


NOX_SESSION = "NOX_CURRENT_SESSION"
"""Environment variable with the name of the nox session that is running."""

LONGEST_ANSWER = 400
"""Maximum length of an answer in a failure, in characters; `ask` prints longer answers."""

NOT_CERTAIN = ("undecided", "mixed", "pinned")
"""Values of `How` for which the command that reproduces a failure pins the reading.

A reading found from answers is also pinned if another alternative, or a combination of
alternatives, would let the case pass.
"""

KNOWN = ("documented", "declared")
"""Values of `How` with which a reading is the same in every run."""

SCRIPT = "pulsar-conformance"


def failure_of(applied_rule: AppliedRule, shown: ShownFault, plan: Plan) -> Failure:
    """Save the case of a confirmed fault, and return the description of the failure."""
    judged, fault = applied_rule.judged, shown.fault
    consulted, how = _documented_consulted(applied_rule, fault), judged.resolved.how
    profile, readings = judged.resolved.profile, judged.evaluator.readings.choices
    passes_under = tuple(_alternatives_that_pass(applied_rule, fault))
    excluded = [one for one in passes_under if judged.resolved.excludes(*one.split("="))]
    adapter, file = judged.implementation.adapter, plan.replay_file
    if plan.replay is None:
        about = {"profile": profile, "readings": dict(readings)}
        by_answers = {"excluded": {adapter: excluded}} if excluded else {}
        file = saved.save(fault.trial, plan.root, {**about, **by_answers}).as_posix()
    excluded += plan.excluded.get(adapter, ())
    recurrence = f"; asked again, {fault.recurrence}" if fault.recurrence else ""
    decisive = {one.partition("=")[0] for one in passes_under}
    pinned = {
        name: value
        for name, value in consulted.items()
        if how[name] in NOT_CERTAIN or (how[name] == "found" and name in decisive)
    }
    if not _fails_without_pins(applied_rule, fault, pinned):
        found = {name: value for name, value in readings.items() if how.get(name) == "found"}
        alone = {name: value for name, value in found.items() if name in consulted}
        pinned |= alone if _fails_without_pins(applied_rule, fault, {**pinned, **alone}) else found
    return Failure(
        case_file=file,
        size=fault.trial.size,
        derivation=tuple(model_derivation(judged, fault.trial)),
        allowed=fault.outcome.allowed,
        answered=f"{fault.outcome.answered}{recurrence}",
        again=reproduce_command(judged, plan, "--replay", file, pinned=pinned),
        readings=tuple(f"{name}={value} ({how[name]})" for name, value in consulted.items()),
        passes_under=tuple(one for one in passes_under if one not in excluded),
        answers=tuple(_answer_lines(shown)),
        settings=tuple(settings_in_force(profile, readings, fault.trial)),
    )


def _answer_lines(shown: ShownFault) -> Iterator[str]:
    """Yield a line for each answer, labelled if there are several; nothing for one long answer."""
    trial, answers = shown.fault.trial, shown.fault.answers
    if trial.before:
        yield f"asked alone: {_as_json(shown.alone)}"
        others = counted(len(trial.before), "other question")
        yield f"asked after {others}: {_as_json(answers[-1])}"
    elif len(trial.questions) > 1:
        for number, answer in enumerate(answers, 1):
            yield f"to question {number}: {_as_json(answer)}"
    elif len(text := _as_json(answers[0])) <= LONGEST_ANSWER:
        yield text


def _alternatives_that_pass(applied_rule: AppliedRule, fault: Fault) -> Iterator[str]:
    """Yield, as `name=value`, the alternatives, not in force, that would allow the answers."""
    chosen = _chosen_domains(applied_rule)
    for name, value in _documented_consulted(applied_rule, fault).items():
        for other in specs.load().readings[name].values:
            domains = {**chosen, name: [other]}
            if other != value and not applied_rule.breaks_a_rule(
                fault.trial, fault.answers, domains
            ):
                yield f"{name}={other}"


def _chosen_domains(applied_rule: AppliedRule) -> dict[str, list[str]]:
    """Return the alternative in force of each reading, as the only possible one."""
    return {name: [one] for name, one in applied_rule.judged.evaluator.readings.choices.items()}


def _fails_without_pins(applied_rule: AppliedRule, fault: Fault, pinned: Choices) -> bool:
    """True if the case fails under all choices of readings neither pinned nor known."""
    resolved = applied_rule.judged.resolved
    domains = _chosen_domains(applied_rule)
    for name, values in documented_alternatives(resolved.profile).items():
        if values and name not in pinned and resolved.how.get(name) not in KNOWN:
            domains[name] = list(values)
    return applied_rule.breaks_a_rule(fault.trial, fault.answers, domains)


def _documented_consulted(applied_rule: AppliedRule, fault: Fault) -> Choices:
    """Return the documented readings on which a fault depends, with their alternatives."""
    documented = documented_readings(applied_rule.judged.resolved.profile)
    consulted = applied_rule.consulted(fault.trial, fault.answers)
    return {name: value for name, value in consulted.items() if name in documented}


def model_derivation(judged: JudgedImplementation, trial: Trial) -> list[str]:
    """Return the lines of the model's derivation of its own answers, under the same readings.

    If the questions differ, each derivation has a heading.
    """
    model = judged.model
    lines = []
    different = [(question, len(list(same))) for question, same in groupby(trial.questions)]
    for number, ((operation, case), times) in enumerate(different, 1):
        if operation in model.operations:
            lines += [f"question {number} of {len(different)}"] if len(different) > 1 else []
            lines += [f"asked {times} times"] if times > 1 else []
            lines += model.derive(operation, case).lines()
    return lines


def example_failure(applied_rule: AppliedRule, plan: Plan, example: AnsweredTrial) -> Failure:
    """Return the failure of a worked example that got another answer than the expected one."""
    sourced, answers = example
    assert sourced.example is not None, "the trial of a worked example"
    worked, judged = sourced.example, applied_rule.judged
    return Failure(
        case_file=place_of_example(worked),
        size=f"{EXAMPLE_PREFIX}{worked.id}",
        derivation=(*worked.arithmetic, *model_derivation(judged, sourced.trial)),
        allowed=" or ".join(map(_each_as_json, worked.allowed or ())),
        answered=_each_as_json(answers),
        again=reproduce_command(judged, plan, "--rules", applied_rule.rule.id),
    )


def place_of_example(example: fixtures.Example) -> str:
    """Return the file and line of a worked example, as `FILE:LINE`."""
    return f"fixtures/{example.file}:{example.line}"


def reproduce_command(
    judged: JudgedImplementation,
    plan: Plan,
    *options: str,
    pinned: Choices = MappingProxyType({}),
) -> str:
    """Return the command line that reproduces a failure.

    The command pins the readings in `pinned`, because a single case might not decide them.
    """
    words = [*_run_command(), "--adapter", judged.implementation.adapter]
    words += ["--judge-by", judged.resolved.profile]
    for name, value in {**pinned, **plan.readings}.items():
        words += ["--reading", f"{name}={value}"]
    return shlex.join([*words, *options])


def _run_command() -> tuple[str, ...]:
    if NOX_SESSION in os.environ:
        return ("nox", "-s", "conformance", "--")
    return (*command_of_this_process(), "run")


def command_of_this_process() -> tuple[str, ...]:
    """Return the command by which this process was started."""
    script = Path(sys.argv[0]).stem == SCRIPT
    return (SCRIPT,) if script else ("python", "-m", "pulsar_conformance.conformance")


def _each_as_json(answers: Sequence[object]) -> str:
    """Format the answers of a trial as JSON."""
    return _as_json(answers[0] if len(answers) == 1 else answers)


def _as_json(answer: object) -> str:
    return json.dumps(answer, ensure_ascii=False)


class RecordingSettings(specs.Defaults):
    """Settings that record which of them are looked up."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        if isinstance(settings, specs.Defaults):  # copies `unused`, `renamed` etc.
            vars(self).update(vars(settings))
        self.looked_up: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        value = self.looked_up[name] = super().__getitem__(name)
        return value


def settings_in_force(profile: str, readings: Mapping[str, str], trial: Trial) -> Iterator[str]:
    """Yield the settings that the model looks up, as `name=value (SOURCE)`.

    A setting of the case is included if the derivation uses it, even if the answer does not: if
    AvgShedder finds no difference in usage, the derivation still says for how many cycles there
    must be a difference. The source is the case, or the defaults of the profile. A default has the
    name in the profile's documents; a setting of the case that has a deprecated name is listed with
    both names.
    """
    model = Model(profile, readings)
    renamed = specs.load().defaults(profile).renamed
    defaults = RecordingSettings(model.defaults)
    given: dict[str, Any] = {}
    for operation, case in trial.questions:
        if operation not in model.operations or "settings" not in case:
            continue
        settings = RecordingSettings(case["settings"])
        recorded = {**case, "settings": settings}
        try:
            model.with_defaults(defaults).answer(operation, recorded)
            tuple(model.derive(operation, recorded).steps)
        except MissingSetting:
            continue
        given |= settings.looked_up
    for name, value in given.items():
        now = f"; now {renamed[name]}" if name in renamed else ""
        yield f"{name}={json.dumps(value)} (case{now})"
    for name, value in defaults.looked_up.items():
        if name not in given:
            yield f"{renamed.get(name, name)}={json.dumps(value)} (default of {profile})"
