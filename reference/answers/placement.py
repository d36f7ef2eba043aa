"""Answers about the placement of bundles and of anti-affinity groups. [PLACE, ANTI]"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from pulsar_conformance.reference.anti_affinity import Spread
from pulsar_conformance.reference.cluster import average_of
from pulsar_conformance.reference.context import Answer, Case, Context
from pulsar_conformance.reference.derivation import Derivation, Step
from pulsar_conformance.reference.numbers import messages, plain, quantity
from pulsar_conformance.reference.placement import (
    AVERAGE_SHEDDER,
    LEAST_RATE,
    LEAST_USAGE,
    Assignment,
    Candidate,
    LeastUsage,
    Placement,
    PlannedPlacement,
    least_usage,
    placement,
    placer_name,
    planned_placement,
)

PLACE = "place.select"


def select(context: Context, case: Case) -> Derivation:
    """Answer `place.select`. [PLACE, PLANNED]"""
    settings, readings = context.settings(case), context.readings
    strategy = placer_name(settings)
    if strategy == LEAST_RATE:
        placed = placement(case, settings, readings)
        assumed = average_of(case["bundles"].get(case["bundle"]), "longTermData") is None
        explain = partial(_comparison_steps, case["bundle"], placed, assumed)
        return Derivation({"broker": placed.chosen(partial(context.turn, case))}, explain)
    if strategy == LEAST_USAGE:
        below = least_usage(case, settings)
        return _choose_at_random(context, case, below.best, partial(_least_usage_steps, below))
    if strategy == AVERAGE_SHEDDER:
        planned = planned_placement(case, settings, readings)
        return _choose_at_random(context, case, planned.best, partial(_planned_steps, planned))
    return Derivation({"unsupported": f"{strategy} is not documented"}, tuple)


def _choose_at_random(
    context: Context, case: Case, best: Sequence[str], explain: Callable[[], Iterator[Step]]
) -> Derivation:
    """Choose one of the best candidates; if a question is repeated, the candidates take turns."""
    chosen = best[context.turn(case) % len(best)] if best else None
    return Derivation({"broker": chosen}, explain)


def broker(context: Context, case: Case) -> Derivation:
    """Answer `place.broker`. [PLACE-14, ANTI-17]"""
    found = Assignment(case, context.settings(case), context.readings)
    chosen = select(context, {**case, "candidates": found.spread.best})

    def explain() -> Iterator[Step]:
        from pulsar_conformance.reference.isolation_steps import isolation_steps  # used only here

        yield from isolation_steps(found)
        yield Step("may take it", ", ".join(found.permitted) or "no broker")
        yield from _spread_steps(found.spread)
        yield from chosen.explain()

    return Derivation(chosen.answer, explain)


def _least_usage_steps(placed: LeastUsage) -> Iterator[Step]:
    """Yield as steps each candidate's usage, the mean usage, and the decision."""
    for name, usage in placed.usage.items():
        yield Step(name, f"{plain(usage)} %")
    if placed.usage:
        yield Step(
            "mean", f"{plain(placed.mean)} %, and {quantity(placed.below, 'point')} below it"
        )
    yield Step("decision", _any_of(placed.best))


def _any_of(best: Sequence[str]) -> str:
    """Return the brokers that may take the bundle as text, and whether chance decides."""
    chance = ", by chance" if len(best) > 1 else ""
    return f"{' or '.join(best) or 'nowhere'}{chance}"


def _planned_steps(placed: PlannedPlacement) -> Iterator[Step]:
    """Yield as steps the plan, the overloaded candidates and the decision."""
    if placed.plan is None:
        yield Step("plan", "none")
    else:
        over = "" if placed.running else f", over: the attempt has {placed.plan['attempt']}"
        gone = "" if placed.plan["to"] in placed.candidates else ", which is no candidate"
        gone = gone if placed.running else ""
        yield Step("plan", f"from {placed.plan['from']} to {placed.plan['to']}{gone}{over}")
    if placed.plan is not None and placed.running:
        for name in placed.candidates:
            state = "overloaded" if name in placed.overloaded else "not overloaded"
            yield Step(name, f"{state}; the source" if name == placed.plan["from"] else state)
    yield Step("decision", _any_of(placed.best))


def _comparison_steps(bundle: str, placed: Placement, assumed: bool) -> Iterator[Step]:
    """Yield as steps each candidate's usage and message rate, and the decision.

    `assumed` says that the bundle was never measured.
    """
    why = ", assumed as it was never measured" if assumed else ""
    yield Step("bundle", f"{bundle}, {messages(placed.bundle_rate)} long-term{why}")
    yield Step("threshold", f"{plain(placed.threshold)} %")
    for candidate in placed.candidates:
        yield Step(candidate.name, _candidate_text(placed, candidate))
    yield Step("decision", _decision_text(placed))


def _candidate_text(placed: Placement, candidate: Candidate) -> str:
    percent = candidate.usage.percent
    usage = f"{plain(percent)} % of {candidate.usage.resource or 'everything'}"
    carries = f"{usage}, {messages(candidate.rate)} long-term"
    if candidate not in placed.considered:
        return f"{carries}: overloaded, left out"
    score = placed.score(candidate)
    if score is None:
        return f"{carries}: at the threshold, so no weight; taken only if no other is left"
    return f"{carries}: {_score_text(placed, candidate)} = {plain(score, 4)}"


def _score_text(placed: Placement, candidate: Candidate) -> str:
    rate, score = plain(candidate.rate), placed.readings["placement-score"]
    distance = f"({plain(placed.threshold)} - {plain(candidate.usage.percent)})"
    written = {
        "weighted": f"{rate} x 1 / {distance}",
        "plain": rate,
        "weighted-with-bundle": f"({rate} + {plain(placed.bundle_rate)}) x 1 / {distance}",
    }
    return written[score]


def _decision_text(placed: Placement) -> str:
    any_of = " or ".join(placed.best)
    if not any_of:
        return "nowhere: no broker may take it"
    if placed.by_chance:
        if len(placed.best) == 1:
            return f"{any_of}: the only candidate, although overloaded"
        return f"{_any_of(placed.best)}: all are overloaded"
    if len(placed.candidates) > 1 == len(placed.considered):
        return f"{any_of}: the only one that is not left out"
    if all(placed.score(one) is None for one in placed.considered):
        return f"{any_of}: no other is left"
    return f"{any_of}: the least"


def anti_affinity(context: Context, case: Case) -> Derivation:
    """Answer `place.anti_affinity`. [ANTI-01 … 10]"""
    spread = Spread.of(case, context.readings["domain-counts"])
    domains = [domain for domain in spread.best_domains if domain is not None]
    answer = {"broker": spread.chosen, "domains": domains, "candidates": list(spread.best)}

    def explain() -> Iterator[Step]:
        yield from _spread_steps(spread)
        yield Step("decision", f"{' or '.join(spread.best) or 'nowhere'}")

    return Derivation(answer, explain)


def _spread_steps(spread: Spread) -> Iterator[Step]:
    """Yield as steps the number of the group's namespaces in each domain and on each broker."""
    yield Step("group", spread.group or "none: any candidate")
    if spread.group is None:
        return
    for domain, count in spread.in_domain.items():
        fewest = ", among the fewest" if domain in spread.best_domains else ""
        yield Step(domain or "in no domain", f"{count} of the group{fewest}")
        for broker in spread.within(domain):
            here = f"{len(spread.rivals(broker))} of the group"
            stays = "a candidate" if broker in spread.best else "left out"
            yield Step(broker, f"{here}: {stays}").within()


ANSWERS: Mapping[str, Answer] = {
    PLACE: select,
    "place.anti_affinity": anti_affinity,
    "place.broker": broker,
}
