"""ANSWER: rules about the answer to any question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from random import Random
from typing import Any

from hypothesis import strategies as st
from pulsar_conformance import specs
from pulsar_conformance.conformance.any_answer.transformations import (
    copies_of,
    transformation_between,
)
from pulsar_conformance.conformance.cases.legality import matches
from pulsar_conformance.conformance.catalogue import OPERATIONS
from pulsar_conformance.conformance.common.check import (
    CHECKS,
    Expect,
    LeftUnanswered,
    check_exchanges,
    readable,
)
from pulsar_conformance.conformance.common.events import AN_ANSWER
from pulsar_conformance.conformance.common.trial import (
    CASE_CHANGED,
    Exchange,
    Json,
    Question,
    Trial,
    canonical,
    copied,
)
from pulsar_conformance.conformance.drawing.loads import randoms
from pulsar_conformance.conformance.load_data.operations import USAGE
from pulsar_conformance.conformance.shedding.draw_clusters import Sketch
from pulsar_conformance.conformance.shedding.operations import SHED
from pulsar_conformance.reference.usage import WEIGHT_SETTINGS

MORE_SHARES = (
    *(SHED.id,) * 6,
    *("report.read",) * 2,
    *("place.select",) * 2,
    "bundles.split_candidates",
    "bundles.locate",
)
"""Operations whose cases vary most; each time that an operation is listed gives it one more share
of the trials.
"""

IN_ORDER = frozenset({"boundaries", "settings"})
"""Fields of a case in which the order of the entries matters or may matter."""

MAX_COPIES = 20
"""Maximum number of transformed copies that are asked together with a case."""

TRANSFORMED_SHARES = {
    SHED.id: 8,
    "place.select": 4,
    "usage.nic": 3,
    "bundles.split_candidates": 4,
    **dict.fromkeys(("shed.cycles", "average.broker"), 2),
    **dict.fromkeys(("place.anti_affinity", "place.broker"), 2),
}
"""For some operations, the number of shares of the trials with transformed copies; 1 for all
others.
"""

NEWEST = ("documented-5.0",)
"""The `profiles` of a rule that only the newest documents state."""

Questions = st.SearchStrategy[Question]
Arrangement = Callable[[Questions], st.SearchStrategy[Trial]]
"""Function that turns a strategy for questions into a strategy for trials."""


@cache
def draw_questions(operation: str) -> Questions:
    """Return a strategy for an operation's questions, drawn for rules about that operation alone.

    Two kinds of rules are left out: rules that only the documents of 5.0 state, and rules of the
    area PLANNED. Their cases may have fields that are newer than the documents by which an
    implementation is judged.
    """
    rules = specs.load().rules

    def known() -> Questions:
        serving = [
            one
            for one in CHECKS.values()
            if rules[one.rule].operations == (operation,)
            and rules[one.rule].profiles != NEWEST
            and rules[one.rule].area != "PLANNED"
        ]
        # Sorted, so that drawn questions do not depend on the order of imports.
        serving.sort(key=lambda one: _sort_key(rules[one.rule]))
        return st.one_of([one.draws for one in serving]).map(lambda trial: trial.questions[-1])

    # Deferred, because most checks are registered after this function is called.
    return st.deferred(known)


def _sort_key(rule: specs.Rule) -> tuple[bool, str]:
    return rule.provenance != "observed", rule.area


def for_each_operation(
    arrangement: Arrangement,
) -> Callable[[str], list[st.SearchStrategy[Trial]]]:
    """Return a function that maps a rule's ID to its strategies, one or more for each operation."""

    def strategies(rule: str) -> list[st.SearchStrategy[Trial]]:
        operations = specs.load().rules[rule].operations
        more = (operation for operation in MORE_SHARES if operation in operations)
        return [arrangement(draw_questions(operation)) for operation in (*operations, *more)]

    return strategies


def asked_once(questions: Questions) -> st.SearchStrategy[Trial]:
    """Return a strategy for trials of a single question."""
    return questions.map(lambda question: Trial((question,)))


def strategies_with_idle_broker(rule: str) -> list[st.SearchStrategy[Trial]]:
    """Return strategies for trials of a single question.

    In the trials of the last strategy, one of the candidates for a bundle has no bundles.
    """
    placements = st.builds(_with_idle_broker, draw_questions("place.select"), randoms)
    return [*for_each_operation(asked_once)(rule), asked_once(placements)]


def _with_idle_broker(question: Question, random: Random) -> Question:
    """Return a copy of a question about placement in which one candidate has no bundles."""
    operation, case = _copy(question)
    idle = random.choice(case["candidates"])
    case["brokers"][idle]["bundles"] = []
    case["preallocated"].pop(idle, None)
    return Question(operation, case)


def asked_twice(questions: Questions) -> st.SearchStrategy[Trial]:
    """Return a strategy for trials that ask the same question twice."""
    return questions.map(lambda question: Trial((question, _copy(question))))


def asked_before_and_after_others(questions: Questions) -> st.SearchStrategy[Trial]:
    """Return a strategy for trials that ask a question before and after other questions.

    The two or three other questions have the same operation.
    """

    def arranged(first: Question, between: list[Question], random: Random) -> Trial:
        return Trial((first, *between, with_loads_swapped(first, random), _copy(first)))

    return st.builds(arranged, questions, st.lists(questions, min_size=1, max_size=2), randoms)


def strategies_before_and_after_others(rule: str) -> list[st.SearchStrategy[Trial]]:
    """Return strategies for trials that ask a question before and after other questions.

    Several brokers shed in the trials of the last strategy, and the other question has the same
    bundles with swapped loads.
    """

    def several(random: Random) -> Trial:
        first = _cycle_with_several_overloaded(random)
        return Trial((first, with_loads_swapped(first, random), _copy(first)))

    return [*for_each_operation(asked_before_and_after_others)(rule), randoms.map(several)]


def with_loads_swapped(question: Question, random: Random) -> Question:
    """Return a copy of a question in which bundles have swapped their loads.

    An implementation that caches loads by bundle name would use the wrong load.
    """
    operation, case = _copy(question)
    known = case.get("bundles")
    if isinstance(known, dict) and known:
        loads = random.sample(list(known.values()), len(known))
        names = [*known, *(bundle for bundle in _reported_bundles(case) if bundle not in known)]
        case["bundles"] = dict(zip(random.sample(names, len(names)), loads, strict=False))
    return Question(operation, case)


def _reported_bundles(case: Json) -> list[str]:
    """Return the bundles that brokers report."""
    brokers = case.get("brokers")
    reports = brokers.values() if isinstance(brokers, dict) else ()
    return [bundle for report in reports for bundle in report.get("bundles", ())]


def asked_in_two_orders(questions: Questions) -> st.SearchStrategy[Trial]:
    """Return a strategy for trials that ask a question twice, with names in different orders."""

    def both(question: Question, random: Random) -> Trial:
        return _in_two_orders(question, random.choice((_reverse, partial(_shuffle, random))))

    return st.builds(both, questions, randoms)


def strategies_in_two_orders(rule: str) -> list[st.SearchStrategy[Trial]]:
    """Return strategies for trials that ask a question with its names in two orders.

    Several brokers shed in the trials of the last strategy, and few brokers in all other trials.
    """
    several = randoms.map(
        lambda random: _in_two_orders(_cycle_with_several_overloaded(random), _reverse)
    )
    return [*for_each_operation(asked_in_two_orders)(rule), several]


def _cycle_with_several_overloaded(random: Random) -> Question:
    """Return a shedding cycle in which several brokers certainly shed."""
    levels = [random.choice((90, 92, 95)) for _ in range(random.randint(2, 4))]
    each = [random.randint(3, 6) for _ in (*levels, 20)]
    cluster = Sketch(
        random, "OverloadShedder", [*levels, 20], each, recent=0, traffic="different"
    )  # fmt: skip
    return Question(SHED.id, cluster.case())


def asked_with_copies(questions: Questions) -> st.SearchStrategy[Trial]:
    """Return a strategy for trials that ask a question and transformed copies of it."""

    def arranged(question: Question, random: Random) -> Trial:
        return Trial((question, *copies_of(question, MAX_COPIES, random)))

    return st.builds(arranged, questions, randoms)


def with_transformed_copies(rule: str) -> list[st.SearchStrategy[Trial]]:
    """Return a rule's strategies for trials that ask a question and transformed copies of it.

    In the trials of the last strategies, a broker's usage depends on weights that are absent.
    """
    drawn = [
        draw_questions(operation)
        for operation in specs.load().rules[rule].operations
        for _ in range(TRANSFORMED_SHARES.get(operation, 1))
    ]
    by_default = st.builds(_without_weights, draw_questions(USAGE.id), randoms)
    return list(map(asked_with_copies, [*drawn, by_default, by_default]))


def _without_weights(question: Question, random: Random) -> Question:
    """Return a copy of a question about weighted usage that leaves out some or all weights."""
    operation, case = _copy(question)
    names = [*WEIGHT_SETTINGS.values()]
    for name in random.sample(names, random.choice((2, len(names)))):
        case["settings"].pop(name, None)
    return Question(operation, {**case, "weighted": True})


def _copy(question: Question) -> Question:
    """Return a deep copy of the question."""
    return Question(question.operation, copied(question.case))


Order = Callable[[list[str]], list[str]]


def _reverse(names: list[str]) -> list[str]:
    return names[::-1]


def _shuffle(random: Random, names: list[str]) -> list[str]:
    return random.sample(names, len(names))


def _in_two_orders(question: Question, order: Order) -> Trial:
    """Return a trial of a question and a copy of it with all names in another order."""
    operation, case = question
    return Trial.of(operation, case, {key: rearranged(case[key], order, key) for key in case})


def rearranged(value: Any, order: Order, field: str = "") -> Any:
    """Return a value in which `order` has rearranged the brokers, bundles and topics."""
    if field in IN_ORDER:
        return value
    if isinstance(value, dict):
        return {name: rearranged(value[name], order, name) for name in order(list(value))}
    if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
        return order(value)
    return value


def regardless_of_order(value: Any, field: str = "") -> Any:
    """Return a value with its names sorted, so that values that differ only in order are equal."""
    if field in IN_ORDER:
        return value
    if isinstance(value, dict):
        return {name: regardless_of_order(item, name) for name, item in value.items()}
    if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
        return sorted(value)
    return value


@check_exchanges("ANSWER-01", draws=for_each_operation(asked_once))
def only_names_of_the_case_are_answered(exchanges: Sequence[Exchange], expect: Expect) -> None:
    """Every broker and bundle in an answer occurs in the case."""
    for exchange in exchanges:
        names = OPERATIONS[exchange.operation].names
        if names is not None and not exchange.declined:
            expect.reached()
            for answered, known in names(exchange.case, exchange.answer):
                in_case = set(known)
                unknown = dict.fromkeys(name for name in answered if name not in in_case)
                expect.nothing(unknown, "the case does not contain them")


@check_exchanges("ANSWER-02", draws=strategies_before_and_after_others)
def a_question_leaves_no_trace(exchanges: Sequence[Exchange], expect: Expect) -> None:
    """The case is not modified, and it gets the same answer again after other questions."""
    for exchange in exchanges:
        if CASE_CHANGED in exchange.answer:
            expect.reached()
            changed = f"{exchange.answer[CASE_CHANGED]} changed"
            expect.that(False, "the case unmodified", changed)
    first, last = exchanges[0], exchanges[-1]
    expect.given(len(exchanges) > 2, "other questions are asked in between")
    _same_question_same_answer(first, last, expect)


@check_exchanges("ANSWER-03", draws=for_each_operation(asked_twice))
def equal_questions_get_equal_answers(exchanges: Sequence[Exchange], expect: Expect) -> None:
    """The same question gets the same answer twice."""
    expect.given(len(exchanges) == 2, "one question is asked twice")
    first, second = exchanges
    _same_question_same_answer(first, second, expect)


def _same_question_same_answer(first: Exchange, second: Exchange, expect: Expect) -> None:
    equal = canonical([first.operation, first.case]) == canonical([second.operation, second.case])
    expect.given(equal, "the same question is asked twice")
    _demand_answer(first, second, expect)


@check_exchanges("ANSWER-04", draws=strategies_in_two_orders)
def the_order_of_names_does_not_matter(exchanges: Sequence[Exchange], expect: Expect) -> None:
    """The same case with its names in another order gets the same answer."""
    expect.given(len(exchanges) == 2, "one question is asked in two orders")
    first, second = exchanges
    same = regardless_of_order(first.case) == regardless_of_order(second.case)
    expect.given(first.operation == second.operation and same, "only the order differs")
    expect.given(canonical(first.case) != canonical(second.case), "the order differs")
    _demand_answer(first, second, expect)


@check_exchanges("ANSWER-05", draws=strategies_with_idle_broker)
def a_legal_case_is_answered(exchanges: Sequence[Exchange], expect: Expect) -> None:
    """No valid case causes a failure, or a refusal that no rule allows."""
    for exchange in exchanges:
        expect.reached()
        reason = OPERATIONS[exchange.operation].why_unanswered(exchange.answer)
        if reason is not None:
            raise LeftUnanswered(AN_ANSWER, reason)


@check_exchanges("ANSWER-06", draws=with_transformed_copies)
def names_and_notation_do_not_matter(exchanges: Sequence[Exchange], expect: Expect) -> None:
    """The same case with other names, number formats or irrelevant entries gets the same answer."""
    expect.given(len(exchanges) > 1, "a question is asked together with transformed copies")
    first, *copies = exchanges
    question = Question(first.operation, first.case)
    made = [
        transformation_between(question, Question(copy.operation, copy.case)) for copy in copies
    ]
    expect.given(None not in made, "each copy is made by a known transformation")
    for twin, transformation in zip(copies, filter(None, made), strict=True):
        allowed = transformation.answer(first.case, first.answer)
        _demand_answer(first, twin, expect, allowed, f"the same answer with {transformation.name}")


def _demand_answer(
    first: Exchange,
    second: Exchange,
    expect: Expect,
    allowed: Json | None = None,
    demand: str = "the same answer twice",
) -> None:
    """Demand that the second answer equals `allowed` or, without `allowed`, the first answer.

    Nothing is demanded if the documents allow several answers.
    """
    operation = OPERATIONS[first.operation]
    if not expect.reached(operation.determined(first.view, expect.readings)):
        return
    case, wanted = (first.case, first.answer) if allowed is None else (second.case, allowed)
    part = operation.regardless_of_order
    if part is None or first.declined or second.declined:
        equal = matches(operation.id, wanted, second.answer)
    else:
        equal = bool(part(case, wanted) == part(second.case, second.answer))
    expect.that(equal, f"{demand}: {readable(wanted)}", second.answer)
