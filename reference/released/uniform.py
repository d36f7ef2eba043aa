"""UniformLoadShedder as implemented in releases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.numbers import Fraction, plain
from pulsar_conformance.reference.released.java import INT, to_int, wrap_int
from pulsar_conformance.reference.released.loads import Leader
from pulsar_conformance.reference.released.strategy import (
    WRITTEN,
    BrokerUnloads,
    ClusterView,
    bundle_steps,
    keep_all_steps,
    too_few,
)
from pulsar_conformance.reference.uniform import RATE_THRESHOLD, THROUGHPUT_THRESHOLD

MAX_SHARE = "maxUnloadPercentage"
MAX_UNLOADED_BUNDLES = "maxUnloadBundleNumPerShedding"
MIN_UNLOAD = {"msgRate": "minUnloadMessage", "msgThroughput": "minUnloadMessageThroughput"}
CONSTANT = {
    MAX_SHARE: 0.2,
    MIN_UNLOAD["msgRate"]: 1000.0,
    MIN_UNLOAD["msgThroughput"]: 1024.0 * 1024.0,
}
"""Constants that older releases use, by the name of the later setting."""

CONSTANT_NAME = {
    MAX_SHARE: "UniformLoadShedder.MAX_UNLOAD_PERCENTAGE",
    MIN_UNLOAD["msgRate"]: "UniformLoadShedder.MIN_UNLOAD_MESSAGE",
    MIN_UNLOAD["msgThroughput"]: "UniformLoadShedder.MIN_UNLOAD_THROUGHPUT",
}
"""Name of each constant in Pulsar's source, by the name of the setting that it replaces."""

THRESHOLDS = {
    "msgRate": (RATE_THRESHOLD, "%"),
    "msgThroughput": (THROUGHPUT_THRESHOLD, "times as much"),
}
"""The setting with the threshold of each measure, and the unit of the threshold."""

MEASURES = {"msgRate": "messages", "msgThroughput": "throughput"}
NEAR_NOTHING = 1e-6
SLACK_MEASURES = {"none": (), "rate": ("msgRate",), "both": ("msgRate", "msgThroughput")}
SLACK_AMOUNT = 1000
"""Messages or bytes per second by which a bundle may exceed the amount still to move."""


@dataclass(frozen=True)
class _Spread:
    """The brokers with the most and the least traffic, and how much traffic these have."""

    busiest: str | None
    idlest: str | None
    most: float
    least: float


@dataclass(frozen=True)
class _Decision:
    """The broker that unloads, the measure used, and the limits."""

    broker: str | None
    kind: str
    spreads: dict[str, _Spread]
    over: dict[str, bool]
    need: int
    least: float
    chosen: tuple[str, ...]
    enough: bool


def sheds(view: ClusterView) -> Iterator[BrokerUnloads]:
    """Yield each broker's unloads; only the busiest broker has any."""
    decision = _decision(view)
    for name in view.known.brokers:
        chosen = decision.chosen if name == decision.broker else ()
        yield BrokerUnloads(name, chosen, partial(_steps, view, decision, name))


def _decision(view: ClusterView) -> _Decision:
    known = view.known
    mixed = known.way("uniform-pair") in ("mixed", "mixed-of-all")
    spreads = (
        _extremes_compared_together(view)
        if mixed
        else {kind: _extremes(view, kind) for kind in MIN_UNLOAD}
    )
    over = {kind: _exceeds_threshold(view, kind, spread) for kind, spread in spreads.items()}
    kind = "msgRate" if over["msgRate"] else "msgThroughput"
    spread = spreads[kind]
    broker = spread.busiest if any(over.values()) else None
    needs = {one: _amount_to_move(view, spreads[one]) for one in spreads}
    floors = {one: _setting(view, MIN_UNLOAD[one]) for one in MIN_UNLOAD}
    enough = needs[kind] >= floors[kind]
    if known.way("uniform-pair") != "separate":
        enough = any(needs[one] >= floors[one] for one in MIN_UNLOAD)
    chosen: tuple[str, ...] = ()
    if broker is not None and enough and len(known.owned(broker)) > 1:
        chosen = tuple(_fitting_bundles(view, broker, kind, needs[kind]))
    return _Decision(broker, kind, spreads, over, needs[kind], floors[kind], chosen, enough)


def _setting(view: ClusterView, name: str) -> float:
    if view.known.way("uniform-settings") == "constants":
        return CONSTANT[name]
    return view.known.number(name)


def _setting_or_constant(view: ClusterView, setting: str) -> str:
    """Return the name of a setting, or of the constant that the release uses in its place."""
    return CONSTANT_NAME[setting] if view.known.way("uniform-settings") == "constants" else setting


def _amount_to_move(view: ClusterView, spread: _Spread) -> int:
    return to_int(_amount_before_rounding(view, spread))


def _amount_before_rounding(view: ClusterView, spread: _Spread) -> float:
    """Return the amount to move, a share of the difference, before it becomes an int."""
    return (spread.most - spread.least) * _setting(view, MAX_SHARE)


def _rounding_text(view: ClusterView, spread: _Spread) -> str:
    """Return text on how the amount to move becomes an int."""
    cut = _amount_before_rounding(view, spread) >= INT
    return f"cut at the greatest int, {INT - 1}" if cut else "in whole numbers"


def _extremes(view: ClusterView, kind: str) -> _Spread:
    """Return the busiest and the idlest broker by one measure, with their traffic."""
    busiest, idlest, most, least = None, None, -1.0, float(INT - 1)
    for name in view.known.brokers:
        carries = view.known.carries(name, kind)
        if carries > most:
            busiest, most = name, carries
        if carries < least:
            idlest, least = name, carries
    return _Spread(busiest, idlest, most, 1.0 if abs(least) <= NEAR_NOTHING else least)


def _extremes_compared_together(view: ClusterView) -> dict[str, _Spread]:
    """Return the spread of each measure in releases that compare both measures together.

    Brokers are compared in order. A broker replaces the busiest broker so far if it has more
    traffic in either measure, even if it has less in the other. The same holds for the idlest
    broker.
    """
    known = view.known
    busiest, idlest = None, None
    most, least = dict.fromkeys(MIN_UNLOAD, -1.0), dict.fromkeys(MIN_UNLOAD, float(INT - 1))
    for name in known.brokers:
        if _is_left_out(known, name):
            continue
        carries = {kind: known.carries(name, kind) for kind in MIN_UNLOAD}
        if any(carries[kind] > most[kind] for kind in MIN_UNLOAD):
            busiest, most = name, carries
        if any(carries[kind] < least[kind] for kind in MIN_UNLOAD):
            idlest, least = name, carries
    return {
        kind: _Spread(
            busiest, idlest, most[kind], 1.0 if abs(least[kind]) <= NEAR_NOTHING else least[kind]
        )
        for kind in MIN_UNLOAD
    }


def _is_left_out(known: Leader, broker: str) -> bool:
    """True if a broker is left out of the comparison because it has fewer than two bundles."""
    return known.way("uniform-pair") == "mixed" and len(known.owned(broker)) <= 1


def _exceeds_threshold(view: ClusterView, kind: str, spread: _Spread) -> bool:
    """True if a difference exceeds its threshold; a threshold of 0 disables the condition."""
    threshold = view.known.number(THRESHOLDS[kind][0])
    return threshold > 0 and _traffic_difference(kind, spread) > threshold


def _traffic_difference(kind: str, spread: _Spread) -> float:
    """Return the difference between the extremes: in percent for messages, as a ratio for bytes."""
    if kind == "msgRate":
        return (spread.most - spread.least) * 100 / spread.least
    return spread.most / spread.least


def _fitting_bundles(view: ClusterView, broker: str, kind: str, need: int) -> Iterator[str]:
    """Yield bundles that fit into the amount still to move, most traffic first.

    Sums overflow 32 bits, as they do in Java.
    """
    known, left, count = view.known, need, 0
    more = SLACK_AMOUNT if kind in SLACK_MEASURES[known.way("uniform-slack")] else 0
    most = _most_bundles(known)
    for bundle in known.busiest_first(view.movable_bundles_of(broker), kind):
        traffic = known.traffic(bundle, kind)
        if traffic <= wrap_int(left + more) and (most == -1 or count < most):
            yield bundle
            left = wrap_int(left + to_int(-traffic))
            count += 1


def _most_bundles(known: Leader) -> int:
    """Return the maximum number of bundles that a cycle unloads; -1 for no maximum."""
    return (
        -1
        if known.way("uniform-settings") == "constants"
        else int(known.number(MAX_UNLOADED_BUNDLES))
    )


def _difference_steps(view: ClusterView, decision: _Decision) -> Iterator[Step]:
    """Yield a step for each measure: its extremes, their difference, and the threshold."""
    for kind, spread in decision.spreads.items():
        setting, unit = THRESHOLDS[kind]
        threshold = view.known.number(setting)
        least, most = (WRITTEN[kind](Fraction(one)) for one in (spread.least, spread.most))
        least += " (0 counts as 1)" if spread.least == 1 else ""
        over = "over" if decision.over[kind] else "not over"
        found = f"{over} {threshold:g} ({setting})"
        if threshold <= 0:
            found = f"not compared, since {setting} is {threshold:g}"
        difference = _traffic_difference(kind, spread)
        differs = f"{difference:.10g} {unit}"
        if kind == "msgRate":
            less = "less" if difference < 0 else "more"  # A lowest traffic of 0 counts as 1.
            differs = f"{abs(difference):.10g} {unit} {less}"
        pair = f"{spread.idlest or 'no broker'} {least} to {spread.busiest or 'no broker'} {most}"
        compared = f"{pair}, {differs}"
        if spread.idlest is not None and spread.idlest == spread.busiest:
            compared = f"{spread.idlest}, {least}, is both the least and the most loaded"
        yield Step(MEASURES[kind], f"{compared}: {found}")


def _steps(view: ClusterView, decision: _Decision, name: str) -> Iterator[Step]:
    known, place = view.known, view.known.release.place
    if name == (decision.broker or decision.spreads[decision.kind].busiest or known.brokers[0]):
        yield from _difference_steps(view, decision)
    if _is_left_out(known, name):
        why = f"{too_few(known.owned(name))}, so it is not compared with others"
        yield Step("left out", f"{why} ({place('uniform-pair')})")
    if decision.broker is None:
        over = "neither difference is over its threshold; a threshold of 0 switches its test off"
        yield from keep_all_steps(view, name, f"{over} ({place('uniform-share')})")
        return
    if name != decision.broker:
        yield from keep_all_steps(view, name, f"{name} is not the most loaded")
        return
    kind, spread = decision.kind, decision.spreads[decision.kind]
    written = WRITTEN[kind]
    share = plain(Fraction(_setting(view, MAX_SHARE)))
    apart = f"{written(Fraction(spread.most))} and {written(Fraction(spread.least))}"
    need = written(Fraction(decision.need))
    yield Step("share", f"{share} ({_setting_or_constant(view, MAX_SHARE)})", detail=True)
    part = f"{share} of what lies between {apart}"
    yield Step(
        "to move", f"{part}, {_rounding_text(view, spread)}: {need} ({place('uniform-share')})"
    )
    other = next(one for one in MIN_UNLOAD if one != kind)
    if decision.enough and decision.need < decision.least:
        beside = WRITTEN[other](Fraction(_amount_to_move(view, decision.spreads[other])))
        yield Step("enough", f"by the other measure: {beside} ({place('uniform-settings')})")
    if not decision.enough:
        setting = _setting_or_constant(view, MIN_UNLOAD[kind])
        least = f"less than the {written(Fraction(decision.least))} of {setting}"
        yield from keep_all_steps(view, name, f"{least} ({place('uniform-share')})")
    elif len(known.owned(name)) <= 1:
        yield from keep_all_steps(
            view, name, f"{too_few(known.owned(name))} ({place('only-bundle')})"
        )
    else:
        stays = "more than is left"
        if kind in SLACK_MEASURES[known.way("uniform-slack")]:
            more = f"a bundle may carry {SLACK_AMOUNT} more than is left"
            if wrap_int(decision.need + SLACK_AMOUNT) < 0:
                total = f"the sum of what is left and {SLACK_AMOUNT} overflows an int"
                more = f"{total} and is negative, so nothing goes"
                stays = "more than a negative number"
            yield Step("beyond", f"{more} ({place('uniform-slack')})")
        free, owned, most = view.movable_bundles_of(name), known.owned(name), _most_bundles(known)
        full = f"{MAX_UNLOADED_BUNDLES} is {most}" if 0 <= most <= len(decision.chosen) else ""
        yield from bundle_steps(view, free, owned, decision.chosen, kind, stays, full)
