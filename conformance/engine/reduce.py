"""Reduce: finds the smallest case on which an implementation violates the same rule.

Candidates are asked in large batches, because an implementation may take seconds for one case, and
little longer for a thousand.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import compress

from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.conformance.cases.reduction import Failing
from pulsar_conformance.conformance.common.events import ANSWERING
from pulsar_conformance.conformance.common.trial import CRASHED_ON_CASE, Question, Trial
from pulsar_conformance.conformance.engine.attribute import outcome_without_answer, own_faults
from pulsar_conformance.conformance.engine.evaluate import Fault
from pulsar_conformance.conformance.engine.judge import AppliedRule, JudgedImplementation
from pulsar_conformance.conformance.engine.reduce_steps import STEPS, ReductionStep

MAX_COSTLY_CANDIDATES = 6
"""Maximum number of candidates that are asked one by one, because each takes seconds."""

MAX_CANDIDATES = 6000
"""Maximum number of candidates asked to reduce one case."""

MAX_MESSAGES = 40
"""Maximum number of messages to isolate an unanswered case and then reduce it."""

REDUCING_MESSAGES = 12
"""Minimum number of messages for reducing a case, even if isolating it took `MAX_MESSAGES`."""

COSTLY_MESSAGES = 4
"""Maximum number of requests in the reduction of an unanswered case if answers take seconds."""

MAX_SECONDS = 60.0
"""Seconds after which the reduction of an unanswered case stops. If a case makes the implementation
hang, the answer takes as long as the time limit.
"""

Report = Callable[[int], None]
"""Function that is called with the number of candidates before they are asked."""


def reduce(trial: Trial, failing: Failing, steps: Sequence[ReductionStep] = STEPS) -> Trial:
    """Apply reduction steps to a failing trial until none makes it smaller; return the result.

    The result depends only on `trial`, `failing` and `steps`.
    """
    while True:
        smaller = trial
        for step in steps:
            smaller = step(smaller, failing)
        if smaller == trial:
            return trial
        trial = smaller


def one_at_a_time(failing: Failing, most: int) -> Failing:
    """Return a predicate that asks candidates one by one, at most `most` in all calls together.

    A call ends at its first candidate that fails. Candidates that are not asked count as passing,
    which ends the reduction.
    """
    left = most

    def fails(candidates: Sequence[Trial]) -> list[bool]:
        nonlocal left
        verdicts = [False] * len(candidates)
        for index, candidate in enumerate(candidates):
            if not left:
                break
            left -= 1
            verdicts[index] = failing([candidate])[0]
            if verdicts[index]:
                break
        return verdicts

    return fails


def with_candidate_limit(failing: Failing, most: int) -> Failing:
    """Return a predicate that asks at most `most` candidates in all calls together.

    Candidates beyond that are not asked and count as passing.
    """
    left = most

    def fails(candidates: Sequence[Trial]) -> list[bool]:
        nonlocal left
        asked = candidates[:left]
        left -= len(asked)
        return [*(failing(asked) if asked else ()), *[False] * (len(candidates) - len(asked))]

    return fails


def _ignore_count(_candidates: int) -> None:
    """Ignore the number of candidates."""


def smallest_case(applied_rule: AppliedRule, trial: Trial, report: Report = _ignore_count) -> Trial:
    """Return the smallest valid trial found on which the implementation violates the same rule.

    The result is the original trial if it does not fail again, or if the implementation stops
    working during the reduction. If cases take seconds, the trial is known to fail and is not asked
    again.
    """
    judged, shows_why = applied_rule.judged, applied_rule.model_shows_why(trial)
    certain: bool | None = None

    def is_as_convincing(fault: Fault | None) -> bool:
        """True if a fault is at least as certain and as well explained as the original one."""
        nonlocal certain
        if fault is None or (shows_why and not applied_rule.model_shows_why(fault.trial)):
            return False
        certain = applied_rule.is_certain(fault) if certain is None else certain
        return not certain or applied_rule.is_certain(fault)

    def failing(candidates: Sequence[Trial]) -> list[bool]:
        legal = list(map(judged.evaluator.legal, candidates))
        report(sum(legal))
        faults = iter(own_faults(applied_rule, list(compress(candidates, legal))))
        return [is_as_convincing(next(faults)) if one else False for one in legal]

    one_by_one = applied_rule.costly or judged.implementation.hello.batch == 1
    asked = one_at_a_time(failing, MAX_COSTLY_CANDIDATES) if one_by_one else failing
    try:
        recurs = applied_rule.costly or all(failing([trial]))
        return reduce(trial, with_candidate_limit(asked, MAX_CANDIDATES)) if recurs else trial
    except AdapterError:
        return trial


def smallest_unanswered(applied_rule: AppliedRule, fault: Fault, report: Report) -> Fault:
    """Return the smallest case found that also gets no answer, with its outcome.

    Only cases to which some rule applies are tried, so that the case still fails if it is replayed
    alone. Isolating and reducing a case take at most `MAX_MESSAGES` messages together. A trial of
    several questions is not reduced. Errors: `AdapterError`.
    """
    answer, *others = fault.answers
    if others:
        return fault
    judged = applied_rule.judged
    costly = fault.trial.operation in judged.implementation.hello.costly
    isolated = max(MAX_MESSAGES - answer.get(CRASHED_ON_CASE, 0), REDUCING_MESSAGES)
    search = _UnansweredSearch(judged, (COSTLY_MESSAGES if costly else isolated) - 1, report)
    if applied_rule.rule.id != ANSWERING and judged.may_apply_to_trial(fault.trial):
        search.may_be_asked = judged.may_apply_to_trial
    small = reduce(fault.trial, search)
    reason = search.outcomes.get(small.fingerprint, fault.outcome.answered)
    return Fault(small, fault.answers, outcome_without_answer(reason))


class _UnansweredSearch:
    """Finds the first of several candidates that gets no answer, with a limited number of messages.

    All candidates are asked in one message; if it fails as a whole, each half is asked separately.
    """

    def __init__(self, judged: JudgedImplementation, most: int, report: Report) -> None:
        self._judged = judged
        self._left = most
        self._report = report
        self._until = time.monotonic() + MAX_SECONDS
        self.may_be_asked: Callable[[Trial], bool] = lambda _trial: True
        """Function that is true for trials worth asking; by default, for every trial."""
        self.outcomes: dict[str, str] = {}
        """The reason why each unanswered trial got no answer, by the trial's fingerprint."""

    def __call__(self, trials: Sequence[Trial]) -> list[bool]:
        evaluator = self._judged.evaluator
        legal = [one for one in trials if evaluator.legal(one) and self.may_be_asked(one)]
        self._report(len(legal))
        hello = self._judged.implementation.hello
        costly = any(one.operation in hello.costly for one in legal)
        size = 1 if costly else hello.batch
        chunks = (legal[start : start + size] for start in range(0, len(legal), size))
        first = next((one for chunk in chunks if (one := self._first_unanswered(chunk))), None)
        return [one is first for one in trials]

    def _first_unanswered(self, trials: Sequence[Trial]) -> Trial | None:
        """Return the first trial that gets no answer; None if all are answered, or if the limit on
        messages is reached first.
        """
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
        """Ask trials in one message; return the index of the first without an answer, and why.

        The index is None if the whole message failed. The result is None if all trials are
        answered, or if the limit on messages or time is reached.
        """
        if not self._left or not trials or time.monotonic() > self._until:
            return None
        self._left -= 1
        questions: list[Question] = [one.questions[0] for one in trials]
        unanswered = self._judged.implementation.first_unanswered(questions)
        if unanswered is not None and len(trials) == 1:
            self.outcomes[trials[0].fingerprint] = unanswered[1]
        return unanswered
