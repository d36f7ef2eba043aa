"""Confirm: ask a fault again, and find the smallest case or sequence of questions that shows it.

Nothing asks an implementation about a rule once this is over. A failure of memory passes when its
case is asked alone after a restart; the shortest sequence of questions found that shows it stands
in place of the case.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pulsar_conformance import fixtures, specs
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.conformance.cases import saved
from pulsar_conformance.conformance.cases.legality import allows
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.conformance.common.events import CaseReduced, Tell
from pulsar_conformance.conformance.common.trial import Json, Question, Trial, canonical
from pulsar_conformance.conformance.engine.ask import AnsweredTrial
from pulsar_conformance.conformance.engine.attribute import Findings, attribute_faults, own_faults
from pulsar_conformance.conformance.engine.draw import holds_under
from pulsar_conformance.conformance.engine.evaluate import ALLOWED, Fault
from pulsar_conformance.conformance.engine.judge import AppliedRule, JudgedImplementation
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.stories.operations import REPLAY

if TYPE_CHECKING:
    from pulsar_conformance.conformance.cases.deviations import Deviation

RECURRENCES = 2
"""Times that a fault has to recur where a case takes seconds; in a story, each time it is asked."""

MOST_REPEATS = 6
"""Times that a decision is asked for until its fault recurs; one made at random does now and then.

In a story brokers act at the same time, and a fault that comes and goes may be one of timing.
"""

MOST_FAULTS = 3
"""Faults of a rule that are asked again until one is confirmed, where a case takes seconds."""

MOST_UNCERTAIN = 32
"""Faults that are looked through for one that breaks a rule under every remaining alternative."""

MOST_RESTARTS = 80
"""Restarts of an implementation in a run: half a minute where a program starts slowly."""

MOST_SEQUENCES = 3
"""Sequences that are looked for in a run, since one memory makes many rules fail."""

MOST_RANDOM = 2
"""Faults that nothing shows again, after which an implementation is taken to answer at random."""

TRIED_ONE_BY_ONE = 8
"""Earlier questions up to which each number is tried: a counter needs a certain number."""


@dataclass(frozen=True)
class ShownFault:
    """The smallest case found that shows a confirmed fault."""

    fault: Fault
    alone: Json | None = None
    """The answer to the same question alone, where a sequence of questions is shown."""


@dataclass(frozen=True)
class Confirmed:
    """The findings about a rule once everything has been asked."""

    findings: Findings
    fault: ShownFault | None = None
    flaky: tuple[Fault, ...] = ()
    """Faults that never recurred."""
    example: AnsweredTrial | None = None
    """A worked example whose answer differs from the one worked by hand."""


class Confirmer:
    """Confirms the findings of a run, within its limits on restarts."""

    def __init__(self, plan: Plan, tell: Tell) -> None:
        self._plan = plan
        self._tell = tell
        self._restarts_left = MOST_RESTARTS
        self._sequences = 0
        self._random = 0

    def confirm(self, findings: Findings, deviation: Deviation | None = None) -> Confirmed:
        """Ask the questions that decide a rule's verdict. Errors: `AdapterError`."""
        if findings.error is not None:
            raise findings.error
        applied = findings.applied
        fault = recurring_fault(applied, findings.own) if findings.own else None
        example = None if findings.own else wrong_example(applied, findings.answered)
        if fault is None and example is None and deviation is not None:
            fault = self._fault_of(deviation, applied)
        if fault is not None:
            return Confirmed(findings, self.shown(applied, fault, deviation))
        return Confirmed(findings, flaky=tuple(findings.own), example=example)

    def shown(
        self, applied: AppliedRule, fault: Fault, deviation: Deviation | None = None
    ) -> ShownFault:
        """Return a fault with the smallest case found. Errors: `AdapterError`.

        A replayed case stays as it is, as does one that does not always fail, or a known deviation
        with a saved case where each case takes seconds.
        """
        known = deviation is not None and bool(deviation.cases) and applied.costly
        if self._plan.replay is not None or known or fault.recurrence:
            small = fault
        else:
            small = self._small(applied, fault)
        alone = None
        if small.trial.before:
            implementation = applied.judged.implementation
            [*_, alone] = implementation.answers_after_restart(small.trial.alone)
        return ShownFault(small, alone)

    def _fault_of(self, deviation: Deviation, applied: AppliedRule) -> Fault | None:
        """Return the fault that a known deviation's own cases show, if no other case showed one.

        A replayed case is no proof that a deviation is gone.
        """
        implementation = applied.judged.implementation
        if self._plan.replay is not None or implementation.hello.own is not None:
            return None
        for file in deviation.cases:
            try:
                trial = saved.load_saved(file, applied.judged.evaluator.defaults).trial
                [fault] = own_faults(applied, [trial])
            except (saved.BadCase, AdapterError):
                continue
            if fault is not None:
                return fault
        return None

    def _small(self, applied: AppliedRule, fault: Fault) -> Fault:
        """Return the smallest trial found that fails in the same way, or a sequence of questions.

        Errors: `AdapterError`.
        """

        from pulsar_conformance.conformance.engine.reduce import smallest_case, smallest_unanswered

        def report(candidates: int) -> None:
            name = applied.judged.implementation.name
            self._tell(CaseReduced(name, applied.rule.id, candidates))

        if fault.outcome.unanswered:
            return smallest_unanswered(applied.judged, fault, report)
        small = smallest_case(applied, fault.trial, report)
        known = applied.costly and small == fault.trial
        [found] = [fault] if known else own_faults(applied, [small])
        for trial in [small, fault.trial] if small != fault.trial else [small]:
            alone = self._alone(applied, trial)
            if alone is None:
                break
            if alone.outcome.violated:
                return alone
        else:
            return self._sequence(applied, fault, report) or _with(
                fault, "asked alone, it is answered as allowed"
            )
        if found is None and applied.costly:
            return fault
        return found or _with(fault, "an allowed answer when asked again")

    def _alone(self, applied: AppliedRule, trial: Trial) -> Fault | None:
        """Return the outcome of a trial that is asked alone after a restart.

        None if that is not to be found out: a restart takes long, there were enough of them, or
        answers are known to be random. Errors: `AdapterError`.
        """
        slow = applied.costly or not applied.judged.implementation.restarts
        if slow or not self._restarts_left or self._random >= MOST_RANDOM:
            return None
        self._restarts_left -= 1
        return _asked(applied, trial)

    def _sequence(
        self, applied: AppliedRule, fault: Fault, report: Callable[[int], None]
    ) -> Fault | None:
        """Return the shortest sequence of questions found that ends in a fault, or None.

        If neither the last few earlier questions nor all of them show it again, the answer is
        random. Errors: `AdapterError`.
        """
        before = applied.judged.implementation.questions_before(fault.trial)
        if not before or self._sequences >= MOST_SEQUENCES:
            return None
        self._sequences += 1

        def fails(trial: Trial) -> bool:
            if not self._restarts_left:
                return False
            self._restarts_left -= 1
            report(len(trial.before) + len(trial.questions))
            if not applied.judged.evaluator.legal(trial):
                return False
            try:
                return _asked(applied, trial).outcome.violated
            except AdapterError:
                return False

        trial = _SequenceSearch(fails, fault.trial).shortest(before)
        found = None if trial is None else _asked(applied, trial)
        if found is None or not found.outcome.violated:
            self._random += 1
            return None
        return found


def _asked(applied: AppliedRule, trial: Trial) -> Fault:
    answers = applied.judged.implementation.answers_after_restart(trial)
    return Fault(trial, answers, applied.outcome(trial, answers))


def _with(fault: Fault, remark: str) -> Fault:
    """Return a fault whose answer is followed by a remark."""
    outcome = fault.outcome
    answered = f"{outcome.answered}; {remark}"
    return replace(fault, outcome=replace(outcome, answered=answered))


def recurring_fault(applied: AppliedRule, faults: Sequence[Fault]) -> Fault | None:
    """Return the first fault that is certain, or else the first one.

    Where a case takes seconds, it is the smallest one that recurs. Errors: `AdapterError`.
    """
    if not applied.costly:
        return next(filter(applied.is_certain, faults[:MOST_UNCERTAIN]), faults[0])
    smallest = sorted(faults, key=lambda fault: len(canonical(fault.trial.as_json())))[:MOST_FAULTS]
    return next(filter(None, (_recurring(applied, fault) for fault in smallest)), None)


def _recurring(applied: AppliedRule, fault: Fault) -> Fault | None:
    """Return the fault if it recurs, with the number of times if that was not each time."""
    most = RECURRENCES if REPLAY.id in fault.trial.operations else MOST_REPEATS
    came = asked = 0
    while came < RECURRENCES and asked - came <= most - RECURRENCES:
        [found] = own_faults(applied, [fault.trial])
        came, asked = came + (found is not None), asked + 1
    if came < RECURRENCES:
        return None
    return fault if came == asked else replace(fault, recurrence=f"{came} times of {asked}")


def wrong_example(applied: AppliedRule, answered: Sequence[AnsweredTrial]) -> AnsweredTrial | None:
    """Return the first worked example whose answer differs from that by hand.

    It counts against the first rule that the example names, unless a check rejects the answer: a
    check says more than that the answer differs. Errors: `AdapterError`.
    """
    judged = applied.judged
    for one, answers in answered:
        example = one.example
        if example is None or example.rules[0] != applied.rule.id:
            continue
        if any("unsupported" in answer for answer in answers):
            continue
        if not _worked_for(example, judged) or not judged.evaluator.legal(one.trial):
            continue
        if _release_differs(example, judged, one.trial):
            continue
        right = example.demanded is None or allows(example, answers)
        if not right and not _rejected(applied, one.trial, answers):
            return one, answers
    return None


def _worked_for(example: fixtures.Example, judged: JudgedImplementation) -> bool:
    """True if an example was worked under readings that the implementation surely follows."""
    how = judged.resolved.how
    sure = all(how[name] not in ("undecided", "mixed") for name in example.readings)
    return sure and holds_under(example, judged.evaluator.readings)


def _release_differs(example: fixtures.Example, judged: JudgedImplementation, trial: Trial) -> bool:
    """True if the release by whose profile is judged answers an example otherwise than by hand."""
    right = judged.model_answers(trial) if judged.released else None
    return right is not None and not allows(example, right)


def _rejected(applied: AppliedRule, trial: Trial, answers: Sequence[Json]) -> bool:
    """True if a check rejects the answers, or a presupposed rule is broken."""
    judged = applied.judged
    every = specs.load().rules_of(judged.resolved.profile)
    chosen = [one for one in every if one.id in checks() and judged.resolved.applies(one)]
    apart = [
        (Trial((one,)), [answer]) for one, answer in zip(trial.questions, answers, strict=True)
    ]
    judge = judged.evaluator.judge
    if any(judge(one.id, *part).violated for part in ((trial, answers), *apart) for one in chosen):
        return True
    [blame] = attribute_faults(applied, [Fault(trial, answers, ALLOWED)])
    return blame.rule is not None


class _SequenceSearch:
    """Looks for the shortest sequence of questions that ends in a fault of a trial."""

    def __init__(self, fails: Callable[[Trial], bool], trial: Trial) -> None:
        self._fails = fails
        self._trial = trial

    def shortest(self, before: Sequence[Question]) -> Trial | None:
        """Return the sequence with as few earlier questions as found, each made simpler.

        None if neither the last few nor all of the questions before show the fault.
        """
        few = (before[-size:] for size in range(1, min(TRIED_ONE_BY_ONE, len(before)) + 1))
        found = next(filter(self._shows, few), None)
        if found is None and not self._shows(before):
            return None
        return self._simpler(self._fewest(found or self._ending(before)))

    def _ending(self, before: Sequence[Question]) -> Sequence[Question]:
        """Return the shortest part at the end that shows the fault, of twice the size each time."""
        size = 2 * TRIED_ONE_BY_ONE
        while size < len(before) and not self._shows(before[-size:]):
            size *= 2
        return before[-size:]

    def _shows(self, before: Sequence[Question]) -> bool:
        return self._fails(self._trial.after(before))

    def _fewest(self, before: Sequence[Question]) -> Sequence[Question]:
        """Leave out questions: halves, then quarters, down to single ones."""
        size = len(before) // 2
        while size and len(before) > 1:
            starts = range(0, len(before), size)
            shorter = ([*before[:start], *before[start + size :]] for start in starts)
            found = next((one for one in shorter if one and self._shows(one)), None)
            if found is None:
                size //= 2
            else:
                before, size = found, min(size, len(found) // 2)
        return before

    def _simpler(self, before: Sequence[Question]) -> Trial:
        """Return the sequence with less in its cases."""
        from pulsar_conformance.conformance.engine.reduce import one_at_a_time, reduce
        from pulsar_conformance.conformance.engine.reduce_steps import CONTENT

        judged = len(self._trial.questions)

        def sequence(trial: Trial) -> Trial:
            return Trial(trial.questions[-judged:], trial.questions[:-judged])

        def failing(trials: Sequence[Trial]) -> list[bool]:
            return [self._fails(sequence(one)) for one in trials]

        whole = Trial((*before, *self._trial.questions))
        return sequence(reduce(whole, one_at_a_time(failing, MOST_RESTARTS), CONTENT))
