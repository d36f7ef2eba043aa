"""Confirm: asks about a fault again, and finds the smallest case that still shows it.

After this step, nothing more is asked about the rule. A fault that depends on earlier questions
disappears if its case is asked alone after a restart. Such a fault is reported with the shortest
sequence of questions that reproduces it, not with a single case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pulsar_conformance import fixtures, specs
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.conformance.cases import saved
from pulsar_conformance.conformance.cases.legality import example_allows
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.conformance.common.events import CaseReduced, Listener
from pulsar_conformance.conformance.common.trial import Json, Question, Trial, canonical
from pulsar_conformance.conformance.engine.ask import AnsweredTrial
from pulsar_conformance.conformance.engine.attribute import Findings, attribute_faults, own_faults
from pulsar_conformance.conformance.engine.draw import readings_fit_example
from pulsar_conformance.conformance.engine.evaluate import ALLOWED, Fault
from pulsar_conformance.conformance.engine.judge import AppliedRule, JudgedImplementation
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.stories.operations import REPLAY

if TYPE_CHECKING:
    from pulsar_conformance.conformance.cases.deviations import Deviation

RECURRENCES = 2
"""Number of times that a fault must recur to be confirmed, if a case takes seconds."""

MAX_REPEATS = 6
"""Maximum number of times that a case is asked again until its fault has recurred often enough.

An implementation that decides at random fails only sometimes. Stories are repeated only
`RECURRENCES` times: brokers act concurrently, so that timing may be the cause of an intermittent
fault.
"""

MAX_FAULTS = 3
"""Maximum number of a rule's faults whose cases are asked again, if a case takes seconds."""

MAX_UNCERTAIN = 32
"""Maximum number of a rule's faults that are examined in search of a fault under all readings."""

MAX_RESTARTS = 80
"""Maximum number of restarts in a run; with a program that starts slowly, these take 30 s."""

MAX_SEQUENCES = 3
"""Maximum number of searches for a sequence of questions in a run. Few are enough, because one
mistake that depends on earlier questions violates many rules.
"""

MAX_RANDOM = 2
"""Number of irreproducible faults after which answers are assumed to be random."""

TRIED_AT_EVERY_LENGTH = 8
"""Length up to which sequences of earlier questions are tried at every length.

An implementation that counts its questions may fail only after an exact number of them.
"""


@dataclass(frozen=True)
class ShownFault:
    """The smallest case found that shows a confirmed fault."""

    fault: Fault
    alone: Json | None = None
    """If `fault` is a sequence of questions: the answer to the last question when asked alone."""


@dataclass(frozen=True)
class ConfirmedFindings:
    """The findings about a rule after all questions have been asked."""

    findings: Findings
    fault: ShownFault | None = None
    flaky: tuple[Fault, ...] = ()
    """Faults that did not recur when asked again."""
    example: AnsweredTrial | None = None
    """A worked example whose answer differs from the expected one."""


class Confirmer:
    """Confirms the findings of a run, within the limit on restarts."""

    def __init__(self, plan: Plan, notify: Listener) -> None:
        self._plan = plan
        self._notify = notify
        self._restarts_left = MAX_RESTARTS
        self._sequences = 0
        self._random = 0

    def confirm(self, findings: Findings, deviation: Deviation | None = None) -> ConfirmedFindings:
        """Ask again about a rule's faults, and return the result. Errors: `AdapterError`."""
        if findings.error is not None:
            raise findings.error
        applied = findings.applied
        fault = recurring_fault(applied, findings.own) if findings.own else None
        if fault is None and deviation is not None:
            fault = self._fault_of(deviation, applied)
        if fault is not None:
            return ConfirmedFindings(findings, self.with_smallest_case(applied, fault, deviation))
        example = None if findings.own else wrong_example(applied, findings.answered)
        return ConfirmedFindings(findings, flaky=tuple(findings.own), example=example)

    def with_smallest_case(
        self, applied_rule: AppliedRule, fault: Fault, deviation: Deviation | None = None
    ) -> ShownFault:
        """Return a confirmed fault, with the smallest case found for it. Errors: `AdapterError`.

        The case is not reduced if it is being replayed, if it fails only sometimes, or if cases
        take seconds and the list of known deviations already names a saved case.
        """
        known = deviation is not None and bool(deviation.cases) and applied_rule.costly
        if self._plan.replay is not None or known or fault.recurrence:
            small = fault
        else:
            small = self._reduced_fault(applied_rule, fault)
        alone = None
        if small.trial.before:
            implementation = applied_rule.judged.implementation
            [*_, alone] = implementation.answers_after_restart(small.trial.alone)
        return ShownFault(small, alone)

    def deviation_shown_here(
        self, findings: Findings, listed: Sequence[Deviation]
    ) -> Deviation | None:
        """Return the first listed deviation of other versions that this implementation shares.

        It shares a deviation if a case of the deviation's entry fails with the listed answer.
        """
        if findings.error is not None:
            return None
        for one in listed:
            for file, fault in self._faults_of(one, findings.applied):
                if one.expects_answer(file, fault.outcome.answered):
                    return one.of_another_version()
        return None

    def _fault_of(self, deviation: Deviation, applied_rule: AppliedRule) -> Fault | None:
        """Return a fault shown by a saved case of a known deviation; None if no case fails.

        Always None in a replay, because one case cannot prove that a deviation is gone.
        """
        implementation = applied_rule.judged.implementation
        if self._plan.replay is not None or implementation.hello.own is not None:
            return None
        return next((fault for _, fault in self._faults_of(deviation, applied_rule)), None)

    def _faults_of(
        self, deviation: Deviation, applied_rule: AppliedRule
    ) -> Iterator[tuple[Path, Fault]]:
        """Yield each saved case of a known deviation that violates its rule, with the fault."""
        for file in deviation.cases:
            try:
                trial = saved.load_saved(file, applied_rule.judged.evaluator.defaults).trial
                [fault] = own_faults(applied_rule, [trial])
            except (saved.BadCase, AdapterError):
                continue
            if fault is not None:
                yield file, fault

    def _reduced_fault(self, applied_rule: AppliedRule, fault: Fault) -> Fault:
        """Return a fault of the same kind with the smallest trial or question sequence found."""

        from pulsar_conformance.conformance.engine.reduce import smallest_case, smallest_unanswered

        def report(candidates: int) -> None:
            name = applied_rule.judged.implementation.name
            self._notify(CaseReduced(name, applied_rule.rule.id, candidates))

        if fault.outcome.unanswered:
            return smallest_unanswered(applied_rule, fault, report)
        small = smallest_case(applied_rule, fault.trial, report)
        known = applied_rule.costly and small == fault.trial
        [found] = [fault] if known else own_faults(applied_rule, [small])
        for trial in [small, fault.trial] if small != fault.trial else [small]:
            alone = self._result_when_alone(applied_rule, trial)
            if alone is None:
                break
            if alone.outcome.violated:
                return alone
        else:
            return self._shortest_sequence(applied_rule, fault, report) or _with_remark(
                fault, "asked alone, the case gets an allowed answer"
            )
        if found is None and applied_rule.costly:
            return fault
        return found or _with_remark(fault, "asked again, the case got an allowed answer")

    def _result_when_alone(self, applied_rule: AppliedRule, trial: Trial) -> Fault | None:
        """Ask a trial alone after a restart; return the answers as a fault, even if they are
        allowed.

        None if restarts are slow or used up, or if answers are known to be random. Errors:
        `AdapterError`.
        """
        slow = applied_rule.costly or not applied_rule.judged.implementation.restarts_cleanly
        if slow or not self._restarts_left or self._random >= MAX_RANDOM:
            return None
        self._restarts_left -= 1
        return _ask_after_restart(applied_rule, trial)

    def _shortest_sequence(
        self, applied_rule: AppliedRule, fault: Fault, report: Callable[[int], None]
    ) -> Fault | None:
        """Return the fault with the shortest sequence of questions that reproduces it, or None.

        If neither the last few earlier questions nor all of them reproduce the fault, the answer is
        assumed to be random. Errors: `AdapterError`.
        """
        before = applied_rule.judged.implementation.questions_before(fault.trial)
        if not before or self._sequences >= MAX_SEQUENCES:
            return None
        self._sequences += 1

        def fails(trial: Trial) -> bool:
            if not self._restarts_left:
                return False
            self._restarts_left -= 1
            report(len(trial.before) + len(trial.questions))
            if not applied_rule.judged.evaluator.legal(trial):
                return False
            try:
                return _ask_after_restart(applied_rule, trial).outcome.violated
            except AdapterError:
                return False

        trial = _SequenceSearch(fails, fault.trial).shortest(before)
        found = None if trial is None else _ask_after_restart(applied_rule, trial)
        if found is None or not found.outcome.violated:
            self._random += 1
            return None
        return found


def _ask_after_restart(applied_rule: AppliedRule, trial: Trial) -> Fault:
    answers = applied_rule.judged.implementation.answers_after_restart(trial)
    return Fault(trial, answers, applied_rule.outcome(trial, answers))


def _with_remark(fault: Fault, remark: str) -> Fault:
    """Return a fault with a remark appended to the text of its answer."""
    outcome = fault.outcome
    answered = f"{outcome.answered}; {remark}"
    return replace(fault, outcome=replace(outcome, answered=answered))


def recurring_fault(applied_rule: AppliedRule, faults: Sequence[Fault]) -> Fault | None:
    """Return the fault to report, or None if no fault recurs.

    This is the first fault that violates the rule under all open readings or, if there is none,
    the first fault. If cases take seconds, it is the smallest fault that recurs.
    """
    if not applied_rule.costly:
        return next(filter(applied_rule.is_certain, faults[:MAX_UNCERTAIN]), faults[0])
    smallest = sorted(faults, key=lambda fault: len(canonical(fault.trial.as_json())))[:MAX_FAULTS]
    return next(
        filter(None, (_confirm_recurrence(applied_rule, fault) for fault in smallest)), None
    )


def _confirm_recurrence(applied_rule: AppliedRule, fault: Fault) -> Fault | None:
    """Ask about a fault again, and return the fault; None if it does not recur.

    The fault gets a note if it recurs only sometimes.
    """
    most = RECURRENCES if REPLAY.id in fault.trial.operations else MAX_REPEATS
    recurred = asked = 0
    while recurred < RECURRENCES and asked - recurred <= most - RECURRENCES:
        [found] = own_faults(applied_rule, [fault.trial])
        recurred, asked = recurred + (found is not None), asked + 1
    if recurred < RECURRENCES:
        return None
    return fault if recurred == asked else replace(fault, recurrence=f"{recurred} of {asked} times")


def wrong_example(
    applied_rule: AppliedRule, answered: Sequence[AnsweredTrial]
) -> AnsweredTrial | None:
    """Return the first worked example whose answer differs from the answer worked out by hand.

    An example counts against the first rule that it names. It is ignored if a check rejects the
    answer, because the check's message says more than that two answers differ. Errors:
    `AdapterError`.
    """
    judged = applied_rule.judged
    for one, answers in answered:
        example = one.example
        if example is None or example.rules[0] != applied_rule.rule.id:
            continue
        if any("unsupported" in answer for answer in answers):
            continue
        if not _follows_example_readings(example, judged) or not judged.evaluator.legal(one.trial):
            continue
        if _release_differs(example, judged, one.trial):
            continue
        right = example.required_answers is None or example_allows(example, answers)
        if not right and not _is_rejected(applied_rule, one.trial, answers):
            return one, answers
    return None


def _follows_example_readings(example: fixtures.Example, judged: JudgedImplementation) -> bool:
    """True if the implementation is known to follow the readings that an example assumes."""
    how = judged.resolved.how
    sure = all(how[name] not in ("undecided", "mixed") for name in example.readings)
    return sure and readings_fit_example(example, judged.evaluator.readings)


def _release_differs(example: fixtures.Example, judged: JudgedImplementation, trial: Trial) -> bool:
    """True if the profile is that of a release whose model does not give the example's answer."""
    right = judged.model_answers(trial) if judged.released else None
    return right is not None and not example_allows(example, right)


def _is_rejected(applied_rule: AppliedRule, trial: Trial, answers: Sequence[Json]) -> bool:
    """True if a check rejects the answers, or a presupposed rule is violated."""
    judged = applied_rule.judged
    every = specs.load().rules_of(judged.resolved.profile)
    chosen = [one for one in every if one.id in checks() and judged.resolved.applies(one)]
    apart = [
        (Trial((one,)), [answer]) for one, answer in zip(trial.questions, answers, strict=True)
    ]
    judge = judged.evaluator.judge
    if any(judge(one.id, *part).violated for part in ((trial, answers), *apart) for one in chosen):
        return True
    [blame] = attribute_faults(applied_rule, [Fault(trial, answers, ALLOWED)])
    return blame.rule is not None


class _SequenceSearch:
    """Searches for the shortest sequence of earlier questions after which a trial fails."""

    def __init__(self, fails: Callable[[Trial], bool], trial: Trial) -> None:
        self._fails = fails
        self._trial = trial

    def shortest(self, before: Sequence[Question]) -> Trial | None:
        """Return the trial with the fewest and simplest earlier questions that make it fail.

        None if it does not fail after all questions in `before`.
        """
        endings = (before[-size:] for size in range(1, min(TRIED_AT_EVERY_LENGTH, len(before)) + 1))
        found = next(filter(self._fails_after, endings), None)
        if found is None and not self._fails_after(before):
            return None
        return self._simplify_cases(
            self._remove_questions(found or self._sufficient_ending(before))
        )

    def _sufficient_ending(self, before: Sequence[Question]) -> Sequence[Question]:
        """Return the end of `before` after which the trial fails, found by doubling its length."""
        size = 2 * TRIED_AT_EVERY_LENGTH
        while size < len(before) and not self._fails_after(before[-size:]):
            size *= 2
        return before[-size:]

    def _fails_after(self, before: Sequence[Question]) -> bool:
        return self._fails(self._trial.after(before))

    def _remove_questions(self, before: Sequence[Question]) -> Sequence[Question]:
        """Remove questions while the fault remains: halves, then quarters, then smaller parts."""
        size = len(before) // 2
        while size and len(before) > 1:
            starts = range(0, len(before), size)
            shorter = ([*before[:start], *before[start + size :]] for start in starts)
            found = next((one for one in shorter if one and self._fails_after(one)), None)
            if found is None:
                size //= 2
            else:
                before, size = found, min(size, len(found) // 2)
        return before

    def _simplify_cases(self, before: Sequence[Question]) -> Trial:
        """Return the trial with simplified cases, to be asked after all questions in `before`."""
        from pulsar_conformance.conformance.engine.reduce import one_at_a_time, reduce
        from pulsar_conformance.conformance.engine.reduce_steps import CASE_STEPS

        judged = len(self._trial.questions)

        def sequence(trial: Trial) -> Trial:
            return Trial(trial.questions[-judged:], trial.questions[:-judged])

        def failing(trials: Sequence[Trial]) -> list[bool]:
            return [self._fails(sequence(one)) for one in trials]

        whole = Trial((*before, *self._trial.questions))
        return sequence(reduce(whole, one_at_a_time(failing, MAX_RESTARTS), CASE_STEPS))
