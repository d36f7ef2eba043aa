"""Explains the unloads and splits in a broker's log, and recomputes the figures in each line."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import inf
from pathlib import Path

from pulsar_conformance.adapters.operated.log_lines import LogLine, read_log_lines
from pulsar_conformance.conformance.cases.saved import BadCase
from pulsar_conformance.specs.errors import why_unreadable
from pulsar_conformance.specs.text import counted, paragraph

MARGIN = 5
"""Percentage points that a broker sheds in addition to its excess."""

TOLERANCE = 1e-4
"""Largest relative difference at which a logged and a recomputed figure count as equal."""

NUMBER = r"([-\d.E]+)"
LARGEST_FRACTION = 2
"""Largest usage that is read as a fraction, not as a percentage: no broker sheds at 2 %."""

MEBIBYTE = 1024 * 1024
MEGABYTE = 1_000_000

KIBIBYTE = 1 / 1024
"""Mebibytes in a kibibyte."""

DIFFERS = "the line differs"
ROUNDED = 0.01
"""Percentage points by which rounding may change a logged usage or average."""

SPLITTING = ("BundleSplitterTask", "splitting bundle", "split namespace bundle")
"""Strings that occur in log lines about splits."""

GZIP = b"\x1f\x8b"
"""The first bytes of a file that is compressed by gzip."""

Figures = tuple[str, ...]


def log_lines(file: Path) -> Iterator[str]:
    """Yield each unload or split in a log, its arithmetic, and whether the logged figures agree.

    The log may be compressed by gzip, and its lines may be JSON objects with the field `log`, as
    Docker writes them. Errors: `BadCase` for a file without lines about unloads or splits.
    """
    try:
        content = file.read_bytes()
        content = gzip.decompress(content) if content.startswith(GZIP) else content
    except (OSError, EOFError, zlib.error) as error:
        raise BadCase(f"{file}: {why_unreadable(error, file)}") from None
    found = others = differing = 0
    for line in read_log_lines(content.decode("utf-8", "replace").splitlines()):
        parts = _explain_line(line)
        others += not parts and any(name in line.text for name in ("Shedder", *SPLITTING))
        if parts:
            found += 1
            differing += any(part.startswith(DIFFERS) for part in parts)
            yield f"{file}:{line.number}"
            for part in parts:
                yield from paragraph(part, 4, "  ")
    if not found:
        raise BadCase(
            f"{file}: it has no known line about a planned or rejected unload, or a split"
        )
    agree = f"the figures of {differing} differ" if differing else "all figures agree"
    yield f"{counted(found, 'line')} explained; {agree}"
    if others:
        yield f"{counted(others, 'other line')} of shedders and splits not explained"


def _explain_line(line: LogLine) -> list[str]:
    """Return the explanation of a line; empty if it is not about an unload or a split."""
    for pattern, explain in PATTERNS.items():
        if matched := pattern.search(line.message):
            return list(explain(matched.groups()))
    for text, (names, explain) in STRUCTURED.items():
        if text in line.message:
            values = tuple(line.attributes.get(name, "") for name in names)
            return list(explain(values)) if all(values) else [NO_ATTRIBUTES]
    return []


NO_ATTRIBUTES = "the log's layout omits the attributes, which contain the figures: add %X to it"


def _over_average(figures: Figures) -> Iterator[str]:
    """Explain a ThresholdShedder line: usage, average, threshold, amount to shed, remainder."""
    broker, *texts = figures
    usage, average, threshold, planned, left = map(float, texts)
    usage, average, threshold = _as_percents(usage, average, threshold)
    limit = f"{average:.2f} + {threshold:g} %"
    yield f"ThresholdShedder, {broker}: {usage:.2f} % is over {limit}"
    share = usage - average - threshold + MARGIN
    if share < MARGIN - ROUNDED:
        yield f"{DIFFERS}: {usage:.2f} % is under {limit}"
    total = planned + left
    arithmetic = f"{usage:.2f} - ({average:.2f} + {threshold:g}) + {MARGIN}"
    yield f"to shed: {arithmetic} = {share:.2f} % of {_rate(total)} = {_rate(share / 100 * total)}"
    yield _agreement_text(texts[3], share / 100 * total)


def _over_threshold(figures: Figures) -> Iterator[str]:
    """Explain an OverloadShedder line: usage, threshold, amount to shed, resources if listed."""
    broker, *texts, resources = figures
    usage, threshold, planned = map(float, texts)
    usage, threshold = _as_percents(usage, threshold)
    yield f"OverloadShedder, {broker}: {usage:.2f} % is over {threshold:g} %"
    share = usage - threshold + MARGIN
    yield (
        f"to shed: {usage:.2f} - {threshold:g} + {MARGIN} = {share:.2f} % of its traffic, so "
        f"{_rate(planned)} to shed means that it carried {_rate(100 * planned / share)}"
    )
    listed = {name: float(value) for name, value in re.findall(r"(\w+): ([\d.]+)%", resources)}
    if listed:
        busiest = max(listed, key=lambda name: listed[name])
        same = abs(listed[busiest] - usage) < 0.01
        yield f"its busiest resource is {busiest}, {listed[busiest]:g} %" + (
            "" if same else f", not {usage:.2f} %: heap memory or weights cause the difference"
        )


def _below_floor(figures: Figures) -> Iterator[str]:
    """Explain a ThresholdShedder line about an amount below the minimum."""
    broker, planned, floor = figures
    yield f"ThresholdShedder, {broker}: it keeps all"
    name = "loadBalancerBundleUnloadMinThroughputThreshold"
    yield f"{_rate(float(planned))} to shed are below {float(floor):g} MiB/s, {name}"


def _over_other_broker(figures: Figures) -> Iterator[str]:
    """Explain an AvgShedder line: both brokers' score, bytes and messages; the amount to move."""
    busy, idle, *texts, by_messages, marked = figures
    highest, bytes_of, messages, lowest, fewer_bytes, fewer_messages = map(float, texts)
    yield f"AvgShedder, {busy} to {idle}: scores {highest:.2f} and {lowest:.2f}"
    apart = messages - fewer_messages if by_messages == "true" else bytes_of - fewer_bytes
    amount = float(marked)
    unit = "msg/s" if by_messages == "true" else "bytes/s"
    share = amount / apart if apart > 0 else 0
    part = f"{100 * share:.4g} % of the difference of {apart:.6g} {unit}"
    yield f"to move: {part} = {amount:.6g} {unit}"
    explanation = "maxUnloadPercentage is the share of the difference to move, 0.2 by default"
    yield (explanation if 0 < share <= 1 else f"{DIFFERS}: the share is not above 0 and up to 1")


def _below_both_floors(figures: Figures) -> Iterator[str]:
    """Explain an AvgShedder line about a move below the minimum."""
    busy, idle, bytes_of, bytes_floor, messages, messages_floor = figures
    yield f"AvgShedder, {busy} to {idle}: it keeps all"
    yield (
        f"{_rate(float(bytes_of))} to move are below {float(bytes_floor):g} MiB/s, and "
        f"{float(messages):.4g} msg/s below {float(messages_floor):g} msg/s: "
        "minUnloadMessageThroughput and minUnloadMessage"
    )
    below = float(bytes_of) <= float(bytes_floor) and float(messages) <= float(messages_floor)
    yield "the line agrees" if below else f"{DIFFERS}: one of the two is not below its minimum"


def _no_lower_broker(figures: Figures) -> Iterator[str]:
    """Explain a ThresholdShedder line about the lower boundary."""
    threshold, average, broker, usage = figures
    least, usual, used = (100 * float(text) for text in (threshold, average, usage))
    yield f"ThresholdShedder, {broker}: no broker is under {usual:.2f} - {least:g} %"
    yield (
        f"with lowerBoundarySheddingEnabled, {broker}, the busiest at {used:.2f} %, sheds only if "
        "there is such a broker"
    )


def _uniform(figures: Figures, unit: str = "msg/s") -> Iterator[str]:
    [amount] = figures
    yield f"UniformLoadShedder chose a bundle with {float(amount):.6g} {unit}"
    yield "the line has no rates of brokers, so nothing can be recomputed"


def _uniform_bytes(figures: Figures) -> Iterator[str]:
    yield from _uniform(figures, "bytes/s")


def _to_transfer(figures: Figures) -> Iterator[str]:
    """Explain a TransferShedder line: both brokers, the source's load, the amount to move."""
    busy, idle, *texts = figures
    load, part, amount = map(float, texts)
    least = f", {idle or 'the least busy broker'} {load - 2 * part:.2f} %"
    yield f"TransferShedder, {busy}: its load is {load:.2f} %{least}"
    carried = f", so it carried {_rate(amount * KIBIBYTE * load / part)}" if part else ""
    yield (
        f"to move: half of the difference is {part:.2f}; {part:.2f} / {load:.2f} of its traffic "
        f"are {_rate(amount * KIBIBYTE)}{carried}"
    )


def _transferred(figures: Figures) -> Iterator[str]:
    bundle, *amounts = figures
    yield f"TransferShedder moves {bundle}"
    yield from _of_target(amounts)


def _too_large(figures: Figures) -> Iterator[str]:
    bundle, *amounts = figures
    yield f"TransferShedder keeps {bundle}: with it, too much traffic would move"
    yield from _of_target(amounts)


def _of_target(amounts: Iterable[str]) -> Iterator[str]:
    """Explain the traffic that was moved or taken in exchange, the difference, and the target."""
    moved, gained, net, target = (float(text) * KIBIBYTE for text in amounts)
    yield f"moved: {_rate(moved)} less {_rate(gained)} in exchange, of {_rate(target)} to be moved"
    agrees = abs(moved - gained - net) <= 0.02 * KIBIBYTE
    yield "the line agrees" if agrees else f"{DIFFERS}: it says {_rate(net)}"


def _to_split(figures: Figures) -> Iterator[str]:
    """Explain a line about a planned split: topics, producers, consumers, rates, and limits."""
    bundle, *texts = figures
    topics, most, producers, consumers, sessions, rate, rates, traffic, limit = map(float, texts)
    yield f"{bundle} is to be split (BundleSplitterTask.findBundlesToSplit)"
    sessions = sessions if sessions > 0 else inf
    over = [
        f"{value:.6g} {unit} are over {bound:g}"
        for value, bound, unit in (
            (topics, most, "topics"),
            (producers + consumers, sessions, "producers and consumers"),
            (rate, rates, "msg/s"),
            (traffic, limit, "MiB/s"),
        )
        if value > bound
    ]
    yield f"{'; '.join(over)}: the line agrees" if over else f"{DIFFERS}: nothing is over its limit"


def _splitting(figures: Figures) -> Iterator[str]:
    bundle, unloads = figures
    yield f"{bundle} is split, and its parts are {'' if unloads == 'true' else 'not '}unloaded"


def _unloading(figures: Figures) -> Iterator[str]:
    strategy, bundle, broker, destination = figures
    to = f" to {destination}" if destination else ""
    yield f"{strategy} unloads {bundle} from {broker}{to}"


def _failed(figures: Figures) -> Iterator[str]:
    bundle, broker = figures
    yield f"the unload of {bundle} from {broker} failed: earlier lines only describe the plan"
    yield "the leader does not count it as unloaded, so it may choose the bundle again"


def _sole_bundle(figures: Figures) -> Iterator[str]:
    bundle, broker = figures
    yield f"{broker}: {bundle} is its only bundle, which a release never unloads"


def _same_owner(figures: Figures) -> Iterator[str]:
    strategy, broker, bundle = figures
    yield f"{strategy} does not unload {bundle}: {broker}, its owner, would be chosen again"


def _as_percents(*values: float) -> tuple[float, ...]:
    """Return the values in percent; logs of old releases have fractions, which are converted."""
    return tuple(100 * value for value in values) if max(values) <= LARGEST_FRACTION else values


def _rate(mebibytes: float) -> str:
    """Format a throughput in MiB/s, the log's unit, and in MB/s."""
    return f"{mebibytes:.4g} MiB/s ({mebibytes * MEBIBYTE / MEGABYTE:.4g} MB/s)"


def _agreement_text(logged: str, computed: float) -> str:
    """Return whether a logged amount agrees with a recomputed one, apart from rounding."""
    rounding = 0.0 if "E" in logged else 0.5 / 10 ** len(logged.partition(".")[2])
    allowed = max(TOLERANCE * max(abs(computed), 1e-9), rounding)
    if abs(float(logged) - computed) <= allowed:
        return "the line agrees"
    return f"{DIFFERS}: it says {logged} MiB/s, and not {computed:.6g}"


PATTERNS: Mapping[re.Pattern[str], Callable[[Figures], Iterator[str]]] = {
    re.compile(
        r"shed load on (\S+), which has max resource usage above avgUsage\s+and threshold "
        rf"{NUMBER}% > {NUMBER}% \+ {NUMBER}% -- Offloading at least {NUMBER} MByte/s of traffic, "
        rf"left throughput {NUMBER} MByte/s"
    ): _over_average,
    re.compile(
        rf"shed load on (\S+), which has resource usage {NUMBER}% above threshold "
        rf"{NUMBER}% -- Offloading at least {NUMBER} MByte/s of traffic(.*)"
    ): _over_threshold,
    re.compile(
        rf"shed load on (\S+), which has max resource usage above threshold {NUMBER}% > "
        rf"{NUMBER}% -- Offloading at least {NUMBER} MByte/s of traffic(.*)"
    ): _over_threshold,
    re.compile(
        rf"\[(\S+)\] broker is planning to shed throughput {NUMBER} MByte/s less than "
        rf"minimumThroughputThreshold {NUMBER} MByte/s"
    ): _below_floor,
    re.compile(
        r"broker:\[(\S+)\] is planning to shed bundles to broker:\[(\S+?)\]\. maxBroker stat:"
        rf"scores:{NUMBER}, throughput:{NUMBER}, msgRate:{NUMBER}\. minBroker stat:"
        rf"scores:{NUMBER}, throughput:{NUMBER}, msgRate:{NUMBER}\. "
        rf"isMsgRateToOffload:(\w+),\s+trafficMarkedToOffload:{NUMBER}"
    ): _over_other_broker,
    re.compile(
        r"broker:\[(\S+)\] is planning to shed bundles to broker:\[(\S+?)\],but the throughput "
        rf"{NUMBER} MByte/s is less than minimumThroughputThreshold {NUMBER} MByte/s, and the "
        rf"msgRate {NUMBER} rate/s is also less than minimumMsgRateThreshold {NUMBER} rate/s"
    ): _below_both_floors,
    re.compile(
        rf"No broker is below the lower bound, threshold is {NUMBER}, avgUsage usage is {NUMBER}, "
        rf"max usage of Broker (\S+) is {NUMBER}"
    ): _no_lower_broker,
    re.compile(
        rf"broker (\S+) in lower boundary shedding is planning to shed throughput {NUMBER} MByte/s "
        rf"less than minimumThroughputThreshold {NUMBER} MByte/s"
    ): _below_floor,
    re.compile(rf"Found bundle to unload with msgRate {NUMBER}"): _uniform,
    re.compile(rf"Found bundle to unload with (?:msgT|t)hroughput {NUMBER}"): _uniform_bytes,
    re.compile(
        r"shed load from broker:(\S+?)(?: to broker:(\S+?))?, which has the max resource "
        rf"usage:{NUMBER}%, targetStd:[-\d.]+, -- Trying to offload {NUMBER}%, {NUMBER} KByte/s"
    ): _to_transfer,
    re.compile(
        rf"Decided to unload bundle:(\S+), throughput:[\d.]+ KByte/s\. The traffic marked to "
        rf"unload:{NUMBER} - gain:{NUMBER} = {NUMBER} KByte/s\. Target:{NUMBER} KByte/s"
    ): _transferred,
    re.compile(
        rf"bundle:(\S+?)\. The traffic to unload:{NUMBER} - gain:{NUMBER} = {NUMBER} KByte/s is "
        rf"greater than the target :{NUMBER} KByte/s"
    ): _too_large,
    re.compile(
        rf"The bundle (\S+) is considered to be unload\. Topics: {NUMBER}/{NUMBER}, Sessions: "
        rf"\({NUMBER}\+{NUMBER}\)/{NUMBER}, Message Rate: {NUMBER}/{NUMBER} \(msgs/s\), "
        rf"Message Throughput: {NUMBER}/{NUMBER} \(MB/s\)"
    ): _to_split,
    re.compile(r"Load-manager splitting bundle (\S+) and unloading (\w+)"): _splitting,
    re.compile(
        r"\[(\w+)\] Unloading bundle: (\S+) from broker (\S+)(?: to dest broker (\S+))?"
    ): _unloading,
    re.compile(
        r"\[(\w+)\] .*?destination broker (\S+) is the same as the current owner broker for "
        r"Bundle (\S+)"
    ): _same_owner,
    re.compile(r"Sole namespace bundle (\S+) is overloading broker (\S+?)\. "): _sole_bundle,
    re.compile(r"Error when trying to perform load shedding on (\S+) for broker (\S+)"): _failed,
}
"""Patterns of log lines, with the functions that explain them; the groups are the figures."""

SPLIT_COUNTS = "topics", "maxBundleTopics", "producerCount", "consumerCount", "maxBundleSessions"
SPLIT_RATES = "messageRate", "maxBundleMsgRate", "messageThroughputMiB", "maxBundleBandwidthMiB"
"""Attributes of a line about a planned split: counts, then rates, each with their limits."""

STRUCTURED: Mapping[str, tuple[tuple[str, ...], Callable[[Figures], Iterator[str]]]] = {
    "Unloading bundle from source broker to dest broker": (
        ("class", "bundle", "sourceBroker", "destBroker"),
        _unloading,
    ),
    "The destination broker is the same as the current owner broker for bundle": (
        ("class", "broker", "bundle"),
        _same_owner,
    ),
    "No broker is below the lower bound": (
        ("threshold", "avgUsage", "maxUsageBroker", "maxUsage"),
        _no_lower_broker,
    ),
    "broker in lower boundary shedding is planning to shed throughput": (
        ("broker", "throughput", "value"),
        _below_floor,
    ),
    "Broker is planning to shed less than minimumThroughputThreshold": (
        ("broker", "throughputMiB", "minThroughputThresholdMiB"),
        _below_floor,
    ),
    "Found bundle to unload with msgRate": (("bundle",), _uniform),
    "Found bundle to unload with msgThroughput": (("msgThroughput",), _uniform_bytes),
    "The bundle is considered to be unloaded": (
        ("bundle", *SPLIT_COUNTS, *SPLIT_RATES),
        _to_split,
    ),
    "Load-manager splitting bundle and unloading": (("bundle", "unloading"), _splitting),
    "Sole namespace bundle is overloading broker": (("bundle", "broker"), _sole_bundle),
    "Error when trying to perform load shedding on for broker": (("bundle", "broker"), _failed),
}
"""Messages of Pulsar 5.0, which logs figures as attributes of a message.

Each message has the names of its attributes, and the function that explains them.
"""
