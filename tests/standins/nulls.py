"""Implementations without decisions: their answers depend only on the form of a question.

Each rule must reject at least one of `Nothing`, `Everything` and `RandomLegal`. `Stranger` answers
with names that no case contains: it is wrong in every way that the schemas allow. `Fickle` answers
differently each time.
"""

import hashlib
import json
from itertools import count, pairwise
from random import Random

from pulsar_conformance.specs import load
from standins import tales

LAST = "0xffffffff"
RESOURCES = ("cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut")
OPERATIONS = (
    "settings.defaults",
    "bundles.create",
    "bundles.locate",
    "bundles.split",
    "bundles.split_candidates",
    "usage.max",
    "usage.nic",
    "average.bundle",
    "average.broker",
    "shed.select",
    "shed.cycles",
    "manager.choose",
    "place.select",
    "place.anti_affinity",
    "place.broker",
    "report.read",
    "report.due",
    "report.bundles",
    "policy.changed",
    "channel.apply",
    "cluster.replay",
)

RATES = ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")


def frames(rates, **counted):
    return {frame: {**rates(), **counted} for frame in ("shortTermData", "longTermData")}


class Null:
    """Answers each operation by the method that is named after the operation."""

    def __init__(self, profile=None, readings=None):
        pass

    def hello(self, profile, readings):
        return {"name": type(self).__name__, "operations": OPERATIONS, "readings": readings}

    def answer(self, operation, case):
        return getattr(self, operation.replace(".", "_"))(case)

    def place_broker(self, case):
        return self.place_select({**case, "candidates": list(case["brokers"])})

    def shed_cycles(self, case):
        return {"cycles": [self.shed_select(cycle) for cycle in case["cycles"]]}

    def channel_apply(self, case):
        kept = self.some(case["units"])
        does = ["assign" if self.some([one]) else "wait" for one in case["lookups"]]
        return {
            "units": {name: case["units"][name] for name in kept},
            "ignored": self.some(range(len(case["changes"]))),
            "lookups": [{"does": one} for one in does],
        }

    def policy_changed(self, case):
        return {"unload": self.some(case["namespaces"])}

    def report_bundles(self, case):
        return {"bundles": self.some(case["stats"])}

    def report_due(self, case):
        return {"due": bool(self.some([case]))}


def ranges(ends):
    return [f"{low}_{high}" for low, high in pairwise(ends)]


def owned(case):
    return [(name, b) for name, one in case["brokers"].items() for b in one.get("bundles", ())]


def unloading(pairs):
    return {"unload": [{"broker": broker, "bundle": bundle} for broker, bundle in pairs]}


class Nothing(Null):
    """Does as little as an answer can express."""

    def some(self, values):
        return []

    def settings_defaults(self, case):
        return {"settings": {}}

    def bundles_create(self, case):
        return {"boundaries": ["0x00000000", LAST]}

    def bundles_locate(self, case):
        return {"bundles": ranges(case["boundaries"])[:1] * len(case["topics"])}

    def bundles_split(self, case):
        return {"bundles": [case["bundle"]]}

    def bundles_split_candidates(self, case):
        return {"split": [], "unload": []}

    def usage_max(self, case):
        return {"percent": 0, "resource": None}

    def usage_nic(self, case):
        return {"gbps": 0}

    def average_bundle(self, case):
        return frames(dict, numSamples=0)

    def average_broker(self, case):
        return frames(dict)

    def shed_select(self, case):
        return unloading([])

    def manager_choose(self, case):
        return {"manager": "simple"}

    def cluster_replay(self, case):
        return tales.told(case, tales.nothing)

    def place_select(self, case):
        return {"broker": None}

    place_anti_affinity = place_select

    def report_read(self, case):
        return {"manager": "modular", "broker": {}}


class Everything(Null):
    """Does as much as an answer can express."""

    def some(self, values):
        return list(values)

    def settings_defaults(self, case):
        return {"settings": dict.fromkeys(load().annotated, "everything")}

    def bundles_create(self, case):
        return {"boundaries": [*(f"0x{n << 16:08x}" for n in range(1 << 16)), LAST]}

    def bundles_locate(self, case):
        return {"bundles": ranges(case["boundaries"]) * len(case["topics"])}

    def bundles_split(self, case):
        low, high = (int(end, 16) for end in case["bundle"].split("_"))
        asked = {int(position, 16) for position in case["positions"]}
        step = max((high - low) // 8, 1)
        inner = {end for end in (*asked, *range(low, high, step)) if low < end < high}
        return {"bundles": ranges([f"0x{end:08x}" for end in (low, *sorted(inner), high)])}

    def bundles_split_candidates(self, case):
        every = [bundle for _, bundle in owned(case)]
        return {"split": every, "unload": every}

    def usage_max(self, case):
        return {"percent": 100, "resource": RESOURCES[-1]}

    def usage_nic(self, case):
        return {"gbps": 1_000_000}

    def average_bundle(self, case):
        return frames(lambda: dict.fromkeys(RATES, 1e9), numSamples=10**6)

    def average_broker(self, case):
        return frames(lambda: dict.fromkeys(RATES, 1e9))

    def shed_select(self, case):
        following = dict(pairwise([*case["brokers"], *case["brokers"]][: len(case["brokers"]) + 1]))
        return {
            "unload": [
                {"broker": broker, "bundle": bundle, "to": following[broker]}
                for broker, bundle in owned(case)
            ]
        }

    def manager_choose(self, case):
        return {"manager": "extensible"}

    def cluster_replay(self, case):
        return tales.told(case, tales.everything)

    def place_select(self, case):
        return {"broker": next(iter(case["candidates"]), None)}

    def place_anti_affinity(self, case):
        every = {"domains": list(case["domains"]), "candidates": case["candidates"]}
        return {**self.place_select(case), **every}

    def report_read(self, case):
        used = {"usage": 100, "limit": 100}
        counts = dict.fromkeys(("numTopics", "numBundles", "numProducers", "numConsumers"), 1000)
        bundles = {"bundles": ["a/b/0x00000000_0xffffffff"]}
        broker = {**dict.fromkeys(RESOURCES, used), **dict.fromkeys(RATES, 1e9)}
        return {"manager": "simple", "broker": {**broker, **counts, **bundles}}


class RandomLegal(Null):
    """Answers at random with names from the case; equal cases get equal answers."""

    def answer(self, operation, case):
        text = json.dumps([operation, case], sort_keys=True)
        self.random = Random(hashlib.sha256(text.encode()).digest())
        return super().answer(operation, case)

    def some(self, values):
        return [value for value in values if self.random.random() < 0.5]

    def settings_defaults(self, case):
        values = (True, False, 0, 1, 10, 100, "", "everything")
        return {
            "settings": {name: self.random.choice(values) for name in self.some(load().annotated)}
        }

    def bundles_create(self, case):
        count = self.random.randrange(1 << 8)
        inner = [f"0x{self.random.randrange(1 << 32):08x}" for _ in range(count)]
        return {"boundaries": ["0x00000000", *inner, LAST]}

    def bundles_locate(self, case):
        return {"bundles": self.random.choices(ranges(case["boundaries"]), k=len(case["topics"]))}

    def bundles_split(self, case):
        low, high = case["bundle"].split("_")
        inside = [f"0x{self.random.randint(int(low, 16), int(high, 16)):08x}" for _ in range(2)]
        return {"bundles": ranges([low, *self.some([*inside, *case["positions"]]), high])}

    def bundles_split_candidates(self, case):
        every = [bundle for _, bundle in owned(case)]
        return {"split": self.some(every), "unload": self.some(every)}

    def usage_max(self, case):
        return {
            "percent": self.random.random() * 100,
            "resource": self.random.choice((None, *RESOURCES)),
        }

    def usage_nic(self, case):
        return {"gbps": self.random.random() * 100}

    def rates(self):
        return {name: self.random.random() * 1000 for name in RATES}

    def average_bundle(self, case):
        return frames(self.rates, numSamples=self.random.randrange(1000))

    def average_broker(self, case):
        return frames(self.rates)

    def report_read(self, case):
        used = {name: {"usage": self.random.random() * 100, "limit": 100} for name in RESOURCES}
        kept = {name: used[name] for name in self.some(RESOURCES)}
        return {
            "manager": self.random.choice(("simple", "modular")),
            "broker": {**kept, **self.rates(), "numTopics": self.random.randrange(100)},
        }

    def shed_select(self, case):
        named = [*(bundle for _, bundle in owned(case)), *case["bundles"]]
        pairs = [(self.random.choice(list(case["brokers"])), bundle) for bundle in self.some(named)]
        return unloading([*pairs, *self.some(owned(case))] if case["brokers"] else [])

    def manager_choose(self, case):
        return {"manager": self.random.choice(("simple", "modular", "extensible"))}

    def cluster_replay(self, case):
        return tales.told(case, tales.at_random(self.random))

    def place_select(self, case):
        return {"broker": self.random.choice(case["candidates"] or [None])}

    def place_anti_affinity(self, case):
        told = {"domains": self.some(case["domains"]), "candidates": self.some(case["candidates"])}
        return {**self.place_select(case), **dict(self.some(told.items()))}


class Fickle(RandomLegal):
    """Answers at random with names from the case, differently each time."""

    asked = count()

    def answer(self, operation, case):
        self.random = Random(next(Fickle.asked))
        return Null.answer(self, operation, case)


class Stranger(RandomLegal):
    """Answers with unknown and repeated names, in reverse order, and with extreme numbers."""

    UPSIDE_DOWN = "0xffffffff_0x00000000"

    def settings_defaults(self, case):
        return {"settings": {"noSuchSetting": 1e308, **dict.fromkeys(load().annotated)}}

    def bundles_create(self, case):
        return {"boundaries": self.random.choice(([], [LAST], [LAST, "0x00000000", LAST]))}

    def bundles_locate(self, case):
        return {"bundles": [self.UPSIDE_DOWN] * self.random.choice((0, 1, len(case["topics"])))}

    def bundles_split(self, case):
        names = [self.UPSIDE_DOWN, case["bundle"], "0x00000000_0x00000000"]
        return self.random.choice(({"bundles": self.some(names)}, {"refused": "no"}))

    def bundles_split_candidates(self, case):
        names = [f"a/b/{self.UPSIDE_DOWN}"] * 2
        return {"split": self.some(names), "unload": names}

    def usage_max(self, case):
        return {"percent": self.random.choice((1.7e308, 5e-324)), "resource": "memory"}

    def usage_nic(self, case):
        return self.random.choice(({"gbps": 1.7e308}, {"gbps": 5e-324}, {"refused": "no"}))

    def average_bundle(self, case):
        return frames(lambda: dict.fromkeys(RATES, 1.7e308), numSamples=10**15)

    def average_broker(self, case):
        return frames(lambda: dict.fromkeys(RATES, self.random.choice((1.7e308, 5e-324))))

    def report_read(self, case):
        bundles = [f"a/b/{self.UPSIDE_DOWN}"]
        used = {"usage": self.random.choice((1.7e308, 5e-324)), "limit": 0}
        broker = {"cpu": used, "bundles": bundles, "lastBundleLosses": bundles, "numTopics": 0}
        return self.random.choice(({"manager": "simple", "broker": broker}, {"refused": "no"}))

    def shed_select(self, case):
        namespaces = {bundle.rpartition("/")[0] for _, bundle in owned(case)} | {"a/b"}
        pairs = [("nobody", f"{space}/{self.UPSIDE_DOWN}") for space in sorted(namespaces)] * 2
        return unloading([*pairs, *((broker, pairs[0][1]) for broker in case["brokers"])])

    def manager_choose(self, case):
        return self.random.choice(({"manager": "extensible"}, {"refused": "no"}))

    def cluster_replay(self, case):
        if self.random.random() < 0.2:
            return {"steps": []}
        return tales.told(case, tales.strange(self.random, self.UPSIDE_DOWN))

    def place_select(self, case):
        return {"broker": self.random.choice(("nobody", "", *case.get("brokers", ())))}

    def place_anti_affinity(self, case):
        return {**self.place_select(case), "domains": ["nowhere"] * 2, "candidates": ["nobody"]}


NULLS = (Nothing, Everything, RandomLegal)
