"""Reads brokers' usage and bundles from Prometheus metrics, instead of load reports."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from pulsar_conformance.conformance.cases.load_reports import (
    BadSnapshot,
    SavedReport,
    json_content,
    sums_of,
)
from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.reference.cluster import RESOURCES

RESOURCE_METRICS = {
    f"pulsar_lb_{metric}_usage": name
    for metric, name in zip(
        ("cpu", "memory", "directMemory", "bandwidth_in", "bandwidth_out"), RESOURCES, strict=True
    )
}
"""Resource by the name of the metric for its usage in percent."""

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
"""Statistic of a bundle by the name of the metric for it."""

SAMPLE = re.compile(r"(\w+)\{(.*)\}\s+(\S+)")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def read_metrics(file: Path) -> dict[str, SavedReport]:
    """Return each broker's usage and bundles from Prometheus text or a query's JSON result.

    Errors: `BadSnapshot` for a file without load-balancing metrics.
    """
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadSnapshot(f"{file}: {getattr(error, 'strerror', None) or error}") from None
    brokers: dict[str, Json] = {}
    for metric, labels, value in _samples(file, text):
        name = broker_in(labels) or file.stem
        report = brokers.setdefault(name, {"bundles": [], "lastStats": {}})
        add_sample(report, metric, labels, value)
    if not any(RESOURCES[0] in broker for broker in brokers.values()):
        raise BadSnapshot(f"{file}: it has no pulsar_lb_cpu_usage; save /metrics of each broker")
    for report in brokers.values():
        stats = report["lastStats"]
        report.update({"bundles": list(stats), **sums_of(stats.values())})
    return {name: SavedReport(None, brokers[name], "") for name in sorted(brokers)}


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


def _samples(file: Path, text: str) -> Iterator[tuple[str, Mapping[str, str], float]]:
    """Yield the metric, labels and value of each load-balancing sample; of a range, the latest."""
    wanted = {*RESOURCE_METRICS, *BUNDLE_METRICS}
    if text.lstrip().startswith("{"):
        for one in json_content(file).get("data", {}).get("result", []):
            if one["metric"].get("__name__") in wanted:
                _, value = one["values"][-1] if "values" in one else one["value"]
                yield one["metric"]["__name__"], one["metric"], float(value)
        return
    for line in text.splitlines():
        found = SAMPLE.match(line)
        if found and found[1] in wanted:
            yield found[1], dict(LABEL.findall(found[2])), float(found[3])
