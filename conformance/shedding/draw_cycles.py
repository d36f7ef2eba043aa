"""Draws shedding cycles: near the overload threshold, for any strategy, and in sequences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from hypothesis import strategies as st
from pulsar_conformance.conformance.common.trial import Json, Trial, copied
from pulsar_conformance.conformance.drawing import composite, loads
from pulsar_conformance.conformance.drawing.loads import randoms
from pulsar_conformance.conformance.shedding.draw_clusters import (
    DEFAULT_GRACE,
    NO_DEFAULT,
    OFFSET,
    OTHER_STRATEGIES,
    Need,
    Sketch,
    decisive_traffic,
    graces,
    uniform,
    with_ignored_inputs,
    with_many_unloads,
)
from pulsar_conformance.conformance.shedding.draw_threshold import (
    decisive_history,
    history_shares,
    past_is_high,
    threshold,
)
from pulsar_conformance.conformance.shedding.operations import CYCLES, SHED
from pulsar_conformance.reference.cluster import RATE_FIELDS, RESOURCES
from pulsar_conformance.reference.overload import MARGIN, OVERLOAD_THRESHOLD
from pulsar_conformance.reference.ranges import FULL_UPPER, HashRange, namespace_of
from pulsar_conformance.reference.shedding import ENABLED, GRACE, PACKAGE, STRATEGY
from pulsar_conformance.reference.threshold import HISTORY_SHARE, SHEDDER_THRESHOLD

HALF_A_POINT = 0.5
"""Smallest error in an amount to shed that cases detect, in percent of the traffic."""

cluster_kinds = st.sampled_from(("beside", "exact", "amount", "amount", "beside"))
exact_thresholds = st.sampled_from((25, 50, 75))
thresholds = st.sampled_from((85, 60, 90.5, 93) * 3 + (0,))
threshold_left_out = st.booleans()
excesses = st.sampled_from((0.25, 0.4, 1, 2, 4.5, 10, 14))
levels_near_default = st.sampled_from((84, 84.75, 85.25, 86, 95))


@composite
def overload(draw: st.DrawFn, fewest: int = 2) -> Sketch:
    """Draw brokers above, below and at the threshold, or one with a decisive amount to shed.

    The broker with the decisive amount sheds other bundles if the amount is wrong by half a point.
    """
    size, way = draw(loads.sizes(fewest)), draw(cluster_kinds)
    random = draw(randoms)
    if way == "exact":
        return _at_the_threshold(random, size, draw(exact_thresholds), draw(graces))
    threshold = draw(thresholds)
    settings = {OVERLOAD_THRESHOLD: threshold, **draw(graces)}
    if threshold == 85 and draw(threshold_left_out):
        del settings[OVERLOAD_THRESHOLD]
    levels = [loads.draw_near(random, threshold) for _ in range(size.brokers)]
    sketch = Sketch(
        random,
        "OverloadShedder",
        levels,
        loads.bundles_per_broker(random, *size),
        settings=settings,
        measured=False,
    )
    if way == "amount":
        place, excess = random.randrange(size.brokers), draw(excesses)
        levels[place] = min(threshold + excess, 100)
        margin = float(MARGIN)
        need = Need(levels[place] - threshold + margin, HALF_A_POINT)
        sketch.given = {place: decisive_traffic(random, need)}
    return with_ignored_inputs(sketch)


def _at_the_threshold(
    random: Random, size: loads.Size, threshold: float, settings: dict[str, float]
) -> Sketch:
    """Return brokers with usage that needs no rounding, many of them exactly at the threshold."""
    settings = {OVERLOAD_THRESHOLD: threshold, **settings}
    levels = [random.choice((threshold, *loads.EXACT_PERCENTS)) for _ in range(size.brokers)]
    counts = loads.bundles_per_broker(random, *size)
    return Sketch(random, "OverloadShedder", levels, counts, exact=True, settings=settings)


@composite
def near_default_overload_threshold(draw: st.DrawFn, fewest: int = 2) -> Sketch:
    """Draw brokers slightly above and below 85 %, with no settings."""
    size, first = draw(loads.sizes(fewest)), draw(levels_near_default)
    random = draw(randoms)
    levels = [random.choice((70, 84, 84.75, 85.25, 86, 95)) for _ in range(size.brokers)]
    levels[random.randrange(size.brokers)] = first
    return Sketch(
        random, "OverloadShedder", levels, loads.bundles_per_broker(random, *size), recent=0
    )


@composite
def overload_with_few_bundles(draw: st.DrawFn, fewest: int = 2) -> Sketch:
    """Draw overloaded brokers; all of them except one have at most two bundles."""
    size = draw(loads.sizes(fewest))
    random = draw(randoms)
    levels = [random.choice((90, 95, 100)) for _ in range(size.brokers)]
    counts = [random.choice((0, 1, 1, 2)) for _ in range(size.brokers)]
    counts[-1] += max(0, size.bundles - sum(counts))
    return Sketch(random, "OverloadShedder", levels, counts, recent=0)


@composite
def overloaded_under_other_strategies(draw: st.DrawFn, fewest: int = 2) -> Sketch:
    """Draw overloaded brokers under a strategy other than OverloadShedder."""
    sketch = draw(overload(fewest))
    sketch.strategy = draw(OTHER_STRATEGIES)
    sketch.settings = {**NO_DEFAULT, **sketch.settings}
    return sketch


Clusters = Callable[[int], st.SearchStrategy[Sketch]]
"""Function that takes a minimum number of brokers, and returns a strategy for clusters."""

Change = Callable[[Random, Json], Json]


def cases(*clusters: Clusters, fewest: int = 2) -> st.SearchStrategy[Json]:
    """Return a strategy for cases of a single shedding cycle in one of these kinds of clusters."""
    return st.one_of([made(fewest) for made in clusters]).map(Sketch.case)


def cycle_trials(*clusters: Clusters, fewest: int = 2) -> st.SearchStrategy[Trial]:
    """Return a strategy for trials of a single shedding cycle in one of these kinds of clusters."""
    sketches = st.one_of([made(fewest) for made in clusters])
    return sketches.map(lambda sketch: _trial(sketch.case(), sketch.random))


def _trial(case: Json, random: Random) -> Trial:
    """Return the trial of a single shedding cycle, whose settings are sometimes written as text."""
    settings = loads.sometimes_as_text(random, case["settings"])
    return Trial.of(SHED.id, {**case, "settings": settings})


def cycle_after_change(change: Change, *clusters: Clusters) -> st.SearchStrategy[Trial]:
    """Return a strategy for trials of a single shedding cycle that `change` has modified."""
    sketches = st.one_of([made(2) for made in clusters])
    return st.builds(
        lambda case, random: _trial(change(random, case), random),
        sketches.map(with_many_unloads),
        randoms,
    )


def before_and_after_change(change: Change, *clusters: Clusters) -> st.SearchStrategy[Trial]:
    """Return a strategy for trials of a cycle and the same cycle modified by `change`."""
    return st.builds(
        lambda case, random: Trial.of(SHED.id, case, change(random, copied(case))),
        cases(*clusters),
        randoms,
    )


def any_strategy(fewest: int = 2) -> st.SearchStrategy[Sketch]:
    """Return a strategy for clusters under any of the three shedding strategies."""
    return st.one_of(overload(fewest), threshold(fewest), uniform(fewest))


def switched_off(fewest: int = 2) -> st.SearchStrategy[Sketch]:
    """Return a strategy for the clusters of `any_strategy`, with shedding disabled."""
    return any_strategy(fewest).map(_without_shedding)


def _without_shedding(sketch: Sketch) -> Sketch:
    sketch.settings[ENABLED] = False
    return sketch


def recently_unloaded(fewest: int = 2) -> st.SearchStrategy[Sketch]:
    """Return a strategy for clusters with many bundles unloaded about one grace period ago."""
    return any_strategy(fewest).map(_recently_unloaded)


def _recently_unloaded(sketch: Sketch) -> Sketch:
    sketch.recent, sketch.given = 0.7, {}
    return sketch


def without_ties(fewest: int = 2) -> st.SearchStrategy[Sketch]:
    """Return a strategy for clusters without equal bundles, with the settings of all strategies."""
    return any_strategy(fewest).map(_without_ties)


def threshold_without_ties(fewest: int = 2) -> st.SearchStrategy[Sketch]:
    """Draw clusters without ties for ThresholdShedder, with all settings."""
    return threshold(fewest).map(_without_ties)


def other_strategies_without_ties(fewest: int = 2) -> st.SearchStrategy[Sketch]:
    """Draw clusters without ties for ThresholdShedder or UniformLoadShedder."""
    return st.one_of(threshold(fewest), uniform(fewest)).map(_without_ties)


def _without_ties(sketch: Sketch) -> Sketch:
    sketch.settings = {**NO_DEFAULT, **sketch.settings}
    sketch.traffic, sketch.recent = "different", 0
    return sketch


def after_splits(random: Random, case: Json) -> Json:
    """Replace some recently unloaded bundles by their parents, as if the parents had been unloaded
    and then split.
    """
    unloaded = case["recentlyUnloaded"]
    for name in list(unloaded):
        part = HashRange.parse(name)
        if random.random() < 0.5:
            # The last bundle of a namespace is wider, by the remainder of the division.
            end = part.upper + part.width
            upper = FULL_UPPER if end + part.width > FULL_UPPER else end
            whole = HashRange(part.lower, upper)
            unloaded[f"{namespace_of(name)}/{whole.name}"] = unloaded.pop(name)
    return case


def strategy_in_settings(random: Random, case: Json) -> Json:
    """Return the case with its strategy named in the settings instead of the field `strategy`."""
    name = case["strategy"].removeprefix(PACKAGE)
    case["settings"] = {**case["settings"], STRATEGY: random.choice(("", PACKAGE)) + name}
    case["strategy"] = None
    return case


def without_strategy(_random: Random, case: Json) -> Json:
    """Return the case with null as its strategy, so that the settings select one."""
    return {**case, "strategy": None}


def with_other_brokers_changed(random: Random, case: Json) -> Json:
    """Return the case with the usage of all brokers but one changed."""
    brokers = list(case["brokers"])
    kept = random.choice(brokers)
    for name in brokers:
        if name != kept:
            level = random.choice((0, 5, 50, 80, 95, 100))
            case["brokers"][name] |= {r: {"usage": 0, "limit": 100} for r in RESOURCES}
            case["brokers"][name] |= loads.draw_usages(random, level, exact=False)
    return case


def with_another_overload_threshold(random: Random, case: Json) -> Json:
    """Return the case with another overload threshold."""
    case["settings"][OVERLOAD_THRESHOLD] = random.choice((1, 10, 30, 99))
    return case


def with_another_long_term(random: Random, case: Json) -> Json:
    """Return the case; in one of three cases, bundles swap their long-term averages."""
    known = [data for data in case["bundles"].values() if "longTermData" in data]
    if random.random() < 1 / 3:
        exchanged = random.sample([data["longTermData"] for data in known], len(known))
        for data, other in zip(known, exchanged, strict=True):
            data["longTermData"] = other
    return case


CYCLE_FIELDS = ("brokers", "bundles", "recentlyUnloaded")
MAX_CYCLES = 4
"""Maximum number of cycles in a row."""


def cycle_sequences(*clusters: Clusters) -> st.SearchStrategy[Trial]:
    """Return a strategy for trials of two or more cycles, between which the cluster may change."""
    lengths = st.integers(2, MAX_CYCLES)
    return st.builds(
        lambda case, length, random: Trial.of(CYCLES.id, _cycle_sequence(case, length, random)),
        cases(*clusters),
        lengths,
        randoms,
    )


def _cycle_sequence(case: Json, length: int, random: Random) -> Json:
    first = {"minutes": 0, **{name: case[name] for name in CYCLE_FIELDS}}
    for report in first["brokers"].values():
        report.pop("usageHistory", None)
    settings = {HISTORY_SHARE: random.choice((0.9, 0.5, 0)), **case["settings"]}
    found = [first]
    for _ in range(length - 1):
        found.append(_next_cycle(found[-1], settings.get(GRACE, DEFAULT_GRACE), random))
    written = loads.sometimes_as_text(random, settings)
    return {"strategy": case["strategy"], "settings": written, "cycles": found}


def _next_cycle(before: Json, grace: float, random: Random) -> Json:
    """Return the next cycle: some time has passed, and bundles may have moved."""
    cycle: Json = copied(before)
    cycle["minutes"] = random.choice((1, grace / 4, grace / 2, grace, grace + OFFSET, grace * 3))
    cycle["recentlyUnloaded"] = {}
    for change in random.choice(CHANGES):
        change(cycle, random)
    return cycle


def _move_busiest(cycle: Json, random: Random) -> None:
    """Move each broker's busiest bundles to other brokers, as if they had been shed."""
    brokers = cycle["brokers"]
    going = [(name, bundle) for name in brokers for bundle in _busiest(cycle, name, random)]
    for name, bundle in going:
        other = random.choice([one for one in brokers if one != name])
        _take_from_broker(cycle, name, bundle)
        brokers[other]["bundles"].append(bundle)
        for field in RATE_FIELDS:
            brokers[other][field] = brokers[other].get(field, 0) + _load(cycle, bundle)[field]


def _remove_busiest(cycle: Json, random: Random) -> None:
    """Remove each broker's busiest bundles from the cluster."""
    for name in cycle["brokers"]:
        for bundle in _busiest(cycle, name, random):
            _take_from_broker(cycle, name, bundle)
            cycle["bundles"].pop(bundle, None)


def _exchange_usages(cycle: Json, random: Random) -> None:
    """Let brokers swap their usage."""
    brokers = cycle["brokers"]
    used = [{name: report.get(name) for name in RESOURCES} for report in brokers.values()]
    for report, other in zip(brokers.values(), random.sample(used, len(used)), strict=True):
        report |= {name: usage for name, usage in other.items() if usage is not None}
        for name in [one for one, usage in other.items() if usage is None]:
            report.pop(name, None)


def _busiest(cycle: Json, broker: str, random: Random) -> list[str]:
    """Return up to three of a broker's bundles, by descending bytes."""
    by_bytes = sorted(cycle["brokers"][broker]["bundles"], key=lambda one: -_bytes(cycle, one))
    return by_bytes[: random.choice((1, 2, 3))]


def _take_from_broker(cycle: Json, broker: str, bundle: str) -> None:
    report = cycle["brokers"][broker]
    report["bundles"].remove(bundle)
    for field in RATE_FIELDS:
        report[field] = max(0, report.get(field, 0) - _load(cycle, bundle)[field])


def _load(cycle: Json, bundle: str) -> Mapping[str, float]:
    average = cycle["bundles"].get(bundle, {}).get("shortTermData", {})
    return {field: average.get(field, 0) for field in RATE_FIELDS}


def _bytes(cycle: Json, bundle: str) -> float:
    load = _load(cycle, bundle)
    return load["msgThroughputIn"] + load["msgThroughputOut"]


CycleChange = Callable[[Json, Random], None]

CHANGES: tuple[tuple[CycleChange, ...], ...] = (
    (),
    (_move_busiest,),
    (_move_busiest, _exchange_usages),
    (_exchange_usages,),
    (_remove_busiest,),
)
"""Possible changes between two cycles; the changes of one entry are made together."""


@composite
def _decided_by_history(draw: st.DrawFn) -> Trial:
    """Draw consecutive cycles; in the last one, earlier usage decides whether a broker sheds."""
    size, share, past = draw(loads.sizes(2)), draw(history_shares), draw(past_is_high)
    random, length = draw(randoms), draw(st.integers(2, MAX_CYCLES))
    one = decisive_history(random, size.brokers, share, past)
    counts = [count + 8 for count in loads.bundles_per_broker(random, *size)]
    settings = {SHEDDER_THRESHOLD: one.threshold, HISTORY_SHARE: one.share}
    found: list[Json] = []
    place, seed = random.randrange(size.brokers), random.getrandbits(32)
    for usage in [*[one.past] * (length - 1), one.present]:
        levels = [one.others] * size.brokers
        levels[place] = usage
        sketch = Sketch(
            Random(seed), "ThresholdShedder", levels, counts, settings=settings, recent=0,
            traffic="different",
        )  # fmt: skip
        case = sketch.case()
        found.append({"minutes": 1 if found else 0, **{name: case[name] for name in CYCLE_FIELDS}})
    strategy, whole = case["strategy"], case["settings"]
    return Trial.of(CYCLES.id, {"strategy": strategy, "settings": whole, "cycles": found})


any_sequence = cycle_sequences(any_strategy)
sequence_decided_by_history = _decided_by_history()
overload_sequence = cycle_sequences(overload)
threshold_sequence = cycle_sequences(threshold)
