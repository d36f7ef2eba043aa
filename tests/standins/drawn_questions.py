"""Random questions for every operation, legal by the protocol's schemas.

They have settings as text, missing and unusual fields, empty ranges and huge rates.
"""

from itertools import pairwise
from random import Random

from pulsar_conformance import specs

SETTINGS = specs.load().settings
STRATEGIES = ("OverloadShedder", "ThresholdShedder", "UniformLoadShedder")
PACKAGE = "org.apache.pulsar.broker.loadbalance.impl."
RESOURCES = ("cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut")
RATES = ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")
LAST = 0xFFFFFFFF
ODD_TEXTS = ("", "much", "tru", "1,5", "0x10", "NaN", "1e3", "-1", "null", " 30 ", "3.0")
NUMBERS = {
    "Percentage": (0, 1, 5, 10, 50, 60, 85, 99.5, 100, 120),
    "Weight": (0, 0.5, 1, 1.0, 2),
    "Gbps": (0, 0.5, 1, 10, 25.5),
    "Minutes": (0, 1, 10, 30),
    "Multiplier": (0, 1, 1.5, 4),
    "Max": (0, 1, 2, 3, 5, 100, 30000),
    "Namespace": (1, 2, 4, 64),
}
PLAIN = (0, 1, 2, 10, 0.5, 50)


def hexadecimal(cut):
    return f"0x{cut:08x}"


class Questions:
    """Draws questions; the same seed draws the same questions."""

    def __init__(self, seed):
        self.random = Random(seed)

    def chance(self, share):
        return self.random.random() < share

    def draw(self, operation):
        """Return a case of an operation."""
        return getattr(self, operation.replace(".", "_"))()

    def number(self, most=1000.0):
        """Return a number: usually random, sometimes 0, huge or tiny."""
        kind = self.random.random()
        if kind < 0.08:
            return 0
        if kind < 0.13:
            return self.random.choice((2.0**46, 2.0**46 + 0.5, 7e13, 9e15, 1e15, 2.0**53))
        if kind < 0.16:
            return self.random.choice((0.001, 0.0625))
        return self.random.choice(
            (round(self.random.uniform(0, most), 3), self.random.randrange(int(most)))
        )

    def setting(self, name):
        """Return a value for a setting: of its type, as a string, None, or unusual."""
        kind = SETTINGS[name].type
        if self.chance(0.04):
            return None
        if self.chance(0.05):
            return self.random.choice(ODD_TEXTS)
        if kind == "boolean":
            value = self.chance(0.5)
            texts = (str(value).lower(), str(value), str(value).upper())
            return self.random.choice((value, value, *texts))
        if kind in ("integer", "number"):
            pool = next((pool for part, pool in NUMBERS.items() if part in name), PLAIN)
            value = self.random.choice(pool)
            if kind == "integer" and not self.chance(0.05):
                value = int(value)
            return self.random.choice((value, value, str(value)))
        return self.text(name)

    def text(self, name):
        if "SheddingStrategy" in name:
            strategy = self.random.choice(STRATEGIES)
            return self.random.choice((strategy, PACKAGE + strategy, "x.y.Mine"))
        if "Algorithm" in name:
            one = self.random.choice(("range_equally_divide", "topic_count_equally_divide"))
            return self.random.choice((one, one, "specified_positions_divide", "by_magic"))
        if "Domain" in name or "Placement" in name or "Manager" in name:
            return self.random.choice(("x.y.Mine", PACKAGE + "LeastLongTermMessageRate"))
        return self.random.choice(("one", "two", "3"))

    def settings(self, most=8):
        """Return some settings; most often, only settings whose names start with `loadBalancer`."""
        names = [name for name in SETTINGS if name.startswith("loadBalancer")]
        names = names if self.chance(0.7) else list(SETTINGS)
        chosen = self.random.sample(sorted(names), self.random.randrange(min(most, len(names)) + 1))
        found = {name: self.setting(name) for name in chosen}
        if self.chance(0.1):
            found["someOtherSetting"] = self.random.choice((1, "x", True, None))
        return found

    def shedding_settings(self):
        """Return settings that often include thresholds, which some documents give no default
        for.
        """
        found = self.settings()
        if self.chance(0.8):
            for part in ("ThresholdShedderPercentage", "OverloadedThreshold", "HistoryResource"):
                found |= {
                    name: self.setting(name)
                    for name in SETTINGS
                    if part in name and self.chance(0.7)
                }
        return found

    def cuts(self, count):
        inner = sorted(self.random.sample(range(1, LAST), count - 1))
        return [hexadecimal(cut) for cut in (0, *inner, LAST)]

    def names(self):
        """Return the names of the bundles of one to three namespaces."""
        found = []
        for space in self.random.sample(
            ("t/a", "t/b", "t/c/d", "pulsar/h:80"), self.random.randrange(1, 4)
        ):
            cuts = self.cuts(self.random.randrange(1, 6))
            found += [f"{space}/{low}_{high}" for low, high in pairwise(cuts)]
        self.random.shuffle(found)
        return found

    def topic(self):
        kind = self.random.choice(("persistent", "persistent", "non-persistent"))
        name = "".join(
            self.random.choice("abcxyz-0189ü %/") for _ in range(self.random.randrange(1, 12))
        )
        return f"{kind}://t/a/{name}"

    def usage(self):
        limit = self.random.choice(
            (0, 1, 100, 100.0, 400, 1e7, 2048, round(self.random.uniform(1, 900), 2))
        )
        return {
            "usage": self.random.choice(
                (0, limit, limit * self.random.random(), limit * self.random.uniform(1, 1.4))
            ),
            "limit": limit,
        }

    def rates(self, most=50_000_000.0):
        return {name: self.number(most) for name in RATES if self.chance(0.8)}

    def average(self):
        found = {**self.rates(), "numSamples": self.random.choice((0, 1, 3, 10, 1000))}
        return {**found, "maxSamples": 10} if self.chance(0.3) else found

    def bundle(self):
        frames = ("shortTermData", "longTermData")
        found = {name: self.average() for name in frames if self.chance(0.85)}
        return {**found, "unknownField": [1]} if self.chance(0.05) else found

    def stats(self):
        counts = ("topics", "producerCount", "consumerCount")
        found = {
            name: self.random.choice((0, 1, 3, 600, 1001)) for name in counts if self.chance(0.8)
        }
        return {**self.rates(60_000), **found}

    def broker(self, owned):
        found = {name: self.usage() for name in RESOURCES if self.chance(0.7)}
        found |= self.rates()
        if self.chance(0.92):
            found["bundles"] = owned
        if self.chance(0.7):
            found["lastStats"] = {name: self.stats() for name in owned if self.chance(0.85)}
        if self.chance(0.3):
            count = self.random.randrange(1, 4)
            found["usageHistory"] = [round(self.random.uniform(0, 110), 2) for _ in range(count)]
        if self.chance(0.2):
            found |= {"numBundles": len(owned), "numTopics": self.random.randrange(9)}
        if self.chance(0.1):
            found |= {"brokerVersionString": "3.0.7", "protocols": {}}
        return found

    def world(self, at_most=6):
        """Return brokers that own bundles, and the data of the bundles."""
        every = self.names()
        names = [
            f"b{number}:8080"
            for number in range(self.random.randrange(0 if self.chance(0.1) else 1, at_most))
        ]
        owned = {name: [] for name in names}
        for bundle in every:
            if names and self.chance(0.9):
                owned[self.random.choice(names)].append(bundle)
        brokers = {name: self.broker(held) for name, held in owned.items()}
        return every, brokers, {name: self.bundle() for name in every if self.chance(0.9)}

    # The operations.

    def settings_defaults(self):
        return {}

    def bundles_create(self):
        count = self.random.choice((None, 1, 2, 3, 7, 64, self.random.randrange(1, 2000)))
        return {"bundles": count, "settings": self.settings()}

    def bundles_locate(self):
        cuts = self.cuts(self.random.randrange(1, 12))
        if self.chance(0.08):
            self.random.shuffle(cuts)
        if self.chance(0.05):
            cuts = cuts[1:] if len(cuts) > 2 else ["0x00000001", "0x00000002"]
        return {
            "boundaries": cuts,
            "topics": [self.topic() for _ in range(self.random.randrange(6))],
        }

    def bundles_split(self):
        low, high = sorted(self.random.sample(range(LAST + 1), 2))
        kind = self.random.random()
        if kind < 0.3:
            low, high = 0, LAST
        elif kind < 0.4:
            high = low + self.random.randrange(4)
        elif kind < 0.45:
            low, high = high, low
        algorithm = None if self.chance(0.3) else self.text("Algorithm")
        positions = [
            hexadecimal(self.random.randrange(LAST + 1)) for _ in range(self.random.randrange(4))
        ]
        if self.chance(0.5):
            positions = [hexadecimal((low + high) // 2), *positions]
        topics = [self.topic() for _ in range(self.random.randrange(8))]
        found = {
            "bundle": f"{hexadecimal(low)}_{hexadecimal(min(high, LAST))}",
            "algorithm": algorithm,
            "by": self.random.choice(("admin", "broker")),
            "settings": self.settings(4),
            "topics": topics,
            "positions": positions,
        }
        if self.chance(0.3):
            found["topicLoads"] = {topic: self.rates() for topic in topics if self.chance(0.7)}
        return found

    def bundles_split_candidates(self):
        every, brokers, bundles = self.world()
        spaces = {name.rpartition("/")[0] for name in every}
        counts = {
            space: self.random.randrange(1, 130) for space in sorted(spaces) if self.chance(0.85)
        }
        return {
            "settings": self.settings(),
            "leader": self.chance(0.9),
            "brokers": brokers,
            "bundles": bundles,
            "namespaceBundles": counts,
        }

    def usage_max(self):
        return {
            "settings": self.settings(),
            "weighted": self.chance(0.5),
            "broker": self.broker([]),
        }

    def usage_nic(self):
        reported = None if self.chance(0.3) else self.random.choice((0, 1, 10, 2.5, 1e300))
        return {"settings": self.settings(20), "nics": [{"reportedGbps": reported}]}

    def average_bundle(self):
        short, long = sorted(self.random.choices((1, 2, 3, 10, 1000), k=2))
        if self.chance(0.1):
            short, long = long, short
        samples = [self.rates() for _ in range(self.random.randrange(0, 15))]
        return {"samples": samples, "shortSamples": short, "longSamples": long}

    def average_broker(self):
        every, _, bundles = self.world()
        return {"bundles": bundles, "owned": [name for name in every if self.chance(0.6)]}

    def shed_select(self):
        every, brokers, bundles = self.world()
        strategy = None if self.chance(0.25) else self.text("SheddingStrategy")
        recent = {
            name: self.random.choice((0, 1, 29.5, 30, 30.5, 45))
            for name in every
            if self.chance(0.15)
        }
        return {
            "strategy": strategy,
            "settings": self.shedding_settings(),
            "brokers": brokers,
            "bundles": bundles,
            "recentlyUnloaded": recent,
        }

    def shed_cycles(self):
        one = self.shed_select()
        cycles, names = [], list(one["bundles"])
        for number in range(self.random.randrange(1, 4)):
            brokers = {
                name: self.broker(said.get("bundles", [])) if number else dict(said)
                for name, said in one["brokers"].items()
            }
            for said in brokers.values():
                said.pop("usageHistory", None)
            bundles = {name: self.bundle() for name in names} if number else one["bundles"]
            recent = {} if number else one["recentlyUnloaded"]
            minutes = self.random.choice((1, 5, 29.5, 31))
            cycles.append(
                {
                    "minutes": minutes,
                    "brokers": brokers,
                    "bundles": bundles,
                    "recentlyUnloaded": recent,
                }
            )
        return {"strategy": one["strategy"], "settings": one["settings"], "cycles": cycles}

    def place_select(self):
        every, brokers, bundles = self.world()
        candidates = [name for name in brokers if self.chance(0.85)]
        preallocated = {name: self.random.sample(every, 1) for name in brokers if self.chance(0.3)}
        return {
            "settings": self.settings(),
            "bundle": self.random.choice(every),
            "candidates": candidates,
            "brokers": brokers,
            "bundles": bundles,
            "preallocated": preallocated,
        }

    def place_anti_affinity(self):
        spaces = [f"t/{letter}" for letter in "abcdefg"]
        brokers = [f"b{number}:8080" for number in range(self.random.randrange(0, 7))]
        domains = {}
        for name in brokers:
            if self.chance(0.8):
                domains.setdefault(f"d{self.random.randrange(3)}", []).append(name)
        groups = {
            space: self.random.choice(("g", "g", "h")) for space in spaces if self.chance(0.7)
        }
        owned = {
            name: [space for space in spaces if self.chance(0.25)]
            for name in brokers
            if self.chance(0.9)
        }
        return {
            "settings": self.settings(),
            "domains": domains,
            "groups": groups,
            "owned": owned,
            "candidates": [name for name in brokers if self.chance(0.9)],
            "namespace": self.random.choice(spaces),
        }
