"""Which case of a batch breaks an implementation: the batch is halved until it is known."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress

from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.conformance.common.trial import ISOLATED_CRASH, Json

Ask = Callable[[Sequence[Json]], list[Json]]
"""Asks cases in one message. Errors: `AdapterError`."""

MOST_BREAKS = 48
"""The most messages that may break while a batch is taken apart; each costs a start, or a wait."""

MOST_ASKED = 200
"""The most messages in which one batch is taken apart."""

UNANSWERED = 12
"""After so many breaks and no answer, it breaks on anything."""

PROBES = (0.0, 1.0, 0.5)
"""Where in a batch the cases stand that are asked first, until one is answered: who breaks on each
of them breaks on anything."""

FRUITLESS = 1 + len(PROBES)
"""After so many breaks and no answer, it breaks on anything of one strategy or algorithm."""

COUNTED = re.compile(r"^[a-z_]+\.[a-z_]+(, [0-9]+ cases?)?: | \(answer [0-9]+ of [0-9]+\)$")
"""What an error says of the message, not of the case."""

NOT_ASKED: Json = {"unsupported": "it was not asked, since too many cases broke it before"}
"""The answer in place of one that was never asked for."""

ABOUT_CASES = ("ask", "answer")
"""Phases of an error that a case may have caused; not a start that fails."""


def kind_of(case: Json) -> str | None:
    """The strategy, without its package, or the algorithm that a case asks for, if it names one."""
    kind: str | None = case.get("strategy") or case.get("algorithm")
    return kind and kind.rpartition(".")[2]


class Isolation:
    """Takes a batch apart that broke the implementation.

    Attributes:
        asked: how many messages it took so far.
    """

    def __init__(self, ask: Ask, cases: Sequence[Json]) -> None:
        self._ask = ask
        self._cases = cases
        self._answers: list[Json | None] = [None] * len(cases)
        self._broken: list[int] = []
        self._breaks = 0
        self._fruitless = -MOST_BREAKS
        """How many messages of a kind broke before one was answered."""
        self.asked = 0

    def answers(self, error: AdapterError) -> list[Json]:
        """Return an answer for each case; one that breaks it alone has `failed`, `ISOLATED_CRASH`.

        Strategies and algorithms are asked apart first, since one of them may break it on any
        case. Where too much breaks it, what is left is not asked, and its answer says so.

        `error` is what the whole batch ended in. It is raised again where no single case is at
        fault: if each of the first few, or of all, breaks it by itself, if all are answered when
        asked apart, or if it cannot be started again.
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
        """The places of the cases of each strategy or algorithm."""
        kinds: dict[str | None, list[int]] = {}
        for place, case in enumerate(self._cases):
            kinds.setdefault(kind_of(case), []).append(place)
        return list(kinds.values())

    def _kind(self, places: list[int]) -> None:
        """Asks the cases of a kind, and takes them apart if need be."""
        self._fruitless = 0
        try:
            error = self._tried(places)
        except _Hopeless:
            return
        if error is not None:
            self._as_far_as_possible(places, error, asked=True)

    def _as_far_as_possible(self, places: list[int], error: AdapterError, asked: bool) -> None:
        """Takes cases apart until all is known, or there is no hope."""
        with suppress(_Hopeless):
            if error.index is None and len(places) > len(PROBES):
                self._after_probes(places, error)
            else:
                self._among(places, error, asked)

    def _after_probes(self, places: list[int], error: AdapterError) -> None:
        """Takes the rest apart once one of a few cases is answered alone."""
        last = len(places) - 1
        for probed, share in enumerate(PROBES, 1):
            place = places[round(last * share)]
            if self._alone(place):
                rest = [one for one in places if self._answers[one] is None]
                self._among(rest, error) if probed == 1 else self._among_unasked(rest)
                return
        raise _Hopeless

    def _alone(self, place: int) -> bool:
        """Whether a case has an answer, asked by itself; it is kept either way."""
        error = self._tried([place])
        if error is not None:
            self._marked(place, error)
        return error is None

    def _among_unasked(self, places: list[int]) -> bool:
        """Whether these cases are answered together; if not, they are taken apart."""
        unknown = self._unknown(places)
        error = self._tried(unknown) if unknown else None
        if error is not None:
            self._among(unknown, error, asked=True)
        return error is None

    def _among(self, places: list[int], error: AdapterError, asked: bool = False) -> None:
        """Takes apart cases of which one at least breaks it, as far as is known.

        `asked` says that exactly these were asked together.
        """
        if not asked and len(places) < len(self._cases):
            places = self._unknown(places)
        elif error.index is not None:
            asked = True
        if error.index is not None and asked:
            place = places[error.index]
            self._marked(place, error)
            self._among_unasked([one for one in places if one != place])
        elif len(places) == 1:
            if asked:
                self._marked(places[0], error)
            else:
                self._alone(places[0])
        elif places:
            half = len(places) // 2
            if self._among_unasked(places[:half]):
                self._among(places[half:], error)
            else:
                self._among_unasked(places[half:])

    def _unknown(self, places: Sequence[int]) -> list[int]:
        """The places of cases that equal none of those that break it; the others are marked."""
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

    def _marked(self, place: int, error: AdapterError) -> None:
        """Notes a case that breaks it."""
        self._answers[place] = {"failed": what_broke(error), ISOLATED_CRASH: 0}
        self._broken.append(place)

    def _tried(self, places: Sequence[int]) -> AdapterError | None:
        """Asks cases together and keeps the answers, or returns what they end in."""
        anything = self._breaks == self.asked >= UNANSWERED or self._fruitless == FRUITLESS
        if anything or self.asked == MOST_ASKED or self._breaks == MOST_BREAKS:
            raise _Hopeless
        self.asked += 1
        try:
            answers = self._ask([self._cases[place] for place in places])
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
    """It cannot be told which case it is."""


class _Gone(Exception):
    """It cannot be started again."""


def what_broke(error: AdapterError) -> str:
    """What happened, without the operation and the number of cases that were asked together."""
    return COUNTED.sub("", error.problem)


def _of_no_case(error: AdapterError) -> AdapterError:
    problem = f"{error.problem}; asked apart, every case of them is answered"
    hint = "look for what it keeps from case to case, what many cases use up, or a longest line"
    return AdapterError(error.phase, problem, hint, error.stderr_tail, error.adapter, error.code)
