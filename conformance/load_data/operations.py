"""Load data as questions: averages, usage, and what a load report says."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from math import isclose
from typing import Any

from pulsar_conformance.conformance.common.clusters import overlaps, range_of, report_of, weights
from pulsar_conformance.conformance.common.examples import LEFT, broker, bundle_data, rates
from pulsar_conformance.conformance.common.expect import NotReached
from pulsar_conformance.conformance.common.likeness import POINTS, SHARE, same_sums
from pulsar_conformance.conformance.common.operation import Naming, Operation, Problems
from pulsar_conformance.conformance.common.plain import Plain
from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.conformance.load_data.quantities import usage_settled
from pulsar_conformance.conformance.load_data.view import Measured, Owning, Reported, Said, Sampled
from pulsar_conformance.reference import Settings
from pulsar_conformance.reference.averages import FRAMES, Average
from pulsar_conformance.reference.cluster import (
    RATE_FIELDS,
    Rates,
)
from pulsar_conformance.reference.numbers import Fraction, exact
from pulsar_conformance.reference.usage import NIC_SPEED
from pulsar_conformance.specs import schema


def _legal_broker_average(case: Json, _settings: Settings) -> Problems:
    """The bundles do not overlap, and what they carry together is a number of JSON."""
    for name in (*case["owned"], *case["bundles"]):
        yield from range_of(name)
    yield from overlaps(case["owned"], "case.owned")
    known = [case["bundles"].get(name, {}) for name in case["owned"]]
    for frame in FRAMES:
        for rate in RATE_FIELDS:
            if sum(one.get(frame, {}).get(rate, 0) for one in known) > sys.float_info.max / 2:
                yield f"case.bundles: the {frame} of {rate} are too large to be added up"


def _sums(_case: Owning, answer: Json) -> Mapping[str, Rates]:
    """The sums by time frame."""
    return {frame: Rates.read(answer[frame]) for frame in FRAMES}


SUM = Operation(
    id="average.broker",
    view=lambda case, _settings, readings: Owning(case, readings),
    read=_sums,
    matches=same_sums,
    examples=tuple({"bundles": bundle_data(), "owned": owned} for owned in ([LEFT], [])),
    legal=_legal_broker_average,
    names=frozenset({"bundles", "owned"}),
)


def _averages(_case: Sampled, answer: Json) -> Mapping[str, Average]:
    """The averages by time frame."""
    return {
        frame: Average(
            Rates.read(answer[frame]),
            int(answer[frame]["numSamples"]),
            int(answer[frame].get("maxSamples", answer[frame]["numSamples"])),
        )
        for frame in FRAMES
    }


def _matches_bundle_average(allowed: Json, answer: Json) -> bool:
    counted = (allowed[frame]["numSamples"] == answer[frame]["numSamples"] for frame in FRAMES)
    return same_sums(allowed, answer) and all(counted)


AVERAGE = Operation(
    id="average.bundle",
    view=lambda case, _settings, readings: Sampled(case, readings),
    read=_averages,
    matches=_matches_bundle_average,
    examples=tuple(
        {"samples": samples, "shortSamples": 10, "longSamples": 1000}
        for samples in ([], [rates(1), rates(2)])
    ),
)


def _matches_report(allowed: Json, answer: Json) -> bool:
    """Fields of the protocol that an example does not name have to be empty in the answer."""
    wanted, found = allowed["broker"], answer["broker"]
    known = schema("shapes")["$defs"]["broker"]["properties"]
    return allowed["manager"] == answer["manager"] and all(
        _same(wanted[name], found.get(name)) if name in wanted else _nothing(found.get(name))
        for name in known
    )


def _same(allowed: Any, answered: Any) -> bool:
    if isinstance(allowed, dict) and isinstance(answered, dict):
        return all(_same(value, answered.get(name)) for name, value in allowed.items())
    if isinstance(allowed, list) and isinstance(answered, list):
        return set(allowed) == set(answered)
    if isinstance(allowed, int | float) and isinstance(answered, int | float):
        return isclose(allowed, answered, rel_tol=SHARE)
    return answered is None and not allowed


def _nothing(answered: Any) -> bool:
    return not (answered.get("usage", answered) if isinstance(answered, dict) else answered)


def _named(case: Json, answer: Json) -> list[Naming]:
    broker = answer["broker"]
    return [Naming((*broker.get("bundles", ()), *broker.get("lastStats", ())), _texts(case))]


def _texts(value: Any) -> Iterator[str]:
    """Every text in a report, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        yield from filter(lambda one: isinstance(one, str), value)
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


READ = Operation(
    id="report.read",
    view=lambda case, _settings, _readings: Reported(case["report"]),
    read=lambda _case, answer: Said(
        answer.get("manager"), answer.get("broker", {}), answer.get("refused")
    ),
    matches=_matches_report,
    examples=(
        {"report": {"cpu": {"usage": 50.0, "limit": 100.0}, "bundles": []}},
        {"report": {"systemResourceUsage": {"cpu": {"usage": 50.0, "limit": 100.0}}}},
    ),
    refusable=True,
    names=frozenset({"bundles"}),
    named=_named,
)


def _legal_usage(case: Json, settings: Settings) -> Problems:
    yield from report_of("broker", case["broker"])
    if case["weighted"]:
        yield from weights(settings)


def _matches_usage(allowed: Json, answer: Json) -> bool:
    """Of a broker that uses nothing, any resource or none may be named."""
    close = isclose(allowed["percent"], answer["percent"], rel_tol=0, abs_tol=POINTS)
    return close and (allowed["percent"] == 0 or bool(allowed["resource"] == answer["resource"]))


USAGE = Operation(
    id="usage.max",
    view=lambda case, settings, _readings: Plain(case, settings),
    read=lambda _case, answer: Measured(exact(answer["percent"]), answer["resource"]),
    matches=_matches_usage,
    examples=tuple(
        {"settings": {}, "weighted": False, "broker": broker(cpu, 1, [])} for cpu in (95.0, 50.0)
    ),
    legal=_legal_usage,
    settled=usage_settled,
)


def _legal_nic(case: Json, settings: Settings) -> Problems:
    if len(case["nics"]) != 1:
        yield "case.nics: no document says what several network interfaces mean"
    override = settings.given.get(NIC_SPEED)
    if isinstance(override, bool) or (isinstance(override, str) and override != ""):
        yield f"case.settings.{NIC_SPEED}: {override!r} is not a number of Gbit/s"
    elif isinstance(override, int | float) and override <= 0:
        yield f"case.settings.{NIC_SPEED}: {override:g} Gbit/s is not a speed; leave it empty"
    if override in (None, "") and case["nics"][0].get("reportedGbps") is None:
        yield "case.nics: no speed is reported and none is set"


def _speed(_case: Plain, answer: Json) -> Fraction:
    if "refused" in answer:
        raise NotReached("the request was refused")
    return exact(answer["gbps"])


NIC = Operation(
    id="usage.nic",
    view=lambda case, settings, _readings: Plain(case, settings),
    read=_speed,
    matches=lambda allowed, answer: isclose(allowed["gbps"], answer["gbps"], rel_tol=SHARE),
    examples=(
        {"settings": {}, "nics": [{"reportedGbps": 10}]},
        {"settings": {NIC_SPEED: 0.8}, "nics": [{"reportedGbps": 10}]},
    ),
    legal=_legal_nic,
    refusable=True,
)
