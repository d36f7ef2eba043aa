"""Questions of whatever operation: those that the strategies of all rules aim at theirs."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

from hypothesis import strategies as st
from pulsar_conformance import specs
from pulsar_conformance.conformance.draws.namespaces import randoms
from pulsar_conformance.conformance.registry import CHECKS
from pulsar_conformance.conformance.trial import Question, Trial

MORE = (*("shed.select",) * 4, "bundles.split_candidates", "place.select", "bundles.locate")
"""Operations that have more than one share: their answers depend on the most."""

ORDERED = frozenset({"boundaries", "settings"})
"""What stands in an order that counts, or may."""


Questions = st.SearchStrategy[Question]
Asking = Callable[[Questions], st.SearchStrategy[Trial]]


@cache
def questions(operation: str) -> Questions:
    """A question of one operation, as some rule's strategy asks it."""
    rules = specs.load().rules

    def known() -> Questions:
        asking = [
            one.draws for one in CHECKS.values() if rules[one.rule].operations == (operation,)
        ]
        return st.one_of(asking).map(lambda trial: trial.questions[-1])

    # Deferred, for most strategies are registered later than this one is asked for.
    return st.deferred(known)


def of_each_operation(asking: Asking) -> Callable[[str], list[st.SearchStrategy[Trial]]]:
    """Makes the strategies of a rule: one for each of its operations, for some several."""

    def made(rule: str) -> list[st.SearchStrategy[Trial]]:
        operations = specs.load().rules[rule].operations
        more = (operation for operation in MORE if operation in operations)
        return [asking(questions(operation)) for operation in (*operations, *more)]

    return made


def once(asked: Questions) -> st.SearchStrategy[Trial]:
    """One question."""
    return asked.map(lambda question: Trial((question,)))


def twice(asked: Questions) -> st.SearchStrategy[Trial]:
    """One question, and the same again."""
    return asked.map(lambda question: Trial((question, _equal(question))))


def again_after_others(asked: Questions) -> st.SearchStrategy[Trial]:
    """One question, one or two others of its operation, and the first again."""
    others = st.lists(asked, min_size=1, max_size=2)
    return st.builds(lambda first, between: Trial((first, *between, _equal(first))), asked, others)


def reordered(asked: Questions) -> st.SearchStrategy[Trial]:
    """One question, and the same with everything named in another order."""

    def both(question: Question, random: Random) -> Trial:
        operation, case = question
        return Trial.of(operation, case, {key: shuffled(case[key], random, key) for key in case})

    return st.builds(both, asked, randoms)


def _equal(question: Question) -> Question:
    """The same question without anything in common."""
    return Question(question.operation, copy.deepcopy(question.case))


def shuffled(value: Any, random: Random, key: str = "") -> Any:
    """The same brokers, bundles and topics, named in another order."""
    if key in ORDERED:
        return value
    if isinstance(value, dict):
        keys = random.sample(list(value), len(value))
        return {name: shuffled(value[name], random, name) for name in keys}
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return random.sample(value, len(value))
    return value


def sorted_out(value: Any, key: str = "") -> Any:
    """What is equal for cases that differ in the order of names alone."""
    if key in ORDERED:
        return value
    if isinstance(value, dict):
        return {name: sorted_out(item, name) for name, item in value.items()}
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return sorted(value)
    return value
