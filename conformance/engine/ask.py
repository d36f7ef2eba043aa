"""Ask: sends cases to an implementation in batches, possibly in a background thread."""

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
from pulsar_conformance.conformance.common.events import Listener, OperationAsked, RuleDrawn
from pulsar_conformance.conformance.common.trial import (
    Json,
    KnownAnswers,
    Question,
    Trial,
    canonical,
)
from pulsar_conformance.conformance.engine.draw import (
    SourcedTrial,
    aimed_trials,
    control_trials,
    earlier_trials,
    group_rules,
    trials_of_rule,
)
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.readings import ResolvedReadings, documented_readings

T = TypeVar("T")
Submit = Callable[..., object]
"""Function like `ThreadPoolExecutor.submit`: calls a given function, now or later."""

PendingAnswers = Future[list[list[Json]]]
"""Future whose result has one list of answers for each trial of a batch."""

_QuestionKey = tuple[str, str, int]
"""Key of a question: operation, case as JSON text, and index among the equal questions of its
trial.
"""

Batch = tuple[str, list[Trial], PendingAnswers]
"""An operation, the trials to ask in one request, and the future that will hold the answers."""

AnsweredTrial = tuple[SourcedTrial, Sequence[Json]]

AnsweredTrialsByRule = Mapping[str, Sequence[AnsweredTrial]]


def run_immediately(work: Callable[..., object], /, *arguments: Any) -> object:
    """Call a function immediately; stands in for the `submit` of a thread pool."""
    return work(*arguments)


def resolve_future(promised: Future[T], work: Callable[..., T], /, *arguments: Any) -> None:
    """Call a function, and store its result, or the error that it raises, in a future."""
    try:
        promised.set_result(work(*arguments))
    except BaseException as error:
        promised.set_exception(error)
        if not isinstance(error, Exception):
            raise


class Dispatcher:
    """Asks an implementation each trial once and keeps the answers.

    The trials of all rules are asked in random order, because an implementation whose answers
    depend on earlier questions is detected only if the order varies. If a question takes seconds,
    equal questions of different trials share one answer. `submit` chooses the thread in which an
    operation is asked; up to `concurrency` operations are asked at the same time. An implementation
    that runs in this process is always asked in the calling thread.
    """

    def __init__(
        self,
        implementation: Implementation,
        submit: Submit,
        notify: Listener,
        seed: int = 0,
        known: KnownAnswers[Any] | None = None,
    ) -> None:
        self._implementation = implementation
        self._known = known or KnownAnswers()
        self._submit = run_immediately if implementation.in_process else submit
        self._notify = notify
        self._random = Random(seed)
        self._closed = False
        self._waiting: deque[Batch] = deque()
        self._workers = 0
        self._turn = Lock()
        self._places: dict[SourcedTrial, list[tuple[PendingAnswers, int, int]]] = {}
        """The place of each answer to a trial: the future, the index of the trial in the future's
        result, and the index of the question in that trial.
        """
        self._answers: dict[SourcedTrial, list[Json]] = {}
        self._shared: dict[_QuestionKey, tuple[PendingAnswers, int, int]] = {}
        """The place of the answer to each costly question, in the form of `_places`."""

    def ask(self, trials: Iterable[SourcedTrial]) -> None:
        """Ask the trials that have not been asked yet, in one batch per operation."""
        new = list(dict.fromkeys(one for one in trials if one not in self._places))
        questions: dict[str, list[Trial]] = defaultdict(list)
        promised: dict[str, PendingAnswers] = defaultdict(Future)
        for one in self._random.sample(new, len(new)):
            trial = one.trial
            places = self._places[one] = []
            asked: Counter[tuple[str, str]] = Counter()
            # A trial with earlier questions stays whole; all others are asked question by question,
            # in any order.
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
            self._submit(self._ask_waiting)

    def answers(self, trial: SourcedTrial) -> list[Json]:
        """Wait for the answers to a trial and return them; later calls return the same list.

        Errors: `AdapterError`, and any error that a listener raises.
        """
        if trial not in self._answers:
            answers = [
                asked.result()[place][column] for asked, place, column in self._places[trial]
            ]
            self._answers[trial] = self._known.once(trial.trial, answers)
        return self._answers[trial]

    def failed(self, trial: SourcedTrial) -> bool:
        """True if at least one question of the trial got no answer because of an error."""
        try:
            return any("failed" in answer for answer in self.answers(trial))
        except AdapterError:
            return True

    def close(self) -> None:
        """Stop asking; callers that wait for an answer get `CancelledError`."""
        with self._turn:
            self._closed = True
            for *_, promised in self._waiting:
                promised.cancel()
            self._waiting.clear()

    def _costly_key(self, alone: Trial, asked: Counter[tuple[str, str]]) -> _QuestionKey | None:
        """Return the key under which trials share the answer to a costly question.

        None for a quick operation: its questions are asked for each trial separately.
        """
        [(operation, case)] = alone.questions
        if operation not in self._implementation.hello.costly:
            return None
        text = operation, canonical(case)
        asked[text] += 1
        return *text, asked[text]

    def _ask_waiting(self) -> None:
        """Ask the waiting batches one after another until none is left."""
        while (part := self._next_batch()) is not None:
            operation, together, promised = part
            resolve_future(promised, self._answers_of, operation, together)

    def _answers_of(self, operation: str, together: list[Trial]) -> list[list[Json]]:
        self._notify(OperationAsked(self._implementation.name, operation, len(together)))
        return self._implementation.answers(together)

    def _next_batch(self) -> Batch | None:
        with self._turn:
            if self._waiting and not self._closed:
                return self._waiting.popleft()
            self._workers -= 1
            return None


def _single_question_trial(question: Question) -> Trial:
    return Trial((question,))


@dataclass(frozen=True)
class AskedTrials:
    """The trials that an implementation is asked: to judge rules, and to determine readings."""

    before: ResolvedReadings
    """The readings as known before anything was asked."""
    groups: Sequence[Sequence[specs.Rule]]
    """Groups of rules, in the order in which they are asked; no operation is in two groups."""
    by_rule: Mapping[str, Sequence[SourcedTrial]]
    by_reading: Mapping[str, Sequence[SourcedTrial]]
    """For each reading, trials whose answers differ between its alternatives."""
    controls: Mapping[str, Sequence[SourcedTrial]]
    """For each reading in `by_reading`, trials whose answers do not depend on the reading."""
    dispatcher: Dispatcher


def draw_and_ask(
    rules: Sequence[specs.Rule],
    before: ResolvedReadings,
    plan: Plan,
    implementation: Implementation,
    submit: Submit,
    notify: Listener,
) -> AskedTrials:
    """Draw the cases of one group of rules after another, and ask them group by group.

    An implementation in another process can answer while the next group is being drawn.
    """
    dispatcher = Dispatcher(implementation, submit, notify, plan.seed, plan.known)
    operations = {name for rule in rules for name in rule.operations}
    readings = documented_readings(before.profile)
    by_reading = aimed_trials(readings, operations, implementation, plan)
    controls = control_trials(by_reading, operations, implementation, plan)
    earlier = earlier_trials(plan)
    groups = group_rules(rules)
    by_rule: dict[str, Sequence[SourcedTrial]] = {}
    for group in groups:
        for rule in group:
            notify(RuleDrawn(implementation.name, rule.id))
            by_rule[rule.id] = list(trials_of_rule(rule, plan, implementation, earlier))
        asked = {name for rule in group for name in rule.operations}
        aimed = (
            one for kind in (by_reading, controls) for trials in kind.values() for one in trials
        )
        dispatcher.ask(
            [
                *(one for trials in by_rule.values() for one in trials),
                *(one for one in aimed if one.trial.operations <= asked),
            ]
        )
    return AskedTrials(before, groups, by_rule, by_reading, controls, dispatcher)


def answered_trials(
    rule: specs.Rule,
    asked: AskedTrials,
    plan: Plan,
    implementation: Implementation,
    may_apply_to_trial: Callable[[specs.Rule, Trial], bool],
) -> Iterator[AnsweredTrial]:
    """Yield the trials that a rule judges, each with its answers.

    These are the trials drawn for the rule and the trials that distinguish readings. If a case
    takes seconds, trials drawn for other rules are added. An unanswered trial that does not belong
    to this rule is left out unless the rule may apply to it. Errors: `AdapterError`.
    """
    dispatcher, judges = asked.dispatcher, checks()[rule.id].judges

    def counts(sourced: SourcedTrial) -> bool:
        return not dispatcher.failed(sourced) or may_apply_to_trial(rule, sourced.trial)

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
