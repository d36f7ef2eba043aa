"""Shedding cycles that are small enough to be worked out on paper."""

OVERLOAD = "org.apache.pulsar.broker.loadbalance.impl.OverloadShedder"
UNIFORM = "org.apache.pulsar.broker.loadbalance.impl.UniformLoadShedder"
MB = 1_000_000
QUARTERS = [
    f"shop/eu/{part}"
    for part in (
        "0x00000000_0x40000000",
        "0x40000000_0x80000000",
        "0x80000000_0xc0000000",
        "0xc0000000_0xffffffff",
    )
]


def bundle(megabytes):
    return {"shortTermData": {"msgThroughputIn": megabytes * MB, "numSamples": 10}}


def cycle(*megabytes, strategy=OVERLOAD, settings=None, recently=None, usage=95):
    """Return a cycle in which b1 owns a bundle for each amount in MB/s, and b2 owns no bundle."""
    owned = QUARTERS[: len(megabytes)]
    total = sum(megabytes) * MB
    return {
        "strategy": strategy,
        "settings": settings or {},
        "brokers": {
            "b1": {
                "cpu": {"usage": usage, "limit": 100},
                "msgThroughputIn": total,
                "bundles": owned,
            },
            "b2": {"cpu": {"usage": 30, "limit": 100}},
        },
        "bundles": {name: bundle(one) for name, one in zip(owned, megabytes, strict=True)},
        "recentlyUnloaded": recently or {},
    }


def shed(case):
    return {"ask": "shed.select", "case": case}
