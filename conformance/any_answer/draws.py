"""Questions of any operation, drawn by the strategies that other rules have."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

from hypothesis import strategies as st
from pulsar_conformance import specs
from pulsar_conformance.conformance.common.check import CHECKS
from pulsar_conformance.conformance.common.trial import Question, Trial
from pulsar_conformance.conformance.drawing.loads import randoms
from pulsar_conformance.conformance.shedding.operations import SHED

MORE = (
    *(SHED.id,) * 4,
    *("report.read",) * 2,
    "bundles.split_candidates",
    "place.select",
    "bundles.locate",
)
"""Operations that have more than one share: their answers depend on the most."""

ORDERED = frozenset({"boundaries", "settings"})
"""Fields whose order counts, or may count."""


Questions = st.SearchStrategy[Question]
Asking = Callable[[Questions], st.SearchStrategy[Trial]]


@cache
def questions(operation: str) -> Questions:
    """A question of one operation, as some rule's strategy asks it."""
    rules = specs.load().rules

    def known() -> Questions:
        serving = (one for one in CHECKS.values() if rules[one.rule].operations == (operation,))
        # Sorted, lest the order of imports decide what is drawn.
        asking = [one.draws for one in sorted(serving, key=lambda one: _turn(rules[one.rule]))]
        return st.one_of(asking).map(lambda trial: trial.questions[-1])

    # Deferred, for most strategies are registered later than this one is asked for.
    return st.deferred(known)


def _turn(rule: specs.Rule) -> tuple[bool, str]:
    return rule.provenance != "observed", rule.area


def of_each_operation(asking: Asking) -> Callable[[str], list[st.SearchStrategy[Trial]]]:
    """Build the strategies of a rule: one for each operation, several for some operations."""

    def made(rule: str) -> list[st.SearchStrategy[Trial]]:
        operations = specs.load().rules[rule].operations
        more = (operation for operation in MORE if operation in operations)
        return [asking(questions(operation)) for operation in (*operations, *more)]

    return made


def once(asked: Questions) -> st.SearchStrategy[Trial]:
    """One question."""
    return asked.map(lambda question: Trial((question,)))


def twice(asked: Questions) -> st.SearchStrategy[Trial]:
    """One question, asked twice."""
    return asked.map(lambda question: Trial((question, _equal(question))))


def again_after_others(asked: Questions) -> st.SearchStrategy[Trial]:
    """One question, one or two others of its operation and its namesake, and the first again."""

    def made(first: Question, between: list[Question], random: Random) -> Trial:
        return Trial((first, *between, namesake(first, random), _equal(first)))

    return st.builds(made, asked, st.lists(asked, min_size=1, max_size=2), randoms)


def namesake(question: Question, random: Random) -> Question:
    """The same question with the data of its bundles exchanged among them.

    Who remembers by name gives one bundle's loads to another.
    """
    operation, case = _equal(question)
    known = case.get("bundles")
    if isinstance(known, dict) and known:
        loads = random.sample(list(known.values()), len(known))
        names = [*known, *(one for one in _owned(case) if one not in known)]
        case["bundles"] = dict(zip(random.sample(names, len(names)), loads, strict=False))
    return Question(operation, case)


def _owned(case: dict[str, Any]) -> list[str]:
    """The bundles that brokers report."""
    brokers = case.get("brokers")
    each = brokers.values() if isinstance(brokers, dict) else ()
    return [bundle for one in each for bundle in one.get("bundles", ())]


def reordered(asked: Questions) -> st.SearchStrategy[Trial]:
    """One question, and the same question with all names in another order."""

    def both(question: Question, random: Random) -> Trial:
        operation, case = question
        return Trial.of(operation, case, {key: shuffled(case[key], random, key) for key in case})

    return st.builds(both, asked, randoms)


def _equal(question: Question) -> Question:
    """A copy of the question that shares nothing with it."""
    return Question(question.operation, copy.deepcopy(question.case))


def shuffled(value: Any, random: Random, key: str = "") -> Any:
    """The same brokers, bundles and topics in another order."""
    if key in ORDERED:
        return value
    if isinstance(value, dict):
        keys = random.sample(list(value), len(value))
        return {name: shuffled(value[name], random, name) for name in keys}
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return random.sample(value, len(value))
    return value


def sorted_out(value: Any, key: str = "") -> Any:
    """A value that is equal for cases that differ only in the order of names."""
    if key in ORDERED:
        return value
    if isinstance(value, dict):
        return {name: sorted_out(item, name) for name, item in value.items()}
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return sorted(value)
    return value
