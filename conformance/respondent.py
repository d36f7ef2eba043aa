"""An implementation under judgement: its connection, what it offers, its answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from threading import Lock

from pulsar_conformance import specs
from pulsar_conformance.adapters import AdapterError, Connection, Limits, connect
from pulsar_conformance.conformance.judge import Court
from pulsar_conformance.conformance.registry import CHECKS
from pulsar_conformance.conformance.trial import CASE_CHANGED, Json, Question, Trial
from pulsar_conformance.conformance.untouched import Untouched
from pulsar_conformance.reference import Readings

DOCUMENTED = frozenset({"OverloadShedder", "ThresholdShedder", "UniformLoadShedder"})
"""The shedding strategies that documents name."""

PLACING = "place.select"


class Respondent:
    """One implementation, judged by one profile, under the readings that it follows.

    It is asked one thing after the other, whichever thread asks.
    Errors: `AdapterError` from the constructor where it cannot be reached, or follows a reading
    that there is not.
    """

    def __init__(
        self,
        adapter: str,
        profile: str,
        readings: Mapping[str, str],
        limits: Limits | None = None,
    ) -> None:
        self.adapter = adapter
        self.profile = profile
        self._limits = limits
        self._asked_readings = Readings.of(profile, readings)
        self._connection: Connection | None = None
        self._turn = Lock()
        hello = self._connected().hello
        self.hello = hello
        self.readings = self._followed(hello.readings)
        self.court = Court(specs.load().defaults(profile), self.readings)

    @property
    def name(self) -> str:
        """What the implementation calls itself, with its version."""
        return f"{self.hello.name} {self.hello.version}".strip()

    @property
    def in_process(self) -> bool:
        """Whether it works in this process, on the very cases."""
        return self._connection is not None and self._connection.in_process

    def inapplicable(self, rule: specs.Rule) -> str | None:
        """Why a rule is none of this implementation's business, or nothing.

        It has to offer all operations that the rule is about, or one where any will do.
        """
        missing = [one for one in rule.operations if one not in self.hello.operations]
        enough = rule.any_operation and len(missing) < len(rule.operations)
        if missing and not enough:
            return f"it does not offer {', '.join(missing)}"
        placement = self.hello.placement
        if placement and PLACING in rule.operations and not holds_for_every_strategy(rule):
            return f"it is the documented placement strategy's, and {placement} is asked"
        for reading, value in rule.reading.items():
            if self.readings[reading] != value:
                return f"it follows {reading}={self.readings[reading]}, not {value}"
        return None

    @property
    def plugged_strategy(self) -> str | None:
        """The shedding strategy of an implementation that offers none of the documented ones."""
        offered = self.hello.strategies or ()
        documented = {name.rpartition(".")[2] for name in offered} & DOCUMENTED
        return offered[0] if offered and not documented else None

    def answers(self, trials: Sequence[Trial]) -> list[list[Json]]:
        """The answers to every question of every trial: an operation's in as few asks as can be.

        Errors: `AdapterError`; the next call connects anew.
        """
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
                answers = self._ask(operation, cases)
            for (row, column), answer in zip(cells, answers, strict=True):
                found[row][column] = answer
        return found

    def told(self) -> list[str]:
        """What its connection tells of how it worked."""
        return self._connection.told() if self._connection is not None else []

    def close(self) -> None:
        """Ends the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self) -> Connection:
        if self._connection is None:
            choices = self._asked_readings.choices
            self._connection = connect(self.adapter, self.profile, choices, self._limits)
        return self._connection

    def _ask(self, operation: str, cases: Sequence[Json]) -> list[Json]:
        connection = self._connected()
        untouched = Untouched(cases if connection.in_process else ())
        try:
            answers = connection.ask(operation, cases)
        except AdapterError:
            self.close()
            raise
        finally:
            changed = untouched.restore()
        for place, where in changed.items():
            answers[place] = {**answers[place], CASE_CHANGED: where}
        return answers

    def _unsupported(self, question: Question) -> str | None:
        """Why a question need not be asked, by what the implementation says it offers."""
        operation, case = question
        if operation not in self.hello.operations:
            return f"it does not offer {operation}"
        strategy, algorithm = case.get("strategy"), case.get("algorithm")
        if strategy and not self.hello.offers_strategy(strategy):
            return f"it does not offer {strategy}"
        if algorithm and not self.hello.offers_algorithm(algorithm):
            return f"it does not offer {algorithm}"
        return None

    def _followed(self, said: Mapping[str, str]) -> Readings:
        """The readings it is judged by: those that it says, else those that it was asked for."""
        try:
            specs.load().check_readings(said)
        except specs.UnknownName as unknown:
            self.close()
            raise AdapterError(
                "hello", str(unknown), "see specs/readings.yaml", adapter=self.adapter
            ) from None
        return Readings({**self._asked_readings.choices, **said})


def holds_for_every_strategy(rule: specs.Rule) -> bool:
    """Whether a strategy that no document knows is judged by the rule."""
    return rule.any_operation or (rule.id in CHECKS and CHECKS[rule.id].any_strategy)
