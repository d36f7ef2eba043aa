"""ANSWER: what every reader takes for granted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pulsar_conformance.conformance.checks.settled import settled
from pulsar_conformance.conformance.draws import questions as draws
from pulsar_conformance.conformance.expect import Expect
from pulsar_conformance.conformance.judge import Exchange
from pulsar_conformance.conformance.registry import check
from pulsar_conformance.conformance.trial import CASE_CHANGED, Json, canonical
from pulsar_conformance.fixtures.matching import DECLINED, matches
from pulsar_conformance.reference.ranges import ranges_of


class Names(NamedTuple):
    """What an answer names, and what its case has, of one kind."""

    answered: Iterable[str]
    known: Iterable[str]


def _bundles(case: Json) -> set[str]:
    """Every bundle that a case about a cluster names."""
    reports = case["brokers"].values()
    owned = {b for one in reports for key in ("bundles", "lastStats") for b in one.get(key, ())}
    return {*owned, *case["bundles"], *case.get("recentlyUnloaded", ())}


def _unloaded(case: Json, answer: Json) -> list[Names]:
    unload = answer["unload"]
    return [
        Names((one["broker"] for one in unload), case["brokers"]),
        Names((one["bundle"] for one in unload), _bundles(case)),
    ]


def _split(case: Json, answer: Json) -> list[Names]:
    return [Names((*answer["split"], *answer["unload"]), _bundles(case))]


def _located(case: Json, answer: Json) -> list[Names]:
    known = [part.name for part in ranges_of(case["boundaries"])]
    return [Names(answer["bundles"], known)]


def _placed(case: Json, answer: Json) -> list[Names]:
    taken = [answer["broker"]] if answer["broker"] is not None else []
    return [
        Names((*taken, *answer.get("candidates", ())), case["candidates"]),
        Names(answer.get("domains", ()), case.get("domains", ())),
    ]


def _read(case: Json, answer: Json) -> list[Names]:
    broker = answer["broker"]
    return [Names((*broker.get("bundles", ()), *broker.get("lastStats", ())), _texts(case))]


def _texts(value: Any) -> Iterator[str]:
    """Whatever stands in a report, wherever it does."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        yield from filter(lambda one: isinstance(one, str), value)
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


NAMED: Mapping[str, Callable[[Json, Json], list[Names]]] = {
    "bundles.locate": _located,
    "bundles.split_candidates": _split,
    "shed.select": _unloaded,
    "place.select": _placed,
    "place.anti_affinity": _placed,
    "report.read": _read,
}
"""What the answers of an operation name, of what the case has."""


@check("ANSWER-01", draws=draws.of_each_operation(draws.once), exchanges=True)
def nothing_is_named_that_is_not_there(exchanges: list[Exchange], expect: Expect) -> None:
    """Each broker and bundle of an answer is one of the case's."""
    for operation, case, answer, _ in exchanges:
        if operation in NAMED and not _declined(answer):
            expect.reached()
            for answered, known in NAMED[operation](case, answer):
                there = set(known)
                strange = dict.fromkeys(name for name in answered if name not in there)
                expect.nothing(strange, "the case does not have it")


@check("ANSWER-02", draws=draws.of_each_operation(draws.again_after_others), exchanges=True)
def a_question_leaves_nothing_behind(exchanges: list[Exchange], expect: Expect) -> None:
    """The case is as it was, and asked again after others it gets the answer that it had."""
    for one in exchanges:
        if CASE_CHANGED in one.answer:
            expect.reached()
            expect.that(False, "the case left as it was", f"{one.answer[CASE_CHANGED]} changed")
    first, last = exchanges[0], exchanges[-1]
    expect.given(len(exchanges) > 2, "others are asked in between")
    _same_answer(first, last, expect)


@check("ANSWER-03", draws=draws.of_each_operation(draws.twice), exchanges=True)
def equal_questions_get_equal_answers(exchanges: list[Exchange], expect: Expect) -> None:
    """The same question twice gets the same answer."""
    expect.given(len(exchanges) == 2, "one question is asked twice")
    first, second = exchanges
    _same_answer(first, second, expect)


def _same_answer(first: Exchange, second: Exchange, expect: Expect) -> None:
    equal = canonical([first.operation, first.case]) == canonical([second.operation, second.case])
    expect.given(equal, "the same question is asked again")
    _alike(first, second, expect)


@check("ANSWER-04", draws=draws.of_each_operation(draws.reordered), exchanges=True)
def the_order_of_names_does_not_matter(exchanges: list[Exchange], expect: Expect) -> None:
    """The same case with everything named in another order gets the same answer."""
    expect.given(len(exchanges) == 2, "one question is asked in two orders")
    first, second = exchanges
    same = draws.sorted_out(first.case) == draws.sorted_out(second.case)
    expect.given(first.operation == second.operation and same, "the order alone differs")
    expect.given(canonical(first.case) != canonical(second.case), "the order differs")
    _alike(first, second, expect)


def _alike(first: Exchange, second: Exchange, expect: Expect) -> None:
    """Demands the same answer twice, where nothing is left open."""
    operation, _, answer, view = first
    if expect.reached(settled(operation, view, expect.readings)):
        expect.that(_equal(first, second), f"the same answer twice: {answer}", second.answer)


def _equal(first: Exchange, second: Exchange) -> bool:
    same = SAME.get(first.operation)
    if same is None or _declined(first.answer) or _declined(second.answer):
        return matches(first.operation, first.answer, second.answer)
    return bool(same(first) == same(second))


def _declined(answer: Json) -> bool:
    return any(name in answer for name in DECLINED)


SAME: Mapping[str, Callable[[Exchange], Any]] = {
    "bundles.locate": lambda one: sorted(
        zip(one.case["topics"], one.answer["bundles"], strict=False)
    ),
    "shed.select": lambda one: sorted((o["broker"], o["bundle"]) for o in one.answer["unload"]),
    "place.anti_affinity": lambda one: one.answer["broker"],
}
"""What is the same in two answers whose parts may stand in any order, or stand in the case's."""
