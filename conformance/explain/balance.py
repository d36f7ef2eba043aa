"""Explains whether the extensible load manager would shed in a cluster, given its load data."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from pulsar_conformance.conformance.cases.load_reports import EXTENSIBLE, BadSnapshot, saved_files
from pulsar_conformance.reference.numbers import exact, throughput
from pulsar_conformance.specs.broker import broker_settings, known_releases
from pulsar_conformance.specs.judged import default_in_version
from pulsar_conformance.specs.text import columns, counted, paragraph

BYTES = ("msgThroughputIn", "msgThroughputOut")
LOAD, TRAFFIC, TOP = "weightedMaxEMA", "msgThroughputEMA", "topBundlesLoadData"
SUFFIX = "-top-bundles"
"""Suffix, before `.json`, of the name of a file with a broker's top bundles."""

WRITTEN = "updatedAt"
LIFETIME = "loadBalancerBrokerLoadDataTTLInSeconds"
TARGET = "loadBalancerBrokerLoadTargetStd"
OVERLOAD = "loadBalancerBrokerOverloadedThresholdPercentage"
CYCLES = "loadBalancerSheddingConditionHitCountThreshold"
BROKERS = "loadBalancerMaxNumberOfBrokerSheddingPerCycle"
TRANSFERS = "loadBalancerTransferEnabled"
SWITCHES = ("loadBalancerEnabled", "loadBalancerSheddingEnabled")

HALF = 0.5
"""Upper limit of the share, of the mean load or the highest traffic, below which a broker counts as
underloaded.
"""


@dataclass(frozen=True)
class LoadData:
    """The load of each broker, and the bundles that it may unload."""

    loads: Mapping[str, float]
    traffic: Mapping[str, float]
    top: Mapping[str, Mapping[str, float | None]]
    """For each broker, the bytes per second of its top bundles, as listed; None if unknown."""
    carried: Mapping[str, float]
    """The bytes per second of each broker, in and out."""
    written: Mapping[str, float]
    """The milliseconds since 1970 at which each broker's data were written, if known."""
    outdated: frozenset[str] = frozenset()
    """The brokers whose data do not count in the mean and the standard deviation."""
    notes: tuple[str, ...] = ()
    """Notes on files that are not used."""

    @classmethod
    def of(cls, brokers: Mapping[str, Any], top: Mapping[str, Any]) -> LoadData:
        """Read load data and top bundles from Pulsar's own JSON."""
        return cls(
            {name: one[LOAD] for name, one in brokers.items()},
            {name: one.get(TRAFFIC, _carried(one) or 0.0) for name, one in brokers.items()},
            {name: _bundles(one[TOP]) for name, one in top.items()},
            {name: _carried(one) or one.get(TRAFFIC, 0.0) for name, one in brokers.items()},
            {
                name: one[WRITTEN]
                for name, one in brokers.items()
                if isinstance(one.get(WRITTEN), int | float) and one[WRITTEN] > 0
            },
        )

    @property
    def mean(self) -> float:
        """The mean of the brokers' loads."""
        return fmean(self._current)

    @property
    def deviation(self) -> float:
        """The standard deviation of the brokers' loads."""
        return pstdev(self._current)

    @property
    def _current(self) -> list[float]:
        return [load for name, load in self.loads.items() if name not in self.outdated]

    def age(self, name: str) -> float:
        """Return by how many seconds a broker's data are older than the newest."""
        newest = max(self.written.values(), default=0)
        return (newest - self.written.get(name, newest)) / 1000


def load_data(folder: Path, given: Collection[Path] = ()) -> LoadData | None:
    """Read a folder of load data of the extensible load manager.

    None if its files are of another kind, such as load reports. `given`: files of the folder that
    are read for another purpose. Errors: `BadSnapshot`.
    """
    if not folder.is_dir():
        return None
    found, notes = saved_files(folder, given)
    files = {one.broker: one.content for one in found}
    paths = {one.broker: one.path for one in found}
    top = {name: data for name, data in files.items() if isinstance(data, dict) and TOP in data}
    brokers = {name: data for name, data in files.items() if name not in top}
    if not all(isinstance(one, dict) and EXTENSIBLE & {*one} for one in brokers.values()):
        return None
    for name, one in brokers.items():
        for key in (LOAD, TRAFFIC):
            if not isinstance(one.get(key), int | float):
                raise BadSnapshot(f"{paths[name]}: {key} is not a number")
    for name in top:
        if name.removesuffix(SUFFIX) not in brokers:
            raise BadSnapshot(
                f"{paths[name]}: it has top bundles, but no other file has the load data of "
                f"their broker; save both, as BROKER.json and BROKER{SUFFIX}.json"
            )
    for one in found:
        if paths[one.broker] != one.path:
            raise BadSnapshot(f"{one.path}: there is already load data of {one.broker}")
    named = {name.removesuffix(SUFFIX): one for name, one in top.items()}
    return replace(LoadData.of(brokers, named), notes=tuple(notes))


def _carried(stats: Mapping[str, Any]) -> float | None:
    """Return the bytes per second in both directions; None if neither is known."""
    known = [one for one in map(stats.get, BYTES) if isinstance(one, int | float)]
    return float(sum(known)) if known else None


def _bundles(bundles: Any) -> dict[str, float | None]:
    found = [one for one in bundles or () if isinstance(one, dict)]
    return {str(one.get("bundleName")): _carried(one.get("stats") or {}) for one in found}


def balance_lines(data: LoadData, given: Mapping[str, Any], release: str | None) -> Iterator[str]:
    """Yield the loads, the conditions of TransferShedder, and whether it sheds."""
    at = release or known_releases()[-1]
    default = {name: default_in_version(one, at) for name, one in broker_settings().items()}
    given = {**default, **{name: one for name, one in given.items() if one is not None}}
    value = {name: float(given[name]) for name in (TARGET, OVERLOAD, CYCLES, BROKERS)}
    data = replace(
        data,
        outdated=frozenset(name for name in data.loads if data.age(name) > given[LIFETIME]),
    )
    yield "load data of the extensible load manager, by the rules of TransferShedder"
    yield ""
    ordered = sorted(data.loads, key=lambda name: -data.loads[name])
    yield from columns([(f"  {name}", _percent(data.loads[name])) for name in ordered])
    yield f"  mean {_percent(data.mean)}, standard deviation {data.deviation:.4g}"
    for name in sorted(data.outdated):
        yield from paragraph(
            f"without {name}: its data are {data.age(name):.0f} s older than the newest, and "
            f"{LIFETIME} is {given[LIFETIME]:g}; it still counts as the busiest or least busy "
            "broker (TransferShedder.LoadStats.update)",
            2,
        )
    yield ""
    reasons = list(_reasons(data, value))
    for text in reasons or ["no condition to shed holds"]:
        yield from paragraph(text, 4, "  ")
    yield ""
    off = _why_off(given)
    if not reasons or off or len(data.loads) < 2:
        yield "answer: unload nothing" + (f", since {off}" if off else "")
        return
    transfers = bool(given[TRANSFERS])
    most = counted(int(value[BROKERS]), "broker")
    yield from paragraph(
        f"answer: from {ordered[0]}{f' to {ordered[-1]}' if transfers else ''} first, at most "
        f"{most} per cycle, once this holds in more than {value[CYCLES]:g} cycles in a row "
        f"({CYCLES})"
    )
    if not transfers:
        yield from paragraph(
            f"{TRANSFERS} is false: bundles are unloaded without a destination, and none are "
            "swapped",
            2,
        )
    amount = _amount(data, ordered[0], ordered[-1])
    yield from paragraph(_amount_text(data, ordered[0], ordered[-1]), 2)
    top = data.top.get(ordered[0])
    bundles = ", ".join(top) if top else f"save them as {ordered[0]}{SUFFIX}.json to list them"
    yield from paragraph(f"only the broker's top bundles can go: {bundles}", 2)
    exchange = f"; goes only in exchange for bundles of {ordered[-1]}" if transfers else ""
    yield from columns(list(_fitting(top or {}, amount, exchange)))


def _why_off(given: Mapping[str, Any]) -> str:
    """Return which setting keeps brokers from shedding at all; empty if none does."""
    off = next((name for name in SWITCHES if given[name] is False), None)
    if off is not None:
        return f"{off} is false"
    return "" if given[BROKERS] > 0 else f"{BROKERS} is {given[BROKERS]}"


def _amount(data: LoadData, busy: str, idle: str) -> float:
    """Return the bytes per second to move from one broker to another to make their loads equal."""
    high, low = data.loads[busy], data.loads[idle]
    return float(round(data.carried[busy] * (high - low) / 2 / high)) if high else 0.0


def _amount_text(data: LoadData, busy: str, idle: str) -> str:
    high, low = _percent(data.loads[busy]), _percent(data.loads[idle])
    part = f"({high} - {low}) / 2 / {high} of {_rate(data.carried[busy])}"
    return f"to move: {part} = {_rate(_amount(data, busy, idle))}"


def _fitting(
    top: Mapping[str, float | None], amount: float, exchange: str
) -> Iterator[tuple[str, str, str]]:
    """Yield a row for each bundle of known throughput that says if it fits into the amount.

    Bundles are taken in the order of the list until one does not fit, and one of them stays
    (TransferShedder.findBundlesForUnloading). `exchange` says how a bundle that does not fit can go
    nevertheless.
    """
    left, remaining, over = amount, len(top), False
    for name, rate in top.items():
        if rate is None:
            continue
        if over:
            yield f"  stays {name}", _rate(rate), "listed after one that does not fit"
        elif remaining == 1:
            yield f"  stays {name}", _rate(rate), "the last of the top bundles"
        elif not rate:
            yield f"  stays {name}", _rate(rate), "no traffic"
        elif rate > left:
            over = True
            yield f"  stays {name}", _rate(rate), f"more than is left{exchange}"
        else:
            left, remaining = left - rate, remaining - 1
            yield f"  goes {name}", _rate(rate), f"leaves {_rate(left)}"


def _rate(amount: float) -> str:
    return throughput(exact(round(amount)))


def _reasons(data: LoadData, value: Mapping[str, float]) -> Iterator[str]:
    """Yield the conditions for shedding that hold, with their figures."""
    target, most = value[TARGET], value[OVERLOAD]
    busy = max(data.loads, key=lambda name: data.loads[name])
    idle = min(data.loads, key=lambda name: data.loads[name])
    share = min(HALF, max(0, target / 2))
    if data.deviation > target:
        yield f"the deviation {data.deviation:.4g} is over {TARGET}, {target:g}"
    if data.loads[idle] < share * data.mean:
        least = _percent(share * data.mean)
        yield (
            f"{idle} is underloaded: {_percent(data.loads[idle])} is under {share:g} of the mean, "
            f"{least}"
        )
    elif data.traffic[idle] < share * data.traffic[busy]:
        yield (
            f"{idle} is underloaded: its {_rate(data.traffic[idle])} are under {share:g} of the "
            f"{_rate(data.traffic[busy])} of {busy}"
        )
    if 100 * data.loads[busy] > most and data.loads[busy] > data.mean + target:
        yield (
            f"{busy} is overloaded: {_percent(data.loads[busy])} is over {most:g} % ({OVERLOAD}) "
            f"and over the mean by more than {target:g}"
        )


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %"
