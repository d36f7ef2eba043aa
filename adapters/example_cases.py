"""Small legal cases of every operation, to see whether an implementation answers at all."""

from collections.abc import Mapping

from pulsar_conformance.adapters.protocol import JSON

_LEFT, _RIGHT = "t/ns/0x00000000_0x80000000", "t/ns/0x80000000_0xffffffff"
_TOPICS = [f"persistent://t/ns/orders-{number}" for number in range(4)]


def _rates(scale: float) -> dict[str, JSON]:
    return {
        "msgRateIn": 100.0 * scale,
        "msgRateOut": 200.0 * scale,
        "msgThroughputIn": 100_000.0 * scale,
        "msgThroughputOut": 200_000.0 * scale,
    }


def _broker(cpu: float, load: float, bundles: list[str]) -> dict[str, JSON]:
    return {
        "cpu": {"usage": cpu, "limit": 100.0},
        "memory": {"usage": 512.0, "limit": 2048.0},
        "directMemory": {"usage": 128.0, "limit": 2048.0},
        "bandwidthIn": {"usage": 1000.0, "limit": 10000.0},
        "bandwidthOut": {"usage": 2000.0, "limit": 10000.0},
        **_rates(load),
        "bundles": bundles,
        "lastStats": {
            name: {**_rates(load / 2), "topics": 1200, "producerCount": 3, "consumerCount": 5}
            for name in bundles
        },
    }


def _loads() -> dict[str, JSON]:
    average = {**_rates(2), "numSamples": 10, "maxSamples": 10}
    return {name: {"shortTermData": average, "longTermData": average} for name in (_LEFT, _RIGHT)}


def _shedding(strategy: str | None, cpu: float) -> dict[str, JSON]:
    return {
        "strategy": strategy,
        "settings": {},
        "brokers": {"broker-1": _broker(cpu, 4, [_LEFT, _RIGHT]), "broker-2": _broker(10.0, 0, [])},
        "bundles": _loads(),
        "recentlyUnloaded": {},
    }


def _splitting(algorithm: str | None, positions: list[str]) -> dict[str, JSON]:
    return {
        "bundle": "0x00000000_0xffffffff",
        "algorithm": algorithm,
        "by": "admin",
        "settings": {"defaultNamespaceBundleSplitAlgorithm": "range_equally_divide"},
        "topics": _TOPICS,
        "positions": positions,
    }


def _candidates(leader: bool) -> dict[str, JSON]:
    return {
        "settings": {},
        "leader": leader,
        "brokers": {"broker-1": _broker(50.0, 4, [_LEFT, _RIGHT])},
        "bundles": _loads(),
        "namespaceBundles": {"t/ns": 2},
    }


def _placing(cpu: float) -> dict[str, JSON]:
    return {
        "settings": {"loadBalancerBrokerOverloadedThresholdPercentage": 85},
        "bundle": _RIGHT,
        "candidates": ["broker-1", "broker-2"],
        "brokers": {"broker-1": _broker(cpu, 0, []), "broker-2": _broker(50.0, 4, [_LEFT])},
        "bundles": _loads(),
        "preallocated": {},
    }


def _spreading(owner: str) -> dict[str, JSON]:
    return {
        "settings": {},
        "domains": {"east": ["broker-1"], "west": ["broker-2"]},
        "groups": {"t/first": "orders", "t/second": "orders"},
        "owned": {owner: ["t/first"]},
        "candidates": ["broker-1", "broker-2"],
        "namespace": "t/second",
    }


def _story(events: int) -> dict[str, JSON]:
    told = [
        {"broker_up": {"broker": "broker-1", "capacity": 100_000_000}},
        {"namespace": {"name": "t/ns", "bundles": 1}},
        {"topic": {"topic": _TOPICS[0], **_rates(1)}},
        {"broker_up": {"broker": "broker-2", "capacity": 100_000_000}},
        {"broker_down": {"broker": "broker-1"}},
    ]
    settings = {"loadBalancerBrokerOverloadedThresholdPercentage": 85}
    return {"settings": settings, "events": told[:events]}


_IMPL = "org.apache.pulsar.broker.loadbalance.impl"

_WHOLE = ["0x00000000", "0xffffffff"]
_HALVES = ["0x00000000", "0x80000000", "0xffffffff"]

EXAMPLES: Mapping[str, tuple[JSON, ...]] = {
    "settings.defaults": ({},),
    "bundles.create": tuple({"bundles": number, "settings": {}} for number in (16, 2, None)),
    "bundles.locate": tuple({"boundaries": cuts, "topics": _TOPICS} for cuts in (_WHOLE, _HALVES)),
    "bundles.split": (
        _splitting("range_equally_divide", []),
        _splitting("specified_positions_divide", ["0x10000000"]),
    ),
    "bundles.split_candidates": (_candidates(True), _candidates(False)),
    "usage.max": tuple(
        {"settings": {}, "weighted": False, "broker": _broker(cpu, 1, [])} for cpu in (95.0, 50.0)
    ),
    "usage.nic": (
        {"settings": {}, "nics": [{"reportedGbps": 10}]},
        {
            "settings": {"loadBalancerOverrideBrokerNicSpeedGbps": 0.8},
            "nics": [{"reportedGbps": 10}],
        },
    ),
    "average.bundle": tuple(
        {"samples": samples, "shortSamples": 10, "longSamples": 1000}
        for samples in ([], [_rates(1), _rates(2)])
    ),
    "average.broker": tuple({"bundles": _loads(), "owned": owned} for owned in ([_LEFT], [])),
    "shed.select": (_shedding("OverloadShedder", 95.0), _shedding("OverloadShedder", 50.0)),
    "manager.choose": tuple(
        {"conf": None, "dynamic": f"{_IMPL}.{kind}LoadManagerImpl"}
        for kind in ("Modular", "Simple")
    ),
    "place.select": (_placing(95.0), _placing(50.0)),
    "place.anti_affinity": (_spreading("broker-1"), _spreading("broker-2")),
    "report.read": (
        {"report": {"cpu": {"usage": 50.0, "limit": 100.0}, "bundles": []}},
        {"report": {"systemResourceUsage": {"cpu": {"usage": 50.0, "limit": 100.0}}}},
    ),
    "cluster.replay": (_story(4), _story(5)),
}
"""Operation to cases that answer differently under the rules, where there can be two."""
