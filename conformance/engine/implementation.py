"""An implementation under judgment: its connection, what it offers, its answers."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from threading import RLock, Semaphore

from pulsar_conformance import specs
from pulsar_conformance.adapters import AdapterError, Connection, Limits
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.adapters.untouched import Untouched
from pulsar_conformance.conformance.common.trial import (
    CASE_CHANGED,
    ISOLATED_CRASH,
    Json,
    Question,
    Trial,
    canonical,
)
from pulsar_conformance.conformance.engine.judge import lacking_in
from pulsar_conformance.conformance.engine.troubles.isolating import (
    ABOUT_CASES,
    Isolation,
    kind_of,
    what_broke,
)
from pulsar_conformance.conformance.placement.operations import PLACE
from pulsar_conformance.reference import Readings

DOCUMENTED = frozenset({"OverloadShedder", "ThresholdShedder", "UniformLoadShedder"})
"""The shedding strategies that documents name."""

MODEL, MODEL_MADE_NEUTRAL = "reference", "reference:neutral"
"""The adapter of the model, with the settings that no document names in force, or neutral."""


REMEMBERED = 20_000
"""Of the questions since a start, so many are remembered, to find out later what mattered."""

STARTS = 8
"""So many starts are remembered."""


class Implementation:
    """One implementation, asked under one profile.

    It has to follow the readings that are `pinned`; for the others, it is told the profile's own.
    It may be asked from whichever thread, and is asked `concurrency` things at a time. A `patient`
    one that breaks on a case is asked again without it, if that is possible; the answer to that
    case is then `failed`.

    Errors: `AdapterError` from the constructor if it cannot be reached, or declares a reading that
    does not exist.
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
        self._breaking: dict[tuple[str, str], Json] = {}
        """The answer that stands for each case that is known to break it."""
        self._histories: deque[deque[Question]] = deque(maxlen=STARTS)
        """What was asked since each start, the oldest first."""
        self._history: deque[Question] | None = None
        """What was asked since the last start, where it is kept."""
        self._declined: dict[str, set[str | None]] = defaultdict(set)
        """Of each operation, the strategies or algorithms in whose cases it was declined."""
        self._supported: set[str] = set()
        """The operations of which it answered a case."""
        self.checked_alone = 0
        """How many failures were asked again alone."""
        self.rows_sought = 0
        """For how many of them a row of questions was looked for."""
        self._asked_readings = Readings.of(profile, pinned)
        self._connection: Connection | None = None
        self._connecting = RLock()
        connection = self._connected()
        self.hello = connection.hello
        self.concurrency = connection.concurrency
        self._turn = Semaphore(self.concurrency)
        self._check_declared()

    @property
    def name(self) -> str:
        """The implementation's own name, with its version."""
        return f"{self.hello.name} {self.hello.version}".strip()

    @property
    def in_process(self) -> bool:
        """Whether it works in this process, on the original cases rather than copies."""
        return self._connection is not None and self._connection.in_process

    @property
    def declared(self) -> Mapping[str, str]:
        """The readings that it says it follows."""
        return self.hello.readings

    @property
    def neutral(self) -> bool:
        """Whether settings that no document names do nothing in it."""
        return self._asked_by == MODEL_MADE_NEUTRAL or bool(self.hello.neutral)

    def costly(self, rule: specs.Rule) -> bool:
        """Whether each case of a rule takes it seconds."""
        return any(one in self.hello.costly for one in rule.operations)

    def unoffered(self, rule: specs.Rule) -> str | None:
        """Why a rule does not concern this implementation, or an empty text.

        The implementation has to offer every operation of the rule, or one of them if any will do.
        """
        if self.hello.own is not None and rule.id not in self.hello.own:
            return "it stands as it is, and nothing that can be read of it shows this"
        missing = [one for one in rule.operations if one not in self.hello.operations]
        enough = rule.any_operation and len(missing) < len(rule.operations)
        if missing and not enough:
            return f"it does not offer {', '.join(missing)}"
        if rule.managers and self.hello.manager not in rule.managers:
            kinds = " or ".join(rule.managers)
            return f"it is the {kinds} load manager's, and this is a {self.hello.manager} one"
        placement, general = self.hello.placement, rule.any_operation or rule.any_strategy
        if placement and PLACE.id in rule.operations and not general:
            return f"it is the documented placement strategy's, and {placement} is asked"
        return None

    @property
    def plugged_strategy(self) -> str | None:
        """The shedding strategy of an implementation that offers no documented one."""
        offered = self.hello.strategies or ()
        documented = {name.rpartition(".")[2] for name in offered} & DOCUMENTED
        return offered[0] if offered and not documented else None

    def answers(self, trials: Sequence[Trial]) -> list[list[Json]]:
        """The answers to all questions of all trials, in as few requests as possible.

        A trial that comes after other questions is asked by itself, once it has been started anew.

        Errors: `AdapterError`; the next call reconnects.
        """
        rows = [trial for trial in trials if trial.before]
        if rows:
            others = iter(self.answers([trial for trial in trials if not trial.before]))
            return [self.afresh(one) if one.before else next(others) for one in trials]
        places: dict[str, list[tuple[int, int]]] = defaultdict(list)
        found: list[list[Json]] = [[{}] * len(trial.questions) for trial in trials]
        for row, trial in enumerate(trials):
            for column, question in enumerate(trial.questions):
                why = self._unsupported(question)
                if why:
                    found[row][column] = {"unsupported": why}
                else:
                    places[question.operation].append((row, column))
        for operation, cells in places.items():
            cases = [trials[row].questions[column].case for row, column in cells]
            with self._turn:
                answers = self._unbroken(operation, cases)
            for (row, column), answer in zip(cells, answers, strict=True):
                found[row][column] = answer
        return found

    def afresh(self, trial: Trial) -> list[Json]:
        """The answers to a trial of an implementation that is started anew, in the order in which
        it is asked. Errors: `AdapterError`."""
        row = [*trial.before, *trial.questions]
        found: list[Json] = []
        with self._turn:
            self.close()
            self._connected()
            self._histories.pop()  # what is asked from here on shows nothing that is not known
            self._history = None
            for operation, group in groupby(row, key=itemgetter(0)):
                questions = list(group)
                reasons = [self._unsupported(question) for question in questions]
                pairs = zip(questions, reasons, strict=True)
                answers = iter(self._unbroken(operation, [q.case for q, why in pairs if not why]))
                found += [{"unsupported": why} if why else next(answers) for why in reasons]
        return found[-len(trial.questions) :]

    def asked_before(self, trial: Trial) -> list[Question] | None:
        """What it was asked before the last question of a trial since it had started, in order.

        None if it is not known any longer. The trial's other questions are not among them.
        """
        own = {id(question.case) for question in trial.questions}
        last = trial.questions[-1].case
        for history in self._histories:
            for place, question in enumerate(history):
                if question.case is last:
                    return [one for one in list(history)[:place] if id(one.case) not in own]
        return None

    def declines(self, operation: str) -> bool:
        """Whether it declined every case of an operation that it was asked, of whatever kind.

        A single strategy or algorithm may be one that it does not have.
        """
        kinds = self._declined.get(operation, set())
        return operation not in self._supported and (None in kinds or len(kinds) > 1)

    @property
    def restarts(self) -> bool:
        """Whether it can be started anew in little time, with nothing left of before."""
        return self._connection is None or self._connection.restarts

    def told(self) -> list[str]:
        """The connection's notes on how it worked."""
        return self._connection.remarks() if self._connection is not None else []

    def close(self) -> None:
        """Closes the connection."""
        with self._connecting:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _connected(self) -> Connection:
        with self._connecting:
            if self._connection is None:
                self._history = deque(maxlen=REMEMBERED)
                self._histories.append(self._history)
                choices = self._asked_readings.choices
                self._connection = connect(self._asked_by, self.profile, choices, self._limits)
            return self._connection

    def unanswered(self, questions: Sequence[Question]) -> tuple[int | None, str] | None:
        """Which of some questions of one operation has no answer, if that is known, and what it
        ends in; None if all are answered. It takes one message.

        Errors: `AdapterError` if it cannot be started.
        """
        with self._turn:
            self._connected()
            try:
                answers = self._ask(questions[0].operation, [one.case for one in questions])
            except AdapterError as error:
                return error.index, f"failed: {what_broke(error)}"
        lacking = map(lacking_in, questions, answers)
        return next(((place, text) for place, text in enumerate(lacking) if text), None)

    def _unbroken(self, operation: str, cases: Sequence[Json]) -> list[Json]:
        """The answers in batches; a case that breaks a patient implementation is told apart."""
        found: list[Json] = []
        size = self.hello.batch
        for first in range(0, len(cases), size):
            batch = cases[first : first + size]
            known = self._known_to_break(operation, batch)
            asked = [case for case, answer in zip(batch, known, strict=True) if answer is None]
            answers = iter(self._taken_apart(operation, asked) if asked else ())
            found += [next(answers) if answer is None else answer for answer in known]
        for case, answer in zip(cases, found, strict=True):
            if "unsupported" in answer:
                self._declined[operation].add(kind_of(case))
            else:
                self._supported.add(operation)
        return found

    def _known_to_break(self, operation: str, cases: Sequence[Json]) -> list[Json | None]:
        if not self._breaking:
            return [None] * len(cases)
        return [self._breaking.get((operation, canonical(case))) for case in cases]

    def _taken_apart(self, operation: str, cases: Sequence[Json]) -> list[Json]:
        """Answers to a batch, `failed` where a case breaks it. Errors: `AdapterError`."""
        connection = self._connected()
        try:
            return self._ask(operation, cases)
        except AdapterError as error:
            if not (self._patient and connection.restarts and error.phase in ABOUT_CASES):
                raise
            parts = Isolation(lambda some: self._ask(operation, some), cases)
            answers = parts.answers(error)
        for case, answer in zip(cases, answers, strict=True):
            if ISOLATED_CRASH in answer:
                self._breaking[operation, canonical(case)] = answer
        return answers

    @property
    def _asked_by(self) -> str:
        """The adapter's name; a release's model is made neutral as the release itself is."""
        released = specs.load().profile(self.profile).released
        return MODEL_MADE_NEUTRAL if released and self.adapter == MODEL else self.adapter

    def _ask(self, operation: str, cases: Sequence[Json]) -> list[Json]:
        connection = self._connected()
        if self._history is not None and connection.restarts:
            self._history.extend(Question(operation, case) for case in cases)
        untouched = Untouched(cases if connection.in_process else ())
        try:
            answers = connection.ask(operation, cases)
        except AdapterError:
            if not self._ends(connection):
                return self._ask(operation, cases)
            raise
        finally:
            changed = untouched.restore()
        for place, where in changed.items():
            answers[place] = {**answers[place], CASE_CHANGED: where}
        return answers

    def _ends(self, connection: Connection) -> bool:
        """Closes a connection that broke; False if a question beside it has ended it before."""
        with self._connecting:
            if self.concurrency > 1 and connection is not self._connection:
                return False
            self.close()
        return True

    def _unsupported(self, question: Question) -> str | None:
        """Why a question need not be asked, according to what the implementation offers."""
        operation, case = question
        if operation not in self.hello.operations:
            return f"it does not offer {operation}"
        strategy, algorithm = case.get("strategy"), case.get("algorithm")
        if strategy and not self.hello.offers_strategy(strategy):
            return f"it does not offer {strategy}"
        if algorithm and not self.hello.offers_algorithm(algorithm):
            return f"it does not offer {algorithm}"
        return None

    def _check_declared(self) -> None:
        try:
            specs.load().check_readings(self.declared)
        except specs.UnknownName as unknown:
            self.close()
            raise AdapterError(
                "hello",
                str(unknown),
                "pulsar-conformance readings lists them all",
                adapter=self.adapter,
            ) from None
