"""Checks of worlds that users describe in files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pulsar_conformance.specs.schemas import problem_with
from pulsar_conformance.specs.text import counted

SCHEMA = "world"


def world_problem(data: Any) -> str | None:
    """Return what is wrong with a described world, and where; None if it is valid."""
    try:
        wrong = problem_with(data, SCHEMA)
    except ValueError as unlike_json:
        return (
            f"a value cannot be written as JSON: {unlike_json}; put text that looks like a date or "
            "number in quotes"
        )
    return wrong or next(_contradictions(data), None)


def _contradictions(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the contradictions between parts of a world whose format is valid."""
    brokers, load = data["brokers"], data.get("load", {})
    for place, one in enumerate(brokers):
        yield from (f"brokers[{place}]: {wrong}" for wrong in _wrong_usage(one))
    count = sum(one.get("count", 1) for one in brokers)
    for place, event in enumerate(data.get("events", ())):
        if event["broker"] > count:
            known = f"the world has {counted(count, 'broker')}, numbered from 1"
            yield f"events[{place}].broker: there is no broker {event['broker']}; {known}"
    bundles = sum(one.get("count", 1) * one["bundles"] for one in brokers)
    hot = load.get("number", 0)
    if load.get("shape") == "hot" and hot >= bundles:
        yield f"load.number: there is no bundle {hot}; the world has {bundles}, numbered from 0"


def _wrong_usage(broker: Mapping[str, Any]) -> Iterator[str]:
    usage, idle = broker["usage"], broker.get("idle", 0)
    if usage < idle:
        yield f"usage ({usage:g} %) is below idle ({idle:g} %); raise usage or lower idle"
    if usage > idle and not broker["bundles"]:
        yield f"usage ({usage:g} %) is above idle ({idle:g} %), but there are no bundles; add some"
