"""Questions of whatever operation: those that the strategies of all rules aim at theirs."""

from __future__ import annotations

import copy
from functools import cache
from random import Random
from typing import Any

from hypothesis import strategies as st
from pulsar_conformance import specs
from pulsar_conformance.conformance.draws.namespaces import randoms
from pulsar_conformance.conformance.registry import CHECKS
from pulsar_conformance.conformance.trial import Question, Trial

CLUSTERS = ("shed.select", "bundles.split_candidates")
"""Operations whose cases are whole clusters, with the most that an answer could depend on."""

ORDERED = frozenset({"boundaries", "settings"})
"""What stands in an order that counts, or may."""


@cache
def _asking(operation: str) -> st.SearchStrategy[Question]:
    """A question of one operation, from a rule about just that."""
    rules = specs.load().rules
    asking = [one.draws for one in CHECKS.values() if rules[one.rule].operations == (operation,)]
    return st.one_of(asking).map(lambda trial: trial.questions[-1])


@st.composite
def questions(draw: st.DrawFn, rule: str) -> Question:
    """A question of any of a rule's operations, twice as often one about a whole cluster."""
    operations = specs.load().rules[rule].operations
    about_clusters = (operation for operation in operations if operation in CLUSTERS)
    return draw(_asking(draw(randoms).choice((*operations, *about_clusters))))


def once(rule: str) -> st.SearchStrategy[Trial]:
    """One question."""
    return questions(rule).map(lambda question: Trial((question,)))


def twice(rule: str) -> st.SearchStrategy[Trial]:
    """One question, and the same again."""
    return questions(rule).map(lambda question: Trial((question, _equal(question))))


@st.composite
def again_after_others(draw: st.DrawFn, rule: str) -> Trial:
    """One question, one or two others of its operation, and the first again."""
    first = draw(questions(rule))
    others = draw(st.lists(_asking(first.operation), min_size=1, max_size=2))
    return Trial((first, *others, _equal(first)))


@st.composite
def reordered(draw: st.DrawFn, rule: str) -> Trial:
    """One question, and the same with everything named in another order."""
    operation, case = draw(questions(rule))
    random = draw(randoms)
    return Trial.of(operation, case, {key: shuffled(case[key], random, key) for key in case})


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
