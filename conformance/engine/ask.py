"""Ask: send an implementation an operation's cases in batches, possibly in the background."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from random import Random
from threading import Lock
from typing import Any, TypeVar

from pulsar_conformance import specs
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.conformance.common.events import OperationAsked, RuleDrawn, Tell
from pulsar_conformance.conformance.common.trial import Json, Question, Trial, canonical
from pulsar_conformance.conformance.engine.draw import (
    SourcedTrial,
    aimed_trials,
    earlier_trials,
    group_rules,
    trials_of_rule,
)
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.readings import ResolvedReadings, documented_readings

T = TypeVar("T")
Submit = Callable[..., object]
"""Runs a function with its arguments, immediately or later, as `ThreadPoolExecutor.submit` does."""

Promised = Future[list[list[Json]]]
"""The future answers to a list of trials: one list of answers for each trial."""

_Key = tuple[str, str, int]
"""An operation, a case, and how many times the trial has asked that case so far."""

Part = tuple[str, list[Trial], Promised]
"""An operation, the trials to ask together, and the future that will hold their answers."""

AnsweredTrial = tuple[SourcedTrial, Sequence[Json]]

AnsweredTrialsByRule = Mapping[str, Sequence[AnsweredTrial]]


def run_immediately(work: Callable[..., object], /, *given: Any) -> object:
    """Run a function immediately."""
    return work(*given)


def settle(promised: Future[T], work: Callable[..., T], /, *given: Any) -> None:
    """Resolve a future with a function's result or with the error that it raises."""
    try:
        promised.set_result(work(*given))
    except BaseException as error:
        promised.set_exception(error)
        if not isinstance(error, Exception):
            raise


class Dispatcher:
    """Asks an implementation each trial once and keeps the answers.

    The trials of all rules are mixed, because an implementation that remembers earlier questions
    gives itself away only if the questions vary. Where a question takes seconds, equal questions of
    different trials share one answer. `submit` decides in which thread an operation is asked, for
    up to `concurrency` operations at a time; an implementation in this process is asked in the
    calling thread.
    """

    def __init__(
        self, implementation: Implementation, submit: Submit, tell: Tell, seed: int = 0
    ) -> None:
        self._implementation = implementation
        self._submit = run_immediately if implementation.in_process else submit
        self._tell = tell
        self._random = Random(seed)
        self._closed = False
        self._waiting: deque[Part] = deque()
        self._workers = 0
        self._turn = Lock()
        self._places: dict[SourcedTrial, list[tuple[Promised, int, int]]] = {}
        """For each trial, where to find its answers: the future, the index of the trial, and of the
        question.
        """
        self._answers: dict[SourcedTrial, list[Json]] = {}
        self._shared: dict[_Key, tuple[Promised, int, int]] = {}
        """Where to find the answer to a costly question, in the same form."""

    def ask(self, trials: Iterable[SourcedTrial]) -> None:
        """Ask the trials that have not been asked yet, batching the questions of each operation."""
        new = list(dict.fromkeys(one for one in trials if one not in self._places))
        questions: dict[str, list[Trial]] = defaultdict(list)
        promised: dict[str, Promised] = defaultdict(Future)
        for one in self._random.sample(new, len(new)):
            trial = one.trial
            places = self._places[one] = []
            asked: Counter[tuple[str, str]] = Counter()
            # Trials with earlier questions stay whole; all other questions may be asked in any
            # order.
            for part in [trial] if trial.before else map(_single_question_trial, trial.questions):
                known = None if trial.before else self._costly_key(part, asked)
                if known in self._shared:
                    places.append(self._shared[known])
                    continue
                together, promise = questions[part.operation], promised[part.operation]
                columns = range(len(part.questions))
                places += [(promise, len(together), column) for column in columns]
                together.append(part)
                if known is not None:
                    self._shared[known] = places[-1]
        with self._turn:
            self._waiting += [(name, some, promised[name]) for name, some in questions.items()]
            idle = self._implementation.concurrency - self._workers
            more = min(idle, len(self._waiting))
            self._workers += more
        for _ in range(more):
            self._submit(self._work)

    def answers(self, trial: SourcedTrial) -> list[Json]:
        """Return the answers to a trial; repeated calls return the same list.

        Errors: `AdapterError`, and any error raised by a listener.
        """
        if trial not in self._answers:
            self._answers[trial] = [
                asked.result()[place][column] for asked, place, column in self._places[trial]
            ]
        return self._answers[trial]

    def failed(self, trial: SourcedTrial) -> bool:
        """True if a question of the trial was not answered."""
        try:
            return any("failed" in answer for answer in self.answers(trial))
        except AdapterError:
            return True

    def close(self) -> None:
        """Stop asking; callers waiting for an answer get `CancelledError`."""
        with self._turn:
            self._closed = True
            for *_, promised in self._waiting:
                promised.cancel()
            self._waiting.clear()

    def _costly_key(self, alone: Trial, asked: Counter[tuple[str, str]]) -> _Key | None:
        """Return the key under which an answer is shared; None if the question is not costly."""
        [(operation, case)] = alone.questions
        if operation not in self._implementation.hello.costly:
            return None
        text = operation, canonical(case)
        asked[text] += 1
        return *text, asked[text]

    def _work(self) -> None:
        """Ask the waiting operations one at a time until none is left."""
        while (part := self._next()) is not None:
            operation, together, promised = part
            settle(promised, self._answers_of, operation, together)

    def _answers_of(self, operation: str, together: list[Trial]) -> list[list[Json]]:
        self._tell(OperationAsked(self._implementation.name, operation, len(together)))
        return self._implementation.answers(together)

    def _next(self) -> Part | None:
        with self._turn:
            if self._waiting and not self._closed:
                return self._waiting.popleft()
            self._workers -= 1
            return None


def _single_question_trial(question: Question) -> Trial:
    return Trial((question,))


@dataclass(frozen=True)
class AskedTrials:
    """All trials that an implementation is asked."""

    before: ResolvedReadings
    """The readings known before any answer."""
    groups: Sequence[Sequence[specs.Rule]]
    """The rules in the order in which they are asked about."""
    by_rule: Mapping[str, Sequence[SourcedTrial]]
    by_reading: Mapping[str, Sequence[SourcedTrial]]
    """Trials that distinguish the alternatives of a reading."""
    dispatcher: Dispatcher


def draw_and_ask(
    rules: Sequence[specs.Rule],
    before: ResolvedReadings,
    plan: Plan,
    implementation: Implementation,
    submit: Submit,
    tell: Tell,
) -> AskedTrials:
    """Draw the cases of all rules, and ask each group of operations as soon as its cases are drawn.

    An implementation in another process answers while the next group is being drawn.
    """
    dispatcher = Dispatcher(implementation, submit, tell, plan.seed)
    operations = {name for rule in rules for name in rule.operations}
    readings = documented_readings(before.profile)
    by_reading = aimed_trials(readings, operations, implementation, plan)
    earlier = earlier_trials(plan)
    groups = group_rules(rules)
    by_rule: dict[str, Sequence[SourcedTrial]] = {}
    for group in groups:
        for rule in group:
            tell(RuleDrawn(implementation.name, rule.id))
            by_rule[rule.id] = list(trials_of_rule(rule, plan, implementation, earlier))
        asked = {name for rule in group for name in rule.operations}
        aimed = (one for trials in by_reading.values() for one in trials)
        dispatcher.ask(
            [
                *(one for trials in by_rule.values() for one in trials),
                *(one for one in aimed if one.trial.operations <= asked),
            ]
        )
    return AskedTrials(before, groups, by_rule, by_reading, dispatcher)


def answered_trials(
    rule: specs.Rule,
    asked: AskedTrials,
    plan: Plan,
    implementation: Implementation,
    speaks_about: Callable[[specs.Rule, Trial], bool],
) -> Iterator[AnsweredTrial]:
    """Yield the trials that a rule judges, with their answers.

    They are the rule's own trials, the trials aimed at readings and, where a case takes seconds,
    the trials drawn for other rules. An unanswered trial of another rule counts only if the rule
    applies to it. Errors: `AdapterError`.
    """
    dispatcher, judges = asked.dispatcher, checks()[rule.id].judges

    def counts(one: SourcedTrial) -> bool:
        return not dispatcher.failed(one) or speaks_about(rule, one.trial)

    for one in asked.by_rule[rule.id]:
        if one.broke in (None, rule.id) or counts(one):
            yield one, dispatcher.answers(one)
    if plan.replay is not None:
        return
    shared = [one for trials in asked.by_reading.values() for one in trials]
    if implementation.costly(rule):
        shared += [
            one
            for name, trials in asked.by_rule.items()
            for one in trials
            if name != rule.id and one.origin == "drawn" and not dispatcher.failed(one)
        ]
    for one in shared:
        if judges(one.trial) and counts(one):
            yield one, dispatcher.answers(one)
