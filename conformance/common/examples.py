"""Parts of the operations' example cases."""

from __future__ import annotations

from pulsar_conformance.conformance.common.trial import Json

LEFT, RIGHT = "t/ns/0x00000000_0x80000000", "t/ns/0x80000000_0xffffffff"
TOPICS = [f"persistent://t/ns/orders-{number}" for number in range(4)]


def rates(scale: float) -> Json:
    """Messages and bytes per second, in and out."""
    return {
        "msgRateIn": 100.0 * scale,
        "msgRateOut": 200.0 * scale,
        "msgThroughputIn": 100_000.0 * scale,
        "msgThroughputOut": 200_000.0 * scale,
    }


def broker(cpu: float, load: float, bundles: list[str]) -> Json:
    """A broker's report: `cpu` in percent, `load` in units of `rates`."""
    return {
        "cpu": {"usage": cpu, "limit": 100.0},
        "memory": {"usage": 512.0, "limit": 2048.0},
        "directMemory": {"usage": 128.0, "limit": 2048.0},
        "bandwidthIn": {"usage": 1000.0, "limit": 10000.0},
        "bandwidthOut": {"usage": 2000.0, "limit": 10000.0},
        **rates(load),
        "bundles": bundles,
        "lastStats": {
            name: {**rates(load / 2), "topics": 1200, "producerCount": 3, "consumerCount": 5}
            for name in bundles
        },
    }


def bundle_data() -> Json:
    """Two bundles that carry alike."""
    average = {**rates(2), "numSamples": 10, "maxSamples": 10}
    return {name: {"shortTermData": average, "longTermData": average} for name in (LEFT, RIGHT)}
