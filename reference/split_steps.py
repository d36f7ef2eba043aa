"""Derivations of splits: where a bundle is cut, and which bundles are split. [SPLIT-01 … 14]"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from pulsar_conformance.reference.candidates import (
    AUTO_SPLIT,
    AUTO_UNLOAD,
    MAX_BUNDLES,
    MAX_MEGABYTES,
    MAX_MESSAGES,
    MAX_SESSIONS,
    MAX_TOPICS,
    Growth,
)
from pulsar_conformance.reference.context import UNLIMITED, Context
from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.numbers import (
    ZERO,
    Fraction,
    messages,
    plain,
    quantity,
    throughput,
)
from pulsar_conformance.reference.ranges import HashRange, hex_of, namespace_of
from pulsar_conformance.reference.splitting import (
    BY_RATES,
    MIDDLE,
    POSITIONS,
    RANGE,
    TOPICS,
    Split,
    halves_of_the_topics,
    topics_below,
    where_limits_are_exceeded,
)


def split_steps(
    split: Split, algorithm: str, context: Context, parts: Sequence[HashRange]
) -> Iterator[Step]:
    """Yield as steps the algorithm, where it cuts, and the parts."""
    yield Step("algorithm", algorithm)
    by_name = algorithm == RANGE and context.readings["range-halves"] == "by-name"
    yield Step("bundle", f"{split.bundle.name}, {_size_text(split.bundle, by_name)}")
    yield from CUTS[algorithm](split, context)
    for part in parts:
        topics = quantity(sum(value in part for value in split.hashes), "topic")
        yield Step("part", f"{part.name}, {_size_text(part, by_name)}, {topics}")


def _size_text(part: HashRange, by_name: bool) -> str:
    """Format the number of hashes in a part.

    With `by_name`, the last hash of a namespace is counted separately, because the name of the last
    bundle excludes it.
    """
    if by_name and part.last:
        return f"{quantity(part.width - 1, 'hash')} by its name, and the last, {hex_of(part.upper)}"
    return quantity(part.width, "hash")


def _middle_steps(split: Split, context: Context) -> Iterator[Step]:
    lower = split.bundle.lower
    halves = context.readings["range-halves"]
    middle = MIDDLE[halves](split.bundle)
    width = split.bundle.width if halves == "equal" else split.bundle.upper - lower
    yield Step("middle", f"{hex_of(lower)} + {width} / 2 = {hex_of(middle)}")


def _topic_steps(split: Split, context: Context) -> Iterator[Step]:
    count = len(split.hashes)
    found = halves_of_the_topics(split, context.readings)
    if not found:
        why = "fewer than two" if count < 2 else "all with the same hash"
        yield Step("topics", f"{count}, {why}: nothing is split")
        return
    yield Step("hashes", context.hash_note)
    place = topics_below(split.hashes)
    below, above = hex_of(split.hashes[place - 1]), hex_of(split.hashes[place])
    yield Step("topics", f"{count}, of which {place} go below and {count - place} above")
    yield Step("middle", f"half-way between {below} and {above}: {hex_of(found[0])}")


def _position_steps(split: Split, _context: Context) -> Iterator[Step]:
    seen: set[int] = set()
    for position in split.positions:
        usable = "cuts" if split.inside([position]) else "does not lie strictly inside"
        yield Step("position", f"{hex_of(position)} {'is there' if position in seen else usable}")
        seen.add(position)
    if not split.inside(split.positions):
        yield Step("decision", "no position to cut at: the bundle stays whole")


def _traffic_steps(split: Split, context: Context) -> Iterator[Step]:
    limits, cuts = split.limits, where_limits_are_exceeded(split, context.readings)
    assert limits is not None, "loads come with their limits"
    yield Step("hashes", context.hash_note)
    yield Step("limits", f"{messages(limits.messages)} and {throughput(limits.throughput)} a part")
    for place, rates in split.loads:
        carried = f"{messages(rates.messages)}, {throughput(rates.throughput)}"
        yield Step("topic", f"{hex_of(place)}: {carried}")
    if not cuts:
        yield Step("decision", f"{_why_whole(split)}: the bundle stays whole")
    for cut in cuts:
        yield Step("cut", f"{hex_of(cut)}, half-way before a topic that would exceed a limit")


def _why_whole(split: Split) -> str:
    """Return why a bundle is not cut by the loads of its topics."""
    limits, every = split.limits, [rates for _place, rates in split.loads]
    assert limits is not None, "loads come with their limits"
    sums = sum((one.messages for one in every), ZERO), sum((one.throughput for one in every), ZERO)
    if not limits.reached(*sums):
        together = f"{messages(sums[0])} and {throughput(sums[1])} together"
        return f"{together}, of which neither is {plain(limits.margin)} % over its limit"
    return "no hash lies between its topics" if every[1:] else "a single topic cannot be divided"


CUTS: Mapping[str, Callable[[Split, Context], Iterator[Step]]] = {
    RANGE: _middle_steps,
    TOPICS: _topic_steps,
    POSITIONS: _position_steps,
    BY_RATES: _traffic_steps,
}


NAMED: Mapping[str, str] = {
    MAX_TOPICS: "topics",
    MAX_SESSIONS: "sessions",
    MAX_MESSAGES: "messages",
    MAX_MEGABYTES: "bandwidth",
}

WRITTEN: Mapping[str, Callable[[Fraction], str]] = {
    MAX_TOPICS: plain,
    MAX_SESSIONS: plain,
    MAX_MESSAGES: messages,
    MAX_MEGABYTES: throughput,
}


def candidate_steps(growth: Growth) -> Iterator[Step]:
    """Yield steps with each bundle's load, the limits and the decision, in the order of the
    reports.
    """
    off = _why_off(growth)
    if off:
        yield Step("splitting", f"{off}: nothing is split")
    for broker in growth.brokers:
        for bundle in broker.bundles:
            yield Step(bundle, off or _decision_text(growth, bundle), detail=bool(off))
            yield from _measure_steps(growth, bundle)
    if growth.split:
        off = f"{AUTO_UNLOAD} is not true: the parts stay where they are"
        yield Step("unloading", "the parts are unloaded at once" if growth.unload else off)


def _why_off(growth: Growth) -> str:
    """Return why splitting is off; empty if it is on."""
    if not growth.case["leader"]:
        return "only the leader splits"
    return "" if growth.enabled else f"{AUTO_SPLIT} is not true"


def _decision_text(growth: Growth, bundle: str) -> str:
    if bundle not in growth.stats:
        return "stays whole: its broker reports no statistics of it"
    over = ", ".join(
        f"{_format_measure(growth, bundle, name)} > {WRITTEN[name](growth.limits[name])} ({name})"
        for name in growth.exceeded(bundle)
    )
    if not over:
        return "stays whole: nothing is exceeded"
    if bundle in growth.split:
        return f"split: {over}"
    return f"stays whole, as {_why_full(growth, bundle)}; {over}"


def _why_full(growth: Growth, bundle: str) -> str:
    """Return why a namespace may not get more bundles. [SPLIT-06]"""
    namespace = namespace_of(bundle)
    bundles = growth.case["namespaceBundles"].get(namespace, 0)
    chosen = sum(namespace_of(other) == namespace for other in growth.split)
    more = f" and {chosen} more from this round" if chosen else ""
    most = plain(growth.settings.number(MAX_BUNDLES))
    return f"{namespace} has {quantity(bundles, 'bundle')}{more}, at most {most}"


def _measure_steps(growth: Growth, bundle: str) -> Iterator[Step]:
    """Yield as steps a bundle's measures, each with its limit."""
    if bundle not in growth.stats:
        return
    decided = not growth.enabled or bool(growth.exceeded(bundle))
    for name, limit in growth.limits.items():
        written = _format_measure(growth, bundle, name)
        yield measure_step(name, written, None if limit == UNLIMITED else limit, detail=decided)


def measure_step(name: str, written: str, limit: Fraction | None, *, detail: bool) -> Step:
    """Return the step about a measure that a setting limits; `limit` is None if there is no limit.

    If `detail` is true, short derivations omit the step, since another step has the deciding
    figures.
    """
    most = "without a limit" if limit is None else f"at most {WRITTEN[name](limit)}"
    return Step(f"  {NAMED[name]}", f"{written}, {most}", detail=detail)


def _format_measure(growth: Growth, bundle: str, name: str) -> str:
    if name == MAX_SESSIONS:
        stats = growth.stats[bundle]
        return sessions_text(stats.producers, stats.consumers)
    rates = name in (MAX_MESSAGES, MAX_MEGABYTES)
    assumed = ", assumed as it was never measured" if rates and growth.assumed(bundle) else ""
    return f"{WRITTEN[name](growth.measured(bundle, name))}{assumed}"


def sessions_text(producers: int, consumers: int) -> str:
    """Format a bundle's sessions: its producers, its consumers, and their sum if it has both."""
    kinds = ((producers, "producer"), (consumers, "consumer"))
    parts = [quantity(count, noun) for count, noun in kinds if count]
    total = f" = {plain(Fraction(producers + consumers))}" if len(parts) > 1 else ""
    return f"{' + '.join(parts) or '0'}{total}"
