"""Failures of memory: what was asked before decides the answer.

Such a failure passes when its case is asked alone, of an implementation that starts anew. What
shows it is a row of questions: the shortest one that is found is saved in place of the case.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.conformance.common.trial import Question, Trial
from pulsar_conformance.conformance.engine.hearing import Hearing
from pulsar_conformance.conformance.engine.judge import Fault
from pulsar_conformance.conformance.engine.reduction import CONTENT, reduce, sparing

MOST_STARTS = 60
"""So often an implementation is started anew to find one row."""

MOST_ROWS = 8
"""So many rows are looked for in a run: one memory makes many rules fail."""

ONE_BY_ONE = 8
"""Up to so many questions before, each number is tried: what counts its questions needs one."""

MOST_CHECKED = 40
"""So many failures of a run are asked again alone."""

Asked = Callable[[int], None]
"""Is told the number of questions of each row that is asked."""


class Recollection:
    """Finds out whether failures of a rule are failures of memory."""

    def __init__(self, hearing: Hearing, tell: Asked) -> None:
        self._hearing = hearing
        self._subject = hearing.subject
        self._tell = tell

    def asked_alone(self, trial: Trial) -> Fault | None:
        """What the rule says of a trial that is asked alone after a start, with the answers.

        None if that is not to be found out: a start takes long, or enough were asked so.
        Errors: `AdapterError`.
        """
        one = self._subject.implementation
        slow = self._hearing.costly or not one.restarts
        if slow or one.checked_alone >= MOST_CHECKED:
            return None
        one.checked_alone += 1
        return self._judged(trial)

    def row(self, fault: Fault) -> Fault | None:
        """The shortest row of questions found that ends in a fault, or None.

        Errors: `AdapterError`.
        """
        one = self._subject.implementation
        before = one.asked_before(fault.trial)
        if not before or one.rows_sought >= MOST_ROWS:
            return None
        one.rows_sought += 1
        search = _Rows(self._fails, fault.trial)
        trial = search.shortest(before)
        row = None if trial is None else self._judged(trial)
        return row if row is not None and row.outcome.violated else None

    def _fails(self, trial: Trial) -> bool:
        self._tell(len(trial.before) + len(trial.questions))
        if not self._subject.court.legal(trial):
            return False
        try:
            return self._judged(trial).outcome.violated
        except AdapterError:
            return False

    def _judged(self, trial: Trial) -> Fault:
        answers = self._subject.implementation.afresh(trial)
        return Fault(trial, answers, self._hearing.outcome(trial, answers))


class _Rows:
    """Looks for the shortest row, in at most `MOST_STARTS` starts."""

    def __init__(self, fails: Callable[[Trial], bool], trial: Trial) -> None:
        self._fails = fails
        self._trial = trial
        self._left = MOST_STARTS

    def shortest(self, before: Sequence[Question]) -> Trial | None:
        """The row with as few of the earlier questions as found, each made simpler."""
        found = next((part for part in _endings(before) if self._shows(part)), None)
        if found is None:
            return None
        return self._simpler(self._fewest(found))

    def _shows(self, before: Sequence[Question]) -> bool:
        if not self._left:
            return False
        self._left -= 1
        return self._fails(self._trial.after(before))

    def _fewest(self, before: Sequence[Question]) -> Sequence[Question]:
        """Leaves out questions: halves, then quarters, down to single ones."""
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
        """The row with less in its cases."""
        judged = len(self._trial.questions)

        def row(trial: Trial) -> Trial:
            return Trial(trial.questions[-judged:], trial.questions[:-judged])

        def failing(trials: Sequence[Trial]) -> list[bool]:
            return [self._fails(row(one)) for one in trials]

        whole = Trial((*before, *self._trial.questions))
        return row(reduce(whole, sparing(failing, self._left), CONTENT))


def _endings(before: Sequence[Question]) -> list[Sequence[Question]]:
    """The last one, the last two and so on, then twice as many each time, then all of them."""
    sizes = list(range(1, min(ONE_BY_ONE, len(before)) + 1))
    while sizes[-1] < len(before):
        sizes.append(min(2 * sizes[-1], len(before)))
    return [before[-size:] for size in sizes]
