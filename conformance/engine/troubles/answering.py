"""Cases without an answer: told by one rule, and made small in few messages."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from pulsar_conformance import specs
from pulsar_conformance.conformance.common.trial import ISOLATED_CRASH, Question, Trial, canonical
from pulsar_conformance.conformance.engine.findings import Findings
from pulsar_conformance.conformance.engine.judge import Fault, Outcome, lacking_in
from pulsar_conformance.conformance.engine.reduction import reduce
from pulsar_conformance.conformance.engine.subject import Subject

ANSWERING = "ANSWER-05"
"""The rule that every legal case is answered."""

MOST_ASKED = 40
"""The most messages more for one case without an answer: to tell which it is, and to reduce it."""

AT_LEAST = 12
"""So many of them may reduce it, whatever it took to tell which it is."""

FEW = 4
"""The most where each takes seconds."""

PATIENCE = 60.0
"""Seconds after which no smaller case is asked: one that hangs costs a time limit each time."""


def hand_over(rules: Sequence[specs.Rule], findings: dict[str, Findings]) -> None:
    """Holds each case without an answer against one rule.

    It is the rule about answering where that is judged; else the first rule that had such a case
    and is not broken otherwise, for each operation.
    """
    lacking: dict[str, dict[str, Fault]] = {}
    holders: dict[str, str] = {}
    for rule in rules:
        if rule.id not in findings:
            continue
        found = list(_without_answer(findings[rule.id]))
        for fault in found:
            [question] = fault.trial.questions
            known = lacking.setdefault(question.operation, {})
            known.setdefault(canonical(question.case), fault)
            holder = holders.setdefault(question.operation, rule.id)
            if findings[holder].own and not findings[rule.id].own:
                holders[question.operation] = rule.id
    about = specs.load().rules[ANSWERING].operations
    for operation, faults in lacking.items():
        general = ANSWERING in findings and operation in about
        holder = ANSWERING if general else holders[operation]
        findings[holder].own.extend(faults.values())


def _without_answer(found: Findings) -> list[Fault]:
    """Each question that was not answered, alone."""
    broken = (
        zip(tried.trial.questions, answers, strict=True)
        for (tried, answers), outcome in zip(found.answered, found.outcomes, strict=True)
        if outcome.unanswered
    )
    return [
        Fault(Trial((question,)), [answer], without_answer(lacking))
        for pairs in broken
        for question, answer in pairs
        if (lacking := lacking_in(question, answer)) is not None
    ]


def without_answer(lacking: str) -> Outcome:
    """The outcome of a case that has no answer."""
    return Outcome("violated", "an answer", lacking, unanswered=True)


def smallest_without_answer(subject: Subject, fault: Fault, tell: Callable[[int], None]) -> Fault:
    """The smallest case found that is not answered either, and what it ends in.

    It takes at most `MOST_ASKED` messages together with what it took to tell the case apart.
    Errors: `AdapterError`.
    """
    [answer] = fault.answers
    costly = fault.trial.operation in subject.implementation.hello.costly
    most = FEW if costly else max(MOST_ASKED - answer.get(ISOLATED_CRASH, 0), AT_LEAST)
    search = _Search(subject, most - 1, tell)
    small = reduce(fault.trial, search)
    lacking = search.ends.get(small.fingerprint, fault.outcome.answered)
    return Fault(small, fault.answers, without_answer(lacking))


class _Search:
    """For each of some trials whether it is the first of them that is not answered.

    All are asked in one message; if one of them breaks that, halves of it tell which.
    """

    def __init__(self, subject: Subject, most: int, tell: Callable[[int], None]) -> None:
        self._subject = subject
        self._left = most
        self._tell = tell
        self._until = time.monotonic() + PATIENCE
        self.ends: dict[str, str] = {}
        """By fingerprint, what a trial ended in."""

    def __call__(self, trials: Sequence[Trial]) -> list[bool]:
        legal = [one for one in trials if self._subject.court.legal(one)]
        self._tell(len(legal))
        hello = self._subject.implementation.hello
        costly = any(one.operation in hello.costly for one in legal)
        size = 1 if costly else hello.batch
        chunks = (legal[start : start + size] for start in range(0, len(legal), size))
        first = next((one for chunk in chunks if (one := self._first(chunk))), None)
        return [one is first for one in trials]

    def _first(self, trials: Sequence[Trial]) -> Trial | None:
        """The first that is not answered, as far as messages are left."""
        asked = self._ends(trials)
        if asked is None or len(trials) == 1:
            return trials[0] if asked is not None else None
        place, text = asked
        if place is not None:
            self.ends[trials[place].fingerprint] = text
            return trials[place]
        half = len(trials) // 2
        return self._first(trials[:half]) or self._first(trials[half:])

    def _ends(self, trials: Sequence[Trial]) -> tuple[int | None, str] | None:
        """Where some questions end without an answer, if that is known, and in what."""
        if not self._left or not trials or time.monotonic() > self._until:
            return None
        self._left -= 1
        questions: list[Question] = [one.questions[0] for one in trials]
        ended = self._subject.implementation.unanswered(questions)
        if ended is not None and len(trials) == 1:
            self.ends[trials[0].fingerprint] = ended[1]
        return ended
