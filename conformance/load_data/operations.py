"""Operations on load data: averages, usage, and parsing of load reports."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isclose
from typing import Any

from pulsar_conformance.conformance.common import check
from pulsar_conformance.conformance.common.check import NotReached
from pulsar_conformance.conformance.common.clusters import (
    LEFT,
    bundle_name_problems,
    example_broker,
    example_bundle_data,
    example_rates,
    overlap_problems,
    report_problems,
    weight_problems,
)
from pulsar_conformance.conformance.common.operation import (
    FlatCase,
    NamesUsed,
    Operation,
    Problems,
)
from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.conformance.load_data import due
from pulsar_conformance.reference import Readings, Settings
from pulsar_conformance.reference.averages import (
    FRAMES,
    MEAN,
    Average,
    average,
    carried,
    together,
)
from pulsar_conformance.reference.cluster import (
    RATE_FIELDS,
    RESOURCES,
    Broker,
    Rates,
    average_of,
    unmeasured_rates,
)
from pulsar_conformance.reference.numbers import Fraction, exact
from pulsar_conformance.reference.reports import NESTED, Report, Unreadable, read
from pulsar_conformance.reference.usage import NIC_SPEED, UNWEIGHTED, weights
from pulsar_conformance.specs import schema

POINTS, SHARE = float(check.POINTS), float(check.SHARE)


def _same_rates(allowed: Json, answer: Json) -> bool:
    """True if rates are equal within the relative tolerance `SHARE`; an absent rate counts as 0."""
    return all(
        isclose(allowed.get(name, 0), answer.get(name, 0), rel_tol=SHARE) for name in RATE_FIELDS
    )


def _same_sums(allowed: Json, answer: Json) -> bool:
    """True if the rates in both time frames are equal."""
    return all(_same_rates(allowed[frame], answer[frame]) for frame in FRAMES)


@dataclass(frozen=True)
class OwnedBundles:
    """An `average.broker` case: a broker's bundles, and the known averages of bundles."""

    case: Json
    readings: Readings

    @property
    def owned(self) -> list[str]:
        """The broker's bundles."""
        return list(self.case["owned"])

    def measured(self, bundle: str, frame: str) -> bool:
        """True if a bundle has a sample in a time frame."""
        return average_of(self.case["bundles"].get(bundle), frame) is not None

    def rates(self, bundle: str, frame: str) -> Rates:
        """Return the rates that a bundle adds to its broker's sum in a time frame."""
        return carried(self.case["bundles"].get(bundle), frame, self.readings["kilobyte"])

    def total(self, frame: str) -> Rates:
        """Return the sum of the rates of the broker's bundles in a time frame."""
        return together(self.rates(bundle, frame) for bundle in self.owned)


def _broker_average_problems(case: Json, _settings: Settings) -> Problems:
    """Yield a problem for each invalid or overlapping bundle, and for sums too large for JSON."""
    for bundle in (*case["owned"], *case["bundles"]):
        yield from bundle_name_problems(bundle)
    yield from overlap_problems(case["owned"], "case.owned")
    data = [case["bundles"].get(bundle, {}) for bundle in case["owned"]]
    for frame in FRAMES:
        for rate in RATE_FIELDS:
            if sum(one.get(frame, {}).get(rate, 0) for one in data) > sys.float_info.max / 2:
                yield f"case.bundles: the values of {rate} in {frame} are too large to be added"


def _read_sums(_case: OwnedBundles, answer: Json) -> Mapping[str, Rates]:
    return {frame: Rates.read(answer[frame]) for frame in FRAMES}


SUM = Operation(
    id="average.broker",
    view=lambda case, _settings, readings: OwnedBundles(case, readings),
    read=_read_sums,
    matches=_same_sums,
    examples=tuple({"bundles": example_bundle_data(), "owned": owned} for owned in ([LEFT], [])),
    legal=_broker_average_problems,
    removable=frozenset({"bundles", "owned"}),
)


@dataclass(frozen=True)
class SampledBundle:
    """An `average.bundle` case: samples, and the windows over which they are averaged."""

    case: Json
    readings: Readings

    @cached_property
    def samples(self) -> tuple[Rates, ...]:
        """The samples, oldest first."""
        return tuple(map(Rates.read, self.case["samples"]))

    @cached_property
    def unmeasured(self) -> Rates:
        """The rates assumed for a bundle without samples."""
        return unmeasured_rates(self.readings["kilobyte"])

    def window(self, frame: str) -> int:
        """Return the maximum number of samples in a time frame."""
        return int(self.case[FRAMES[frame]])

    def average(self, frame: str) -> Rates:
        """Return the average in a time frame, under the reading `window`."""
        mean = MEAN[self.readings["window"]]
        return average(self.samples, self.window(frame), mean, self.unmeasured).rates


def _read_averages(_case: SampledBundle, answer: Json) -> Mapping[str, Average]:
    return {
        frame: Average(
            Rates.read(answer[frame]),
            int(answer[frame]["numSamples"]),
            int(answer[frame].get("maxSamples", answer[frame]["numSamples"])),
        )
        for frame in FRAMES
    }


def _same_averages(allowed: Json, answer: Json) -> bool:
    counted = (allowed[frame]["numSamples"] == answer[frame]["numSamples"] for frame in FRAMES)
    return _same_sums(allowed, answer) and all(counted)


AVERAGE = Operation(
    id="average.bundle",
    view=lambda case, _settings, readings: SampledBundle(case, readings),
    read=_read_averages,
    matches=_same_averages,
    examples=tuple(
        {"samples": samples, "shortSamples": 10, "longSamples": 1000}
        for samples in ([], [example_rates(1), example_rates(2)])
    ),
)


@dataclass(frozen=True)
class ReportCase:
    """A `report.read` case: a load report with any content."""

    report: Json

    @cached_property
    def read(self) -> Report | None:
        """The parsed report, or None if it is unreadable."""
        try:
            return read(self.report)
        except Unreadable:
            return None

    def known(self, name: str) -> Any:
        """Return the report's value of a field of the protocol, or None."""
        return None if self.read is None else self.read.broker.get(name)

    @property
    def nested(self) -> bool:
        """True if the report has a field `systemResourceUsage`."""
        return self.report.get(NESTED) is not None

    @property
    def top_level_resources(self) -> list[str]:
        """The resources at the report's top level."""
        return [name for name in RESOURCES if self.report.get(name) is not None]

    @property
    def nested_resources(self) -> list[str]:
        """The resources inside the report's `systemResourceUsage`."""
        nested = self.report.get(NESTED)
        named = nested if isinstance(nested, Mapping) else {}
        return [name for name in RESOURCES if named.get(name) is not None]


@dataclass(frozen=True)
class ReportContent:
    """An answer: the content of a report, or that the report was refused."""

    manager: str | None
    broker: Json
    refused: str | None

    def __getitem__(self, name: str) -> Any:
        return self.broker.get(name)

    def __str__(self) -> str:
        return f"refused: {self.refused}" if self.manager is None else self.manager


def _same_report(allowed: Json, answer: Json) -> bool:
    """True if two reports are equal; a field missing from `allowed` must be empty in `answer`."""
    wanted, found = allowed["broker"], answer["broker"]
    known = schema("shapes")["$defs"]["broker"]["properties"]
    return allowed["manager"] == answer["manager"] and all(
        _same_value(wanted[name], found.get(name)) if name in wanted else _is_empty(found.get(name))
        for name in known
    )


def _same_value(allowed: Any, answered: Any) -> bool:
    if isinstance(allowed, dict) and isinstance(answered, dict):
        return all(_same_value(value, answered.get(name)) for name, value in allowed.items())
    if isinstance(allowed, list) and isinstance(answered, list):
        return set(allowed) == set(answered)
    if isinstance(allowed, int | float) and isinstance(answered, int | float):
        return isclose(allowed, answered, rel_tol=SHARE)
    return answered is None and not allowed


def _is_empty(answered: Any) -> bool:
    return not (answered.get("usage", answered) if isinstance(answered, dict) else answered)


def _report_names(case: Json, answer: Json) -> list[NamesUsed]:
    broker = answer["broker"]
    return [NamesUsed((*broker.get("bundles", ()), *broker.get("lastStats", ())), _texts(case))]


def _texts(value: Any) -> Iterator[str]:
    """Yield every string in a report, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        yield from filter(lambda entry: isinstance(entry, str), value)
        for entry in value.values() if isinstance(value, dict) else value:
            yield from _texts(entry)


READ = Operation(
    id="report.read",
    view=lambda case, _settings, _readings: ReportCase(case["report"]),
    read=lambda _case, answer: ReportContent(
        answer.get("manager"), answer.get("broker", {}), answer.get("refused")
    ),
    matches=_same_report,
    examples=(
        {"report": {"cpu": {"usage": 50.0, "limit": 100.0}, "bundles": []}},
        {"report": {"systemResourceUsage": {"cpu": {"usage": 50.0, "limit": 100.0}}}},
    ),
    refusable=True,
    removable=frozenset({"bundles"}),
    names=_report_names,
)


@dataclass(frozen=True)
class MeasuredUsage:
    """An answer: a usage, and the resource that has it."""

    percent: Fraction
    resource: str | None


def usage_percents(case: FlatCase) -> dict[str, Fraction]:
    """Return each resource's usage in percent, weighted if the case says so."""
    weight = weights(case.settings) if case["weighted"] else UNWEIGHTED
    used = Broker.read("broker", case["broker"]).percent
    return {name: used[name] * weight[name] for name in used}


def _usage_problems(case: Json, settings: Settings) -> Problems:
    yield from report_problems("broker", case["broker"])
    if case["weighted"]:
        yield from weight_problems(settings)


def _same_usage(allowed: Json, answer: Json) -> bool:
    """True if usages are equal; if they are 0, any resource or none may be named."""
    close = isclose(allowed["percent"], answer["percent"], rel_tol=0, abs_tol=POINTS)
    return close and (allowed["percent"] == 0 or bool(allowed["resource"] == answer["resource"]))


def _has_one_busiest(case: FlatCase, _readings: Readings) -> bool:
    """True if there is a single busiest resource, or all resources are idle."""
    *_, second, most = sorted(usage_percents(case).values())
    return most == 0 or most - second > check.POINTS


USAGE = Operation(
    id="usage.max",
    view=lambda case, settings, _readings: FlatCase(case, settings),
    read=lambda _case, answer: MeasuredUsage(exact(answer["percent"]), answer["resource"]),
    matches=_same_usage,
    examples=tuple(
        {"settings": {}, "weighted": False, "broker": example_broker(cpu, 1, [])}
        for cpu in (95.0, 50.0)
    ),
    legal=_usage_problems,
    determined=_has_one_busiest,
)


def _nic_problems(case: Json, settings: Settings) -> Problems:
    if len(case["nics"]) != 1:
        yield "case.nics: no document says how several network interfaces count"
    override = settings.given.get(NIC_SPEED)
    if isinstance(override, bool) or (isinstance(override, str) and override != ""):
        yield f"case.settings.{NIC_SPEED}: {override!r} is not a number of Gbit/s"
    elif isinstance(override, int | float) and override <= 0:
        yield f"case.settings.{NIC_SPEED}: {override:g} Gbit/s is not a speed; leave it empty"
    if override in (None, "") and case["nics"][0].get("reportedGbps") is None:
        yield f"case.nics: the speed is neither reported nor set with {NIC_SPEED}"


def _read_speed(_case: FlatCase, answer: Json) -> Fraction:
    if "refused" in answer:
        raise NotReached("the request was refused")
    return exact(answer["gbps"])


NIC = Operation(
    id="usage.nic",
    view=lambda case, settings, _readings: FlatCase(case, settings),
    read=_read_speed,
    matches=lambda allowed, answer: isclose(allowed["gbps"], answer["gbps"], rel_tol=SHARE),
    examples=(
        {"settings": {}, "nics": [{"reportedGbps": 10}]},
        {"settings": {NIC_SPEED: 0.8}, "nics": [{"reportedGbps": 10}]},
    ),
    legal=_nic_problems,
    refusable=True,
)

DUE, TOP = due.DUE, due.TOP
