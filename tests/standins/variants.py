"""Implementations that differ from the model in one respect."""

from types import MappingProxyType
from zlib import crc32

from pulsar_conformance.reference import Model


class Same:
    """The model."""

    fixed = MappingProxyType({})
    """Readings that it follows whatever readings the suite asks for."""

    def __init__(self, profile, readings):
        self.followed = {**readings, **self.fixed}
        self.model = Model(profile, self.followed)

    def hello(self, profile, readings):
        name = type(self).__name__.lower()
        offered = list(self.model.operations)
        return {"name": name, "operations": offered, "readings": self.followed}

    def answer(self, operation, case):
        return self.model.answer(operation, case)


class One(Same):
    """Sheds one bundle per cycle, and declares this reading."""

    fixed = MappingProxyType({"overload-amount": "one"})


class Undeclared(Same):
    """Declares no readings, so that its answers must show them."""

    def hello(self, profile, readings):
        return {**super().hello(profile, readings), "readings": {}}


class Traffic(Same):
    """Orders the bundles that ThresholdShedder sheds by traffic."""

    fixed = MappingProxyType({"threshold-order": "traffic"})


class Contrary(Same):
    """Breaks ties between equal bundles in the reverse order."""

    def answer(self, operation, case):
        if operation == "shed.select":
            brokers = {
                name: {**report, "bundles": report.get("bundles", [])[::-1]}
                for name, report in reversed(case["brokers"].items())
            }
            case = {**case, "brokers": brokers}
        return super().answer(operation, case)


class Forgetful(Contrary):
    """Breaks ties in reverse order, and omits the last unload of a broker with exactly three."""

    def answer(self, operation, case):
        answer = super().answer(operation, case)
        going = answer.get("unload", ())
        if len(going) < 3:
            return answer
        counts = {broker: [] for broker in case["brokers"]}
        for one in going:
            counts[one["broker"]].append(one)
        kept = [one for mine in counts.values() for one in (mine[:2] if len(mine) == 3 else mine)]
        return {"unload": kept}


class OnlyOverload(Same):
    """Has only OverloadShedder, and runs it whatever strategy a case names."""

    def hello(self, profile, readings):
        return {**super().hello(profile, readings), "strategies": ["OverloadShedder"]}

    def answer(self, operation, case):
        return super().answer(operation, {**case, "strategy": "OverloadShedder"})


class OnlyThreshold(Same):
    """Has only ThresholdShedder, and runs it whatever strategy or load manager a case names."""

    def hello(self, profile, readings):
        return {**super().hello(profile, readings), "strategies": ["ThresholdShedder"]}

    def answer(self, operation, case):
        return super().answer(operation, {**case, "strategy": "ThresholdShedder"})


class LaterStrategy(OnlyOverload):
    """Offers AvgShedder, which only later documents describe; decides like OverloadShedder."""

    def hello(self, profile, readings):
        return {**super().hello(profile, readings), "strategies": ["AvgShedder"]}


class OtherOfEquals(Same):
    """Replaces the last unloaded bundle by another bundle of the same broker with equal data."""

    def answer(self, operation, case):
        answer = super().answer(operation, case)
        if not answer.get("unload"):
            return answer
        *earlier, last = answer["unload"]
        data = case["bundles"]
        taken = {one["bundle"] for one in answer["unload"]} | set(case["recentlyUnloaded"])
        for bundle in case["brokers"][last["broker"]]["bundles"]:
            if bundle not in taken and data.get(bundle) == data.get(last["bundle"]):
                return {"unload": [*earlier, {**last, "bundle": bundle}]}
        return answer


class Locating(Same):
    """Locates the bundle of every topic as documented; releases fail for some topics."""

    def answer(self, operation, case):
        if operation == "bundles.locate":
            return Model("documented-3.0").answer(operation, case)
        return super().answer(operation, case)


class Speechless(Same):
    """Fails on every topic with the highest possible hash."""

    def answer(self, operation, case):
        if operation == "bundles.locate" and any(map(self.last, case["topics"])):
            return {"failed": "out of bounds"}
        return super().answer(operation, case)

    @staticmethod
    def last(topic):
        return crc32(topic.encode()) == 0xFFFFFFFF
