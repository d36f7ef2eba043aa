"""The door of the model: an operation and a case in, an answer and its derivation out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.reference import bundles, overload, splitting, threshold, uniform, usage
from pulsar_conformance.reference.candidates import Growth
from pulsar_conformance.reference.cluster import Broker
from pulsar_conformance.reference.derivation import Derivation, Step
from pulsar_conformance.reference.numbers import exact, jsonable, plain
from pulsar_conformance.reference.ranges import HASHES, hash_of, hex_of, ranges_of
from pulsar_conformance.reference.readings import Readings
from pulsar_conformance.reference.settings import Settings
from pulsar_conformance.reference.shedding import Cycle, Unloads

Case = Mapping[str, Any]
Strategy = Callable[[Cycle], Iterator[Unloads]]

STRATEGIES: Mapping[str, Strategy] = {
    "ThresholdShedder": threshold.unloads,
    "OverloadShedder": overload.unloads,
    "UniformLoadShedder": uniform.unloads,
}

EVERYWHERE: Mapping[str, tuple[Strategy, ...]] = {
    "overload-shedder": (),
    "all": (overload.unloads,),
}
"""What every strategy sheds besides its own, by the reading `overload-scope`. [SHED-08]"""


class Model:
    """The documented rules of one profile, under one set of readings.

    Errors: `specs.UnknownName` for a profile or reading that there is not; `MissingSetting` from
    `answer` where a case leaves out a setting that has no documented default.
    """

    def __init__(self, profile: str, readings: Mapping[str, str] | None = None) -> None:
        self.profile = profile
        self.readings = Readings.of(profile, readings)
        self.defaults = specs.load().defaults(profile)
        self._operations: dict[str, Callable[[Case], Derivation]] = {
            "settings.defaults": self._settings_defaults,
            "bundles.create": self._bundles_create,
            "bundles.locate": self._bundles_locate,
            "bundles.split": self._bundles_split,
            "bundles.split_candidates": self._bundles_split_candidates,
            "usage.max": self._usage_max,
            "usage.nic": self._usage_nic,
            "shed.select": self._shed_select,
        }

    @property
    def operations(self) -> tuple[str, ...]:
        """The questions that the model answers."""
        return tuple(self._operations)

    def answer(self, operation: str, case: Case) -> dict[str, Any]:
        """The answer to a legal case."""
        return dict(self.derive(operation, case).answer)

    def derive(self, operation: str, case: Case) -> Derivation:
        """The answer to a legal case, and how it comes about."""
        try:
            return self._operations[operation](case)
        except splitting.Refused as refused:
            why = str(refused)
            return Derivation({"refused": why}, lambda: (Step("refused", why),))

    def settings(self, case: Case) -> Settings:
        """The settings in force in a case."""
        return Settings(case.get("settings", {}), self.defaults)

    def _settings_defaults(self, _case: Case) -> Derivation:
        """[CONFIG]"""

        def explain() -> Iterator[Step]:
            return (Step(name, str(value)) for name, value in self.defaults.items())

        return Derivation({"settings": dict(self.defaults)}, explain)

    def _bundles_create(self, case: Case) -> Derivation:
        """[BUNDLE-01 … 03]"""
        count, why = case["bundles"], "as asked"
        if count is None:
            why = "defaultNumberOfNamespaceBundles"
            count = int(self.settings(case).number(why))

        def explain() -> Iterator[Step]:
            yield Step("bundles", f"{count}, {why}")
            yield Step("width", f"2^32 / {count} = {HASHES // count} hashes, the last the rest")

        return Derivation({"boundaries": bundles.boundaries(count)}, explain)

    def _bundles_locate(self, case: Case) -> Derivation:
        """[BUNDLE-04 … 13]"""
        ranges = ranges_of(case["boundaries"])
        locate = bundles.LOCATE[self.readings["partitions"]]
        names = [ranges[locate(ranges, topic)].name for topic in case["topics"]]

        def explain() -> Iterator[Step]:
            for topic, name in zip(case["topics"], names, strict=True):
                yield Step(topic, f"hash {hex_of(hash_of(topic))}, in {name}")

        return Derivation({"bundles": names}, explain)

    def _bundles_split(self, case: Case) -> Derivation:
        """[SPLIT-10 … 19]"""
        split = splitting.Split.of(case["bundle"], case["topics"], case["positions"])
        algorithm = splitting.algorithm_of(
            case["algorithm"], case["by"], self.settings(case), self.readings
        )
        parts = splitting.parts(split, algorithm, self.readings)

        def explain() -> Iterator[Step]:
            yield Step("algorithm", algorithm)
            yield Step("bundle", f"{split.bundle.name}, {split.bundle.width} hashes")
            for part in parts:
                topics = sum(value in part for value in split.hashes)
                yield Step("part", f"{part.name}, {part.width} hashes, {topics} topics")

        return Derivation({"bundles": [part.name for part in parts]}, explain)

    def _bundles_split_candidates(self, case: Case) -> Derivation:
        """[SPLIT-01 … 09]"""
        growth = Growth(case, self.settings(case), self.readings)
        answer = {"split": list(growth.split), "unload": list(growth.unload)}
        return Derivation(answer, growth.explain)

    def _usage_max(self, case: Case) -> Derivation:
        """[USAGE-01 … 04]"""
        broker = Broker.read("broker", case["broker"])
        weight = usage.weights(self.settings(case)) if case["weighted"] else usage.UNWEIGHTED
        used = usage.weighted_maximum(broker, weight)

        def explain() -> Iterator[Step]:
            for name, percent in broker.percent.items():
                weighted = f"{plain(percent)} % x {plain(weight[name])}"
                yield Step(name, f"{weighted} = {plain(percent * weight[name])} %")
            yield Step("maximum", f"{plain(used.percent)} % of {used.resource}")

        answer = {"percent": jsonable(used.percent), "resource": used.resource}
        return Derivation(answer, explain)

    def _usage_nic(self, case: Case) -> Derivation:
        """[USAGE-05 … 07]"""
        reported = case["nics"][0]["reportedGbps"]
        known = None if reported is None else exact(reported)
        speed = usage.nic_speed(self.settings(case), known)
        if speed is None:
            raise splitting.Refused("no speed is reported and none is set")

        def explain() -> Iterator[Step]:
            yield Step("reported", "nothing" if known is None else f"{plain(known)} Gbit/s")
            yield Step("speed", f"{plain(speed)} Gbit/s")

        return Derivation({"gbps": jsonable(speed)}, explain)

    def _shed_select(self, case: Case) -> Derivation:
        """[SHED, OVERLOAD, THRESHOLD, UNIFORM]"""
        cycle = Cycle(case, self.settings(case), self.readings)
        if cycle.strategy not in STRATEGIES:
            return Derivation({"unsupported": f"{cycle.strategy} is not documented"}, tuple)
        if not cycle.enabled:
            idle = Step("shedding", "switched off, or no other broker to take a bundle")
            return Derivation({"unload": []}, lambda: (idle,))
        unloads = list(STRATEGIES[cycle.strategy](cycle))
        if cycle.strategy != "OverloadShedder":
            for everywhere in EVERYWHERE[self.readings["overload-scope"]]:
                unloads = list(map(partial(_together, cycle), unloads, everywhere(cycle)))
        answer = [
            {"broker": given.broker, "bundle": bundle} for given in unloads for bundle in given
        ]
        return Derivation({"unload": answer}, partial(_shedding_steps, unloads))


def _together(cycle: Cycle, first: Unloads, second: Unloads) -> Unloads:
    """What one broker gives up for two reasons, most traffic first."""
    both = {*first, *second}
    movable = cycle.movable(cycle.brokers[first.broker])
    kept = tuple(bundle for bundle in movable if bundle in both)
    return Unloads(first.broker, kept, lambda: chain(first.explain(), second.explain()))


def _shedding_steps(unloads: Iterable[Unloads]) -> Iterator[Step]:
    for given in unloads:
        yield Step(given.broker, "")
        for step in given.explain():
            yield step.within()
