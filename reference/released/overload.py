"""OverloadShedder as implemented in releases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.numbers import Fraction, places_apart, plain, throughput
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.reference.released.loads import as_percent
from pulsar_conformance.reference.released.strategy import (
    BrokerUnloads,
    ClusterView,
    bundle_steps,
    keep_all_steps,
    rounding_steps,
    take_bundles,
)

MARGIN = 0.05
"""Fraction of its traffic that a broker sheds in addition to its excess."""

MARGIN_CONSTANT = "OverloadShedder.ADDITIONAL_THRESHOLD_PERCENT_MARGIN"


@dataclass(frozen=True)
class _Excess:
    """A broker's usage, the threshold, and the traffic to shed."""

    usage: float
    resource: str
    threshold: float
    need: float


def sheds(view: ClusterView) -> Iterator[BrokerUnloads]:
    """Yield the unloads of each broker."""
    for broker in view.known.brokers:
        excess = _excess(view, broker)
        over = excess.usage >= excess.threshold and len(view.known.owned(broker)) > 1
        chosen = take_bundles(view, _eligible(view, broker), excess.need) if over else []
        yield BrokerUnloads(broker, tuple(chosen), partial(_steps, view, broker, excess, chosen))


def _eligible(view: ClusterView, broker: str) -> list[str]:
    if view.known.way("overload-bundles") == "of-everyone":
        return view.not_recently_unloaded(view.known.bundles)
    return view.movable_bundles_of(broker)


def _excess(view: ClusterView, broker: str) -> _Excess:
    known = view.known
    usage, resource = known.usage(broker, known.way("overload-usage") == "weighted")
    threshold = known.number(OVERLOAD_THRESHOLD) / 100.0
    need = known.carries(broker, "msgThroughput") * (usage - threshold + MARGIN)
    return _Excess(usage, resource, threshold, need)


def _steps(view: ClusterView, broker: str, excess: _Excess, chosen: list[str]) -> Iterator[Step]:
    known, release = view.known, view.known.release
    usage, threshold = as_percent(excess.usage), as_percent(excess.threshold)
    places = places_apart(usage, threshold)
    weighted = known.way("overload-usage") == "weighted"
    yield Step("usage", f"{plain(usage, places)} % of {excess.resource}")
    yield from rounding_steps(known, broker, excess.resource, usage, places, weighted)
    if place := release.method_without_heap(weighted):
        yield Step("except", f"heap memory ({place})")
    if weighted:
        yield Step("weighted", f"by its resource's weight ({release.place('overload-usage')})")
    yield Step("threshold", f"{plain(threshold, places)} % ({OVERLOAD_THRESHOLD})")
    if excess.usage < excess.threshold:
        yield from keep_all_steps(view, broker, f"{broker} is not overloaded")
        return
    if len(known.owned(broker)) <= 1:
        yield from keep_all_steps(view, broker, f"{broker} has fewer than 2 bundles")
        return
    share = plain(as_percent(excess.usage - excess.threshold + MARGIN), places)
    of, need = throughput(Fraction(known.carries(broker, "msgThroughput"))), Fraction(excess.need)
    sums = f"({plain(usage, places)} - {plain(threshold, places)}) + 5"
    yield Step("margin", f"5 points ({MARGIN_CONSTANT})", detail=True)
    yield Step("to shed", f"{sums} = {share} % of {of} = {throughput(need)}")
    if known.way("overload-bundles") == "of-everyone":
        yield Step("bundles", f"those of every broker ({release.place('overload-bundles')})")
    yield from bundle_steps(view, _eligible(view, broker), known.owned(broker), chosen)
