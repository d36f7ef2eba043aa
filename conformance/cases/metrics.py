"""Reads brokers' load from Prometheus metrics, or from printed messages of load data topics."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from pulsar_conformance.adapters.protocol import NotJSON, parse_line
from pulsar_conformance.conformance.cases.effects import EXTENSIBLE, EXTENSIBLE_CLASS, MANAGER
from pulsar_conformance.conformance.cases.load_reports import (
    TOP,
    BadSnapshot,
    ReportsRead,
    SavedReport,
    json_content,
    sums_of,
)
from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.conformance.load_data.operations import USAGE
from pulsar_conformance.reference.cluster import RATE_FIELDS, RESOURCES
from pulsar_conformance.reference.usage import WEIGHT_SETTINGS
from pulsar_conformance.specs.broker import broker_settings, known_releases
from pulsar_conformance.specs.errors import why_unreadable
from pulsar_conformance.specs.judged import default_in_version
from pulsar_conformance.specs.text import counted

HISTORY_SHARE = "loadBalancerHistoryResourcePercentage"

RESOURCE_METRICS = {
    f"pulsar_lb_{metric}_usage": name
    for metric, name in zip(
        ("cpu", "memory", "directMemory", "bandwidth_in", "bandwidth_out"), RESOURCES, strict=True
    )
}
"""The resource whose usage in percent is the metric's value, by metric name."""

BUNDLE_METRICS = {
    f"pulsar_bundle_{metric}": name
    for metric, name in (
        ("msg_rate_in", "msgRateIn"),
        ("msg_rate_out", "msgRateOut"),
        ("msg_throughput_in", "msgThroughputIn"),
        ("msg_throughput_out", "msgThroughputOut"),
        ("topics_count", "topics"),
        ("producer_count", "producerCount"),
        ("consumer_count", "consumerCount"),
    )
}
"""The field of a bundle's statistics for which the metric has the value, by metric name."""

SMOOTHED_METRIC, SMOOTHED_FEATURE = "pulsar_lb_resource_usage", "max_ema"
"""The metric of a broker's weighted and smoothed usage, and the value of its label `feature`.

Only the extensible load manager writes it (BrokerLoadData.toMetrics).
"""

ONLY_EXTENSIBLE = f"only the {EXTENSIBLE} load manager writes {SMOOTHED_METRIC}"

SAMPLE = re.compile(r"(\w+)\{(.*)\}\s+(\S+)(?:\s+(-?\d+))?")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
CPU = next(iter(RESOURCE_METRICS))

MAX_AGE = 15 * 60
"""Maximum age of a sample in seconds, relative to the newest sample: the longest report
interval.
"""

NO_TIMESTAMP = float("inf")
"""Time of a sample without a timestamp; such a sample counts as recent."""


class MetricSample(NamedTuple):
    """A metric's value for a broker or one of its bundles; the time is in seconds since 1970."""

    broker: str
    metric: str
    labels: Mapping[str, str]
    value: float
    time: float


def read_metrics(file: Path) -> ReportsRead:
    """Return each broker's usage and bundles from Prometheus text or a query's JSON result.

    Only the newest sample of each series counts. Errors: `BadSnapshot` for a file without
    load-balancing metrics, or without the CPU usage of a broker.
    """
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadSnapshot(f"{file}: {why_unreadable(error, file)}") from None
    series: dict[tuple[str, str, str], MetricSample] = {}
    counts: Counter[tuple[str, str, str]] = Counter()
    for sample in _read_samples(file, text):
        key = sample.broker, sample.metric, sample.labels.get("bundle", "")
        counts[key] += 1
        if math.isfinite(sample.value) and (key not in series or series[key].time <= sample.time):
            series[key] = sample
    recent, old = _split_by_age(list(series.values()))
    brokers: dict[str, Json] = {}
    smoothed = {one.broker: one.value for one in recent if one.metric == SMOOTHED_METRIC}
    for sample in (one for one in recent if one.metric != SMOOTHED_METRIC):
        report = brokers.setdefault(sample.broker, {"bundles": [], "lastStats": {}})
        add_sample(report, sample.metric, sample.labels, sample.value)
    measured = [name for name, broker in brokers.items() if RESOURCES[0] in broker]
    if not measured:
        raise BadSnapshot(f"{file}: it has no {CPU}; save /metrics of each broker")
    notes = [
        *_old_notes(old, brokers),
        *_missing_usage_notes(brokers),
        *_missing_rate_notes(brokers),
    ]
    if (most := max(counts.values())) > 1:
        saved = not text.lstrip().startswith("{")
        also = "" if saved else f"; to use all, up to {most} per series, make a history with import"
        notes.append(f"{file}: only the newest sample of each series is used{also}")
    unmeasured = ", ".join(sorted({*brokers} - {*measured}))
    if unmeasured:
        older_record = "".join(f"; {one}" for one in _old_notes(old, brokers))
        raise BadSnapshot(
            f"{file}: it has {CPU} of {', '.join(sorted(measured))}, but not of {unmeasured}; "
            f"save /metrics of each broker again{older_record}"
        )
    for report in brokers.values():
        stats = report["lastStats"]
        report.update({"bundles": list(stats), **sums_of(stats.values())})
    read = {
        name: SavedReport(None, brokers[name], "", smoothed=smoothed.get(name))
        for name in sorted(brokers)
    }
    return ReportsRead(read, tuple(notes))


def check_metrics(
    place: str, reports: Mapping[str, SavedReport], operation: str, manager: str
) -> None:
    """Raise `BadSnapshot` if an operation does not apply to the manager that wrote the metrics."""
    smoothed = any(one.smoothed is not None for one in reports.values())
    if manager == EXTENSIBLE and operation == USAGE.id:
        raise BadSnapshot(
            f"{place}: {operation} applies only to the modular and simple load managers, but these "
            f"brokers run the {EXTENSIBLE} one; for the usage by which it sheds, explain --metrics"
        )
    if smoothed and manager != EXTENSIBLE:
        raise BadSnapshot(
            f"{place}: {ONLY_EXTENSIBLE}; give the broker's settings with --conf, or "
            f"--setting {MANAGER}={EXTENSIBLE_CLASS}"
        )


def with_smoothed_usage(
    reports: Mapping[str, SavedReport], settings: Mapping[str, Any], version: str
) -> tuple[Mapping[str, SavedReport], list[str]]:
    """Return reports with usage histories that yield the smoothed usage in the metrics, and notes.

    Each decision smooths usage once more, so that a history is the smoothed usage before the
    report. Notes name the brokers for which no history yields the value in the metrics.
    """
    own = {
        name: settings.get(
            name, default_in_version(broker_settings()[name], version or known_releases()[-1])
        )
        for name in (HISTORY_SHARE, *WEIGHT_SETTINGS.values())
    }
    kept = own[HISTORY_SHARE]
    found, notes = dict(reports), []
    for name, one in reports.items():
        if one.smoothed is None:
            continue
        used = {each: one.broker[each]["usage"] for each in RESOURCES if each in one.broker}
        now = max(own[WEIGHT_SETTINGS[each]] * usage for each, usage in used.items())
        after = 100 * one.smoothed
        before = (after - (1 - kept) * now) / kept if kept else now
        if before >= 0:
            found[name] = replace(one, broker={**one.broker, "usageHistory": [round(before, 9)]})
        else:
            notes.append(
                f"{name}: {SMOOTHED_METRIC} of {SMOOTHED_FEATURE} is {after:g} %, but no earlier "
                f"usage gives that with a weighted usage of {now:g} % now; the metric is not used"
            )
    return found, notes


def _split_by_age(
    samples: list[MetricSample],
) -> tuple[list[MetricSample], list[tuple[MetricSample, float]]]:
    """Return the recent samples, and each old sample with its age relative to the newest, in s."""
    timed = [one.time for one in samples if one.time != NO_TIMESTAMP]
    newest = max(timed, default=NO_TIMESTAMP)
    old = [(one, newest - one.time) for one in samples if newest - MAX_AGE > one.time]
    return [one for one in samples if not newest - MAX_AGE > one.time], old


def _old_notes(old: list[tuple[MetricSample, float]], brokers: Collection[str]) -> Iterator[str]:
    """Yield a note for each broker with old samples; `brokers` have recent samples as well."""
    for broker in sorted({sample.broker for sample, _ in old}):
        own = [(sample.metric, age) for sample, age in old if sample.broker == broker]
        names = ", ".join(dict.fromkeys(name for name, _ in own)) if broker in brokers else "all"
        minutes = min(age for _, age in own) / 60
        yield (
            f"{broker}: samples left out, since they are at least {minutes:.0f} minutes older than "
            f"the newest samples of the file: {names}"
        )


def _missing_usage_notes(brokers: Mapping[str, Json]) -> Iterator[str]:
    """Yield notes on resources whose usage brokers do not report; a missing usage counts as 0 %."""
    absent = {
        broker: ", ".join(name for name in RESOURCES if name not in report)
        for broker, report in brokers.items()
    }
    for names in dict.fromkeys(filter(None, absent.values())):
        lacking = [broker for broker in absent if absent[broker] == names]
        of = "each broker" if len(lacking) == len(brokers) > 1 else ", ".join(sorted(lacking))
        yield f"{of}: the metrics lack the usage of {names}, which counts as 0 %"


def _missing_rate_notes(brokers: Mapping[str, Json]) -> Iterator[str]:
    """Yield a note for each rate whose metric some bundles lack."""
    for metric, rate in BUNDLE_METRICS.items():
        lacking = {
            broker: sum(rate not in stats for stats in report["lastStats"].values())
            for broker, report in brokers.items()
            if any(one in stats for stats in report["lastStats"].values() for one in RATE_FIELDS)
        }
        of = ", ".join(sorted(broker for broker, count in lacking.items() if count))
        if of and rate in RATE_FIELDS:
            bundles = counted(sum(lacking.values()), "bundle")
            yield f"{of}: the metrics lack {metric} of {bundles}, so it counts as 0"


def broker_in(labels: Mapping[str, str]) -> str | None:
    """Return the broker that a metric's labels name, or None."""
    return labels.get("broker") or labels.get("instance") or labels.get("pod")


def add_sample(report: Json, metric: str, labels: Mapping[str, str], value: float) -> None:
    """Add a metric sample to its broker's report."""
    if metric in RESOURCE_METRICS:
        report[RESOURCE_METRICS[metric]] = {"usage": value, "limit": 100}
    else:
        stats = report["lastStats"].setdefault(labels.get("bundle", ""), {})
        stats[BUNDLE_METRICS[metric]] = value


def _read_samples(file: Path, text: str) -> Iterator[MetricSample]:
    """Yield each load-balancing sample."""
    if text.lstrip().startswith("{"):
        for one in json_content(file).get("data", {}).get("result", []):
            labels = one["metric"]
            if _is_wanted(labels.get("__name__"), labels):
                broker = broker_in(labels) or file.stem
                for at, value in one["values"] if "values" in one else [one["value"]]:
                    yield MetricSample(broker, labels["__name__"], labels, float(value), float(at))
        return
    for line in text.splitlines():
        found = SAMPLE.match(line)
        labels = dict(LABEL.findall(found[2])) if found else {}
        if found and _is_wanted(found[1], labels):
            at = int(found[4]) / 1000 if found[4] else NO_TIMESTAMP
            yield MetricSample(
                broker_in(labels) or file.stem, found[1], labels, float(found[3]), at
            )


def _is_wanted(metric: str | None, labels: Mapping[str, str]) -> bool:
    """True if a metric is about the usage of a broker or the statistics of a bundle."""
    if metric == SMOOTHED_METRIC:
        return labels.get("feature") == SMOOTHED_FEATURE
    return metric in RESOURCE_METRICS or metric in BUNDLE_METRICS


BROKER_LOAD, TOP_BUNDLES = "loadbalancer-broker-load-data", "loadbalancer-top-bundles-load-data"
"""Names of the topics with load data of the extensible load manager."""

CONSUMED_MESSAGE = re.compile(
    r"^(?:\w+:\[[^\]\n]*\], )*key:\[(?P<broker>.*?)\], (?:properties:\[.*?\], )?"
    r"content:(?P<content>\{.*\}|null|)[ \t\r]*$",
    re.MULTILINE,
)
"""Matches a message of a load data topic, as pulsar-client consume prints it.

Newer versions print other fields before the key. The content is `null` or empty in a message that
removes a broker's data (TableViewLoadDataStoreImpl.removeAsync).
"""

MESSAGE_OR_TOPIC = re.compile(
    rf"{CONSUMED_MESSAGE.pattern}|(?P<topic>{BROKER_LOAD}|{TOP_BUNDLES})", re.MULTILINE
)

EITHER = "either"
"""Placeholder for content of which it is unknown whether a later message removed it."""


def has_consumed_messages(file: Path) -> bool:
    """True if a file has load data as pulsar-client consume prints it."""
    return file.is_file() and bool(CONSUMED_MESSAGE.search(file.read_text("utf-8", "replace")))


class PrintedMessage(NamedTuple):
    """A printed message about a broker or, if `broker` is empty, a line that names a topic."""

    topic: str
    broker: str
    content: Any


class ConsumedLoad(NamedTuple):
    """JSON of each broker's load data and top bundles, and notes on brokers that are left out."""

    brokers: Mapping[str, Any]
    top: Mapping[str, Any]
    notes: tuple[str, ...] = ()


def read_consumed_load(file: Path) -> ConsumedLoad:
    """Return each broker's last load data and top bundles, as pulsar-client consume printed them.

    Errors: `BadSnapshot`, also for top bundles without load data.
    """
    loads, top = map(_latest_messages(file).__getitem__, (BROKER_LOAD, TOP_BUNDLES))
    if alone := [name for name, one in top.items() if one and name not in loads]:
        raise BadSnapshot(
            f"{file}: it has the top bundles of {alone[0]}, but not that broker's load data; "
            f"append to the file what pulsar-client consume prints for {BROKER_LOAD}"
        )
    brokers = {name: one for name, one in loads.items() if one is not None}
    gone = ", ".join(name for name in loads if name not in brokers)
    if not brokers:
        raise BadSnapshot(f"{file}: the latest message for each of {gone} deletes its load data")
    why = "a message without content removed its load data (TableViewLoadDataStoreImpl.removeAsync)"
    return ConsumedLoad(
        brokers,
        {name: one for name, one in top.items() if one is not None and name in brokers},
        (f"{gone}: left out, since {why}",) if gone else (),
    )


def _latest_messages(file: Path) -> Mapping[str, Mapping[str, Any]]:
    """Return the content of each broker's last message, by topic; None if that removes the data.

    Errors: `BadSnapshot`, also if the unknown topic of a message could change the result.
    """
    latest: dict[str, dict[str, Any]] = {BROKER_LOAD: {}, TOP_BUNDLES: {}}
    for topic, broker, content in _with_missing_topics(list(_read_printed(file))):
        for one in [topic] if topic else latest:
            if topic or latest[one].get(broker) is not None:
                latest[one][broker] = content if topic else EITHER
    for broker, load in latest[BROKER_LOAD].items():
        if load is not None and EITHER in (load, latest[TOP_BUNDLES].get(broker)):
            raise BadSnapshot(
                f"{file}: cannot tell whether a message without content removes the load data or "
                f"the top bundles of {broker}; print the topics one after the other, and before "
                f"the messages of each topic put the line {BROKER_LOAD} or {TOP_BUNDLES}"
            )
    return latest


def _read_printed(file: Path) -> Iterator[PrintedMessage]:
    """Yield messages and topics; a message without content has no topic. Errors: `BadSnapshot`."""
    for found in MESSAGE_OR_TOPIC.finditer(file.read_text("utf-8", "replace")):
        broker, written = found["broker"] or "", found["content"]
        if found["topic"] or written in ("", "null"):
            yield PrintedMessage(found["topic"] or "", broker, None)
            continue
        try:
            content = parse_line(written.encode())
        except NotJSON as error:
            raise BadSnapshot(f"{file}: the message of {broker} {error}") from None
        yield PrintedMessage(TOP_BUNDLES if TOP in content else BROKER_LOAD, broker, content)


def _with_missing_topics(printed: Sequence[PrintedMessage]) -> Iterator[PrintedMessage]:
    """Yield the messages; messages without content get a topic if it can be determined.

    It is the topic of the messages before and after, if these agree, or the topic named by a line.
    """
    said = [one for one in printed if one.topic]
    turns = [
        one.topic != other.topic for one, other in pairwise(said) if one.broker and other.broker
    ]
    count = 0
    for one in printed:
        if one.topic:
            count += 1
            yield from [one] if one.broker else ()
            continue
        around = said[max(count - 1, 0) : count + 1]
        named = not all(each.broker for each in around)
        agree = len({each.topic for each in around}) == 1
        if agree and count == len(said) and any(turns):
            agree = (around[0].topic, one.broker) in {each[:2] for each in said}
        known = around and (agree or named) and sum(turns) <= 1
        yield one._replace(topic=around[0].topic if known else "")
