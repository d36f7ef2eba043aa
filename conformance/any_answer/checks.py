"""ANSWER: what every reader takes for granted."""

from __future__ import annotations

from collections.abc import Sequence

from pulsar_conformance.conformance.any_answer import draws
from pulsar_conformance.conformance.cases.matching import matches
from pulsar_conformance.conformance.catalogue import OPERATIONS
from pulsar_conformance.conformance.common.check import check_exchanges
from pulsar_conformance.conformance.common.expect import Expect, LeftUnanswered, as_text
from pulsar_conformance.conformance.common.trial import CASE_CHANGED, Exchange, canonical


@check_exchanges("ANSWER-01", draws=draws.of_each_operation(draws.once))
def nothing_is_named_that_is_not_there(exchanges: Sequence[Exchange], expect: Expect) -> None:
    """Each broker and bundle of an answer is one of the case's."""
    for one in exchanges:
        named = OPERATIONS[one.operation].names
        if named is not None and not one.declined:
            expect.reached()
            for answered, known in named(one.case, one.answer):
                there = set(known)
                strange = dict.fromkeys(name for name in answered if name not in there)
                expect.nothing(strange, "the case does not have it")


@check_exchanges("ANSWER-02", draws=draws.of_each_operation(draws.again_after_others))
def a_question_leaves_nothing_behind(exchanges: Sequence[Exchange], expect: Expect) -> None:
    """The case is as it was, and asked again after others it gets the answer that it had."""
    for one in exchanges:
        if CASE_CHANGED in one.answer:
            expect.reached()
            expect.that(False, "the case left as it was", f"{one.answer[CASE_CHANGED]} changed")
    first, last = exchanges[0], exchanges[-1]
    expect.given(len(exchanges) > 2, "others are asked in between")
    _same_answer(first, last, expect)


@check_exchanges("ANSWER-03", draws=draws.of_each_operation(draws.twice))
def equal_questions_get_equal_answers(exchanges: Sequence[Exchange], expect: Expect) -> None:
    """The same question twice gets the same answer."""
    expect.given(len(exchanges) == 2, "one question is asked twice")
    first, second = exchanges
    _same_answer(first, second, expect)


def _same_answer(first: Exchange, second: Exchange, expect: Expect) -> None:
    equal = canonical([first.operation, first.case]) == canonical([second.operation, second.case])
    expect.given(equal, "the same question is asked again")
    _alike(first, second, expect)


@check_exchanges("ANSWER-04", draws=draws.of_each_operation(draws.reordered))
def the_order_of_names_does_not_matter(exchanges: Sequence[Exchange], expect: Expect) -> None:
    """The same case with everything named in another order gets the same answer."""
    expect.given(len(exchanges) == 2, "one question is asked in two orders")
    first, second = exchanges
    same = draws.sorted_out(first.case) == draws.sorted_out(second.case)
    expect.given(first.operation == second.operation and same, "the order alone differs")
    expect.given(canonical(first.case) != canonical(second.case), "the order differs")
    _alike(first, second, expect)


@check_exchanges("ANSWER-05", draws=draws.of_each_operation(draws.once))
def a_legal_case_is_answered(exchanges: Sequence[Exchange], expect: Expect) -> None:
    """No case ends in a failure, or in a refusal where no rule turns requests down."""
    for one in exchanges:
        expect.reached()
        failed, refused = (one.answer.get(word) for word in ("failed", "refused"))
        if failed is not None:
            raise LeftUnanswered("an answer", f"failed: {failed}")
        if refused is not None and not OPERATIONS[one.operation].refusable:
            raise LeftUnanswered("an answer", f"refused: {refused}")


def _alike(first: Exchange, second: Exchange, expect: Expect) -> None:
    """Demands the same answer twice, where nothing is left open."""
    operation = OPERATIONS[first.operation]
    if expect.reached(operation.determined(first.view, expect.readings)):
        allowed = f"the same answer twice: {as_text(first.answer)}"
        expect.that(_equal(first, second), allowed, second.answer)


def _equal(first: Exchange, second: Exchange) -> bool:
    """The part of an answer that no order of parts or of the case changes."""
    same = OPERATIONS[first.operation].regardless_of_order
    if same is None or first.declined or second.declined:
        return matches(first.operation, first.answer, second.answer)
    return bool(same(first.case, first.answer) == same(second.case, second.answer))
