"""Load data, parsed from Pulsar's JSON by the release's own classes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from typing import Any

from pulsar_conformance.adapters.pulsar.jvm import Java, class_exists, java_class, java_list

STATISTICS = "org.apache.pulsar.policies.data.loadbalancer.NamespaceBundleStats"
LOCAL = "org.apache.pulsar.policies.data.loadbalancer.LocalBrokerData"
PACKAGES = ("org.apache.pulsar.policies.data.loadbalancer", "org.apache.pulsar.broker")
"""Packages of BrokerData and BundleData; the second one is used before 2.10."""

MANAGER = "org.apache.pulsar.broker.loadbalance.impl.ModularLoadManagerImpl"

RESOURCES = ("cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut")
RATES = ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")
STATS = (*RATES, "topics", "producerCount", "consumerCount", "cacheSize")
UNUSED_RESOURCE = {"usage": 0.0, "limit": 100.0}
WINDOWS = {"shortTermData": 10, "longTermData": 1000}
"""Maximum numbers of samples in the short-term and in the long-term average."""

PORT = ":8080"
"""Port that is added to a broker's name in a case if the name has none.

Pulsar identifies brokers by host and port; cases may name them in any way.
"""

Json = Mapping[str, Any]


NAME_WITH_PORT = re.compile(r".+:[0-9]+")
_ported: set[str] = set()
"""The brokers whose names in a case already contain a port."""


def broker_id(name: str) -> str:
    """Return the name by which Pulsar knows a broker of a case."""
    if NAME_WITH_PORT.fullmatch(name):
        _ported.add(name)
        return name
    return name + PORT


def broker_name(identifier: Java) -> str:
    """Return the name that a broker of Pulsar has in the case."""
    name = str(identifier)
    return name if name in _ported else name.removesuffix(PORT)


@cache
def json_reader() -> Java:
    """Return a JSON reader that ignores unknown fields, like the release's own."""
    mapper = java_class("com.fasterxml.jackson.databind.ObjectMapper")()
    feature = java_class("com.fasterxml.jackson.databind.DeserializationFeature")
    return mapper.configure(feature.FAIL_ON_UNKNOWN_PROPERTIES, False)


class LoadParser:
    """Parses brokers' reports and bundles' averages."""

    def __init__(self, identify: Callable[[str], str] = broker_id) -> None:
        self._identify = identify
        self._mapper = json_reader()
        self._local = java_class(LOCAL)
        self._broker = _load_data_class("BrokerData")
        self._sums = _load_data_class("TimeAverageBrokerData")
        self._bundles = self._map_of(_load_data_class("BundleData"))
        self._brokers = self._map_of(self._local)
        self._samples_type = self._list_of(java_class(STATISTICS))
        self._assumed_load = _assumed_load()

    def parse_local(self, report: Json) -> Java:
        """Parse a broker's report as `LocalBrokerData`."""
        return self._mapper.readValue(json.dumps(_read_part(report)), self._local.class_)

    def fill_load_data(
        self,
        load_data: Java,
        brokers: Mapping[str, Json],
        bundles: Json,
        assigned: bool = False,
        complete: bool = False,
    ) -> None:
        """Fill the leader's load data with reports, and with the averages of bundles that have
        samples.

        With `assigned`, owned bundles without samples get the load that the leader assumes for
        them; otherwise, they have no data. With `complete`, brokers also get the data of a running
        broker that a strategy may read: the statistics of their bundles, the number of bundles,
        and sums.
        """
        known = {name: self._averages(data) for name, data in bundles.items()}
        written = {
            self._identify(name): self._completed_report(report, known)
            if complete
            else _read_part(report)
            for name, report in brokers.items()
        }
        for identifier, local in self._read(written, self._brokers).entrySet():
            load_data.getBrokerData().put(identifier, self._broker(local))
        if assigned:
            owned = (name for report in brokers.values() for name in report.get("bundles", ()))
            known = {**{name: self._averages({}) for name in owned}, **known}
        stored = load_data.getBundleData()
        for entry in self._read(known, self._bundles).entrySet():
            # The leader also adds them one by one; putAll could give the table another order.
            stored.put(entry.getKey(), entry.getValue())
        if complete:
            for identifier, report in written.items():
                sums = self.broker_sums(report["bundles"], stored, self._assumed_stats)
                load_data.getBrokerData().get(identifier).setTimeAverageData(sums)

    def averages_of_measured(self, bundles: Mapping[str, Json]) -> Java:
        """Return the averages of the bundles that have samples."""
        known = {
            name: data for name, data in bundles.items() if any(map(_sample_count, data.values()))
        }
        return self._read({name: self._averages(one) for name, one in known.items()}, self._bundles)

    def broker_sums(self, owned: Iterable[str], measured: Java, default_stats: Java) -> Java:
        """Return the `TimeAverageBrokerData` of a broker that owns these bundles."""
        found = self._sums()
        found.reset(java_class("java.util.HashSet")(java_list(owned)), measured, default_stats)
        return found

    @cached_property
    def _assumed_stats(self) -> Java:
        """The statistics that the leader assumes for a bundle without samples."""
        [found] = self.parse_stats([self._assumed_load])
        return found

    def parse_stats(self, samples: Sequence[Json]) -> Java:
        """Parse a bundle's samples, in order, as `NamespaceBundleStats`."""
        return self._read(samples, self._samples_type)

    def _completed_report(self, report: Json, known: Mapping[str, Json]) -> Json:
        """Return a broker's report, with statistics and the number of its bundles added.

        If the case omits a bundle's statistics, the bundle gets the rates of its short-term
        average, and one topic.
        """
        read = _read_part(report)
        stats = {}
        for name in read["bundles"]:
            average = known[name]["shortTermData"] if name in known else self._assumed_load
            rates = {rate: average[rate] for rate in RATES}
            stats[name] = {**rates, "topics": 1, **read["lastStats"].get(name, {})}
        topics = sum(one["topics"] for one in stats.values())
        counts = {"numBundles": len(stats), "numTopics": report.get("numTopics", topics)}
        return {**read, "lastStats": stats, **counts}

    def _averages(self, data: Json) -> Json:
        return {name: self._average(data.get(name), name) for name in WINDOWS}

    def _average(self, average: Json | None, name: str) -> Json:
        if average is None or not average["numSamples"]:
            return {**self._assumed_load, "numSamples": 0, "maxSamples": WINDOWS[name]}
        rates = {rate: average.get(rate, 0.0) for rate in RATES}
        most = max(average.get("maxSamples", WINDOWS[name]), average["numSamples"])
        return {**rates, "numSamples": average["numSamples"], "maxSamples": most}

    def _map_of(self, kind: Java) -> Java:
        types = self._mapper.getTypeFactory()
        string = java_class("java.lang.String").class_
        return types.constructMapType(
            java_class("java.util.LinkedHashMap").class_, string, kind.class_
        )

    def _list_of(self, kind: Java) -> Java:
        types = self._mapper.getTypeFactory()
        return types.constructCollectionType(java_class("java.util.ArrayList").class_, kind.class_)

    def _read(self, value: Json | Sequence[Json], kind: Java) -> Java:
        return self._mapper.readValue(json.dumps(value), kind)


def _read_part(report: Json) -> Json:
    """Return the part of a broker's report that the release's classes read."""
    stats = {
        name: {key: value for key, value in one.items() if key in STATS}
        for name, one in report.get("lastStats", {}).items()
    }
    return {
        **{name: report.get(name, UNUSED_RESOURCE) for name in RESOURCES},
        **{name: report.get(name, 0.0) for name in RATES},
        "bundles": report.get("bundles", []),
        "lastStats": stats,
    }


def _sample_count(average: Json) -> int:
    return int(average["numSamples"])


def _assumed_load() -> Json:
    """Return the load that the release assumes for a bundle without samples."""
    manager = java_class(MANAGER)
    rate = float(manager.DEFAULT_MESSAGE_RATE)
    throughput = float(manager.DEFAULT_MESSAGE_THROUGHPUT)
    return dict(zip(RATES, (rate, rate, throughput, throughput), strict=True))


def _load_data_class(name: str) -> Java:
    """Return a class of load data from the package that contains it in this release."""
    return java_class(next(f"{one}.{name}" for one in PACKAGES if class_exists(f"{one}.{name}")))
