"""Code that all branches share: versions, a registry, clusters, and topics with a given hash."""

import zlib

VERSIONS = ["2.4.2", "2.10.5", "3.0.7", "4.0.7", "4.2.4", "5.0.0-M1"]
BRANCHES = []
MIB = 1024 * 1024
IMPL = "org.apache.pulsar.broker.loadbalance.impl."


def branch(ask, since="2.4.2", until="5.0.0-M1", weight=1):
    """Return a decorator; it registers a function that draws cases of a branch of released code."""

    def register(function):
        function.ask, function.weight = ask, weight
        function.versions = VERSIONS[VERSIONS.index(since) : VERSIONS.index(until) + 1]
        BRANCHES.append(function)
        return function

    return register


def at_least(version, other):
    """True if a release is `other` or later."""
    return VERSIONS.index(version) >= VERSIONS.index(other)


def hexed(number):
    return f"0x{number:08x}"


def ranges(count):
    """Return the ranges of a namespace with `count` bundles, as PoliciesUtil.getBundles cuts them."""
    step = 2**32 // count
    cuts = [index * step for index in range(count)] + [0xFFFFFFFF]
    return [f"{hexed(low)}_{hexed(high)}" for low, high in zip(cuts, cuts[1:])]


def names(namespace, count):
    """Return the names of the bundles of a namespace with `count` bundles."""
    return [f"{namespace}/{part}" for part in ranges(count)]


def near(rng, value, step=None):
    """Return the value, or a value one `step`, by default a small one, above or below it."""
    step = step if step is not None else max(abs(value), 1) * rng.choice([1e-9, 1e-6, 0.01])
    return value + rng.choice([-1, 0, 0, 1]) * step


def resource(rng, percent):
    """Return a resource's usage of this percentage, relative to a random limit."""
    limit = rng.choice([100, 100, 100, 100.0, 2400, 16384, 10240000, 3, 0.7])
    return {
        "usage": max(percent, 0) * limit / 100 if limit != 100 else max(percent, 0),
        "limit": limit,
    }


RESOURCES = ["cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut"]


def rates(rng, messages, volume):
    """Return rates of messages and bytes, randomly divided between in and out."""
    share = rng.choice([0, 0.5, 1, 0.25, rng.random()])
    parts = {
        "msgRateIn": messages * share,
        "msgRateOut": messages * (1 - share),
        "msgThroughputIn": volume * share,
        "msgThroughputOut": volume * (1 - share),
    }
    return {name: value for name, value in parts.items() if value or rng.random() < 0.3}


def average(rng, messages, volume, most=10):
    return {
        **rates(rng, messages, volume),
        "numSamples": rng.choice([1, most, most]),
        "maxSamples": most,
    }


class Cluster:
    """The brokers and bundles of a case of shedding, to which a branch adds brokers."""

    def __init__(self, rng, namespace=None):
        self.rng, self.brokers, self.bundles, self.parts = rng, {}, {}, {}
        self.namespace = namespace or rng.choice(["shop/eu", "bank/core", "public/default"])

    def take(self, namespace=None):
        """Return a bundle that no broker has yet."""
        namespace = namespace or self.namespace
        free = self.parts.setdefault(namespace, names(namespace, 512))
        return free.pop(0)

    def broker(
        self, percent, loads=(), name=None, kind="cpu", reported=None, namespace=None, measured=True
    ):
        """Add a broker with this usage and bundles of these (messages, bytes); by default, it reports their sum."""
        name = name or f"b{len(self.brokers) + 1}"
        data = {} if percent is None else {kind: resource(self.rng, percent)}
        mine = []
        for messages, volume in loads:
            bundle = self.take(namespace)
            mine.append(bundle)
            if measured:
                self.bundles[bundle] = {
                    "shortTermData": average(self.rng, messages, volume),
                    "longTermData": average(self.rng, messages, volume, 1000),
                }
        total = reported or (sum(load[0] for load in loads), sum(load[1] for load in loads))
        data.update(rates(self.rng, *total))
        data["bundles"] = mine
        self.brokers[name] = data
        return mine

    def case(self, strategy, settings, recent=None):
        return {
            "strategy": strategy,
            "settings": settings,
            "brokers": self.brokers,
            "bundles": self.bundles,
            "recentlyUnloaded": recent or {},
        }

    def cycle(self, minutes, recent=None):
        return {
            "minutes": minutes,
            "brokers": self.brokers,
            "bundles": self.bundles,
            "recentlyUnloaded": recent or {},
        }


def loads(rng, count, volume=None):
    """Return the loads of some bundles, which are equal only by chance."""
    volume = volume or rng.choice([1e6, 1e7, 1e8])
    return [
        (
            rng.choice([0, rng.randrange(1, 5000), rng.random() * 3000]),
            round(rng.random() * volume, rng.choice([0, 3])),
        )
        for _ in range(count)
    ]


def named(rng, last):
    """Return the full or the short name of a class of the release."""
    return rng.choice([IMPL + last, last])


def topic(hashed, start="persistent://t/ns/"):
    """Return a topic with exactly this hash; each of 40 letters is p or q, chosen by the CRC's
    bits.
    """
    letters = 40
    base = zlib.crc32((start + "p" * letters).encode())
    rows = []
    for place in range(letters):
        text = start + "p" * place + "q" + "p" * (letters - place - 1)
        rows.append((zlib.crc32(text.encode()) ^ base, 1 << place))
    wanted, chosen, basis = hashed ^ base, 0, []
    for value, mask in rows:
        for other, with_mask in basis:
            if value ^ other < value:
                value, mask = value ^ other, mask ^ with_mask
        if value:
            basis.append((value, mask))
            basis.sort(reverse=True)
    for value, mask in basis:
        if wanted ^ value < wanted:
            wanted, chosen = wanted ^ value, chosen ^ mask
    found = start + "".join("q" if chosen >> place & 1 else "p" for place in range(letters))
    assert zlib.crc32(found.encode()) == hashed, (found, hexed(hashed))
    return found
