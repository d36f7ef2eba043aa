"""An implementation under test: its connection, what it offers, and its answers."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from threading import Lock, RLock, Semaphore

from pulsar_conformance import specs
from pulsar_conformance.adapters import AdapterError, Connection, Limits
from pulsar_conformance.adapters.errors import ProtocolViolation
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.adapters.reference import ReferenceConnection
from pulsar_conformance.adapters.validation import UnmodifiedCases
from pulsar_conformance.conformance.catalogue import OPERATIONS
from pulsar_conformance.conformance.common.trial import (
    CASE_CHANGED,
    CRASHED_ON_CASE,
    Json,
    Question,
    Trial,
    canonical,
    strategy_or_algorithm,
)
from pulsar_conformance.conformance.engine.evaluate import why_unanswered
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.placement.operations import PLACE
from pulsar_conformance.reference import Readings
from pulsar_conformance.reference.answers.shedding import strategies_of, strategy_in

MODEL, NEUTRAL_MODEL = "reference", "reference:neutral"
"""Adapters of the model; in the neutral model, undocumented settings have no effect."""

REMEMBERED_QUESTIONS = 20_000
"""Maximum number of questions remembered since a start, to find out later what caused a fault."""

REMEMBERED_STARTS = 8
"""Number of starts, including restarts, for which questions are remembered."""

MAX_RECONNECTS = 8
"""Maximum number of times that a question is repeated after another thread disconnected."""


class Implementation:
    """An implementation that is asked under one profile.

    It has to follow the readings in `pinned`, and the profile's defaults for all other readings. Up
    to `concurrency` threads may ask it at the same time. If `patient` is true and a case crashes
    it, the answer to this case is `failed`, and the other cases of the batch are asked again.

    Errors: `AdapterError` from the constructor if the implementation cannot be reached or declares
    a reading that does not exist.
    """

    def __init__(
        self,
        adapter: str,
        profile: str,
        pinned: Mapping[str, str],
        limits: Limits | None = None,
        patient: bool = False,
    ) -> None:
        self.adapter = adapter
        self.profile = profile
        self.pinned = pinned
        self._limits = limits
        self._patient = patient
        self._state = Lock()
        self._crash_answers: dict[tuple[str, str], Json] = {}
        """For each case that is known to crash the implementation, the answer to return."""
        self._histories: deque[deque[Question]] = deque(maxlen=REMEMBERED_STARTS)
        """The questions answered since each start, oldest start first."""
        self._history: deque[Question] | None = None
        """The questions answered since the last start, or None if they are not kept."""
        self._declined: dict[str, set[str | None]] = defaultdict(set)
        """For each operation, the strategies or algorithms named in cases that were declined."""
        self._supported: set[str] = set()
        """Operations of which at least one case was answered."""
        self._asked_readings = Readings.of(profile, pinned)
        self._connection: Connection | None = None
        self._connecting = RLock()
        connection = self._open_connection()
        self.hello = connection.hello
        self.concurrency = connection.concurrency
        self._turn = Semaphore(self.concurrency)
        self._check_declared()

    @property
    def name(self) -> str:
        """The implementation's own name and version."""
        return f"{self.hello.name} {self.hello.version}".strip()

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which lists of known deviations may refer to the implementation."""
        return self.adapter, self.name, self.hello.name

    @property
    def in_process(self) -> bool:
        """True if the implementation runs in this process, and gets cases without copying."""
        return self._connection is not None and self._connection.in_process

    @property
    def declared(self) -> Mapping[str, str]:
        """The readings that the implementation declares in its hello message."""
        return self.hello.readings

    @property
    def neutral(self) -> bool:
        """True if undocumented settings have no effect on its answers."""
        return self._adapter_used == NEUTRAL_MODEL or bool(self.hello.neutral)

    @property
    def restarts_cleanly(self) -> bool:
        """True if the implementation restarts quickly, and remembers nothing after a restart."""
        return self._connection is None or self._connection.restarts

    @property
    def is_model(self) -> bool:
        """True if the implementation is the reference model itself."""
        return type(self._connection) is ReferenceConnection

    def costly(self, rule: specs.Rule) -> bool:
        """True if the implementation takes seconds to answer one case of the rule."""
        return any(one in self.hello.costly for one in rule.operations)

    def why_not_offered(self, rule: specs.Rule) -> str | None:
        """Return why the implementation cannot be judged by a rule, or None if it can.

        It must offer all operations of the rule, or one of them if the rule allows that. A rule
        about one kind of load manager or strategy does not apply to others.
        """
        if self.hello.own is not None and rule.id not in self.hello.own:
            return (
                "the cluster answers only questions about itself, and none of them tests the rule"
            )
        missing = [one for one in rule.operations if one not in self.hello.operations]
        enough = rule.any_operation and len(missing) < len(rule.operations)
        if missing and not enough:
            absent = self.hello.absent
            why = (f"{one} is not offered: {absent[one]}" for one in missing if one in absent)
            return next(why, f"it does not offer {', '.join(missing)}")
        shed = any(rule.id in OPERATIONS[one].of_modular_strategies for one in rule.operations)
        managers = rule.managers or (("modular", "simple") if shed else ())
        if managers and (own := self.hello.manager) not in managers:
            return f"the rule is about the {' or '.join(managers)} load manager, not the {own} one"
        placement, general = self.hello.placement, rule.any_operation or rule.any_strategy
        if placement and PLACE.id in rule.operations and not general:
            return f"the rule is about the documented placement strategy, not {placement}"
        sheds = any(name.startswith("shed.") for name in rule.operations)
        if sheds and not general and self.plugged_strategy is not None:
            return f"the rule is about documented strategies, not {self.plugged_strategy}"
        return None

    @property
    def plugged_strategy(self) -> str | None:
        """The implementation's own shedding strategy; None if it offers a documented strategy."""
        offered = self.hello.strategies or ()
        documented = strategies_of(specs.load().defaults(self.profile))
        known = any(name.rpartition(".")[2] in documented for name in offered)
        return offered[0] if offered and not known else None

    def answers(self, trials: Sequence[Trial]) -> list[list[Json]]:
        """Return the answers to all questions of each trial, in as few requests as possible.

        A trial with earlier questions (`before`) is asked separately, after a restart.

        Errors: `AdapterError`; the next call reconnects.
        """
        if any(trial.before for trial in trials):
            others = iter(self.answers([trial for trial in trials if not trial.before]))
            return [
                self.answers_after_restart(one) if one.before else next(others) for one in trials
            ]
        places: dict[str, list[tuple[int, int]]] = defaultdict(list)
        found: list[list[Json]] = [[{}] * len(trial.questions) for trial in trials]
        for row, trial in enumerate(trials):
            for column, question in enumerate(trial.questions):
                why = self.why_unsupported(question)
                if why:
                    found[row][column] = {"unsupported": why}
                else:
                    places[question.operation].append((row, column))
        for operation, cells in places.items():
            cases = [trials[row].questions[column].case for row, column in cells]
            with self._turn:
                answers = self._in_batches(operation, cases)
            for (row, column), answer in zip(cells, answers, strict=True):
                found[row][column] = answer
        return found

    def answers_after_restart(self, trial: Trial) -> list[Json]:
        """Restart, then ask a trial's questions in order; return its answers.

        Errors: `AdapterError`.
        """
        questions = [*trial.before, *trial.questions]
        found: list[Json] = []
        with self._turn:
            self.close()
            self._open_connection()
            self._histories.pop()  # From here on, the questions belong to the trial.
            self._history = None
            for operation, group in groupby(questions, key=itemgetter(0)):
                together = list(group)
                reasons = [self.why_unsupported(question) for question in together]
                pairs = zip(together, reasons, strict=True)
                asked = [question.case for question, why in pairs if not why]
                answers = iter(self._in_batches(operation, asked))
                found += [{"unsupported": why} if why else next(answers) for why in reasons]
        return found[-len(trial.questions) :]

    def questions_before(self, trial: Trial) -> list[Question] | None:
        """Return the questions asked before a trial's last question, beginning at the latest start.

        The trial's own questions are left out. None if the questions are no longer remembered.
        """
        own = {id(question.case) for question in trial.questions}
        last = trial.questions[-1].case
        for history in self._histories:
            for index, question in enumerate(history):
                if question.case is last:
                    return [one for one in list(history)[:index] if id(one.case) not in own]
        return None

    def always_declines(self, operation: str) -> bool:
        """True if cases of an operation were asked and the implementation declined all of them.

        False if all these cases had the same strategy or algorithm.
        """
        kinds = self._declined.get(operation, set())
        return operation not in self._supported and (None in kinds or len(kinds) > 1)

    def notes(self) -> list[str]:
        """Return remarks for users: how the implementation was asked, and unused readings."""
        remarks = self._connection.remarks() if self._connection is not None else []
        unused = specs.load().unused_readings(self.profile, self.declared, self.pinned)
        return [*remarks, *(f"{self.name}, {self.profile}, declares {one}" for one in unused)]

    def close(self) -> None:
        """Close the connection."""
        with self._connecting:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def first_unanswered(self, questions: Sequence[Question]) -> tuple[int | None, str] | None:
        """Ask questions of one operation in one message; return the first without an answer.

        The result has the question's index and the reason. The index is None if the whole message
        failed, so that the question is unknown. The result is None if all questions are answered.

        Errors: `AdapterError` if the implementation cannot be started.
        """
        with self._turn:
            self._open_connection()
            try:
                answers = self._ask(questions[0].operation, [one.case for one in questions])
            except AdapterError as error:
                from pulsar_conformance.conformance.engine.isolate import problem_of_case

                return error.index, f"failed: {problem_of_case(error)}"
        reasons = map(why_unanswered, questions, answers)
        return next(((index, text) for index, text in enumerate(reasons) if text), None)

    def _open_connection(self) -> Connection:
        with self._connecting:
            if self._connection is None:
                self._history = deque(maxlen=REMEMBERED_QUESTIONS)
                self._histories.append(self._history)
                choices = self._asked_readings.choices
                self._connection = connect(self._adapter_used, self.profile, choices, self._limits)
            return self._connection

    def _in_batches(self, operation: str, cases: Sequence[Json]) -> list[Json]:
        """Ask cases in batches of the size that the implementation accepts, and return the answers.

        Cases that are known to crash it are not asked again.
        """
        found: list[Json] = []
        size = self.hello.batch
        for first in range(0, len(cases), size):
            batch = cases[first : first + size]
            known = self._known_crash_answers(operation, batch)
            asked = [case for case, answer in zip(batch, known, strict=True) if answer is None]
            answers = iter(self._ask_isolated(operation, asked) if asked else ())
            found += [next(answers) if answer is None else answer for answer in known]
        with self._state:
            for case, answer in zip(cases, found, strict=True):
                if "unsupported" in answer:
                    self._declined[operation].add(strategy_or_algorithm(case))
                else:
                    self._supported.add(operation)
        return found

    def _known_crash_answers(self, operation: str, cases: Sequence[Json]) -> list[Json | None]:
        with self._state:
            crash_answers = dict(self._crash_answers)
        if not crash_answers:
            return [None] * len(cases)
        return [crash_answers.get((operation, canonical(case))) for case in cases]

    def _ask_isolated(self, operation: str, cases: Sequence[Json]) -> list[Json]:
        """Return a batch's answers; if `patient`, with `failed` for each case that causes a crash.

        Errors: `AdapterError`.
        """
        connection = self._open_connection()
        try:
            return self._ask(operation, cases)
        except ProtocolViolation:
            raise
        except AdapterError as error:
            from pulsar_conformance.conformance.engine.isolate import CAUSED_BY_CASES, Isolation

            if not (self._patient and connection.restarts and error.phase in CAUSED_BY_CASES):
                raise
            answers = Isolation(lambda some: self._ask(operation, some), cases).answers(error)
        with self._state:
            for case, answer in zip(cases, answers, strict=True):
                if CRASHED_ON_CASE in answer:
                    self._crash_answers[operation, canonical(case)] = answer
        return answers

    @property
    def _adapter_used(self) -> str:
        """The adapter to connect: `NEUTRAL_MODEL` to judge the model as a release, or `adapter`."""
        released = specs.load().profile(self.profile).released
        return NEUTRAL_MODEL if released and self.adapter == MODEL else self.adapter

    def _ask(self, operation: str, cases: Sequence[Json]) -> list[Json]:
        """Send one request; repeat it only if another thread has closed the connection."""
        reconnects = 0
        while True:
            connection, history = self._open_connection(), self._history
            untouched = UnmodifiedCases(cases if connection.in_process else ())
            try:
                answers = connection.ask(operation, cases)
            except AdapterError:
                if self._close_broken(connection) or reconnects == MAX_RECONNECTS:
                    raise
                reconnects += 1
                continue
            finally:
                changed = untouched.restore()
            if history is not None and connection.restarts:
                history.extend(Question(operation, case) for case in cases)
            for place, where in changed.items():
                answers[place] = {**answers[place], CASE_CHANGED: where}
            return answers

    def _close_broken(self, connection: Connection) -> bool:
        """Close a broken connection; return False if another thread has already closed it."""
        with self._connecting:
            if self.concurrency > 1 and connection is not self._connection:
                return False
            self.close()
        return True

    def why_unsupported(self, question: Question) -> str | None:
        """Return why the hello message excludes a question, or None if it can be asked."""
        operation, case = question
        if operation not in self.hello.operations:
            return f"it does not offer {operation}"
        strategy = strategy_in(case, specs.load().defaults(self.profile))
        if strategy and not self.hello.offers_strategy(strategy):
            return f"it does not offer {strategy}"
        if (algorithm := case.get("algorithm")) and not self.hello.offers_algorithm(algorithm):
            return f"it does not offer {algorithm}"
        return None

    def _check_declared(self) -> None:
        try:
            specs.load().check_readings(self.declared)
        except specs.UnknownName as error:
            self.close()
            hint = "pulsar-conformance readings lists them all"
            raise AdapterError("hello", str(error), hint, adapter=self.adapter) from None


def connect_for_plan(plan: Plan, adapter: str, profile: str) -> Implementation:
    """Connect to an implementation, with all readings by which it is judged.

    The list of known deviations can pin readings, too. It is found by the name in the hello
    message, so that a list that pins readings requires a second connection. It does not override
    readings that the implementation declares and the profile permits. Errors: `AdapterError`.
    """
    found = Implementation(adapter, profile, plan.readings, plan.limits, patient=True)
    listed = plan.listed_readings(profile, *found.names)
    closed = specs.load().why_closed
    followed = {name for name, value in found.declared.items() if not closed(profile, name, value)}
    pinned = {name: value for name, value in listed.items() if name not in followed}
    if pinned.items() <= plan.readings.items():
        return found
    found.close()
    return Implementation(adapter, profile, {**pinned, **plan.readings}, plan.limits, patient=True)
