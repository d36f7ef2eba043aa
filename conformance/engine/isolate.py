"""Isolate: find the case in a batch that crashes an implementation, by bisection."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress

from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.adapters.errors import ProtocolBreach
from pulsar_conformance.conformance.common.trial import ISOLATED_CRASH, Json, kind_of

Ask = Callable[[Sequence[Json]], list[Json]]
"""Asks cases in one message. Errors: `AdapterError`."""

MOST_BREAKS = 48
"""Maximum number of crashes while a batch is split; each costs a restart or a time limit."""

MOST_ASKED = 200
"""Maximum number of messages into which one batch is split."""

UNANSWERED = 12
"""Crashes without an answer after which an implementation is assumed to crash on every case."""

PROBES = (0.0, 1.0, 0.5)
"""Positions in a batch, as fractions, of the cases that are asked first until one is answered.

An implementation that crashes on all of them is assumed to crash on every case.
"""

FRUITLESS = 1 + len(PROBES)
"""Number of crashes without any answer after which every case of a kind is assumed to crash."""

COUNTED = re.compile(r"^[a-z_]+\.[a-z_]+(, [0-9]+ cases?)?: | \(answer [0-9]+ of [0-9]+\)$")
"""The parts of an error's text that describe the message, not the case."""

NOT_ASKED: Json = {"unsupported": "not asked, since too many cases broke the implementation before"}
"""The answer to a case that was not asked."""

ABOUT_CASES = ("ask", "answer")
"""Phases of an error that a case may have caused; a failed start is not caused by a case."""


class Isolation:
    """Bisects a batch that crashed the implementation.

    Attributes:
        asked: number of messages sent so far.
    """

    def __init__(self, ask: Ask, cases: Sequence[Json]) -> None:
        self._ask = ask
        self._cases = cases
        self._answers: list[Json | None] = [None] * len(cases)
        self._broken: list[int] = []
        self._breaks = 0
        self._fruitless = -MOST_BREAKS
        """Number of crashes since the last answered message of this kind, offset by `MOST_BREAKS`.
        """
        self.asked = 0

    def answers(self, error: AdapterError) -> list[Json]:
        """Return an answer for each case; `failed` and `ISOLATED_CRASH` mark those that crash it.

        Each strategy and algorithm is asked separately first, because one of them may crash on any
        case. After too many crashes, the remaining cases are not asked, and their answers say so.

        `error` is the error of the whole batch. It is raised again if no single case is to blame:
        if all cases, or all of the first few, crash alone, if all are answered separately, or if
        the implementation cannot be restarted.
        """
        kinds = self._kinds()
        try:
            if len(kinds) == 1:
                self._as_far_as_possible(kinds[0], error, asked=False)
            else:
                for places in kinds:
                    self._kind(places)
        except _Gone:
            raise error from None
        found = [one for one in self._answers if one is not None]
        broken = [one for one in found if ISOLATED_CRASH in one]
        if not broken and len(found) == len(self._cases):
            raise _of_no_case(error)
        if not broken or (len(broken) == len(found) and len(self._cases) > 1):
            raise error
        for one in broken:
            one[ISOLATED_CRASH] = self.asked
        return [dict(NOT_ASKED) if one is None else one for one in self._answers]

    def _kinds(self) -> list[list[int]]:
        """Return the positions of the cases of each strategy or algorithm."""
        kinds: dict[str | None, list[int]] = {}
        for place, case in enumerate(self._cases):
            kinds.setdefault(kind_of(case), []).append(place)
        return list(kinds.values())

    def _kind(self, places: list[int]) -> None:
        """Ask the cases of one kind, and bisect them if necessary."""
        self._fruitless = 0
        try:
            error = self._ask_batch(places)
        except _Hopeless:
            return
        if error is not None:
            self._as_far_as_possible(places, error, asked=True)

    def _as_far_as_possible(self, places: list[int], error: AdapterError, asked: bool) -> None:
        """Bisect cases until the outcome of each is known or the limits are reached."""
        with suppress(_Hopeless):
            if error.index is None and len(places) > len(PROBES):
                self._after_probes(places, error)
            else:
                self._among(places, error, asked)

    def _after_probes(self, places: list[int], error: AdapterError) -> None:
        """Bisect the remaining cases after one of the probes was answered alone."""
        last = len(places) - 1
        for probed, share in enumerate(PROBES, 1):
            place = places[round(last * share)]
            if self._ask_alone(place):
                rest = [one for one in places if self._answers[one] is None]
                self._among(rest, error) if probed == 1 else self._among_unasked(rest)
                return
        raise _Hopeless

    def _ask_alone(self, place: int) -> bool:
        """Ask a case alone and keep the outcome; return True if it was answered."""
        error = self._ask_batch([place])
        if error is not None:
            self._record_crash(place, error)
        return error is None

    def _among_unasked(self, places: list[int]) -> bool:
        """Ask cases in one batch, and bisect them after a crash; return True if there was none."""
        unknown = self._not_known_to_crash(places)
        error = self._ask_batch(unknown) if unknown else None
        if error is not None:
            self._among(unknown, error, asked=True)
        return error is None

    def _among(self, places: list[int], error: AdapterError, asked: bool = False) -> None:
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
            self._among_unasked([one for one in places if one != place])
        elif len(places) == 1:
            if asked:
                self._record_crash(places[0], error)
            else:
                self._ask_alone(places[0])
        elif places:
            half = len(places) // 2
            if self._among_unasked(places[:half]):
                self._among(places[half:], error)
            else:
                self._among_unasked(places[half:])

    def _not_known_to_crash(self, places: Sequence[int]) -> list[int]:
        """Return the positions of cases not known to crash it, and mark those that are."""
        unknown = []
        for place in places:
            case = self._cases[place]
            known = (self._answers[one] for one in self._broken if self._cases[one] == case)
            answer = next(known, None)
            if answer is None:
                unknown.append(place)
            else:
                self._answers[place] = dict(answer)
        return unknown

    def _record_crash(self, place: int, error: AdapterError) -> None:
        """Record a case that causes a crash."""
        self._answers[place] = {"failed": crash_problem(error), ISOLATED_CRASH: 0}
        self._broken.append(place)

    def _ask_batch(self, places: Sequence[int]) -> AdapterError | None:
        """Ask cases in one batch and keep the answers; return the error if it fails."""
        anything = self._breaks == self.asked >= UNANSWERED or self._fruitless == FRUITLESS
        if anything or self.asked == MOST_ASKED or self._breaks == MOST_BREAKS:
            raise _Hopeless
        self.asked += 1
        try:
            answers = self._ask([self._cases[place] for place in places])
        except ProtocolBreach:
            raise
        except AdapterError as error:
            if error.phase not in ABOUT_CASES:
                raise _Gone from None
            self._breaks += 1
            self._fruitless += 1
            return error
        self._fruitless = -MOST_BREAKS
        for place, answer in zip(places, answers, strict=True):
            self._answers[place] = answer
        return None


class _Hopeless(Exception):
    """Raised if no single case can be found."""


class _Gone(Exception):
    """Raised if the implementation cannot be restarted."""


def crash_problem(error: AdapterError) -> str:
    """Return the problem without the operation and the size of the batch."""
    return COUNTED.sub("", error.problem)


def _of_no_case(error: AdapterError) -> AdapterError:
    problem = f"{error.problem}; asked separately, each of these cases is answered"
    hint = (
        "look for state kept between cases, a resource that many cases exhaust, or a limit on lines"
    )
    return AdapterError(error.phase, problem, hint, error.stderr_tail, error.adapter, error.code)
