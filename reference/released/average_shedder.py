"""AvgShedder as implemented in releases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cmp_to_key, partial

from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.numbers import Fraction, plain
from pulsar_conformance.reference.released.java import in_map_order, to_int
from pulsar_conformance.reference.released.loads import as_percent, brokers_by_address
from pulsar_conformance.reference.released.strategy import (
    WRITTEN,
    BrokerUnloads,
    ClusterView,
    CycleMemory,
    bundle_steps,
    keep_all_steps,
)

LOW, HIGH = "loadBalancerAvgShedderLowThreshold", "loadBalancerAvgShedderHighThreshold"
LOW_HITS = "loadBalancerAvgShedderHitCountLowThreshold"
HIGH_HITS = "loadBalancerAvgShedderHitCountHighThreshold"
MAX_SHARE = "maxUnloadPercentage"
MIN_UNLOAD = {"msgRate": "minUnloadMessage", "msgThroughput": "minUnloadMessageThroughput"}
PLACE = "AvgShedder.findBundlesForUnloading"
PAIRS = "AvgShedder.findBrokerPairs"


@dataclass(frozen=True)
class _Pair:
    """A busy broker, the idle broker that gets its bundles, and the amount to move."""

    idle: str
    busy: str
    why_nothing: str
    """Reason why the pair sheds nothing; empty if it has something to shed."""
    kind: str | None = None
    need: float = 0.0
    chosen: tuple[str, ...] = ()


def sheds(view: ClusterView) -> Iterator[BrokerUnloads]:
    """Yield each broker's unloads.

    The busiest broker is paired with the least busy, the second busiest with the second least busy.
    """
    scores = {name: view.known.usage(name, weighted=True)[0] * 100 for name in view.known.brokers}
    ordered = _sorted_by_score(view, scores)
    pairs = {one.busy: one for one in _shedding_pairs(view, ordered, scores)}
    planned = _planned_destinations(view, pairs.values())
    for name in view.known.brokers:
        pair = pairs.get(name)
        chosen = pair.chosen if pair else ()
        explain = partial(_steps, view, scores, ordered, pair, name)
        yield BrokerUnloads(name, chosen, explain, {one: planned[one] for one in chosen})


def _planned_destinations(view: ClusterView, pairs: Iterable[_Pair]) -> Mapping[str, str]:
    """Return the destination of each bundle.

    Releases since 4.0 send bundles with equal averages to the same destination.
    """
    planned = {bundle: pair.idle for pair in pairs for bundle in pair.chosen}
    if view.known.way("average-plans") == "by-bundle":
        return planned
    last = {view.known.averages(bundle): idle for bundle, idle in planned.items()}
    return {bundle: last[view.known.averages(bundle)] for bundle in planned}


def _sorted_by_score(view: ClusterView, scores: Mapping[str, float]) -> list[str]:
    """Return the brokers sorted by score; 4.0 treats scores within one point as equal."""
    brokers = brokers_by_address(scores, view.known.release.addresses)
    names = [brokers[one] for one in in_map_order(brokers)]
    if view.known.way("average-order") == "whole-points":
        return sorted(names, key=cmp_to_key(partial(_compare_whole_points, scores)))
    return sorted(names, key=lambda name: scores[name])


def _compare_whole_points(scores: Mapping[str, float], first: str, second: str) -> int:
    return to_int(scores[first] - scores[second])


def _shedding_pairs(
    view: ClusterView, brokers: Sequence[str], scores: Mapping[str, float]
) -> Iterator[_Pair]:
    known, memory = view.known, view.memory
    pairs = list(_distant_pairs(view, brokers, scores))
    if not pairs:
        memory.low_hits.clear()
        memory.high_hits.clear()
        return
    low, high = int(known.number(LOW_HITS)), int(known.number(HIGH_HITS))
    for idle, busy in pairs:
        hits = max(memory.low_hits[idle], memory.low_hits[busy])
        highest = max(memory.high_hits[idle], memory.high_hits[busy])
        if highest < high and hits < low:
            near = _hits_text(memory.low_hits, (busy, idle), LOW, low)
            far = _hits_text(memory.high_hits, (busy, idle), HIGH, high)
            few = "neither differed enough from its partner in enough cycles"
            yield _Pair(idle, busy, f"{few}: {near}; {far}")
            continue
        _reset_hits(memory, idle, busy)
        yield _pair_with_bundles(view, idle, busy)


def _hits_text(hits: Mapping[str, int], pair: Sequence[str], setting: str, needed: int) -> str:
    """Return text with the hits of both brokers of a pair.

    A broker's hits are the consecutive cycles in which it was far from its partner. `needed` is the
    minimum number of hits for the pair to shed; `setting` names the threshold.
    """
    counts = " and ".join(f"{name} {hits.get(name, 0)}" for name in pair)
    return f"by {setting}, {counts} of {needed} times"


def _distant_pairs(
    view: ClusterView, brokers: Sequence[str], scores: Mapping[str, float]
) -> Iterator[tuple[str, str]]:
    """Yield the pairs whose difference reaches the low threshold; update each broker's count of
    hits.
    """
    low, high = view.known.number(LOW), view.known.number(HIGH)
    memory = view.memory
    for index in range((len(brokers) + 1) // 2):
        idle, busy = brokers[index], brokers[-1 - index]
        apart = scores[busy] - scores[idle]
        if apart < low:
            _reset_hits(memory, idle, busy)
            continue
        memory.low_hits.update((idle,))
        memory.low_hits.update((busy,))
        if apart < high:
            memory.high_hits.pop(busy, None)
            memory.high_hits.pop(idle, None)
        else:
            memory.high_hits.update((idle,))
            memory.high_hits.update((busy,))
        yield idle, busy


def _reset_hits(memory: CycleMemory, *brokers: str) -> None:
    for broker in brokers:
        memory.low_hits.pop(broker, None)
        memory.high_hits.pop(broker, None)


def _pair_with_bundles(view: ClusterView, idle: str, busy: str) -> _Pair:
    """Return a pair of brokers with the bundles to move from the busy to the idle broker.

    Together, the bundles carry at most the traffic to move.
    """
    known = view.known
    for kind, least in MIN_UNLOAD.items():
        need = (known.carries(busy, kind) - known.carries(idle, kind)) * known.number(MAX_SHARE)
        if need > known.number(least):
            break
    else:
        return _Pair(
            idle, busy, f"the difference is too small for {' and '.join(MIN_UNLOAD.values())}"
        )
    chosen, left = [], need
    for bundle in known.busiest_first(view.movable_bundles_of(busy), kind):
        traffic = known.traffic(bundle, kind)
        if 0 < traffic <= left:
            chosen.append(bundle)
            left += -traffic
    return _Pair(idle, busy, "", kind, need, tuple(chosen))


def _steps(
    view: ClusterView,
    scores: Mapping[str, float],
    ordered: Sequence[str],
    pair: _Pair | None,
    name: str,
) -> Iterator[Step]:
    yield Step("usage", f"{plain(as_percent(scores[name] / 100))} %, with its weights")
    if pair is None:
        yield from _unpaired_steps(view, scores, ordered, name)
        return
    usage = plain(as_percent(scores[pair.idle] / 100))
    yield Step("idle broker", f"{pair.idle}, at {usage} %")
    if pair.kind is None:
        yield from keep_all_steps(view, name, f"{pair.why_nothing} ({PLACE})")
        return
    share = plain(Fraction(view.known.number(MAX_SHARE)))
    amount = WRITTEN[pair.kind](Fraction(pair.need))
    yield Step("share", f"{share} ({MAX_SHARE})", detail=True)
    yield Step("to shed", f"{share} of the difference = {amount} ({PLACE})")
    owned = view.known.owned(name)
    yield from bundle_steps(
        view,
        view.movable_bundles_of(name),
        owned,
        pair.chosen,
        pair.kind,
        "more than is left",
        idle="it carries nothing",
    )


def _unpaired_steps(
    view: ClusterView, scores: Mapping[str, float], ordered: Sequence[str], name: str
) -> Iterator[Step]:
    """Yield the steps that explain why a broker sheds nothing: it is not the busier broker of a
    pair, or its pair differs too little.
    """
    place = ordered.index(name)
    other = ordered[-1 - place]
    usage = plain(as_percent(scores[other] / 100))
    if other == name:
        if len(ordered) == 1:
            why = f"it is the only broker, so it is paired with itself ({PAIRS})"
        else:
            among = f"the middle one of {len(ordered)} brokers sorted by usage"
            why = f"it is {among}, so it is paired only with itself ({PAIRS})"
    elif place < len(ordered) // 2:
        yield Step("busy broker", f"{other}, at {usage} %")
        why = f"it is the idle one of its pair ({PAIRS})"
    else:
        yield Step("idle broker", f"{other}, at {usage} %")
        apart = f"{LOW} = {plain(Fraction(view.known.number(LOW)))}"
        why = f"they are less than {apart} points apart ({PAIRS})"
    yield from keep_all_steps(view, name, why)
