"""Derivation steps of a release's TransferShedder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.numbers import Fraction, exact, plain, throughput
from pulsar_conformance.reference.released.transfer_shedder import (
    OVERLOAD_THRESHOLD,
    LoadStats,
    ReleasedTransfer,
    Smoothed,
    Unload,
)
from pulsar_conformance.reference.shedding import (
    HITS,
    MAX_REPORTED_BUNDLES,
    TRANSFER_ENABLED,
    TRANSFER_TARGET,
)

ORDER = "TransferShedder.LoadStats.setLoadDataStore"
PLACE = "TransferShedder.findBundlesForUnloading"
SMOOTHED = "BrokerLoadData.updateWeightedMaxEMA"


def transfer_steps(decision: ReleasedTransfer, unloads: Sequence[Unload]) -> Iterator[Step]:
    """Yield as steps each broker's load, the conditions for unloads, the hits, and each unload."""
    for name in decision.known.case["brokers"]:
        yield Step(name, _load_text(decision, name))
    stats = decision.stats
    if stats is None:
        yield Step("skipped", decision.skipped)
    else:
        yield from _conditions(decision, stats)
    needed = f"more than {plain(exact(decision.known.number(HITS)))} are needed ({HITS})"
    yield Step("hits", f"{decision.hits} in a row since the last unload; {needed}")
    yield from _move_steps(decision, "goes", unloads)
    if not unloads:
        few = decision.hits <= int(decision.known.number(HITS))
        yield Step("decision", f"nothing is unloaded: {_why_nothing(decision, few)} ({PLACE})")
        if stats is not None and few and decision.hits:
            yield from _later_steps(decision, stats)
        elif stats is not None and decision.hits:
            yield from _kept_steps(decision, stats)


def _load_text(decision: ReleasedTransfer, name: str) -> str:
    """Return a broker's usage of its busiest resource, and its smoothed load."""
    used = decision.weighted_usage(name)
    resource = max(used, key=used.__getitem__)
    weight = decision.known.weight(resource)
    weighted = f", with its weight {plain(exact(weight))}" if weight != 1 else ""
    load = decision.memory.loads[name].load
    now = f"{plain(Fraction(used[resource]))} % of {resource}{weighted}"
    return f"{now}; smoothed {_percent(load)} ({SMOOTHED})"


def _conditions(decision: ReleasedTransfer, stats: LoadStats) -> Iterator[Step]:
    """Yield the three conditions; a cycle in which one of them holds is a hit."""
    known, target = decision.known, decision.known.number(TRANSFER_TARGET)
    yield Step("mean", _percent(stats.mean))
    over = ">" if stats.deviation > target else "<="
    bound = f"{plain(exact(target), 4)} ({TRANSFER_TARGET})"
    yield Step("deviation", f"{stats.deviation:.4g} {over} {bound}")
    idle, busy = stats.order[stats.low], stats.order[stats.high]
    least, most = stats.loads[idle], stats.loads[busy]
    share = plain(exact(decision.share), 4)
    has = f"{idle} has {_percent(least.load)} and {_traffic_text(least)}"
    low = f"{share} of the mean, {_percent(stats.mean * decision.share)},"
    found = idle if decision.underloaded(stats) else "none"
    bounds = f"under {low} or under {share} of the {_traffic_text(most)} of {busy}"
    yield Step("underloaded", f"{found}: {has}; underloaded is {bounds}")
    limit = f"{plain(exact(known.number(OVERLOAD_THRESHOLD)))} % ({OVERLOAD_THRESHOLD})"
    found = busy if decision.overloaded(stats) else "none"
    bounds = f"over {limit} and over mean + target, {_percent(stats.mean + target)}"
    yield Step("overloaded", f"{found}: {busy} has {_percent(most.load)}; overloaded is {bounds}")
    for taken, role in ((busy, "busiest"), (idle, "least busy")):
        tied = [one for one in stats.order if stats.loads[one].load == stats.loads[taken].load]
        if len(tied) > 1:
            which = f"{taken} counts as the {role}, by the order of the leader's load data"
            yield Step(
                "tie",
                f"{len(tied)} brokers have {_percent(stats.loads[taken].load)}; {which} ({ORDER})",
            )


def _later_steps(decision: ReleasedTransfer, stats: LoadStats) -> Iterator[Step]:
    """Yield steps with the unloads that follow once there are enough hits, if the loads do not
    change.
    """
    later = decision.unloads_called_for(stats)
    below = "these bundles go" if later else "nothing goes either"
    yield Step("later", f"{below}, if the loads are the same once there are enough hits")
    yield from _move_steps(decision, "would go", later)


def _why_nothing(decision: ReleasedTransfer, few: bool) -> str:
    if decision.stats is None:
        return "the cycle is skipped"
    if not decision.hits:
        return "the deviation is at most the target, and no broker is underloaded or overloaded"
    return "there are too few hits" if few else "no bundle may go"


def _kept_steps(decision: ReleasedTransfer, stats: LoadStats) -> Iterator[Step]:
    """Yield the reasons why none of a busy broker's bundles goes to the broker paired with it."""
    for source, target in decision.pairs(replace(stats)):
        for bundle in decision.known.owned(source):
            if why := decision.left_out(bundle):
                yield Step("stays", f"{bundle}, on {source}: {why}")
        top = decision.top_bundles(source)
        if len(top) > 1:
            yield from _amount_steps(decision, source, target, swaps=False)
            for bundle, why in _kept_bundles(decision, source, target, top):
                yield Step("stays", f"{bundle}, on {source}: {why}")
        elif top:
            yield Step(
                "stays",
                f"{top[0]}, on {source}: it is the only one that may move ({MAX_REPORTED_BUNDLES})",
            )


def _kept_bundles(
    decision: ReleasedTransfer, source: str, target: str, top: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield each bundle up to the first that is too large, with the reason why it stays."""
    swaps = decision.known.settings.flag(TRANSFER_ENABLED)
    for bundle in top:
        carried = throughput(Fraction(decision.carried(bundle)))
        if bundle in decision.cycle.recent:
            yield bundle, "it was unloaded less than the grace period ago"
        elif not decision.transferable(bundle, source, target):
            yield bundle, f"policies do not let it go to {target}"
        else:
            swap = (
                f"no exchange with bundles of {target} helps"
                if swaps
                else f"{TRANSFER_ENABLED} is off"
            )
            yield bundle, f"{carried} is more than may move, and {swap}; larger ones stay as well"
            return


def _move_steps(
    decision: ReleasedTransfer, label: str, unloads: Sequence[Unload]
) -> Iterator[Step]:
    """Yield as steps, for each pair of brokers, the traffic that may move, and each unload."""
    for pair, group in groupby(unloads, key=_busier_first):
        moves = [*group]
        swaps = any(one.swapped_for for one in moves)
        yield from _amount_steps(decision, *pair, swaps)
        for one in moves:
            yield Step(label, _unload_text(decision, one))


def _busier_first(unload: Unload) -> tuple[str, str]:
    """Return the busier and the less busy broker of an unload."""
    busy, idle = unload.source, unload.target
    return (idle, busy) if unload.swapped_for else (busy, idle)


def _amount_steps(decision: ReleasedTransfer, busy: str, idle: str, swaps: bool) -> Iterator[Step]:
    """Yield the traffic that may move without a swap, if the busier broker has any load."""
    most, least = (Fraction(decision.memory.loads[one].load) * 100 for one in (busy, idle))
    if most:
        traffic = Fraction(decision.known.carries(busy, "msgThroughput"))
        amount = throughput(traffic * (most - least) / 2 / most)
        sums = f"({plain(most)} - {plain(least)}) / 2 / {plain(most)}"
        beyond = "; a bundle beyond it goes only in exchange for others" if swaps else ""
        whole = f"{sums} of {throughput(traffic)} = {amount} from {busy} to {idle}"
        yield Step("to move", f"{whole}{beyond} ({PLACE})")


def _unload_text(decision: ReleasedTransfer, unload: Unload) -> str:
    carried = throughput(Fraction(decision.known.traffic(unload.bundle, "msgThroughput")))
    swapped = f", in exchange for {unload.swapped_for}" if unload.swapped_for else ""
    return f"{unload.bundle} = {carried}, from {unload.source} to {unload.target}{swapped}"


def _traffic_text(smoothed: Smoothed) -> str:
    return throughput(Fraction(smoothed.throughput))


def _percent(share: float) -> str:
    return f"{plain(Fraction(share) * 100)} %"
