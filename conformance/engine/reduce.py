"""Reduce: find the smallest case on which an implementation violates the same rule.

Candidates are asked in large batches, because an implementation may take seconds to answer one case
and little longer for a thousand.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import compress

from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.conformance.cases.reduction import Failing
from pulsar_conformance.conformance.common.trial import ISOLATED_CRASH, Question, Trial
from pulsar_conformance.conformance.engine.attribute import ANSWERING, own_faults, without_answer
from pulsar_conformance.conformance.engine.evaluate import Fault
from pulsar_conformance.conformance.engine.judge import AppliedRule, JudgedImplementation
from pulsar_conformance.conformance.engine.reduce_steps import STEPS, ReductionStep

MOST_COSTLY_CANDIDATES = 6
"""Maximum number of candidates that are asked one by one: a cluster takes seconds for each."""

MOST_CANDIDATES = 6000
"""Maximum number of candidates asked to reduce one case."""

MOST_MESSAGES = 40
"""Maximum number of messages spent on one unanswered case: to isolate it, and to reduce it."""

REDUCING_MESSAGES = 12
"""Maximum number of messages to reduce an unanswered case, not counting those that isolated it."""

COSTLY_MESSAGES = 4
"""Maximum number of messages where each takes seconds."""

PATIENCE = 60.0
"""Seconds after which reduction stops: each case that hangs costs a time limit."""

Report = Callable[[int], None]
"""Called with the number of candidates that are about to be asked."""


def reduce(trial: Trial, failing: Failing, steps: Sequence[ReductionStep] = STEPS) -> Trial:
    """Return the smallest failing trial found by removing and simplifying parts.

    `trial` itself must fail. The result depends only on `trial` and `failing`.
    """
    while True:
        smaller = trial
        for step in steps:
            smaller = step(smaller, failing)
        if smaller == trial:
            return trial
        trial = smaller


def one_at_a_time(failing: Failing, most: int) -> Failing:
    """Return a predicate that asks candidates one by one, up to `most` in total.

    A round ends at its first failing candidate. After `most` candidates, all others count as
    passing, which ends the reduction.
    """
    left = most

    def fails(candidates: Sequence[Trial]) -> list[bool]:
        nonlocal left
        verdicts = [False] * len(candidates)
        for place, candidate in enumerate(candidates):
            if not left:
                break
            left -= 1
            verdicts[place] = failing([candidate])[0]
            if verdicts[place]:
                break
        return verdicts

    return fails


def at_most(failing: Failing, most: int) -> Failing:
    """Return a predicate that asks about `most` candidates in total; the rest pass."""
    left = most

    def fails(candidates: Sequence[Trial]) -> list[bool]:
        nonlocal left
        asked = candidates[:left]
        left -= len(asked)
        return [*(failing(asked) if asked else ()), *[False] * (len(candidates) - len(asked))]

    return fails


def _silent(_candidates: int) -> None:
    """Ignore the report."""


def smallest_case(applied: AppliedRule, trial: Trial, report: Report = _silent) -> Trial:
    """Return the smallest valid trial found on which the implementation violates the same rule.

    This is the original trial if it does not fail again, or if the implementation stops working
    during the reduction. Where a case takes seconds, the trial is already known to fail again.
    """
    judged, shows_why = applied.judged, applied.model_shows_why(trial)
    certain: bool | None = None

    def alike(fault: Fault | None) -> bool:
        """True if a fault is as certain and as well explained as the original one."""
        nonlocal certain
        if fault is None or (shows_why and not applied.model_shows_why(fault.trial)):
            return False
        certain = applied.is_certain(fault) if certain is None else certain
        return not certain or applied.is_certain(fault)

    def failing(candidates: Sequence[Trial]) -> list[bool]:
        legal = list(map(judged.evaluator.legal, candidates))
        report(sum(legal))
        faults = iter(own_faults(applied, list(compress(candidates, legal))))
        return [alike(next(faults)) if one else False for one in legal]

    one_by_one = applied.costly or judged.implementation.hello.batch == 1
    asked = one_at_a_time(failing, MOST_COSTLY_CANDIDATES) if one_by_one else failing
    try:
        recurs = applied.costly or all(failing([trial]))
        return reduce(trial, at_most(asked, MOST_CANDIDATES)) if recurs else trial
    except AdapterError:
        return trial


def smallest_unanswered(applied: AppliedRule, fault: Fault, report: Report) -> Fault:
    """Return the smallest case found that is not answered either, with its outcome.

    Only a case that some rule covers is used, so that it fails when replayed alone. Isolating and
    reducing the case take at most `MOST_MESSAGES` messages together. A trial of several questions
    is not reduced. Errors: `AdapterError`.
    """
    answer, *others = fault.answers
    if others:
        return fault
    judged = applied.judged
    costly = fault.trial.operation in judged.implementation.hello.costly
    isolated = max(MOST_MESSAGES - answer.get(ISOLATED_CRASH, 0), REDUCING_MESSAGES)
    search = _UnansweredSearch(judged, (COSTLY_MESSAGES if costly else isolated) - 1, report)
    if applied.rule.id != ANSWERING and judged.speaks_about(fault.trial):
        search.considered = judged.speaks_about
    small = reduce(fault.trial, search)
    lacking = search.outcomes.get(small.fingerprint, fault.outcome.answered)
    return Fault(small, fault.answers, without_answer(lacking))


class _UnansweredSearch:
    """Finds the first candidate that gets no answer.

    All candidates are asked in one message; if it fails as a whole, each half is asked.
    """

    def __init__(self, judged: JudgedImplementation, most: int, report: Report) -> None:
        self._judged = judged
        self._left = most
        self._report = report
        self._until = time.monotonic() + PATIENCE
        self.considered: Callable[[Trial], bool] = lambda _trial: True
        """True for the trials that may be asked."""
        self.outcomes: dict[str, str] = {}
        """Outcome of each unanswered trial, by fingerprint."""

    def __call__(self, trials: Sequence[Trial]) -> list[bool]:
        evaluator = self._judged.evaluator
        legal = [one for one in trials if evaluator.legal(one) and self.considered(one)]
        self._report(len(legal))
        hello = self._judged.implementation.hello
        costly = any(one.operation in hello.costly for one in legal)
        size = 1 if costly else hello.batch
        chunks = (legal[start : start + size] for start in range(0, len(legal), size))
        first = next((one for chunk in chunks if (one := self._first_unanswered(chunk))), None)
        return [one is first for one in trials]

    def _first_unanswered(self, trials: Sequence[Trial]) -> Trial | None:
        """Return the first trial that gets no answer, while messages are left."""
        asked = self._ask_together(trials)
        if asked is None or len(trials) == 1:
            return trials[0] if asked is not None else None
        place, text = asked
        if place is not None:
            self.outcomes[trials[place].fingerprint] = text
            return trials[place]
        half = len(trials) // 2
        return self._first_unanswered(trials[:half]) or self._first_unanswered(trials[half:])

    def _ask_together(self, trials: Sequence[Trial]) -> tuple[int | None, str] | None:
        """Ask trials in one message; return index and outcome of the first that gets no answer.

        The index is None if unknown.
        """
        if not self._left or not trials or time.monotonic() > self._until:
            return None
        self._left -= 1
        questions: list[Question] = [one.questions[0] for one in trials]
        lacking = self._judged.implementation.first_unanswered(questions)
        if lacking is not None and len(trials) == 1:
            self.outcomes[trials[0].fingerprint] = lacking[1]
        return lacking
