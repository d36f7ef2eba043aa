"""A placement strategy written from the documents in floating point, and variants with mistakes."""

from random import Random

THRESHOLD = "loadBalancerBrokerOverloadedThresholdPercentage"
RESOURCES = ("cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut")
WEIGHTS = {
    "cpu": "loadBalancerCPUResourceWeight",
    "memory": "loadBalancerMemoryResourceWeight",
    "directMemory": "loadBalancerDirectMemoryResourceWeight",
    "bandwidthIn": "loadBalancerBandwithInResourceWeight",
    "bandwidthOut": "loadBalancerBandwithOutResourceWeight",
}


class Placer:
    """Places bundles and namespaces; subclasses replace one step by a mistake."""

    resources = RESOURCES
    default = 85

    def __init__(self, profile=None, readings=None):
        self.random = Random(0)

    def hello(self, profile, readings):
        operations = ["place.select", "place.anti_affinity"]
        return {"name": type(self).__name__, "operations": operations, "readings": readings}

    def answer(self, operation, case):
        return self.select(case) if operation == "place.select" else self.spread(case)

    def select(self, case):
        candidates = case["candidates"]
        left = [one for one in candidates if not self.left_out(case, one)]
        if not left:
            return {"broker": self.any_of(candidates)}
        return {"broker": min(left, key=lambda one: self.score(case, one))}

    def any_of(self, candidates):
        return self.random.choice(candidates) if candidates else None

    def threshold(self, case):
        return case["settings"].get(THRESHOLD, self.default)

    def usage(self, broker):
        used = [broker[one] for one in self.resources if one in broker and broker[one]["limit"]]
        return max((one["usage"] / one["limit"] * 100 for one in used), default=0.0)

    def left_out(self, case, name):
        return self.usage(case["brokers"][name]) > self.threshold(case)

    def score(self, case, name):
        distance = self.threshold(case) - self.usage(case["brokers"][name])
        return self.rate(case, name) / distance if distance > 0 else float("inf")

    def rate(self, case, name):
        return sum(self.carried(case["bundles"].get(one, {})) for one in self.bundles(case, name))

    def bundles(self, case, name):
        return [*case["brokers"][name].get("bundles", ()), *case["preallocated"].get(name, ())]

    def carried(self, data):
        average = data.get("longTermData", {})
        if not average.get("numSamples"):
            return 100
        return average.get("msgRateIn", 0) + average.get("msgRateOut", 0)

    def spread(self, case):
        home = self.home(case)
        domains = {home.get(one) for one in case["candidates"]}
        count = {one: self.count(case, one) for one in {*case["owned"], *case["candidates"]}}
        inside = {name: sum(n for b, n in count.items() if home.get(b) == name) for name in domains}
        few = [one for one in domains if inside[one] == min(inside.values())]
        among = [one for one in case["candidates"] if home.get(one) in few]
        return self.picked(among, count, home)

    def home(self, case):
        return {one: name for name, brokers in case["domains"].items() for one in brokers}

    def count(self, case, broker):
        groups, namespace = case["groups"], case["namespace"]
        others = (one for one in case["owned"].get(broker, ()) if one != namespace)
        return sum(groups.get(one) == groups.get(namespace, "") for one in others)

    def picked(self, among, count, home):
        least = min((count[one] for one in among), default=0)
        best = [one for one in among if count[one] == least]
        return {"broker": next(iter(best), None), "candidates": best}


class Unweighted(Placer):
    def score(self, case, name):
        return self.rate(case, name)


class Weighted(Placer):
    """Weighs resources as ThresholdShedder does."""

    def select(self, case):
        self.weights = case["settings"]
        return super().select(case)

    def usage(self, broker):
        weighted = {}
        for one in self.resources:
            weight = self.weights.get(WEIGHTS[one], 1)
            used = broker.get(one, {"usage": 0, "limit": 1})
            weighted[one] = {**used, "usage": used["usage"] * weight}
        return super().usage(weighted)


class KeepsTheOverloaded(Placer):
    def left_out(self, case, name):
        return False

    def score(self, case, name):
        return self.rate(case, name)


class FirstOfTheOverloaded(Placer):
    def any_of(self, candidates):
        return next(iter(candidates), None)


class NowhereIfAllAreOverloaded(Placer):
    def any_of(self, candidates):
        return None


class ByShortTerm(Placer):
    def carried(self, data):
        return super().carried({"longTermData": data.get("shortTermData", {})})


class ByWhatComesIn(Placer):
    def carried(self, data):
        average = data.get("longTermData", {})
        return average.get("msgRateIn", 0) if average.get("numSamples") else 50


class ReportsAlone(Placer):
    def bundles(self, case, name):
        return case["brokers"][name].get("bundles", ())


class NothingWithoutASample(Placer):
    def carried(self, data):
        return super().carried(data) if data.get("longTermData", {}).get("numSamples") else 0


class FixedThreshold(Placer):
    def threshold(self, case):
        return 85


class AnotherDefault(Placer):
    default = 80


class WithoutDirectMemory(Placer):
    resources = tuple(one for one in RESOURCES if one != "directMemory")


class GladlyAtTheThreshold(Placer):
    def score(self, case, name):
        score = super().score(case, name)
        return -1 if score == float("inf") else score


class StaysWhereItWas(Placer):
    """Repeats its first decision for the same bundle and the same candidates."""

    known = None

    def select(self, case):
        self.known = self.known or {}
        key = case["bundle"], *case["candidates"]
        self.known.setdefault(key, super().select(case))
        return self.known[key]


class BrokersBeforeDomains(Placer):
    def home(self, case):
        return {}


class AnyBrokerOfTheDomain(Placer):
    def picked(self, among, count, home):
        return {"broker": among[-1] if among else None}


class EveryNamespaceCounts(Placer):
    def count(self, case, broker):
        return len(case["owned"].get(broker, ()))


class GroupsMadeBeforehand(Placer):
    def spread(self, case):
        groups = list(case["groups"].values())
        known = groups.count(case["groups"].get(case["namespace"])) != 1
        return super().spread(case) if known else {"refused": "there is no such group"}


class TheEmptiestDomainEvenIfDown(Placer):
    def spread(self, case):
        home = self.home(case)
        inside = dict.fromkeys(case["domains"], 0)
        for broker in case["owned"]:
            if broker in home:
                inside[home[broker]] += self.count(case, broker)
        emptiest = min(inside, key=inside.get, default=None)
        among = [one for one in case["candidates"] if home.get(one) == emptiest]
        counts = {one: self.count(case, one) for one in among}
        return self.picked(among, counts, home)


class AllAreCandidates(Placer):
    def spread(self, case):
        return {**super().spread(case), "candidates": case["candidates"]}


class OnceInAGroup(Placer):
    """Ignores a change of a namespace's group if nothing else in the case changes."""

    before = None

    def spread(self, case):
        last, self.before = self.before, case
        same = last and all(case[key] == last[key] for key in case if key != "groups")
        return super().spread({**case, "groups": last["groups"]} if same else case)


class OnceInADomain(Placer):
    """Ignores a change of a broker's domain if nothing else in the case changes."""

    before = None

    def spread(self, case):
        last, self.before = self.before, case
        same = last and all(case[key] == last[key] for key in case if key != "domains")
        return super().spread({**case, "domains": last["domains"]} if same else case)
