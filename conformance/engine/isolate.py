"""Isolate: finds the case in a batch that crashes an implementation, by bisection."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress

from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.adapters.errors import ProtocolViolation
from pulsar_conformance.conformance.common.trial import CRASHED_ON_CASE, Json, strategy_or_algorithm

Ask = Callable[[Sequence[Json]], list[Json]]
"""Function that asks cases in one message. Errors: `AdapterError`."""

MAX_CRASHES = 48
"""Maximum number of crashes while one batch is bisected; each costs a restart or a timeout."""

MAX_MESSAGES_PER_BATCH = 200
"""Maximum number of messages sent while one batch is bisected."""

CRASHES_OF_A_BROKEN_PROGRAM = 12
"""Number of crashes without any answer after which a program is assumed to crash on every case."""

PROBE_POSITIONS = (0.0, 1.0, 0.5)
"""Positions, as fractions of a batch, of cases that are asked alone until one is answered.

If an implementation crashes on all of them, it is assumed to crash on every case.
"""

MAX_FRUITLESS = 1 + len(PROBE_POSITIONS)
"""Number of crashes after which all cases of a strategy or algorithm are assumed to crash, if none
of its cases has been answered.
"""

ABOUT_THE_BATCH = re.compile(r"^[a-z_]+\.[a-z_]+(, [0-9]+ cases?)?: | \(answer [0-9]+ of [0-9]+\)$")
"""Matches the parts of an error's text that describe the batch instead of the case."""

NOT_ASKED: Json = {
    "unsupported": "not asked, since too many earlier cases broke the implementation"
}
"""The answer for a case that was not asked."""

CAUSED_BY_CASES = ("ask", "answer")
"""Phases in which a case may have caused an error; no case can make a start fail."""


class Isolation:
    """Bisects a batch that crashed the implementation.

    Attributes:
        asked: number of messages sent so far.
    """

    def __init__(self, ask: Ask, cases: Sequence[Json]) -> None:
        self._ask = ask
        self._cases = cases
        self._answers: list[Json | None] = [None] * len(cases)
        self._crashing: list[int] = []
        self._crashes = 0
        self._fruitless = -MAX_CRASHES
        """Number of crashes on cases of this strategy or algorithm, as long as none is answered.

        After an answer, it is set to `-MAX_CRASHES`, so that it never reaches the limit.
        """
        self.asked = 0

    def answers(self, error: AdapterError) -> list[Json]:
        """Return an answer for each case: `failed` with `CRASHED_ON_CASE` if it causes a crash.

        First, the cases of each strategy and algorithm are asked separately, because the
        implementation may crash on every case of one of them. After too many crashes, the remaining
        cases are not asked, and their answer is `NOT_ASKED`.

        `error` is the error of the whole batch. It is raised again if no single case is the cause:
        if all cases, or all of the first few, crash alone; if every case is answered when it is
        asked separately; or if the implementation cannot be restarted.
        """
        kinds = self._positions_by_kind()
        try:
            if len(kinds) == 1:
                self._bisect_within_limits(kinds[0], error, asked=False)
            else:
                for places in kinds:
                    self._isolate_kind(places)
        except _CannotRestart:
            raise error from None
        found = [one for one in self._answers if one is not None]
        broken = [one for one in found if CRASHED_ON_CASE in one]
        if not broken and len(found) == len(self._cases):
            raise _error_of_no_single_case(error)
        if not broken or (len(broken) == len(found) and len(self._cases) > 1):
            raise error
        for one in broken:
            one[CRASHED_ON_CASE] = self.asked
        return [dict(NOT_ASKED) if one is None else one for one in self._answers]

    def _positions_by_kind(self) -> list[list[int]]:
        """Return, for each strategy or algorithm, the positions of its cases in the batch."""
        kinds: dict[str | None, list[int]] = {}
        for index, case in enumerate(self._cases):
            kinds.setdefault(strategy_or_algorithm(case), []).append(index)
        return list(kinds.values())

    def _isolate_kind(self, places: list[int]) -> None:
        """Ask the cases of one strategy or algorithm, and bisect them after a crash."""
        self._fruitless = 0
        try:
            error = self._ask_batch(places)
        except _CannotIsolate:
            return
        if error is not None:
            self._bisect_within_limits(places, error, asked=True)

    def _bisect_within_limits(self, places: list[int], error: AdapterError, asked: bool) -> None:
        """Bisect cases until the outcome of each is known or the limits are reached."""
        with suppress(_CannotIsolate):
            if error.index is None and len(places) > len(PROBE_POSITIONS):
                self._probe_and_bisect(places, error)
            else:
                self._bisect(places, error, asked)

    def _probe_and_bisect(self, places: list[int], error: AdapterError) -> None:
        """Ask a few cases alone until one is answered, then bisect the remaining cases.

        Raises `_CannotIsolate` if none is answered.
        """
        last = len(places) - 1
        for probed, share in enumerate(PROBE_POSITIONS, 1):
            place = places[round(last * share)]
            if self._ask_alone(place):
                rest = [one for one in places if self._answers[one] is None]
                self._bisect(rest, error) if probed == 1 else self._ask_and_bisect(rest)
                return
        raise _CannotIsolate

    def _ask_alone(self, place: int) -> bool:
        """Ask a case alone and record its answer or crash; return True if it was answered."""
        error = self._ask_batch([place])
        if error is not None:
            self._record_crash(place, error)
        return error is None

    def _ask_and_bisect(self, places: list[int]) -> bool:
        """Ask cases in one batch, and bisect them after a crash; return True if there was none."""
        unknown = self._not_known_to_crash(places)
        error = self._ask_batch(unknown) if unknown else None
        if error is not None:
            self._bisect(unknown, error, asked=True)
        return error is None

    def _bisect(self, places: list[int], error: AdapterError, asked: bool = False) -> None:
        """Bisect cases, at least one of which is known to cause a crash.

        `asked` is true if exactly these cases were asked in one batch.
        """
        if not asked and len(places) < len(self._cases):
            places = self._not_known_to_crash(places)
        elif error.index is not None:
            asked = True
        if error.index is not None and asked:
            place = places[error.index]
            self._record_crash(place, error)
            self._ask_and_bisect([one for one in places if one != place])
        elif len(places) == 1:
            if asked:
                self._record_crash(places[0], error)
            else:
                self._ask_alone(places[0])
        elif places:
            half = len(places) // 2
            if self._ask_and_bisect(places[:half]):
                self._bisect(places[half:], error)
            else:
                self._ask_and_bisect(places[half:])

    def _not_known_to_crash(self, places: Sequence[int]) -> list[int]:
        """Return the positions of cases not known to crash; record the answers of the other cases.

        A case is known to crash if an equal case has crashed.
        """
        unknown = []
        for place in places:
            case = self._cases[place]
            known = (self._answers[one] for one in self._crashing if self._cases[one] == case)
            answer = next(known, None)
            if answer is None:
                unknown.append(place)
            else:
                self._answers[place] = dict(answer)
        return unknown

    def _record_crash(self, place: int, error: AdapterError) -> None:
        """Record a case that causes a crash."""
        self._answers[place] = {"failed": problem_of_case(error), CRASHED_ON_CASE: 0}
        self._crashing.append(place)

    def _ask_batch(self, places: Sequence[int]) -> AdapterError | None:
        """Ask cases in one batch and keep the answers; return the error if it fails."""
        hopeless = (
            self._crashes == self.asked >= CRASHES_OF_A_BROKEN_PROGRAM
            or self._fruitless == MAX_FRUITLESS
        )
        if hopeless or self.asked == MAX_MESSAGES_PER_BATCH or self._crashes == MAX_CRASHES:
            raise _CannotIsolate
        self.asked += 1
        try:
            answers = self._ask([self._cases[place] for place in places])
        except ProtocolViolation:
            raise
        except AdapterError as error:
            if error.phase not in CAUSED_BY_CASES:
                raise _CannotRestart from None
            self._crashes += 1
            self._fruitless += 1
            return error
        self._fruitless = -MAX_CRASHES
        for place, answer in zip(places, answers, strict=True):
            self._answers[place] = answer
        return None


class _CannotIsolate(Exception):
    """Raised if the crash cannot be narrowed down to single cases within the limits."""


class _CannotRestart(Exception):
    """Raised if the implementation cannot be restarted."""


def problem_of_case(error: AdapterError) -> str:
    """Return the text of an error without the operation and the size of the batch."""
    return ABOUT_THE_BATCH.sub("", error.problem)


def _error_of_no_single_case(error: AdapterError) -> AdapterError:
    problem = f"{error.problem}; asked separately, each of these cases is answered"
    hint = (
        "look for state kept between cases, a resource that many cases exhaust, or a limit on the "
        "length of a line"
    )
    return AdapterError(error.phase, problem, hint, error.stderr_tail, error.adapter, error.code)
