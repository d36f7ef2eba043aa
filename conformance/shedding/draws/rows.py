"""Cycles of shedding in a row: bundles move, are gone or come back, and usages change places."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from random import Random

from hypothesis import strategies as st
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.drawing.loads import randoms
from pulsar_conformance.conformance.shedding.draws.above_average import threshold
from pulsar_conformance.conformance.shedding.draws.clusters import DEFAULT_GRACE
from pulsar_conformance.conformance.shedding.draws.cycles import Clusters, any_strategy, cases
from pulsar_conformance.conformance.shedding.draws.overloaded import overload
from pulsar_conformance.conformance.shedding.operations import CYCLES
from pulsar_conformance.reference.cluster import RATE_FIELDS, RESOURCES
from pulsar_conformance.reference.shedding import GRACE
from pulsar_conformance.reference.threshold import HISTORY_SHARE

SEEN = ("brokers", "bundles", "recentlyUnloaded")
LONGEST = 4
"""Cycles of a row at most."""


def rows(*clusters: Clusters) -> st.SearchStrategy[Trial]:
    """A cluster in two cycles or more, in which nothing, or much, has changed."""
    lengths = st.integers(2, LONGEST)
    return st.builds(
        lambda case, length, random: Trial.of(CYCLES.id, _row(case, length, random)),
        cases(*clusters),
        lengths,
        randoms,
    )


def _row(case: Json, length: int, random: Random) -> Json:
    first = {"minutes": 0, **{name: case[name] for name in SEEN}}
    for report in first["brokers"].values():
        report.pop("usageHistory", None)
    settings = {HISTORY_SHARE: random.choice((0.9, 0.5, 0)), **case["settings"]}
    found = [first]
    for _ in range(length - 1):
        found.append(_later(found[-1], settings.get(GRACE, DEFAULT_GRACE), random))
    return {"strategy": case["strategy"], "settings": settings, "cycles": found}


def _later(before: Json, grace: float, random: Random) -> Json:
    """The next cycle: some time has passed, and every bundle is where it was or is not."""
    cycle: Json = copy.deepcopy(before)
    cycle["minutes"] = random.choice((1, grace / 4, grace / 2, grace, grace + 0.5, grace * 3))
    cycle["recentlyUnloaded"] = {}
    for change in random.choice(CHANGES):
        change(cycle, random)
    return cycle


def _busiest_move(cycle: Json, random: Random) -> None:
    """The busiest bundles of each broker go to another one, as those that are shed do."""
    brokers = cycle["brokers"]
    going = [(name, bundle) for name in brokers for bundle in _busiest(cycle, name, random)]
    for name, bundle in going:
        other = random.choice([one for one in brokers if one != name])
        _leave(cycle, name, bundle)
        brokers[other]["bundles"].append(bundle)
        for field in RATE_FIELDS:
            brokers[other][field] = brokers[other].get(field, 0) + _load(cycle, bundle)[field]


def _busiest_are_gone(cycle: Json, random: Random) -> None:
    """The busiest bundles of each broker belong to nobody any more."""
    for name in cycle["brokers"]:
        for bundle in _busiest(cycle, name, random):
            _leave(cycle, name, bundle)
            cycle["bundles"].pop(bundle, None)


def _usages_change_places(cycle: Json, random: Random) -> None:
    """Each broker uses what another one, or it, used before."""
    brokers = cycle["brokers"]
    used = [{name: report.get(name) for name in RESOURCES} for report in brokers.values()]
    for report, other in zip(brokers.values(), random.sample(used, len(used)), strict=True):
        report |= {name: usage for name, usage in other.items() if usage is not None}
        for name in [one for one, usage in other.items() if usage is None]:
            report.pop(name, None)


def _busiest(cycle: Json, broker: str, random: Random) -> list[str]:
    """A few bundles of a broker, those with the most bytes."""
    by_bytes = sorted(cycle["brokers"][broker]["bundles"], key=lambda one: -_bytes(cycle, one))
    return by_bytes[: random.choice((1, 2, 3))]


def _leave(cycle: Json, broker: str, bundle: str) -> None:
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


Change = Callable[[Json, Random], None]

CHANGES: tuple[tuple[Change, ...], ...] = (
    (),
    (_busiest_move,),
    (_busiest_move, _usages_change_places),
    (_usages_change_places,),
    (_busiest_are_gone,),
)
"""What may have happened between two cycles."""

any_row = rows(any_strategy)
overload_row = rows(overload)
threshold_row = rows(threshold)
