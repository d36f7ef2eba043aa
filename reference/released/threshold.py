"""ThresholdShedder as implemented in releases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.numbers import (
    Fraction,
    places_apart,
    plain,
    quantity,
    throughput,
)
from pulsar_conformance.reference.released.loads import SHARE_OF_HEAP, Leader, as_percent, percent
from pulsar_conformance.reference.released.strategy import (
    BrokerUnloads,
    ClusterView,
    CycleMemory,
    Mix,
    bundle_steps,
    keep_all_steps,
    rounding_steps,
    take_bundles,
    too_few,
)
from pulsar_conformance.reference.shedding_steps import under_text
from pulsar_conformance.reference.threshold import (
    HISTORY_SHARE,
    LOWER_BOUNDARY,
    SHEDDER_THRESHOLD,
    smoothed_text,
)

MIN_THROUGHPUT = "loadBalancerBundleUnloadMinThroughputThreshold"
MEBIBYTE = 1024.0 * 1024.0
MARGIN = 0.05
"""Fraction of its traffic that a broker sheds in addition to its excess."""

MARGIN_CONSTANT = "ThresholdShedder.ADDITIONAL_THRESHOLD_PERCENT_MARGIN"
RELIEF_CONSTANT = "ThresholdShedder.LOWER_BOUNDARY_THRESHOLD_MARGIN"

HALF = 0.5
"""Factor in the traffic to shed for an idle broker: traffic x threshold x this factor."""

HISTORY = ("cpu", "bandwidthIn", "bandwidthOut", "directMemory")
"""Resources in order of preference: the first whose weight is above 0 represents earlier usage.

In releases that count heap memory, heap memory is tried last.
"""


FULL = 100.0
"""Weighted usage in percent above which some releases leave out a resource."""


@dataclass(frozen=True)
class _Cycle:
    """The result of one shedding cycle."""

    usage: Mapping[str, float]
    average: float
    chosen: Mapping[str, Sequence[str]]
    need: Mapping[str, float]
    relieved: str | None = None


def sheds(view: ClusterView) -> Iterator[BrokerUnloads]:
    """Yield each broker's unloads; usage histories are first replayed as earlier cycles."""
    memory, reports = view.memory, view.known.case["brokers"].items()
    memory.smoothings = {}
    histories = {name: one["usageHistory"] for name, one in reports if one.get("usageHistory")}
    for ago in range(max(map(len, histories.values()), default=0), 0, -1):
        then = {
            name: _earlier_usage(view, histories[name][-ago])
            for name in view.known.brokers
            if len(histories.get(name, ())) >= ago
        }
        _run_cycle(ClusterView(view.known, frozenset()), memory, then)
    now = {name: _weighted_usage(view.known, name)[0] for name in view.known.brokers}
    cycle = _run_cycle(view, memory, now)
    for name in view.known.brokers:
        chosen = cycle.chosen.get(name, ())
        smoothings = tuple(memory.smoothings.get(name, ()))
        yield BrokerUnloads(name, tuple(chosen), partial(_steps, view, cycle, name, smoothings))


def _weighted_usage(known: Leader, broker: str) -> tuple[float, str]:
    """Return a broker's weighted usage as a fraction, and its busiest resource.

    Some releases leave out resources over 100 %; if that leaves none, the resource is "none".
    """
    usage, busiest = known.usage(broker, weighted=True)
    if not _left_out(known, broker):
        return usage, busiest
    within = {name: one for name, one in known.weighted_percents(broker).items() if one <= FULL}
    busiest = max(within, key=lambda name: within[name], default="none")
    return max(within.values(), default=0.0) / 100, busiest


def _left_out(known: Leader, broker: str) -> dict[str, float]:
    """Return the weighted usage in percent of each resource left out because it is over 100 %."""
    if known.way("over-full") != "left-out":
        return {}
    return {name: one for name, one in known.weighted_percents(broker).items() if one > FULL}


def _earlier_usage(view: ClusterView, used: float) -> float:
    """Convert the weighted usage of an earlier cycle from percent to a fraction, as a release
    rounds it.
    """
    weight = _history_weight(view.known)
    return percent({"usage": used, "limit": 100 * weight}) * weight / 100


def _history_weight(known: Leader) -> float:
    """Return the weight of the resource that represents usage in earlier cycles.

    The result is 0 if no resource has a weight above 0; every usage is then 0, too.
    """
    heap = () if known.release.method_without_heap(weighted=True) else (SHARE_OF_HEAP,)
    return next((one for one in map(known.weight, (*HISTORY, *heap)) if one > 0), 0.0)


def _run_cycle(view: ClusterView, memory: CycleMemory, now: Mapping[str, float]) -> _Cycle:
    known = view.known
    threshold, kept = known.number(SHEDDER_THRESHOLD) / 100.0, known.number(HISTORY_SHARE)
    least = known.number(MIN_THROUGHPUT) * MEBIBYTE
    memory.observe(now, kept, 0.0 if known.way("first-usage") == "from-zero" else None)
    average = memory.average
    chosen: dict[str, Sequence[str]] = {}
    need: dict[str, float] = {}
    if average == 0:
        return _Cycle(dict(memory.usage), average, chosen, need)
    for name in now:
        usage = memory.usage[name]
        if usage < average + threshold:
            continue
        need[name] = known.carries(name, "msgThroughput") * (usage - average - threshold + MARGIN)
        if need[name] >= least and len(known.owned(name)) > 1:
            chosen[name] = take_bundles(view, view.movable_bundles_of(name), need[name])
    relieved = None
    if _looks_for_idle(known) and not any(chosen.values()):
        relieved = _relieving_broker(view, memory, now)
        if relieved is not None:
            share = known.carries(relieved, "msgThroughput") * threshold * HALF
            need[relieved] = share
            if least <= share:
                chosen[relieved] = take_bundles(view, view.movable_bundles_of(relieved), share)
        average = memory.average
    return _Cycle(dict(memory.usage), average, chosen, need, relieved)


def _looks_for_idle(known: Leader) -> bool:
    """True if the lower boundary is enabled: the busiest broker sheds for an idle broker."""
    looks = known.way("lower-boundary-relief") == "half-threshold"
    return looks and known.settings.flag(LOWER_BOUNDARY)


def _relieving_broker(
    view: ClusterView, memory: CycleMemory, now: Mapping[str, float]
) -> str | None:
    """Smooth the usage again; return the busiest broker if any is below the lower boundary."""
    known = view.known
    threshold = known.number(SHEDDER_THRESHOLD) / 100.0
    memory.observe(now, known.number(HISTORY_SHARE), again=True)
    busiest, most = None, memory.average - threshold
    for name in now:
        if memory.usage[name] > most and len(known.owned(name)) > 1:
            busiest, most = name, memory.usage[name]
    idle = any(memory.usage[name] < memory.average - threshold for name in now)
    return busiest if idle else None


def _steps(
    view: ClusterView, cycle: _Cycle, name: str, smoothings: Sequence[Mix]
) -> Iterator[Step]:
    known, place = view.known, view.known.release.place
    now, resource = _weighted_usage(known, name)
    usage, threshold = cycle.usage[name], known.number(SHEDDER_THRESHOLD) / 100.0
    places = places_apart(as_percent(usage), as_percent(cycle.average + threshold))
    used, average = plain(as_percent(usage), places), plain(as_percent(cycle.average), places)
    yield Step("usage", f"{plain(as_percent(now), places)} % of {resource}, with its weight")
    yield from rounding_steps(known, name, resource, as_percent(now), places, weighted=True)
    if usage != now:
        kept = known.number(HISTORY_SHARE)
        for one in smoothings:
            why = f", again as no broker sheds an excess ({place('lower-boundary-relief')})"
            yield Step("history", _smoothing_text(one, kept, places) + (why if one.again else ""))
    if known.report(name).get("usageHistory") and _history_weight(known) == 0:
        yield Step("history", "left out, as no resource that counts has a weight above 0")
    yield Step("average", f"{average} % of all brokers", detail=True)
    for other, over in _left_out(known, name).items():
        why = f"over 100 % ({place('over-full')})"
        yield Step("except", f"{plain(Fraction(over))} % of {other}: {why}")
    if method := known.release.method_without_heap(weighted=True):
        yield Step("except", f"heap memory ({method})")
    for other, used_of in known.percents_with_weight_0(name).items():
        if used_of > now * 100:
            yield Step("except", f"{plain(Fraction(used_of))} % of {other}, whose weight is 0")
    points = plain(as_percent(threshold))
    in_points = quantity(as_percent(threshold), "point")
    yield Step("threshold", f"{in_points} ({SHEDDER_THRESHOLD})", detail=True)
    limit = f"{average} + {points}"
    if name not in cycle.need:
        if _looks_for_idle(known) and cycle.relieved is None and not any(cycle.chosen.values()):
            bound = cycle.average - threshold
            whom = _under_boundary_text(cycle, threshold)
            if any(used < bound for used in cycle.usage.values()):
                whom += "; no broker with two bundles is over it"
            share = plain(as_percent(bound), places)
            yield Step("lower boundary", f"{average} - {points} = {share} %: {whom}")
        current = plain(as_percent(now), places)
        mixed = "" if used == current else smoothed_text(used, current)
        yield from keep_all_steps(view, name, f"{name} is under {limit}{mixed}")
        return
    traffic = throughput(Fraction(known.carries(name, "msgThroughput")))
    need = cycle.need[name]
    if name == cycle.relieved:
        yield Step("margin", f"half of the threshold ({RELIEF_CONSTANT})", detail=True)
        limit = plain(as_percent(cycle.average - threshold), places)
        under = _under_boundary_text(cycle, threshold)
        yield Step("lower boundary", f"{average} - {points} = {limit} %: {under}")
        yield Step("relieves", "as the busiest broker with two bundles or more")
        amount = f"half of {points} % of {traffic} = {_amount_text(need)}"
        yield Step("to shed", f"{amount} ({place('lower-boundary-relief')})")
    else:
        share = plain(as_percent(usage - (cycle.average + threshold) + MARGIN))
        yield Step("margin", f"5 points ({MARGIN_CONSTANT})", detail=True)
        sums = f"{used} - ({limit}) + 5 = {share}"
        amount = f"{_amount_text(need)} ({place('threshold-amount')})"
        yield Step("to shed", f"{sums} % of {traffic} = {amount}")
    least = known.number(MIN_THROUGHPUT) * MEBIBYTE
    if need < least:
        floor = f"{plain(Fraction(known.number(MIN_THROUGHPUT)))} MiB/s of {MIN_THROUGHPUT}"
        way = "lower-boundary-relief" if name == cycle.relieved else "threshold-least"
        yield from keep_all_steps(view, name, f"less than the {floor} ({place(way)})")
    elif len(known.owned(name)) <= 1:
        yield from keep_all_steps(
            view, name, f"{too_few(known.owned(name))} ({place('only-bundle')})"
        )
    else:
        chosen = cycle.chosen.get(name, ())
        yield from bundle_steps(view, view.movable_bundles_of(name), known.owned(name), chosen)


def _under_boundary_text(cycle: _Cycle, threshold: float) -> str:
    """Return text on which brokers are under the lower boundary."""
    bound = cycle.average - threshold
    return under_text([name for name, used in cycle.usage.items() if used < bound], "it")


def _smoothing_text(mix: Mix, kept: float, places: int) -> str:
    """Format one step of the smoothing as a sum, in percent."""
    before, now = plain(as_percent(mix.before)), plain(as_percent(mix.now))
    terms = f"{before} x {plain(Fraction(kept))} + {now} x {plain(Fraction(1 - kept))}"
    return f"{terms} = {plain(as_percent(mix.after), places)} %"


def _amount_text(need: float) -> str:
    return throughput(Fraction(need)) if need > 0 else "nothing"
